"""What passages say about a response: sentence by sentence, which words they hold, where, and what speaks against it.

Rules of this file: it counts, it does not judge. Every number here is plain arithmetic over words with places; the
weights that make a probability of them are data (``calibrated.py``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from ...text.sentences import sentence_spans
from ...text.word_offsets import words_with_offsets
from .contradictions import Flag, mismatches, names
from .passage_index import PassageIndex, Window, passages_of, within
from .sentence_match import Fragment, SentenceMatch


class Aligned(Struct, frozen=True):
    """Words of the response, and the words of a passage (numbered from 1) that bear them out, by characters."""

    start: int
    end: int
    passage: int
    passage_start: int
    passage_end: int


class PassageSupport(Struct, frozen=True):
    """One sentence of the response against the passages. ``counts`` are what the model weighs."""

    start: int
    end: int
    words: int
    normalised: str
    counts: dict[str, float]
    flags: list[Flag]
    aligned: list[Aligned]


def support(response: str, contexts: Sequence[str]) -> list[PassageSupport]:
    """Each sentence of the response that has words, against all the passages.

    >>> one, = support("Ada was born in 1816.", ["Ada Lovelace (born 1815) was a mathematician."])
    >>> [(flag.kind, flag.text, flag.instead) for flag in one.flags]
    [('date', '1816', '1815')]
    """
    passages = passages_of(tuple(contexts))
    words = words_with_offsets(response)
    found: list[PassageSupport] = []
    at = 0
    for start, end in sentence_spans(response):
        first = at
        while at < len(words) and words.start[at] < end:
            at += 1
        if at > first:
            found.append(_support(SentenceMatch(words, first, at, passages), start, end))
    return found


def _support(laid: SentenceMatch, start: int, end: int) -> PassageSupport:
    length = len(laid)
    near, _ = laid.best_window(length + 4)
    wide, window = laid.best_window(2 * length + 8)
    fragments = laid.fragments()
    flags = mismatches(laid, window)
    kinds = Counter(flag.kind for flag in flags)
    digits = [at for at in range(length) if laid.numbers[at] is not None and laid.forms[at][0].isdigit()]
    counts = {
        "near": near,
        "wide": wide,
        "frequent": laid.frequent(),
        "bound": laid.bound(window) if len(laid.core) > 1 else wide,
        "copied": sum(one.size**2 for one in fragments) / length**2,
        "covered": sum(one.size for one in fragments) / length,
        "last": float(laid.held(laid.core[-1], window)) if laid.core else 1.0,
        "alike": float(sum(match.how == "alike" for match in laid.matches.values())),
        "numbers_found": float(sum(laid.held(at, window) for at in digits)),
        "numbers_missing": float(kinds["number"] + kinds["date"]),
        "units": float(kinds["unit"]),
        "number_words_missing": float(kinds["number word"]),
        "names_missing": float(kinds["name"]),
        "opposites": float(kinds["opposite"]),
        "negation": float(kinds["negation"]),
        "repeated": float(laid.repeated(window)),
        "small_talk": float(len(laid.small_talk)),
        "heaviest_missing": max((laid.weights[laid.stems[at]] for at in laid.missing), default=0.0),
        "content": float(len(laid.weights)),
    }
    return PassageSupport(start, end, length, " ".join(laid.stems), counts, flags, _aligned(laid, window, fragments))


def _aligned(laid: SentenceMatch, window: Window, fragments: Sequence[Fragment]) -> list[Aligned]:
    """Runs of two words and more by their longest fragment, other content words by their place in the window, or
    else by their first place anywhere."""
    pairs = {one.at + step: one.position + step for one in fragments if one.size > 1 for step in range(one.size)}
    for at in laid.core:
        if at not in pairs and (match := laid.matches.get(laid.stems[at])) is not None:
            pairs[at] = (within(match.positions, window) or match.positions)[0]
    spans: list[Aligned] = []
    before = (-2, -2)
    for at, place in sorted(pairs.items()):
        passage, start, end = laid.passages.source(place)
        here = laid.words.start[laid.first + at], laid.words.end[laid.first + at]
        if (at - 1, place - 1) == before:
            spans[-1] = Aligned(spans[-1].start, here[1], passage + 1, spans[-1].passage_start, end)
        else:
            spans.append(Aligned(*here, passage + 1, start, end))
        before = at, place
    return spans


_LOWEST = ("near", "wide", "bound", "copied", "covered")
_MEAN = ("frequent", "last")
_SUMMED = (
    "alike",
    "numbers_found",
    "numbers_missing",
    "units",
    "number_words_missing",
    "names_missing",
    "opposites",
    "negation",
    "repeated",
    "small_talk",
)


def pooled(sentences: Sequence[PassageSupport]) -> dict[str, float]:
    """The counts of a whole response: shares of its weakest sentence, sums of what was found and missed as
    ``log(1 + sum)``, means over words, the heaviest missing word. Sentences without content words are left out where
    there are others.
    """
    telling = [one for one in sentences if one.counts["content"]] or sentences
    counts = {name: min((one.counts[name] for one in telling), default=0.0) for name in _LOWEST}
    counts |= {name: math.log1p(sum(one.counts[name] for one in sentences)) for name in _SUMMED}
    total = sum(one.words for one in telling) or 1
    counts |= {name: sum(one.words * one.counts[name] for one in telling) / total for name in _MEAN}
    counts["heaviest_missing"] = max((one.counts["heaviest_missing"] for one in telling), default=0.0)
    return counts


def verbatim(sentences: Sequence[PassageSupport]) -> bool:
    """Whether passages hold every sentence word for word."""
    return all(one.counts["copied"] == 1.0 for one in sentences)


def nothing_found(sentences: Sequence[PassageSupport]) -> bool:
    """Whether there are content words, and the passages hold none of them."""
    telling = [one.counts for one in sentences if one.counts["content"]]
    return bool(telling) and not any(one["frequent"] for one in telling)


def relevance(question: str, context: str) -> dict[str, float] | None:
    """The question against one passage: the counts that the relevance model weighs; None where either has no words.

    Beside what is found where: how often the question's first content word stands in the passage, how many words come
    before the first that is found, the share of function words (a list or a menu has few), the passage's length.

    >>> counts = relevance("Who wrote Dracula?", "Dracula is a novel by Bram Stoker.")
    >>> 0.5 < counts["whole"] < 0.7, counts["names_missing"]
    (True, 0.0)
    """
    words, passages = words_with_offsets(question), passages_of((context,))
    if not len(words) or not passages.length:
        return None
    return _relevance(SentenceMatch(words, 0, len(words), passages), passages)


def _relevance(laid: SentenceMatch, passages: PassageIndex) -> dict[str, float]:
    length = len(laid)
    near, _ = laid.best_window(length + 4)
    wide, window = laid.best_window(2 * length + 8)
    places = [place for match in laid.matches.values() for place in match.positions]
    first = laid.matches.get(laid.stems[laid.core[0]]) if laid.core else None
    content = passages.words[0].content
    return {
        "near": near,
        "wide": wide,
        "whole": sum(laid.worth.values()) / laid.total if laid.total else 1.0,
        "frequent": laid.frequent(),
        "covered": sum(one.size for one in laid.fragments()) / length,
        "first": math.log1p(len(first.positions)) if first is not None else 0.0,
        "last": float(bool(laid.core) and laid.held(laid.core[-1], window)),
        "names_missing": math.log1p(len(list(names(laid)))),
        "heaviest_missing": max((laid.weights[laid.stems[at]] for at in laid.missing), default=0.0),
        "late": math.log1p(min(places, default=passages.length)),
        "prose": 1 - sum(content) / len(content),
        "length": math.log1p(passages.length),
    }
