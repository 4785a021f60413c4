"""Overlap of content words: three measures, and an answer judge made of them that needs no model.

An answer judge is any object with the method ``judge(JudgeInput) -> AnswerQuality``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from msgspec import Struct

from ...core.records import Sample, Undefined
from ...text.tokens import content_words_of, words_of
from ..registry import metric
from .token_overlap import Aggregation, over_references, overlap


class JudgeInput(Struct, frozen=True):
    """The input of an answer judge: one answer. ``context`` is the retrieved text, joined by blank lines."""

    question: str = ""
    context: str = ""
    answer: str = ""
    reference: str | None = None


class AnswerQuality(Struct, frozen=True):
    """The scores of one answer: three numbers from 0 to 1 (None if undefined), and a comment."""

    faithfulness: float | None
    relevance: float | None
    correctness: float | None
    comment: str = ""


@runtime_checkable
class Judge(Protocol):
    """An object that scores one answer."""

    def judge(self, case: JudgeInput, /) -> AnswerQuality:
        """Score one answer."""
        ...


def found_share(text: str, others: Iterable[str]) -> float:
    """Distinct content words of a text that are in any of the other texts / distinct content words of the text.

    A text without content words: 0.

    >>> found_share("The capital is Paris", ["Paris is lovely"])
    0.5
    """
    wanted = set(content_words_of(text))
    missing = wanted.difference(*map(content_words_of, others))
    return (len(wanted) - len(missing)) / len(wanted) if wanted else 0.0


def content_f1(response: str, reference: str) -> float:
    """F1 of the multisets of content words. Blank reference: 0.

    If neither text has a content word: 1 if their words are equal, else 0.

    >>> content_f1("Paris is the capital", "the capital: Paris, France")
    0.8
    """
    ours, theirs = content_words_of(response), content_words_of(reference)
    if not ours and not theirs:
        return float(bool(words_of(reference)) and words_of(response) == words_of(reference))
    return 2 * overlap(ours, theirs) / (len(ours) + len(theirs))


@metric(needs=("response", "retrieved_contexts"), stage="grounding", stage_rank=20)
def overlap_faithfulness(sample: Sample) -> float:
    """Distinct content words of the response found in the contexts / distinct content words of the response.

    For content words see ``content_words``. Range 0 to 1. No content words in the response, or no contexts: 0. It
    detects neither negation nor order nor invented relations between words that the contexts contain.
    """
    return found_share(sample.response or "", sample.retrieved_contexts or [])


@metric(needs=("user_input", "response"))
def overlap_relevance(sample: Sample) -> float:
    """Distinct content words of the question found in the response / distinct content words of the question.

    Range 0 to 1. A question without content words: 0. A terse answer that does not repeat the question scores low.
    """
    return found_share(sample.user_input or "", [sample.response or ""])


@metric(needs=("response", "reference"), stage="answer", stage_rank=80)
def overlap_correctness(sample: Sample, *, aggregation: Aggregation = "best") -> float | Undefined:
    """F1 of the multisets of content words of response and reference.

    Range 0 to 1. Blank reference: 0.
    """
    if not sample.references:
        return Undefined("reference is an empty list")
    response = sample.response or ""
    return over_references(lambda one: content_f1(response, one), sample.references, aggregation)


class OverlapJudge:
    """A deterministic answer judge without a model: it returns the three overlap measures.

    Without a reference, correctness is 0.

    >>> case = JudgeInput("What is the capital of France?", "Paris is the capital of France.", "Paris", "Paris")
    >>> quality = OverlapJudge().judge(case)
    >>> quality.faithfulness, quality.relevance, quality.correctness
    (1.0, 0.0, 1.0)
    >>> quality.comment
    'answer in context: 1 of 1 words; question in answer: 0 of 2 words; F1 with reference: 1.00'
    """

    name = "overlap"

    def judge(self, case: JudgeInput, /) -> AnswerQuality:
        """Score one answer by the words that it shares with context, question and reference."""
        faithfulness = found_share(case.answer, [case.context])
        relevance = found_share(case.question, [case.answer])
        correctness = content_f1(case.answer, case.reference or "")
        comment = "; ".join(
            (
                f"answer in context: {_of(faithfulness, case.answer)}",
                f"question in answer: {_of(relevance, case.question)}",
                f"F1 with reference: {correctness:.2f}" if case.reference else "no reference",
            )
        )
        return AnswerQuality(faithfulness, relevance, correctness, comment)

    def __repr__(self) -> str:
        return "OverlapJudge()"


def _of(share: float, text: str) -> str:
    total = len(set(content_words_of(text)))
    return f"{round(share * total)} of {total} words"
