"""Scores in, one number with its n out.

A column holds one metric on all samples; a pool reduces it; an estimate says what the number rests on and how sure
it is. Slices, macro averages and intervals are the same pool over other lists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import names
from .errors import InputError, UnknownName
from .records import Estimate, Json, Status, Usage, Way
from .stats import interval

FloatArray: TypeAlias = NDArray[np.float64]
Pool: TypeAlias = Callable[[FloatArray], float]

GEOMETRIC_FLOOR = 1e-5
"""Values below it count as it in a geometric mean, as trec_eval does, so that one zero does not make all zero."""


@dataclass
class Column:
    """One metric on all samples. A value is NaN where the score is undefined or failed, and a reason says why."""

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
        """A column from plain values in which NaN means undefined."""
        array = np.asarray(values, dtype=np.float64)
        return cls(array, dict.fromkeys(np.flatnonzero(np.isnan(array)).tolist(), reason))

    def status(self, row: int) -> Status:
        """The status of one row."""
        return "failed" if row in self.failed else "undefined" if row in self.undefined else "ok"

    def take(self, rows: Sequence[int]) -> Column:
        """The same column over some of its rows."""
        where = {row: at for at, row in enumerate(rows)}
        kept = {
            name: {where[row]: item for row, item in getattr(self, name).items() if row in where}
            for name in ("undefined", "failed", "evidence", "parts", "requests", "usage", "draws")
        }
        return Column(self.values[np.asarray(rows, dtype=np.intp)], **kept)  # type: ignore[arg-type]


def mean(values: FloatArray) -> float:
    """Arithmetic mean."""
    return math.fsum(values) / len(values)


def total(values: FloatArray) -> float:
    """Sum: for counts."""
    return math.fsum(values)


def geometric(values: FloatArray) -> float:
    """Geometric mean with a floor of 1e-5."""
    return math.exp(math.fsum(np.log(np.maximum(values, GEOMETRIC_FLOOR))) / len(values))


def quantile(share: float) -> Pool:
    """The value that ``share`` of the scores do not exceed, linearly interpolated."""
    return lambda values: float(np.quantile(values, share))


POOLS: dict[str, Pool] = {"mean": mean, "total": total, "geometric": geometric}


def pool_of(name: str) -> Pool:
    """A pool by name: mean, total, geometric, quantile(q=0.9), ratio (see ``estimate``)."""
    base, params = names.parse(name)
    if base == "quantile":
        share = params.get("q", 0.5)
        if not isinstance(share, float | int) or not 0 <= share <= 1:
            raise InputError(f"{name}: q must be in [0, 1]")
        return quantile(float(share))
    if base not in POOLS:
        raise UnknownName(f"unknown pool {name!r}: {names.did_you_mean(base, [*POOLS, 'quantile', 'ratio'])}")
    return POOLS[base]


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
    scores carry both parts.
    """
    scored = np.flatnonzero(~np.isnan(column.values))
    values = column.values[scored]
    clusters = None if cluster is None else [cluster[row] for row in scored.tolist()]
    counts = {"n": len(scored), "undefined": len(column.undefined), "failed": len(column.failed)}
    if not len(scored):
        zero, one = _failure_bounds(values, POOLS.get(pool, mean), len(column.failed), bounds)
        return Estimate(metric=metric, value=None, **counts, confidence=confidence, pool=pool, way=way,
                        if_failed_zero=zero, if_failed_one=one, threshold=threshold)  # fmt: skip
    if pool == "ratio":
        if any(row not in column.parts for row in scored.tolist()):
            raise InputError(f"{metric} has no numerator and denominator to pool as a ratio")
        table = np.array([column.parts[row] for row in scored.tolist()])
        statistic: Pool = _ratio_over(table)
        rows = np.arange(len(table), dtype=np.float64)
        value = statistic(rows)
        spread = interval(rows, statistic=statistic, confidence=confidence, seed=seed, cluster=clusters)
        bound: Pool = mean
    else:
        bound = pool_of(pool)
        value = bound(values)
        spread = interval(
            values,
            statistic="mean" if pool == "mean" else bound,
            confidence=confidence,
            seed=seed,
            cluster=clusters,
        )
    zero, one = _failure_bounds(values, bound, len(column.failed), bounds)
    rate: tuple[float | None, float | None, float | None] = (None, None, None)
    if threshold is not None:
        gaps = np.round(values - threshold, 9)
        passed = (gaps >= 0 if higher_is_better else gaps <= 0).astype(np.float64)
        share = interval(passed, confidence=confidence, seed=seed, cluster=clusters)
        rate = mean(passed), share.low, share.high
    return Estimate(
        metric=metric, value=value, **counts, low=spread.low, high=spread.high, confidence=confidence,
        method=spread.method, pool=pool, way=way, if_failed_zero=zero, if_failed_one=one, threshold=threshold,
        pass_rate=rate[0], pass_low=rate[1], pass_high=rate[2],
    )  # fmt: skip


def _ratio_over(table: FloatArray) -> Pool:
    def ratio(rows: FloatArray) -> float:
        sums = table[rows.astype(np.intp)].sum(axis=0)
        return float(sums[0] / sums[1]) if sums[1] else math.nan

    return ratio


def _failure_bounds(
    values: FloatArray, pool: Pool, failed: int, bounds: tuple[float, float] | None
) -> tuple[float | None, float | None]:
    """The pooled value with every failure at the worst and at the best end of the range."""
    if not failed or bounds is None:
        return None, None
    low, high = (pool(np.concatenate([values, np.full(failed, end)])) for end in bounds)
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
