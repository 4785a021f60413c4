"""Leaderboard of several systems on the same data: deltas to the first, and groups without significant differences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InputError
from ..core.records import Estimate
from ..stats.significance import holm, letters, paired_test
from .compare import compare
from .comparison import MetricDelta
from .report import Report


class Standing(Struct, frozen=True):
    """One system on one metric: its estimate, its delta to the first system, and its group letters.

    Two systems that share a letter do not differ significantly at ``alpha``; ``a`` marks the group of the best.
    """

    metric: str
    system: str
    estimate: Estimate
    delta: MetricDelta | None
    letters: str


def leaderboard(reports: Sequence[Report], *, alpha: float = 0.05, seed: int = 0) -> list[Standing]:
    """Rank every system on every metric, metric by metric; the first report is the baseline.

    p-values are ``paired_test``'s, adjusted by Holm over all metrics and systems (deltas), and over all
    metrics and pairs of systems (letters).
    """
    names = _names(reports)
    first = reports[0]
    compared = [compare(one, first, 0.0, seed=seed).deltas for one in reports[1:]]
    adjusted = iter(holm([delta.p for deltas in compared for delta in deltas]))
    found = {
        (name, delta.metric): replace(delta, p_adjusted=next(adjusted))
        for name, deltas in zip(names[1:], compared, strict=True)
        for delta in deltas
    }
    groups = _groups(reports, names, alpha, seed)
    return [
        Standing(label, name, one.estimates[label], found.get((name, label)), groups[label].get(name, ""))
        for label in first.columns
        for name, one in zip(names, reports, strict=True)
        if label in one.estimates
    ]


def _names(reports: Sequence[Report]) -> list[str]:
    """The systems' names; equal names get a number."""
    if not reports:
        raise InputError("no reports to compare")
    plain = [one.system or f"system {number}" for number, one in enumerate(reports, 1)]
    return [name if plain.count(name) == 1 else f"{name} ({number})" for number, name in enumerate(plain, 1)]


def _groups(reports: Sequence[Report], names: Sequence[str], alpha: float, seed: int) -> dict[str, dict[str, str]]:
    labels = [label for label in reports[0].columns if all(label in one.columns for one in reports)]
    keys = [(label, a, b) for label in labels for a, b in combinations(range(len(reports)), 2)]
    pvalues = holm([_p(reports[a], reports[b], label, seed) for label, a, b in keys])
    apart = {
        (label, *sorted((names[a], names[b]))): p is not None and p <= alpha
        for (label, a, b), p in zip(keys, pvalues, strict=True)
    }
    groups: dict[str, dict[str, str]] = {label: {} for label in reports[0].columns}
    for label in labels:
        sign = 1.0 if reports[0].notes[label].higher_is_better else -1.0
        values = {name: one.estimates[label].value for name, one in zip(names, reports, strict=True)}
        scored = sorted((name for name in names if values[name] is not None), key=lambda n: -sign * (values[n] or 0.0))
        groups[label] = letters(scored, lambda a, b, label=label: apart[label, *sorted((a, b))])  # type: ignore[misc]
    return groups


def _p(first: Report, second: Report, label: str, seed: int) -> float | None:
    where = {one: row for row, one in enumerate(second.ids)}
    rows = [(row, where[one]) for row, one in enumerate(first.ids) if one in where]
    if not rows:
        return None
    left = first.columns[label].values[[a for a, _ in rows]]
    right = second.columns[label].values[[b for _, b in rows]]
    both = ~(np.isnan(left) | np.isnan(right))
    return paired_test(left[both], right[both], seed=seed).p if both.any() else None
