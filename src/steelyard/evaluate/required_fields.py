"""Whether a metric is undefined on a sample because a field that it needs is missing or blank."""

from __future__ import annotations

from ..core.records import Sample
from ..metrics.lookup import RequestedMetric


def absent(requested: RequestedMetric, sample: Sample) -> str | None:
    """The reason why a metric cannot run on a sample; None if it can.

    A lexical metric skips a sample only if a field is absent: a blank response or an empty list of contexts is a real,
    bad output. A judged metric skips blank text too.
    """
    for need in requested.metric.needs:
        value = getattr(sample, need, None)
        if value is None or (need == "reference" and value == []):
            return f"no {need}"
        if requested.metric.kind == "judged" and _blank(value):
            return f"blank {need}"
    return None


def _blank(value: object) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, list) and not any(not isinstance(item, str) or item.strip() for item in value)
