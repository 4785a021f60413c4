"""Features of the answer-correctness model: counts of words that response and reference share."""

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

QUESTION_WORD = 0.1
"""The weight of a word that is already in the question; a word that only the answer contains has weight 1."""
_NEGATING = frozenset({*NEGATIONS, "t"})
LONG = 100
"""Characters of a reference beyond which containment means nothing and counts a half, since answers do not repeat it
whole and any long text contains its words and letters; content F1 then replaces recall and fuzzy match."""


class _Side(NamedTuple):
    """The compared parts of a text: normal form, tokens, stems in order, content stems, numbers, negation."""

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
    """Compute the counts of one response against one reference; words of the question have a low weight.

    >>> counts = compared("It was Ada Lovelace.", "Ada Lovelace", "Who wrote it?")
    >>> counts["contains"], counts["recall"], counts["negation"]
    (1.0, 1.0, 0.0)
    """
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.fuzz import partial_ratio, ratio

    ours, theirs = _side(response), _side(reference)
    in_question = _side(question).content
    mine, wanted = _weighted(response, question), _weighted(reference, question)
    total, all_mine = sum(wanted.values()), sum(mine.values())
    shared = sum([value for stem, value in wanted.items() if stem in mine or stem in ours.numbers])
    new = {stem: value for stem, value in mine.items() if stem not in in_question}
    new_and_wanted = sum([value for stem, value in new.items() if stem in wanted])
    absent = theirs.digits - ours.numbers
    content_f1 = _content_f1(ours.content, theirs.content, in_question)
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
        "told": new_and_wanted / sum(new.values()) if new else 0.0,
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
    """The weights of a text's content stems; stems of the question have a lower weight."""
    in_question = _side(question).content
    return {
        stem: weight * (QUESTION_WORD if stem in in_question else 1.0)
        for stem, weight in weights_of(_side(text).content)
    }


def _content_f1(ours: Counter[str], theirs: Counter[str], in_question: Counter[str]) -> float:
    """F1 of the multisets of content stems; stems of the question have a lower weight."""

    def total(counts: Iterable[tuple[str, int]]) -> float:
        return sum([count * (QUESTION_WORD if stem in in_question else 1.0) for stem, count in counts])

    shared = total([(stem, min(count, theirs[stem])) for stem, count in ours.items() if stem in theirs])
    both = total(ours.items()) + total(theirs.items())
    return 2 * shared / both if both else 0.0


def _common(one: Counter[str], other: Counter[str]) -> int:
    if len(one) > len(other):
        one, other = other, one
    return sum([min(count, other[key]) for key, count in one.items() if key in other])


def _f1(shared: float, ours: int, theirs: int) -> float:
    return 2 * shared / (ours + theirs) if ours and theirs else 0.0
