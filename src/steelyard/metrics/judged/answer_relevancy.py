"""Answer relevancy: the judge generates questions from the answer, which are compared with the original question."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ...core.errors import BadReply, InputError
from ...core.records import Json, Sample, Value
from ...core.requests import Flow, Prompt, ask, embed
from ...stats.cosine import cosine
from ...text.language import languages_differ
from ..registry import Counting, metric
from .numbered_requests import Steps, distinct


def questions_prompt(count: int) -> Prompt:
    """The instruction to generate ``count`` questions from a response."""
    many = f"{count} different questions" if count > 1 else "one question"
    return Prompt(
        f"Write {many}, in the language of the response, that the response answers directly. noncommittal: true if it"
        " evades, declines or says that it does not know."
    )


class Questions(Struct):
    """Questions that a response answers; a blank one makes the reply unusable."""

    questions: list[str]
    noncommittal: bool

    def __post_init__(self) -> None:
        if self.noncommittal:
            return
        if not self.questions:
            raise ValueError("no questions")
        if not all(map(str.strip, self.questions)):
            raise ValueError("a question is blank")


@metric(
    needs=("user_input", "response"),
    revision=1,
    embeds=True,
    source="Es, James, Espinosa-Anke, Schockaert 2023: RAGAS. arXiv:2309.15217, answer relevance",
    aliases=("response_relevancy", "ResponseRelevancy", "AnswerRelevancy", "AnswerRelevancyMetric"),
    ten_point_aliases=("LLMRAGAnswerRelevancy",),
    hint="look at the prompt of the generator: answers evade the question or wander off it",
    declines=("noncommittal", "declines"),
)
def answer_relevancy(sample: Sample, *, strictness: Counting = 3) -> Flow:
    """Mean cosine between the question and ``strictness`` questions that the response answers, in [0, 1].

    The judge generates the questions in one request, and reports whether the response is noncommittal, which scores 0.
    A negative mean counts as 0. If a reply contains too few distinct questions, or questions in another language than
    the response, the request is repeated once. The mean is then over the questions obtained; the evidence gives their
    number, and the flag ``language_mismatch`` if a question in another language was used.

    A blank question is a bad reply. Needs an embedder. Source: Es et al. 2023, section 3.

    >>> from steelyard.core.requests import play
    >>> sample = Sample(user_input="When did it open?", response="In 1932.")
    >>> reply = {"questions": ["When did it open?", "What was in 1932?"], "noncommittal": False}
    >>> play(answer_relevancy(sample, strictness=2), [reply, [[1, 0], [1, 0], [0, 1]]]).value
    0.5
    """
    if strictness < 1:
        raise InputError(f"answer_relevancy(strictness={strictness}): must be at least 1")
    question, response = sample.user_input or "", sample.response or ""
    made = yield from _questions(response, question, strictness)
    if made is None:
        return Value(0.0, {"noncommittal": True, "questions": []})
    questions, foreign = made
    similarities = yield from _similarities(question, questions)
    evidence: dict[str, Json] = {
        "noncommittal": False,
        "questions": [
            {"question": made, "similarity": similarity}
            for made, similarity in zip(questions, similarities, strict=True)
        ],
        "generated": f"{len(questions)} of {strictness}",
    }
    if foreign:
        evidence["flags"] = ["language_mismatch"]
    return Value(max(0.0, sum(similarities) / len(similarities)), evidence)


def _questions(response: str, question: str, count: int) -> Steps[tuple[list[str], bool] | None]:
    """Get up to ``count`` questions that the response answers, and whether one of them is in a language other than that
    of response and question; None if the response is noncommittal."""
    fitting: list[str] = []
    foreign: list[str] = []
    for draw in range(2):
        try:
            reply = yield from ask(questions_prompt(count), Questions, draw=draw, response=response)
        except BadReply:
            if draw == 0:
                raise
            break  # the questions of the first reply remain usable
        if reply.noncommittal and draw == 0:
            return None
        for made in reply.questions:
            (foreign if languages_differ(made, response) and languages_differ(made, question) else fitting).append(made)
        fitting = distinct(fitting)
        if len(fitting) >= count:
            break
    chosen = (fitting + distinct(foreign))[:count]
    return chosen, len(chosen) > len(fitting)


def _similarities(question: str, questions: Sequence[str]) -> Steps[list[float]]:
    vectors = yield from embed([question, *questions])
    if len(vectors) != len(questions) + 1:
        raise BadReply("embedding", f"expected {len(questions) + 1} vectors, got {len(vectors)}")
    return [cosine(vectors[0], vector) for vector in vectors[1:]]
