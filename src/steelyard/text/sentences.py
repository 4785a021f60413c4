"""Split text in any script into sentences, with their offsets."""

from __future__ import annotations

import re
from typing import NamedTuple

_NARROW = ".!?…‥‽;"
"""Marks that end a sentence only before white space."""
_WIDE = "。！？｡؟۔।॥։።፧။។៕"
"""Marks that end a sentence in any position."""
_CLOSERS = "\"'”’»)\\]}」』》）】〉*_"
_OPENERS = "\"'“‘«([{¿¡*_「『《（【〈„-–—"

_STOP = re.compile(rf"([{_NARROW}{_WIDE}]+)(?:[{_CLOSERS}]|\[\d+\])*")
_LINE = re.compile(r"[^\n\r\v\f\x85\u2028\u2029]+")
_ITEM = re.compile(r"(?:[-*+•‣◦▪·–—]|\(?\d{1,3}[.)]|\(?[^\W\d_][.)])\s")
_MARKER = re.compile(r"\(?\d{1,3}")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,2}\.)*[^\W\d_]")
_WORD = re.compile(r"[^\W_]+")
_TRAILING_TERMINAL = re.compile(rf"[{_NARROW}{_WIDE}:][{_CLOSERS}]*$")
_GREEK = re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]")

_ABBREVIATIONS_BEFORE_NAMES = """
    adm al asst brig bros bzw ca capt cf cmdr col cpl dr e.g fr ft gen gov hon hr i.e insp lic lt mag maj messrs mlle
    mme mr mrs ms mt mx pres prof pvt rep rev sen sgt sra srta st ste supt viz vs z.b d.h u.a т.е ул им проф акад
"""
"""Abbreviations before a name or the rest of the sentence: they never end a sentence."""
_ABBREVIATIONS_BEFORE_NUMBERS = """
    no nos nr núm fig figs eq eqs vol vols ch chap sec sect p pp art cap ed op par para ref tab
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun стр рис гл
"""
"""Abbreviations before a number, which continues the sentence; any other word starts a new one."""
_ABBREVIATIONS_OF_EITHER_KIND = "co corp dept est inc jr llc ltd ph.d plc sr univ ud uds"
"""Abbreviations that may end a sentence: the next word decides, as after initials (U.S., p.m.)."""
_FIRST_WORDS = """
    a after although an and as at because before both but by during each for from he her here his how however i if in
    it its many more most no on one or our she since so some that the their then there these they this those though
    thus to under until we what when where which while who why with you your
"""
"""Words that start a sentence rather than continue a name."""

_BEFORE_NAMES = frozenset(_ABBREVIATIONS_BEFORE_NAMES.split())
_BEFORE_NUMBERS = frozenset(_ABBREVIATIONS_BEFORE_NUMBERS.split())
_EITHER = frozenset(_ABBREVIATIONS_OF_EITHER_KIND.split())
_STARTERS = frozenset(_FIRST_WORDS.split())
_WINDOW = 80
"""Characters before and after a point that are examined; without a bound, long paragraphs take quadratic time."""


class SentenceSpan(NamedTuple):
    """The offsets of a sentence in its text: ``text[start:end]``."""

    start: int
    end: int


def sentences(text: str) -> list[str]:
    """The sentences of a text, in order and unchanged; blank text has none, any other text at least one.

    A sentence ends at a terminal mark of its script, or at the end of a paragraph, a heading or a list item. A point
    after a title, after an initial or inside a number does not end a sentence. A line that starts in lower case
    continues the sentence before it.

    >>> sentences("Dr. Ruiz paid $3.50 in St. Ives. He left.")
    ['Dr. Ruiz paid $3.50 in St. Ives.', 'He left.']
    >>> sentences("今天下雨。明天放晴！你带伞了吗？")
    ['今天下雨。', '明天放晴！', '你带伞了吗？']
    >>> sentences("- item one\\n- item two")
    ['- item one', '- item two']
    """
    return [text[start:end] for start, end in sentence_spans(text)]


def sentence_spans(text: str) -> list[SentenceSpan]:
    """The offsets of the sentences of a text; see ``sentences``.

    >>> sentence_spans(" One. Two.")
    [SentenceSpan(start=1, end=5), SentenceSpan(start=6, end=10)]
    """
    spans: list[SentenceSpan] = []
    for start, end in _paragraphs(text):
        at = start
        for stop in _STOP.finditer(text, start, end):
            if stop.start() > at and _mark_ends(text, stop, at, end):
                spans.append(SentenceSpan(at, stop.end()))
                at = stop.end()
        spans.append(SentenceSpan(at, end))
    return _merge_wordless(text, [_trimmed(text, span) for span in spans])


def _paragraphs(text: str) -> list[SentenceSpan]:
    """Ranges that no sentence crosses: lines, joined if a line clearly continues the one before it."""
    paragraphs: list[SentenceSpan] = []
    for line in _LINE.finditer(text):
        if not line[0].strip():
            continue
        start, end = _trimmed(text, SentenceSpan(*line.span()))
        if paragraphs and _continues(text, paragraphs[-1], start, end):
            paragraphs[-1] = SentenceSpan(paragraphs[-1].start, end)
        else:
            paragraphs.append(SentenceSpan(start, end))
    return paragraphs


def _continues(text: str, before: SentenceSpan, start: int, end: int) -> bool:
    gap = text[before.end : start].replace("\r\n", "\n")
    one_break = len(gap.strip(" \t")) == 1
    return (
        one_break
        and text[start].islower()
        and not _ITEM.match(text, start, end)
        and not _TRAILING_TERMINAL.search(text, max(before.start, before.end - _WINDOW), before.end)
    )


def _mark_ends(text: str, stop: re.Match[str], start: int, end: int) -> bool:
    """Whether a terminal mark ends the sentence that began at ``start``."""
    marks, after = stop[1], stop.end()
    if after >= end or any(mark in _WIDE for mark in marks):
        return True
    if not text[after].isspace():
        return False
    if ";" in marks and (marks != ";" or not _GREEK.match(text, stop.start() - 1)):
        return False
    following = text[after : min(end, after + _WINDOW)].lstrip().lstrip(_OPENERS)
    if following[:1].islower():
        return False
    return marks != "." or _point_ends(text[max(start, stop.start() - _WINDOW) : stop.start()], following)


def _point_ends(sentence: str, following: str) -> bool:
    """Whether a single point ends a sentence, decided by the word before it and the text after it."""
    *earlier, last = sentence.split() or [""]
    last = last.lstrip(_OPENERS)
    if not earlier and _MARKER.fullmatch(last):
        return False  # "1. First item"
    word, next_word = last.lower(), _WORD.match(following)
    if word in _BEFORE_NAMES:
        return False
    if word in _BEFORE_NUMBERS:
        return not following[:1].isdigit()
    initial = _DOTTED.fullmatch(last) is not None and (len(last) > 1 or last.isupper())
    if initial or word in _EITHER:
        return next_word is None or next_word[0].lower() in _STARTERS
    return True


def _trimmed(text: str, span: SentenceSpan) -> SentenceSpan:
    start, end = span
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return SentenceSpan(start, end)


def _merge_wordless(text: str, spans: list[SentenceSpan]) -> list[SentenceSpan]:
    """Join ranges without a letter or digit (a rule, a lone quote) to the sentence before them, or after them."""
    merged: list[SentenceSpan] = []
    pending: int | None = None
    for start, end in spans:
        if start == end:
            continue
        if any(map(str.isalnum, text[start:end])):
            merged.append(SentenceSpan(start if pending is None else pending, end))
            pending = None
        elif merged:
            merged[-1] = SentenceSpan(merged[-1].start, end)
        elif pending is None:
            pending = start
    if not merged and pending is not None:
        merged.append(_trimmed(text, SentenceSpan(pending, len(text))))
    return merged
