"""Reasons not to compare two reports: different data, another judge, another metric definition, failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core.errors import InputError
from ..core.package import is_ours
from ..core.records import Json
from ..metrics.lookup import get_metric
from ..metrics.registry import Metric
from .provenance import MetricNote
from .report import Report

NOT_COMPARED = ("confidence", "seed", "repeats")
"""Parts of a policy that affect the certainty of a number, not its value."""
WITHOUT_JUDGE = ("ranking", "lexical", "measured", "custom")
"""Ways that need no judge; if one of their metrics has requests, they went to an embedder."""
Asks = Callable[[MetricNote, bool], bool]


def blockers(current: Report, baseline: Report, labels: Sequence[str], max_failed: float) -> list[str]:
    """The reasons not to compare the metrics of two reports, one line each; empty if there are none.

    A different judge or embedder is a blocker only for metrics that use it and that are in both reports.
    """
    both = [label for label in labels if label in current.notes and label in baseline.notes]
    found = []
    if current.dataset.digest != baseline.dataset.digest:
        found.append(
            f"different dataset: {baseline.dataset.digest or 'none'} before, {current.dataset.digest or 'none'} now"
        )
    for label in both:
        found += _another_metric(label, baseline.notes[label], current.notes[label])
    before, now = baseline.fingerprint, current.fingerprint
    for what, asks in (("judge", asks_judge), ("embedder", asks_embedder)):
        if before[what] != now[what] and (concerned := _concerned(baseline, current, both, asks)):
            found.append(
                f"different {what}: {_shown(before[what])} before, {_shown(now[what])} now"
                f" (used by {', '.join(concerned)})"
            )
    found += [
        f"different policy: {key}={_shown(baseline.policy.get(key))} before, {_shown(current.policy.get(key))} now"
        for key in sorted({*baseline.policy, *current.policy} - set(NOT_COMPARED))
        if baseline.policy.get(key) != current.policy.get(key)
    ]
    for label in labels:
        share = current.failed_share.get(label, 0.0)
        if share > max_failed:
            one = current.estimates[label]
            found.append(
                f"{label}: {one.failed} of {one.n + one.failed} failed ({share:.1%}; allowed {max_failed:.1%})"
            )
    return found


def _another_metric(label: str, before: MetricNote, now: MetricNote) -> list[str]:
    return [
        f"{label} differs in {what}: {was!r} before, {is_!r} now"
        for what, was, is_ in (
            ("name", before.name, now.name),
            ("way", before.way, now.way),
            ("revision", before.revision, now.revision),
            ("pool", before.pool, now.pool),
        )
        if was != is_
    ]


def _concerned(baseline: Report, current: Report, labels: Sequence[str], asks: Asks) -> list[str]:
    return [
        label
        for label in labels
        if any(asks(side.notes[label], bool(side.columns[label].requests)) for side in (baseline, current))
    ]


def asks_judge(note: MetricNote, requested: bool) -> bool:
    """Whether a metric uses a judge; ``requested`` is true if some of its cells made requests."""
    return note.way not in WITHOUT_JUDGE or (requested and _own(note) is None)


def asks_embedder(note: MetricNote, requested: bool) -> bool:
    """Whether a metric uses an embedder. A metric that is not built in is assumed to use one if it made requests."""
    one = _own(note)
    if one is not None:
        return one.embeds or one.may_embed
    return note.way not in WITHOUT_JUDGE or requested


def _own(note: MetricNote) -> Metric | None:
    """The metric of a note, if it is built in; the records of files and plugins are not trusted to be complete."""
    if ".py:" in note.name:
        return None
    try:
        found = get_metric(note.name, way=note.way)
    except InputError:
        return None
    return found if is_ours(found.rule) else None


def _shown(value: Json) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
