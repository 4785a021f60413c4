"""Features of the faithfulness and relevance models: words that the passages contain, and contradictions.

Rules of this file: it only counts. Every number is plain arithmetic over words with positions; the coefficients that
turn the counts into a probability are data (``stats/logistic.py``).
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
    """Words of the response and the matching words of a passage (numbered from 1), by characters."""

    start: int
    end: int
    passage: int
    passage_start: int
    passage_end: int


class PassageSupport(Struct, frozen=True):
    """One sentence of the response against the passages. ``counts`` are the features of the model."""

    start: int
    end: int
    words: int
    normalised: str
    counts: dict[str, float]
    flags: list[Flag]
    aligned: list[Aligned]


def support(response: str, contexts: Sequence[str]) -> list[PassageSupport]:
    """Match each sentence of the response that has words against all the passages.

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


def _support(sentence: SentenceMatch, start: int, end: int) -> PassageSupport:
    length = len(sentence)
    near, _ = sentence.best_window(length + 4)
    wide, window = sentence.best_window(2 * length + 8)
    fragments = sentence.fragments()
    flags = mismatches(sentence, window)
    kinds = Counter(flag.kind for flag in flags)
    digits = [at for at in range(length) if sentence.numbers[at] is not None and sentence.forms[at][0].isdigit()]
    counts = {
        "near": near,
        "wide": wide,
        "frequent": sentence.frequent(),
        "bound": sentence.bound(window) if len(sentence.core) > 1 else wide,
        "copied": sum(one.size**2 for one in fragments) / length**2,
        "covered": sum(one.size for one in fragments) / length,
        "last": float(sentence.is_in(sentence.core[-1], window)) if sentence.core else 1.0,
        "alike": float(sum(match.how == "alike" for match in sentence.matches.values())),
        "numbers_found": float(sum(sentence.is_in(at, window) for at in digits)),
        "numbers_missing": float(kinds["number"] + kinds["date"]),
        "units": float(kinds["unit"]),
        "number_words_missing": float(kinds["number word"]),
        "names_missing": float(kinds["name"]),
        "opposites": float(kinds["opposite"]),
        "negation": float(kinds["negation"]),
        "repeated": float(sentence.repeated(window)),
        "small_talk": float(len(sentence.small_talk)),
        "heaviest_missing": max((sentence.weights[sentence.stems[at]] for at in sentence.missing), default=0.0),
        "content": float(len(sentence.weights)),
    }
    return PassageSupport(
        start, end, length, " ".join(sentence.stems), counts, flags, _aligned(sentence, window, fragments)
    )


def _aligned(sentence: SentenceMatch, window: Window, fragments: Sequence[Fragment]) -> list[Aligned]:
    """Align runs of two or more words with their longest fragment, and other content words with their position in the
    window, or else with their first position in any passage."""
    pairs = {one.at + step: one.position + step for one in fragments if one.size > 1 for step in range(one.size)}
    for at in sentence.core:
        if at not in pairs and (match := sentence.matches.get(sentence.stems[at])) is not None:
            pairs[at] = (within(match.positions, window) or match.positions)[0]
    spans: list[Aligned] = []
    before = (-2, -2)
    for at, place in sorted(pairs.items()):
        passage, start, end = sentence.passages.source(place)
        here = sentence.words.start[sentence.first + at], sentence.words.end[sentence.first + at]
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
    """Pool the counts of all sentences of a response.

    Shares are those of the weakest sentence; numbers of words found and missed are ``log(1 + sum)``; others are means
    over words; the weight of the heaviest missing word is the maximum. Sentences without content words are left out if
    there are others.
    """
    with_content = [one for one in sentences if one.counts["content"]] or sentences
    counts = {name: min((one.counts[name] for one in with_content), default=0.0) for name in _LOWEST}
    counts |= {name: math.log1p(sum(one.counts[name] for one in sentences)) for name in _SUMMED}
    total = sum(one.words for one in with_content) or 1
    counts |= {name: sum(one.words * one.counts[name] for one in with_content) / total for name in _MEAN}
    counts["heaviest_missing"] = max((one.counts["heaviest_missing"] for one in with_content), default=0.0)
    return counts


def verbatim(sentences: Sequence[PassageSupport]) -> bool:
    """Whether the passages contain every sentence word for word."""
    return all(one.counts["copied"] == 1.0 for one in sentences)


def nothing_found(sentences: Sequence[PassageSupport]) -> bool:
    """Whether there are content words, and the passages contain none of them."""
    with_content = [one.counts for one in sentences if one.counts["content"]]
    return bool(with_content) and not any(one["frequent"] for one in with_content)


def relevance(question: str, context: str) -> dict[str, float] | None:
    """Count the features of the relevance model for a question and a passage; None if either has no words.

    They include the number of occurrences of the question's first content word, the number of words before the first
    match, the share of function words (low in a list or a menu), and the length of the passage.

    >>> counts = relevance("Who wrote Dracula?", "Dracula is a novel by Bram Stoker.")
    >>> 0.5 < counts["whole"] < 0.7, counts["names_missing"]
    (True, 0.0)
    """
    words, passages = words_with_offsets(question), passages_of((context,))
    if not len(words) or not passages.length:
        return None
    return _relevance(SentenceMatch(words, 0, len(words), passages), passages)


def _relevance(sentence: SentenceMatch, passages: PassageIndex) -> dict[str, float]:
    length = len(sentence)
    near, _ = sentence.best_window(length + 4)
    wide, window = sentence.best_window(2 * length + 8)
    places = [place for match in sentence.matches.values() for place in match.positions]
    first = sentence.matches.get(sentence.stems[sentence.core[0]]) if sentence.core else None
    content = passages.words[0].content
    return {
        "near": near,
        "wide": wide,
        "whole": sum(sentence.worth.values()) / sentence.total if sentence.total else 1.0,
        "frequent": sentence.frequent(),
        "covered": sum(one.size for one in sentence.fragments()) / length,
        "first": math.log1p(len(first.positions)) if first is not None else 0.0,
        "last": float(bool(sentence.core) and sentence.is_in(sentence.core[-1], window)),
        "names_missing": math.log1p(len(list(names(sentence)))),
        "heaviest_missing": max((sentence.weights[sentence.stems[at]] for at in sentence.missing), default=0.0),
        "late": math.log1p(min(places, default=passages.length)),
        "prose": 1 - sum(content) / len(content),
        "length": math.log1p(passages.length),
    }
