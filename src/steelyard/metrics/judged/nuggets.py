"""Nugget recall: the share of the facts of a good answer that a response contains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from ...core.errors import InputError
from ...core.records import Json, Sample, Undefined, Value
from ...core.requests import Flow, Prompt, ask
from ...core.validation import validation_problem
from ..registry import metric
from .numbered_requests import Steps, judged

Importance: TypeAlias = Literal["vital", "okay"]

CREATE = Prompt(
    "List the facts of the text that a good answer to the question holds: each a phrase that stands alone, at most 20,"
    " the most important first. vital: without it the answer is not good; okay: worth having."
)


class Nugget(Struct, frozen=True):
    """A fact, and whether an answer needs it (vital) or is better for it (okay)."""

    text: str
    importance: Importance = "vital"


class Nuggets(Struct):
    """The facts that a good answer holds."""

    nuggets: list[Nugget]


ASSIGN = Prompt(
    "Does the response hold each nugget? full: it states or plainly implies all of it; partial: some of it; none:"
    " nothing, or the contrary. Reason in one sentence, then support."
)

CREDIT = {"full": 1.0, "partial": 0.5, "none": 0.0}


class Assignment(Struct):
    """How far a response holds a nugget."""

    reason: str
    support: Literal["full", "partial", "none"]


@metric(
    needs=("user_input", "response"),
    revision=1,
    source="Pradeep et al. 2024: AutoNuggetizer, TREC 2024 RAG track. arXiv:2411.09607",
    hint="read the vital nuggets that are missing: retrieved but not said, or never retrieved?",
)
def nugget_recall(
    sample: Sample, *, score: Literal["weighted", "strict", "vital", "vital_strict"] = "weighted"
) -> Flow:
    """Share of the facts of a good answer (nuggets) that the response contains, in [0, 1].

    Support is 1 for full, 1/2 for partial, 0 for none. ``weighted``: ``(sum over vital + 1/2 sum over okay) /
    (vital + 1/2 okay)``; ``vital``: the mean over vital nuggets; ``strict`` and ``vital_strict`` are the means over
    all nuggets, and over the vital ones, with partial support counted as 0. The evidence holds all four.

    Nuggets are given in ``metadata.nuggets`` (texts, or ``{text, importance}``), else the judge makes them from the
    references in one request. Undefined without nuggets and reference, or if the judge lists no nugget; the vital
    scores are also undefined if no nugget is vital.
    """
    nuggets = _given(sample)
    if nuggets is None:
        references = [one for one in sample.references if one.strip()]
        if not references:
            return Undefined("no nuggets, and no reference to make them from")
        nuggets = yield from _made(sample.user_input or "", references)
    if not nuggets:
        return Undefined("no nuggets")
    fields: dict[str, Any] = {"question": sample.user_input or "", "response": sample.response or ""}
    replies = yield from judged(ASSIGN, Assignment, [one.text for one in nuggets], of="nugget", **fields)
    scores = nugget_scores([one.importance for one in nuggets], [reply.support for reply in replies])
    evidence: dict[str, Json] = {
        "nuggets": [
            {"text": one.text, "importance": one.importance, "support": reply.support, "reason": reply.reason}
            for one, reply in zip(nuggets, replies, strict=True)
        ],
        "scores": {**scores},
    }
    value = scores[score]
    return Undefined("no vital nuggets", evidence) if value is None else Value(value, evidence)


def nugget_scores(importance: Sequence[str], support: Sequence[str]) -> dict[str, float | None]:
    """The four scores of assigned nuggets; None if the divisor is 0.

    >>> nugget_scores(["vital", "vital", "okay"], ["full", "partial", "none"])
    {'weighted': 0.6, 'strict': 0.3333333333333333, 'vital': 0.75, 'vital_strict': 0.5}
    """
    credit = [CREDIT[one] for one in support]
    full = [float(one == "full") for one in support]
    weights = [1.0 if one == "vital" else 0.5 for one in importance]
    vital = [float(one == "vital") for one in importance]
    return {
        "weighted": _mean(credit, weights),
        "strict": _mean(full, [1.0] * len(full)),
        "vital": _mean(credit, vital),
        "vital_strict": _mean(full, vital),
    }


def _mean(values: Sequence[float], weights: Sequence[float]) -> float | None:
    whole = sum(weights)
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / whole if whole else None


def _given(sample: Sample) -> list[Nugget] | None:
    given = sample.metadata.get("nuggets")
    if given is None:
        return None
    texts = [{"text": one} if isinstance(one, str) else one for one in given] if isinstance(given, list) else given
    try:
        nuggets = msgspec.convert(texts, list[Nugget], strict=True)
    except msgspec.ValidationError as error:
        wrong = validation_problem(error, texts)
        words = f"expected a list of texts or of {{text, importance}}: {wrong.words}"
        raise InputError(words, field=wrong.below("nuggets")) from None
    return [one for one in nuggets if one.text.strip()]


def _made(question: str, references: Sequence[str]) -> Steps[list[Nugget]]:
    reply = yield from ask(CREATE, Nuggets, question=question, text=references)
    by_words = {" ".join(one.text.casefold().split()): one for one in reversed(reply.nuggets) if one.text.strip()}
    return list(reversed(by_words.values()))
