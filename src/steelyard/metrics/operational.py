"""What an answer took: seconds, tokens, cost, and whether there was one. Read from the sample, asked of nobody."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..core.errors import InputError
from ..core.records import Json, Sample, Undefined, Value
from .registry import metric

_USAGE = "usage"


@metric(needs=(), way="measured", revision=1, bounds=None, higher_is_better=False, aliases=("latency",))
def seconds(sample: Sample) -> Value | Undefined:
    """Seconds that the system took to answer: ``metadata.seconds`` (or ``latency``, ``latency_ms`` / 1000).

    At least 0, no upper bound, lower is better. Absent: undefined; not a number, or below 0: an error.

    >>> seconds(Sample(metadata={"latency_ms": 1500})).value
    1.5
    """
    found = _first(sample, "seconds", "latency")
    if found is None and (thousandths := _first(sample, "latency_ms")) is not None:
        found = thousandths / 1000
    return _told(found, "seconds")


@metric(needs=(), way="measured", revision=1, bounds=None, higher_is_better=False)
def tokens(sample: Sample) -> Value | Undefined:
    """Tokens that the answer took: ``tokens`` or ``total_tokens``, else ``prompt_tokens`` + ``completion_tokens``
    (or ``input_tokens`` + ``output_tokens``), in ``metadata`` or ``metadata.usage``.

    At least 0, no upper bound, lower is better. Absent: undefined; not a number, or below 0: an error.

    >>> tokens(Sample(metadata={"usage": {"prompt_tokens": 900, "completion_tokens": 100}})).value
    1000.0
    """
    found = _first(sample, "tokens", "total_tokens")
    parts = [_first(sample, "prompt_tokens", "input_tokens"), _first(sample, "completion_tokens", "output_tokens")]
    known = [part for part in parts if part is not None]
    if found is None and known:
        found = sum(known)
    return _told(found, "tokens")


@metric(needs=(), way="measured", revision=1, bounds=None, higher_is_better=False)
def cost(sample: Sample) -> Value | Undefined:
    """What the answer cost, in the currency of the data: ``metadata.cost`` or ``metadata.usage.cost``.

    At least 0, no upper bound, lower is better. Absent: undefined; not a number, or below 0: an error.
    """
    return _told(_first(sample, "cost"), "cost")


@metric(needs=(), way="measured", revision=1)
def answered(sample: Sample) -> float:
    """1 if there is a response that is not blank, else 0; the mean is the share of samples that got an answer.

    >>> answered(Sample(response="In 1932.")), answered(Sample(response=" ")), answered(Sample())
    (1.0, 0.0, 0.0)
    """
    return float(bool(sample.response and sample.response.strip()))


def _told(number: float | None, name: str) -> Value | Undefined:
    return Undefined(f"no {name} in metadata") if number is None else Value(float(number))


def _first(sample: Sample, *names: str) -> float | None:
    """The first of the names that the metadata, or its usage block, holds."""
    usage = sample.metadata.get(_USAGE)
    places: list[Mapping[str, Json]] = [sample.metadata, *([usage] if isinstance(usage, dict) else [])]
    for place in places:
        for name in names:
            if place.get(name) is not None:
                return _number(place[name], name)
    return None


def _number(value: Json, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise InputError(f"expected a number of at least 0, found {value!r}", field=f"metadata.{name}")
    return float(value)
