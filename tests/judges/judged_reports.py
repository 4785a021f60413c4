"""Reports and labels made for the tests of calibration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.core.records import Json, Sample
from steelyard.reports.estimates import pool_report
from steelyard.reports.provenance import DatasetNote, MetricNote
from steelyard.reports.report import Report
from steelyard.stats.pooling import Column


def report(
    scores: Mapping[str, Sequence[float | str | None]],
    *,
    tags: Sequence[Mapping[str, str]] | None = None,
    system: str = "sys",
    judge: str | None = "a judge",
    higher: bool = True,
    threshold: float | None = 0.5,
    draws: Mapping[int, list[float | None]] | None = None,
    evidence: Mapping[int, dict[str, Json]] | None = None,
) -> Report:
    """A judged report from plain scores: a number, None for undefined, text for the reason of a failure."""
    count = len(next(iter(scores.values())))
    ids = [f"q{number}" for number in range(count)]
    made = Report(ids=ids, judge=judge, dataset=DatasetNote("d", None, "abc"), system=system, policy={"repeats": 1})
    made.samples = [
        Sample(
            id=one,
            user_input=f"Question {one}?",
            response=f"Answer {one}",
            tags={} if tags is None else dict(tags[row]),
        )
        for row, one in enumerate(ids)
    ]
    for label, cells in scores.items():
        column = Column(np.array([cell if isinstance(cell, float | int) else math.nan for cell in cells]))
        column.failed = {row: cell for row, cell in enumerate(cells) if isinstance(cell, str)}
        column.undefined = {row: "not applicable" for row, cell in enumerate(cells) if cell is None}
        column.draws = dict(draws or {})
        column.evidence = dict(evidence or {})
        made.columns[label] = column
        made.notes[label] = MetricNote(label, "judged", higher_is_better=higher, threshold=threshold)
    pool_report(made, by=(), clusters=None, confidence=0.95, seed=0)
    return made
