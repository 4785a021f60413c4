"""Rubric: a rating by criteria given in words, weighted by token probabilities if the endpoint returns them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from ...core.errors import BadReply, InputError
from ...core.records import Json, Sample, Undefined, Value
from ...core.requests import Flow, Prompt, WithLogprobs, ask, ask_with_logprobs
from ..registry import metric


class Preset(Struct, frozen=True):
    """Named criteria: their words, the scale with the meaning of its ratings, and the fields that they need."""

    criteria: str
    needs: tuple[str, ...]
    scale: str = ""
    levels: str = ""


PRESETS: Mapping[str, Preset] = {
    "correctness": Preset(
        "Is the response a correct and complete answer by the reference? Its wording and length do not count.",
        needs=("reference",),
        scale="1-5",
        levels="1 wrong or no answer; 2 mostly wrong; 3 half right, or a main part is missing; 4 right but for a minor"
        " point; 5 right and complete",
    ),
    "coherence": Preset("Is the response well ordered, free of contradiction and easy to follow?", needs=()),
    "completeness": Preset("Does the response answer every part of the question?", needs=("user_input",)),
    "conciseness": Preset("Does the response say what is needed without padding or repetition?", needs=()),
}
"""Criteria by name; any other text is used as the criteria itself."""

_SHOWN = {"user_input": "question", "reference": "reference", "retrieved_contexts": "context"}
_SCALE = re.compile(r"\s*(-?\d{1,6})\s*(?:-|–|to|\.\.)\s*(-?\d{1,6})\s*")


class ScaleRating(Struct):
    """A reason, then a rating on the declared scale."""

    reason: str
    rating: int


@lru_cache(maxsize=64)
def rating_shape(low: int, high: int) -> type[ScaleRating]:
    """``ScaleRating`` limited to the scale."""
    on_scale = [("rating", Annotated[int, Meta(ge=low, le=high)])]
    return msgspec.defstruct("ScaleRating", on_scale, bases=(ScaleRating,))  # type: ignore[return-value]


def rating_prompt(criteria: str, low: int, high: int, levels: str = "") -> Prompt:
    """The instruction to rate by criteria, which are the user's own words and part of the instruction, not data."""
    meaning = f"\nRatings: {levels}." if levels else f" {low} is worst, {high} best."
    return Prompt(
        f"Rate the response from {low} to {high} by these criteria and nothing else.{meaning}\nCriteria: {criteria}\n"
        "Give the reason first (what speaks for and against it), then the rating."
    )


def _check(*, criteria: str, scale: str, fields: str | None, **_: object) -> None:
    """Check the parameters of a rubric."""
    if not criteria.strip():
        raise InputError("rubric(criteria=''): say what to rate")
    _bounds(scale)
    _named(fields or "")


@metric(
    needs=("response",),
    revision=2,
    source="Liu et al. 2023: G-Eval. arXiv:2303.16634, with the rating as a typed field",
    aliases=("g_eval", "GEval", "llm_judge"),
    hint="read the reasons of the lowest ratings",
    check=_check,
    stage="answer",
    stage_rank=130,
    stage_if=lambda *, criteria, **_: criteria == "correctness",
)
def rubric(
    sample: Sample,
    *,
    criteria: str = "correctness",
    scale: str = "1-5",
    fields: str | None = None,
    weighted: bool = True,
) -> Flow:
    """``(rating - min) / (max - min)`` of the judge's rating by ``criteria`` given in words; in [0, 1].

    ``criteria`` is a text, or the name of a preset: ``correctness`` (against the reference, with a meaning for each
    rating from 1 to 5), ``coherence``, ``completeness``, ``conciseness``. ``scale`` is ``min-max``. The judge gets
    the response, and the question and the reference if there are any; ``fields`` (such as
    ``"user_input,retrieved_contexts"``) lists instead the fields that it gets besides the response, and a sample
    without one of them is undefined.

    If the endpoint returns the probabilities of the tokens (logprobs), the rating is the mean of the ratings on the
    scale weighted by their probabilities, as in G-Eval; the evidence holds ``weighted`` and the ``chances``. Without
    them, or with ``weighted=False``, the rating counts as written. A scale with negative ratings is never weighted.

    A rating outside the scale is a bad reply: it is neither clipped nor rounded. Source: Liu et al. 2023.

    >>> from steelyard.core.requests import play
    >>> sample = Sample(user_input="When?", response="In 1932.", reference="1932")
    >>> play(rubric(sample), [{"reason": "right", "rating": 4}]).value
    0.75
    """
    _check(criteria=criteria, scale=scale, fields=fields)
    low, high = _bounds(scale)
    preset = PRESETS.get(criteria, Preset(criteria, needs=()))
    wanted = preset.needs if fields is None else (*preset.needs, *_named(fields))
    for name in wanted:
        if not _text(sample, name):
            return Undefined(f"no {name}")
    shown = ("user_input", "reference") if fields is None else wanted
    data: dict[str, Any] = {label: _text(sample, name) for name, label in _SHOWN.items() if name in shown}
    data = {label: text for label, text in data.items() if text} | {"response": sample.response or ""}
    prompt = rating_prompt(preset.criteria, low, high, preset.levels if preset.scale == scale else "")
    if weighted and low >= 0:
        found = yield from ask_with_logprobs(prompt, rating_shape(low, high), "rating", **data)
    else:
        found = WithLogprobs((yield from ask(prompt, rating_shape(low, high), **data)))
    reply, chances = found.reply, _on_scale(found.chances, low, high)
    if not low <= reply.rating <= high:
        raise BadReply("out_of_range", f"rating {reply.rating} on a scale from {low} to {high}")
    evidence: dict[str, Json] = {"rating": reply.rating, "scale": [low, high], "reason": reply.reason}
    evidence["weighted"] = bool(chances)
    rating = float(reply.rating)
    if chances:
        mean = sum(number * chance for number, chance in chances.items())
        rating = min(float(high), max(float(low), mean))
        evidence["chances"] = {str(number): round(chance, 6) for number, chance in chances.items()}
    return Value((rating - low) / (high - low), evidence)


def _on_scale(chances: Mapping[int, float], low: int, high: int) -> dict[int, float]:
    """The probabilities of the ratings on the scale; empty if they cannot be distinguished.

    A judge that writes numbers digit by digit adds the probability of 10 to that of 1. On a scale with ratings of two
    digits, the probabilities therefore count only if such a rating is among them.
    """
    on = {number: chance for number, chance in chances.items() if low <= number <= high}
    if high > 9 and not any(number > 9 for number in on):
        return {}
    total = sum(on.values())
    return {number: chance / total for number, chance in on.items()} if total > 0 else {}


def _bounds(scale: str) -> tuple[int, int]:
    found = _SCALE.fullmatch(scale)
    if found is None or int(found[1]) >= int(found[2]):
        raise InputError(f"rubric(scale={scale!r}): expected min-max in whole numbers, such as '1-5'")
    return int(found[1]), int(found[2])


def _named(fields: str) -> list[str]:
    names = [name.strip() for name in fields.split(",") if name.strip()]
    for name in names:
        if name not in _SHOWN and name != "response":
            raise InputError(f"rubric(fields=…): unknown field {name!r} (expected {', '.join(_SHOWN)})")
    return names


def _text(sample: Sample, field: str) -> str | list[str]:
    """The text of a field for the prompt; empty if it is absent or blank."""
    value = sample.references if field == "reference" else getattr(sample, field)
    if isinstance(value, list):
        texts = [text for text in value if text.strip()]
        return texts[0] if field == "reference" and len(texts) == 1 else texts
    return value if value and value.strip() else ""
