"""Operational metrics, read from the sample: seconds, tokens and cost of an answer, and whether there is one."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..core.errors import InputError
from ..core.records import Json, Sample, Undefined, Value
from .registry import metric

_USAGE = "usage"


@metric(needs=(), way="measured", revision=1, bounds=None, higher_is_better=False, aliases=("latency",))
def seconds(sample: Sample) -> Value | Undefined:
    """Seconds that the system needed to answer: ``metadata.seconds`` (or ``latency``, ``latency_ms`` / 1000).

    At least 0, no upper bound, lower is better. Absent: undefined; not a number, or below 0: an error.

    >>> seconds(Sample(metadata={"latency_ms": 1500})).value
    1.5
    """
    found = _first(sample, "seconds", "latency")
    if found is None and (thousandths := _first(sample, "latency_ms")) is not None:
        found = thousandths / 1000
    return _value_or_undefined(found, "seconds")


@metric(needs=(), way="measured", revision=1, bounds=None, higher_is_better=False)
def tokens(sample: Sample) -> Value | Undefined:
    """Tokens used for the answer: ``tokens`` or ``total_tokens``, else ``prompt_tokens`` + ``completion_tokens``
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
    return _value_or_undefined(found, "tokens")


@metric(needs=(), way="measured", revision=1, bounds=None, higher_is_better=False)
def cost(sample: Sample) -> Value | Undefined:
    """Cost of the answer, in the currency of the data: ``metadata.cost`` or ``metadata.usage.cost``.

    At least 0, no upper bound, lower is better. Absent: undefined; not a number, or below 0: an error.
    """
    return _value_or_undefined(_first(sample, "cost"), "cost")


@metric(needs=(), way="measured", revision=1)
def answered(sample: Sample) -> float:
    """1 if the response is not blank, else 0; the mean is the share of samples with an answer.

    >>> answered(Sample(response="In 1932.")), answered(Sample(response=" ")), answered(Sample())
    (1.0, 0.0, 0.0)
    """
    return float(bool(sample.response and sample.response.strip()))


def _value_or_undefined(number: float | None, name: str) -> Value | Undefined:
    return Undefined(f"no {name} in metadata") if number is None else Value(float(number))


def _first(sample: Sample, *names: str) -> float | None:
    """The value of the first of the names that is in the metadata or in its usage block."""
    usage = sample.metadata.get(_USAGE)
    blocks: list[Mapping[str, Json]] = [sample.metadata, *([usage] if isinstance(usage, dict) else [])]
    for block in blocks:
        for name in names:
            if block.get(name) is not None:
                return _number(block[name], name)
    return None


def _number(value: Json, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise InputError(f"expected a number of at least 0, found {value!r}", field=f"metadata.{name}")
    return float(value)
