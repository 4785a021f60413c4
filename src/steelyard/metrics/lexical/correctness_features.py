"""How far a response says what a reference says: counts of shared words, whole, in order, by weight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from ...text.english_lexicon import NEGATIONS
from ...text.scripts import join_graphemes
from ...text.tokens import normal_form, tokens_of
from ...text.word_offsets import word_forms
from ...text.word_weights import weights_of

ASKED = 0.1
"""What a word counts for that the question holds already, against 1 for a word that only the answer brings."""
_NEGATING = frozenset({*NEGATIONS, "t"})
LONG = 100
"""Characters of a reference beyond which nobody repeats it whole, and its words and letters are found in any long text:
containment says nothing (a half), and content F1 stands in for recall and fuzzy match."""


class _Side(NamedTuple):
    """What is compared of a text: normal form, tokens, stems in order, content stems, numbers, negation."""

    normal: str
    tokens: Counter[str]
    stems: list[str]
    content: Counter[str]
    bigrams: frozenset[tuple[str, str]]
    numbers: frozenset[str]
    digits: frozenset[str]
    negated: bool


@lru_cache(maxsize=512)
def _side(text: str) -> _Side:
    words = word_forms(text)
    stems = [one.stem for one in words]
    content = Counter([one.stem for one in words if one.content])
    return _Side(
        join_graphemes(normal_form(text)),
        Counter(tokens_of(text)),
        stems,
        content or Counter(stems),
        frozenset(pairwise(stems)),
        frozenset([one.number for one in words if one.number is not None]),
        frozenset([stem for stem in stems if stem[:1].isdigit()]),
        not _NEGATING.isdisjoint([one.form for one in words]),
    )


def compared(response: str, reference: str, question: str = "") -> dict[str, float]:
    """The counts of one response against one reference; words of the question count for little.

    >>> counts = compared("It was Ada Lovelace.", "Ada Lovelace", "Who wrote it?")
    >>> counts["contains"], counts["recall"], counts["negation"]
    (1.0, 1.0, 0.0)
    """
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.fuzz import partial_ratio, ratio

    ours, theirs = _side(response), _side(reference)
    asked = _side(question).content
    mine, wanted = _weighted(response, question), _weighted(reference, question)
    total, all_mine = sum(wanted.values()), sum(mine.values())
    shared = sum([value for stem, value in wanted.items() if stem in mine or stem in ours.numbers])
    new = {stem: value for stem, value in mine.items() if stem not in asked}
    told = sum([value for stem, value in new.items() if stem in wanted])
    absent = theirs.digits - ours.numbers
    content_f1 = _content_f1(ours.content, theirs.content, asked)
    recall = shared / total if total else 0.0
    if len(theirs.normal) > LONG:
        contains = letters = 0.5
        recall = fuzzy = content_f1
    else:
        glued = theirs.normal.replace(" ", "")
        contains = float(bool(glued) and f" {normal_form(reference)} " in f" {normal_form(response)} ")
        letters = float(bool(glued) and glued in ours.normal.replace(" ", ""))
        alike = partial_ratio if len(theirs.normal) <= len(ours.normal) else ratio
        fuzzy = alike(theirs.normal, ours.normal) / 100 if glued else 0.0
    return {
        "token_f1": _f1(_common(ours.tokens, theirs.tokens), ours.tokens.total(), theirs.tokens.total()),
        "content_f1": content_f1,
        "weighted_f1": 2 * shared / (all_mine + total) if total and all_mine else 0.0,
        "recall": recall,
        "told": told / sum(new.values()) if new else 0.0,
        "ordered": _f1(LCSseq.similarity(ours.stems, theirs.stems), len(ours.stems), len(theirs.stems)),
        "bigrams": _f1(len(ours.bigrams & theirs.bigrams), len(ours.bigrams), len(theirs.bigrams)),
        "contains": contains,
        "letters": letters,
        "fuzzy": fuzzy,
        "numbers_wrong": sum([wanted[stem] for stem in absent]) / total
        if absent and ours.digits - theirs.digits - _side(question).digits
        else 0.0,
        "negation": float(ours.negated != theirs.negated),
    }


@lru_cache(maxsize=64)
def _weighted(text: str, question: str) -> dict[str, float]:
    """The content stems of a text by weight; those of the question at a discount."""
    asked = _side(question).content
    return {stem: weight * (ASKED if stem in asked else 1.0) for stem, weight in weights_of(_side(text).content)}


def _content_f1(ours: Counter[str], theirs: Counter[str], asked: Counter[str]) -> float:
    """F1 of the multisets of content stems, those of the question at a discount."""

    def total(counts: Iterable[tuple[str, int]]) -> float:
        return sum([count * (ASKED if stem in asked else 1.0) for stem, count in counts])

    shared = total([(stem, min(count, theirs[stem])) for stem, count in ours.items() if stem in theirs])
    both = total(ours.items()) + total(theirs.items())
    return 2 * shared / both if both else 0.0


def _common(one: Counter[str], other: Counter[str]) -> int:
    if len(one) > len(other):
        one, other = other, one
    return sum([min(count, other[key]) for key, count in one.items() if key in other])


def _f1(shared: float, ours: int, theirs: int) -> float:
    return 2 * shared / (ours + theirs) if ours and theirs else 0.0
