"""Kinds of generated questions: their prompts, the shapes of the replies, and the drafts made from replies.

Every answer has a quote that must be in its passage word for word; the quote is the evidence for scoring retrieval.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from ..core.records import Span
from ..core.requests import Prompt, Requests, Text, ask
from ..text.find_passage import find_passage
from .passages import Passage

Kind: TypeAlias = Literal["single", "multi", "comparison", "unanswerable"]
Style: TypeAlias = Literal["plain", "keyword", "conversational", "misspelt"]
Difficulty: TypeAlias = Literal["easy", "medium", "hard"]

KINDS: dict[str, float] = {"single": 0.5, "multi": 0.2, "comparison": 0.15, "unanswerable": 0.15}
"""The kinds with their default shares of a set."""
STYLES: dict[str, float] = {"plain": 0.7, "keyword": 0.1, "conversational": 0.1, "misspelt": 0.1}
OF_TWO = frozenset({"multi", "comparison"})

_ALONE = (
    " The question is about what the text says, not about the text: it makes sense to somebody who has not seen it, so"
    " it names what it is about and never says 'the passage' or 'the text'. The answer is short. Each quote is copied"
    " from the passage word for word, without any change, and holds the answer."
)
_INSTRUCTIONS: dict[str, str] = {
    "single": "Write a question that the passage answers, with its answer and the quote that holds it." + _ALONE,
    "multi": "Write a question that needs both passages: what the first says leads to what the second says, and neither"
    " answers it alone. Give the answer, and a quote from each passage." + _ALONE,
    "comparison": "Write a question that compares something both passages tell of (which is earlier, larger, what"
    " differs, what they share). Give the answer, and a quote from each passage." + _ALONE,
    "unanswerable": "Write a question on the subject of the passage that a reader might well ask, but which the passage"
    " does not answer, and say what would have to be known. The question makes sense to somebody who has not seen the"
    " passage.",
}
_STYLE_INSTRUCTIONS: dict[str, str] = {
    "plain": "",
    "misspelt": "",
    "keyword": " Write the question as a search query of three to six key words, without a question word.",
    "conversational": " Write the question as somebody says it in a conversation, with a word of their situation.",
}
PROMPTS = {
    (kind, style): Prompt(_INSTRUCTIONS[kind] + _STYLE_INSTRUCTIONS[style])
    for kind in _INSTRUCTIONS
    for style in _STYLE_INSTRUCTIONS
}


class OfOne(Struct):
    """A question on one passage."""

    question: Text
    answer: Text
    quote: Text
    difficulty: Difficulty


class OfTwo(Struct):
    """A question on two passages, with a quote from each."""

    question: Text
    answer: Text
    first_quote: Text
    second_quote: Text
    difficulty: Difficulty


class Without(Struct):
    """A question without an answer."""

    question: Text
    missing: Text
    difficulty: Difficulty


class Draft(Struct, frozen=True):
    """A generated question with its answer (None if unanswerable) and its evidence (None for a quote not found)."""

    question: str
    answer: str | None
    spans: tuple[Span | None, ...]
    difficulty: str


def draft(kind: str, style: str, passages: tuple[Passage, ...], *, number: int = 0) -> Generator[Requests, Any, Draft]:
    """Request a question; ``number`` distinguishes several questions on the same passages."""
    prompt = PROMPTS[kind, style]
    if kind == "unanswerable":
        none = yield from ask(prompt, Without, draw=number, passage=passages[0].text)
        return Draft(none.question, None, (), none.difficulty)
    if kind in OF_TWO:
        two = yield from ask(prompt, OfTwo, draw=number, passage=[passage.text for passage in passages])
        quotes = (two.first_quote, two.second_quote)
        spans = tuple(quoted(quote, passage) for quote, passage in zip(quotes, passages, strict=True))
        return Draft(two.question, two.answer, spans, two.difficulty)
    one = yield from ask(prompt, OfOne, draw=number, passage=passages[0].text)
    return Draft(one.question, one.answer, (quoted(one.quote, passages[0]),), one.difficulty)


def quoted(quote: str, passage: Passage) -> Span | None:
    """Locate a quote in its passage, exactly except for white space; None if it is not there.

    >>> quoted("the lamp", Passage("d", 10, 40, "He trims the  lamp at night."))
    Span(doc='d', start=19, end=28, text='the  lamp', digest=None)
    """
    place = find_passage(quote.strip().strip("\"“”'"), passage.text, 1.0)
    return None if place is None or not place.length else passage.span(place.start, place.end)
