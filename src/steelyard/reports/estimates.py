"""Compute the estimates of a report, over all samples and by slice, in the same way for every command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..core.errors import InputError
from ..core.records import Estimate
from ..stats.pooling import estimate, groups
from .report import Report


def pool_report(
    report: Report,
    *,
    by: str | Sequence[str] | None,
    clusters: Sequence[str] | None,
    confidence: float,
    seed: int,
) -> None:
    """Pool every column; an existing estimate (a batch metric's own) is not replaced."""
    tags = [sample.tags for sample in report.samples]
    pooled = _pooled(report, range(len(report.ids)), clusters, confidence, seed)
    report.estimates = {label: report.estimates.get(label, pooled[label]) for label in report.columns}
    for tag in [by] if isinstance(by, str) else by or ():
        check_tag(tag, tags)
        for value, rows in groups(tags, tag).items():
            report.slices[f"{tag}={value}"] = _pooled(report, rows, clusters, confidence, seed)


def clusters_of(report: Report, tag: str | None) -> list[str] | None:
    """The cluster of each sample by a tag; a sample without it is a cluster of its own."""
    if tag is None:
        return None
    tags = [sample.tags for sample in report.samples]
    check_tag(tag, tags)
    return [one.get(tag, f"(none {row})") for row, one in enumerate(tags)]


def check_tag(tag: str, tags: Sequence[Mapping[str, str]]) -> None:
    """Raise InputError if no sample has the tag."""
    known = sorted({key for one in tags for key in one})
    if tag not in known:
        raise InputError(f"no sample has the tag {tag!r} (tags here: {', '.join(known) or 'none'})")


def _pooled(
    report: Report, rows: Sequence[int], clusters: Sequence[str] | None, confidence: float, seed: int
) -> dict[str, Estimate]:
    every = len(rows) == len(report.ids)
    part = None if clusters is None else [clusters[row] for row in rows]
    pooled = {}
    for label, column in report.columns.items():
        note = report.notes[label]
        pooled[label] = estimate(
            column if every else column.take(rows),
            metric=label,
            pool=note.pool,
            way=note.way,
            bounds=note.bounds,
            threshold=note.threshold,
            higher_is_better=note.higher_is_better,
            confidence=confidence,
            seed=seed,
            cluster=part,
        )
    return pooled
