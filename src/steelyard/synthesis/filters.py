"""Filters of generated questions. Each filter returns the reason of a rejection.

Reasons, in the order of the checks (checks without a call come first):

    span not found                     a quote is not in its passage
    wrong language                     the question is not in the language of the passage
    answer in the question             the question gives its answer away (a comparison names what it compares)
    answerable without the passage     the model knows the answer by itself
    one passage suffices               a question on two passages can be answered from one
    round trip disagrees               answered from its passages, the answer is another, or there is none
    answerable after all               a question without an answer has one in related passages
    near duplicate                     of an accepted question
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Literal

from msgspec import Struct

from ..core.requests import Prompt, Requests, ask
from ..metrics.lexical.token_overlap import token_f1
from ..text.language import languages_differ
from ..text.tokens import normalize_answer
from .passages import Passage
from .question_kinds import Draft

SPAN, LANGUAGE, GIVEN_AWAY = "span not found", "wrong language", "answer in the question"
KNOWN, ONE_SUFFICES, DISAGREES = "answerable without the passage", "one passage suffices", "round trip disagrees"
AFTER_ALL, DUPLICATE = "answerable after all", "near duplicate"
AGREE_AT = 0.6
"""Token F1 from which two answers are equal without a call."""

CLOSED = Prompt(
    "Answer the question from what you know, in a few words. If you do not know it for certain, say so: known is no."
)
OPEN = Prompt(
    "Answer the question from the passages alone, in a few words. If they do not hold the answer, say so: found is no."
)
SAME = Prompt("Do the two answers to the question say the same? Other words, or more detail, are no difference.")


class Closed(Struct):
    """What the model knows."""

    known: Literal["yes", "no"]
    answer: str


class Opened(Struct):
    """What the passages say."""

    found: Literal["yes", "no"]
    answer: str


class Same(Struct):
    """Whether two answers agree."""

    same: Literal["yes", "no"]


Refusal = Generator[Requests, Any, "str | None"]


def refusal(kind: str, drafted: Draft, passages: Sequence[Passage], related: Sequence[Passage]) -> Refusal:
    """Apply the filters that call the model; return the reason of a rejection, or None."""
    question, answer = drafted.question, drafted.answer
    if answer is None:
        found = yield from ask(OPEN, Opened, passages=[one.text for one in (*passages, *related)], question=question)
        return AFTER_ALL if found.found == "yes" else None
    closed = yield from ask(CLOSED, Closed, question=question)
    if closed.known == "yes" and (yield from same_answer(question, closed.answer, answer)):
        return KNOWN
    if kind == "multi":
        for one in passages:
            alone = yield from ask(OPEN, Opened, passages=[one.text], question=question)
            if alone.found == "yes" and (yield from same_answer(question, alone.answer, answer)):
                return ONE_SUFFICES
    again = yield from ask(OPEN, Opened, passages=[one.text for one in passages], question=question)
    if again.found == "no" or not (yield from same_answer(question, again.answer, answer)):
        return DISAGREES
    return None


def rehearse(kind: str, question: str, passages: Sequence[Passage], related: Sequence[Passage]) -> Refusal:
    """Make the requests that ``refusal`` makes for an accepted question, to estimate their cost."""
    if kind == "unanswerable":
        yield from ask(OPEN, Opened, passages=[one.text for one in (*passages, *related)], question=question)
        return None
    yield from ask(CLOSED, Closed, question=question)
    for some in [*([[one] for one in passages] if kind == "multi" else []), passages]:
        yield from ask(OPEN, Opened, passages=[one.text for one in some], question=question)
    return None


def plain_refusal(kind: str, drafted: Draft, passages: Sequence[Passage]) -> str | None:
    """Apply the filters that need no call; return the reason of a rejection, or None."""
    if any(span is None for span in drafted.spans):
        return SPAN
    if any(languages_differ(drafted.question, passage.text) for passage in passages):
        return LANGUAGE
    if kind != "comparison" and drafted.answer is not None and gives_away(drafted.question, drafted.answer):
        return GIVEN_AWAY
    return None


def gives_away(question: str, answer: str) -> bool:
    """Return whether the question contains the answer word for word.

    >>> gives_away("When was the lamp of 1811 lit?", "1811"), gives_away("When was it lit?", "1811")
    (True, False)
    """
    given = normalize_answer(answer)
    return bool(given) and f" {given} " in f" {normalize_answer(question)} "


def same_answer(question: str, one: str, other: str) -> Generator[Requests, Any, bool]:
    """Return whether two answers mean the same: by their words if these decide, else by a request."""
    a, b = normalize_answer(one), normalize_answer(other)
    if not a or not b:
        return False
    if a == b or token_f1(one, other) >= AGREE_AT:
        return True
    if f" {a} " in f" {b} " or f" {b} " in f" {a} ":
        return True
    reply = yield from ask(SAME, Same, question=question, first=one, second=other)
    return reply.same == "yes"
