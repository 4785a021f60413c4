"""Pool the scores of a metric to one estimate with its n.

A column contains one metric on all samples; a pool reduces it to a number; an estimate adds n and the interval.
Slices, macro averages and intervals use the same pools on other lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core import metric_names, wording
from ..core.errors import InputError, UnknownName
from ..core.records import Estimate, Json, Status, Usage, Way
from .intervals import interval
from .resampling import Quantile, Statistic, statistic_of

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass
class Column:
    """One metric on all samples. A value is NaN if the score is undefined or failed; the reason is stored by row."""

    values: FloatArray
    undefined: dict[int, str] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    evidence: dict[int, dict[str, Json]] = field(default_factory=dict)
    parts: dict[int, tuple[float, float]] = field(default_factory=dict)
    requests: dict[int, list[str]] = field(default_factory=dict)
    usage: dict[int, Usage] = field(default_factory=dict)
    draws: dict[int, list[float | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Sequence[float] | FloatArray, reason: str = "undefined for this query") -> Column:
        """Build a column from plain values in which NaN means undefined."""
        array = np.asarray(values, dtype=np.float64)
        return cls(array, dict.fromkeys(np.flatnonzero(np.isnan(array)).tolist(), reason))

    def status(self, row: int) -> Status:
        """The status of one row."""
        return "failed" if row in self.failed else "undefined" if row in self.undefined else "ok"

    def take(self, rows: Sequence[int]) -> Column:
        """The same column over some of its rows."""
        new_row = {row: at for at, row in enumerate(rows)}
        details = {
            name: {new_row[row]: item for row, item in getattr(self, name).items() if row in new_row}
            for name in ("undefined", "failed", "evidence", "parts", "requests", "usage", "draws")
        }
        return Column(self.values[np.asarray(rows, dtype=np.intp)], **details)


def statistic_for(pool: str) -> Statistic:
    """The statistic of a pool by its name: mean, total, geometric, ratio, quantile(q=0.9).

    >>> statistic_for("quantile(q=0.5)")(np.array([1.0, 2.0, 4.0]))
    2.0
    """
    base, params = metric_names.parse(pool)
    if base == "quantile":
        share = params.get("q", 0.5)
        if isinstance(share, float | int):
            return Quantile(float(share))
    if base not in POOLS:
        raise UnknownName(f"unknown pool {pool!r}: {wording.did_you_mean(base, [*POOLS, 'quantile'])}")
    return statistic_of(base)


POOLS = ("mean", "total", "geometric", "ratio")


def rows_of(column: Column, scored: Sequence[int], pool: str, metric: str) -> FloatArray:
    """The input of a pool: the values, or the numerators and denominators for a ratio."""
    if pool != "ratio":
        return column.values[np.asarray(scored, dtype=np.intp)]
    if any(row not in column.parts for row in scored):
        raise InputError(f"{metric} has no numerator and denominator to pool as a ratio")
    return np.array([column.parts[row] for row in scored], dtype=np.float64)


def estimate(
    column: Column,
    *,
    metric: str,
    pool: str = "mean",
    way: Way = "",
    bounds: tuple[float, float] | None = (0.0, 1.0),
    threshold: float | None = None,
    higher_is_better: bool = True,
    confidence: float = 0.95,
    seed: int = 0,
    cluster: Sequence[str] | None = None,
) -> Estimate:
    """Pool a column: value, n, undefined, failed, interval, bounds for the failures, pass rate.

    ``pool="ratio"`` divides the summed numerators by the summed denominators (a micro average), for metrics whose
    scores have both parts.
    """
    scored = np.flatnonzero(~np.isnan(column.values)).tolist()
    statistic = statistic_for(pool)
    ends = _failure_bounds(column.values[scored], "mean" if pool == "ratio" else pool, len(column.failed), bounds)
    if not scored:
        return Estimate(
            metric=metric,
            value=None,
            n=0,
            undefined=len(column.undefined),
            failed=len(column.failed),
            confidence=confidence,
            pool=pool,
            way=way,
            if_failed_zero=ends[0],
            if_failed_one=ends[1],
            threshold=threshold,
        )
    rows = rows_of(column, scored, pool, metric)
    clusters = None if cluster is None else [cluster[row] for row in scored]
    spread = interval(rows, statistic=statistic, confidence=confidence, seed=seed, cluster=clusters)
    rate: tuple[float | None, float | None, float | None] = (None, None, None)
    if threshold is not None:
        gaps = np.round(column.values[scored] - threshold, 9)
        passed = (gaps >= 0 if higher_is_better else gaps <= 0).astype(np.float64)
        share = interval(passed, confidence=confidence, seed=seed, cluster=clusters)
        rate = float(passed.mean()), share.low, share.high
    return Estimate(
        metric=metric,
        value=float(statistic(rows)),
        n=len(scored),
        undefined=len(column.undefined),
        failed=len(column.failed),
        low=spread.low,
        high=spread.high,
        confidence=confidence,
        method=spread.method,
        pool=pool,
        way=way,
        if_failed_zero=ends[0],
        if_failed_one=ends[1],
        threshold=threshold,
        pass_rate=rate[0],
        pass_low=rate[1],
        pass_high=rate[2],
    )


def _failure_bounds(
    values: FloatArray, pool: str, failed: int, bounds: tuple[float, float] | None
) -> tuple[float | None, float | None]:
    """The pooled value with every failure at the worst and at the best end of the range."""
    if not failed or bounds is None:
        return None, None
    statistic = statistic_for(pool)
    low, high = (float(statistic(np.concatenate([values, np.full(failed, end)]))) for end in bounds)
    return low, high


def passes(value: float, threshold: float, *, higher_is_better: bool = True) -> bool:
    """Whether a value reaches its threshold, compared after rounding to 1e-9.

    >>> passes(0.1 + 0.2, 0.3), passes(0.299, 0.3)
    (True, False)
    """
    gap = round(value - threshold, 9)
    return gap >= 0 if higher_is_better else gap <= 0


def groups(tags: Iterable[Mapping[str, str]], by: str) -> dict[str, list[int]]:
    """The rows of each slice: ``{"temporal": [0, 4], …}`` in order of their names; untagged rows are ``(none)``.

    >>> groups([{"kind": "a"}, {}, {"kind": "a"}], "kind")
    {'(none)': [1], 'a': [0, 2]}
    """
    slices: dict[str, list[int]] = {}
    for row, tag in enumerate(tags):
        slices.setdefault(tag.get(by, "(none)"), []).append(row)
    return dict(sorted(slices.items()))
