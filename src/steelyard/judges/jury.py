"""The judges of a jury: the scores of each, their agreement, and their influence on the combined score.

``evaluate.jury`` scores by several judges; this module reads such a report.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from ..core.records import Json, Usage
from ..evaluate.jury import KEY, RULES, verdict
from ..reports.provenance import MetricNote
from ..reports.report import Report
from ..stats.agreement import Agreement, accuracy
from ..stats.krippendorff import krippendorff_alpha
from ..stats.pooling import Column


class Seat(Struct, frozen=True):
    """One judge: by metric its mean score and its influence (the jury's mean with it minus without it); its usage.

    ``agrees`` is the share of samples on which its verdict is that of most of the others, with ``n``, their number.
    """

    judge: str
    values: dict[str, float | None]
    influence: dict[str, float | None]
    agrees: dict[str, Agreement]
    usage: Usage


class Panel(Struct, frozen=True):
    """A jury: its rule, its judges, and by metric Krippendorff's alpha between them."""

    rule: str
    seats: list[Seat]
    alpha: dict[str, Agreement]


def panel(report: Report) -> Panel | None:
    """The judges of a report with their scores, agreement and influence; None if the report has no jury.

    All of it comes from the evidence, so a saved report has it too.
    """
    rule = str(report.policy.get(KEY))
    labels = [label for label in report.columns if _votes(report.columns[label])]
    if rule not in RULES or not labels:
        return None
    seats: list[str] = list(dict.fromkeys(name for label in labels for name in _votes(report.columns[label])))
    costs = report.run.get("judges")
    found = []
    for name in seats:
        values, influence, agrees = dict[str, float | None](), dict[str, float | None](), dict[str, Agreement]()
        for label in labels:
            votes, note = _votes(report.columns[label]), report.notes[label]
            values[label] = _mean(votes[name])
            influence[label] = _influence(votes, name, note, rule)
            agrees[label] = _agrees(votes, name, note)
        cost = costs.get(name) if isinstance(costs, dict) else None
        found.append(Seat(name, values, influence, agrees, _usage(cost)))
    alpha = {label: _alpha(_votes(report.columns[label])) for label in labels}
    return Panel(rule, found, alpha)


Votes: TypeAlias = dict[str, list[float | None]]


def _votes(column: Column) -> Votes:
    """The scores of each judge, by row; empty if the column is not a jury's."""
    found: Votes = {}
    for row in range(len(column.values)):
        judges = column.evidence.get(row, {}).get(KEY)
        for name, one in judges.items() if isinstance(judges, dict) else ():
            value = one.get("value") if isinstance(one, dict) else None
            votes = found.setdefault(name, [None] * len(column.values))
            votes[row] = float(value) if isinstance(value, int | float) else None
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    there = [one for one in values if one is not None]
    return math.fsum(there) / len(there) if there else None


def _influence(votes: Votes, name: str, note: MetricNote, rule: str) -> float | None:
    """The jury's mean with a judge minus its mean without it, over the samples on which both have a score."""
    moved = []
    for row in range(len(votes[name])):
        every = verdict([one[row] for one in votes.values()], note, rule)
        rest = verdict([one[row] for other, one in votes.items() if other != name], note, rule)
        if every is not None and rest is not None:
            moved.append(every - rest)
    return math.fsum(moved) / len(moved) if moved else None


def _agrees(votes: Votes, name: str, note: MetricNote) -> Agreement:
    """The share of samples on which a judge's verdict is that of most of the others."""
    alone = [verdict([one], note, "majority") for one in votes[name]]
    others = [one for other, one in votes.items() if other != name]
    most = [verdict([one[row] for one in others], note, "majority") for row in range(len(alone))]
    return accuracy(most, alone)


def _alpha(votes: Votes) -> Agreement:
    ratings = list(votes.values())
    if sum(sum(one[row] is not None for one in ratings) > 1 for row in range(len(ratings[0]))) == 0:
        return Agreement(None, reason="no sample has two scores")
    return krippendorff_alpha(ratings, "interval")


def _usage(cost: Json) -> Usage:
    if not isinstance(cost, dict):
        return Usage()
    counts = {name: cost.get(name) or 0 for name in ("calls", "prompt_tokens", "completion_tokens")}
    price = cost.get("cost")
    return Usage(**counts, cost=float(price) if isinstance(price, int | float) else None)  # type: ignore[arg-type]
