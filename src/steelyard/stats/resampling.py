"""Bootstrap and jackknife: a statistic over resamples of the same units.

A resample is a row of whole numbers, the weights: the number of times that each unit was drawn. A statistic that can
be computed from weights is computed for many resamples at once; any other function is called once for each. A unit is
a sample, or all samples of one cluster.

The draws are the raw output of PCG64, which is the same in all versions of numpy and on all platforms (the methods of
its generators may change), and no threaded library computes a sum: equal seeds give equal numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ..core.errors import InputError

FloatArray: TypeAlias = NDArray[np.float64]
ByteArray: TypeAlias = NDArray[np.uint8]
IndexArray: TypeAlias = NDArray[np.intp]

Replicate: TypeAlias = Callable[[FloatArray], FloatArray]
"""Maps weights of shape (resamples, units) to one value per resample; NaN if it is undefined."""

BLOCK = 2**15
"""Weights per block: few enough for the processor's cache, which makes drawing them three times as fast."""

CACHED = 2**19
"""The most weights (4 MB) that are cached for the next statistic of as many units: 2,000 resamples of 262."""

GEOMETRIC_FLOOR = 1e-5
"""Smaller values count as this one in a geometric mean, as in trec_eval, so that one zero does not make it zero."""


class SumStatistic(Struct, frozen=True):
    """A function of the sums of a few columns: means, ratios, kappa. This is the fast kind.

    ``columns`` maps the values (n rows) to n x c numbers; ``finish`` maps sums of shape (…, c) to values of shape (…).
    Clusters are summed first, so that resampling them costs no more.
    """

    name: str
    columns: Callable[[FloatArray], FloatArray]
    finish: Callable[[FloatArray], FloatArray]

    def __call__(self, values: FloatArray) -> float:
        """The statistic of the values themselves; NaN if it is undefined."""
        columns = self.columns(values)
        sums = np.array([_sum(column) for column in columns.T]) if len(columns) else columns.sum(axis=0)
        with np.errstate(all="ignore"):
            return float(self.finish(sums))


def _sum(column: FloatArray) -> float:
    """The sum, rounded once, so that the mean of equal values is that value."""
    even = (column == column[0]).all()
    return float(column[0]) * len(column) if even else math.fsum(column.tolist())


class WeightStatistic(Struct, frozen=True):
    """A function of the weights that is not a function of sums: rank correlations.

    ``prepare`` maps the values to a function from weights (resamples x n) to one value per resample.
    """

    name: str
    prepare: Callable[[FloatArray], Replicate]

    def __call__(self, values: FloatArray) -> float:
        """The statistic of the values themselves; NaN if it is undefined."""
        with np.errstate(all="ignore"):
            return float(self.prepare(values)(np.ones((1, len(values))))[0])


class Quantile(Struct, frozen=True):
    """The ``q`` quantile of the values, linearly interpolated.

    >>> Quantile(0.5)(np.array([1.0, 2.0, 4.0]))
    2.0
    """

    q: float

    def __post_init__(self) -> None:
        if not 0 <= self.q <= 1:
            raise InputError(f"must be in [0, 1], found {self.q}", field="q")

    def __call__(self, values: FloatArray) -> float:
        """The quantile of the values."""
        return float(np.quantile(values, self.q))


Statistic: TypeAlias = Callable[[FloatArray], float]
"""Any function of the rows of values whose order does not matter. The classes above are faster than other functions."""


def _shaped(values: FloatArray, columns: int) -> FloatArray:
    """The values as n x columns; InputError if they have another number of columns."""
    found = 1 if values.ndim == 1 else values.shape[1]
    if found != columns:
        raise InputError(f"expected {columns} column(s) of values, found {found}")
    return values.reshape(len(values), columns)


def _with_count(values: FloatArray) -> FloatArray:
    return np.column_stack([_shaped(values, 1), np.ones(len(values))])


def geometric(floor: float = GEOMETRIC_FLOOR) -> SumStatistic:
    """The geometric mean; values below ``floor`` count as ``floor``.

    >>> round(geometric()(np.array([0.1, 0.4])), 12)
    0.2
    """
    return SumStatistic(
        "geometric",
        lambda values: _with_count(np.log(np.maximum(values, floor))),
        lambda sums: np.exp(sums[..., 0] / sums[..., 1]),
    )


MEAN = SumStatistic("mean", _with_count, lambda sums: sums[..., 0] / sums[..., 1])
TOTAL = SumStatistic("total", lambda values: _shaped(values, 1), lambda sums: sums[..., 0])
RATIO = SumStatistic("ratio", lambda values: _shaped(values, 2), lambda sums: sums[..., 0] / sums[..., 1])
"""Sum of the first column over the sum of the second: a micro average."""

STATISTICS = {"mean": MEAN, "total": TOTAL, "geometric": geometric(), "ratio": RATIO}


def statistic_of(statistic: str | Statistic) -> Statistic:
    """A statistic by name (mean, total, geometric, ratio), or the function given.

    >>> statistic_of("mean")(np.array([0.0, 1.0]))
    0.5
    """
    if not isinstance(statistic, str):
        return statistic
    if statistic not in STATISTICS:
        raise InputError(f"unknown statistic {statistic!r}: expected one of {', '.join(STATISTICS)}, or a function")
    return STATISTICS[statistic]


def difference(statistic: Statistic, width: int) -> Statistic:
    """The statistic of the first half of each row minus that of the second: two systems on the same samples.

    ``width`` is the number of columns of one system; a plain function is called with the columns of each system.
    """
    if statistic is MEAN or statistic is TOTAL:
        one: SumStatistic = statistic
        return SumStatistic(one.name, lambda rows: one.columns(rows[:, 0] - rows[:, 1]), one.finish)
    if isinstance(statistic, SumStatistic):
        finish, columns = statistic.finish, statistic.columns

        def both(rows: FloatArray) -> FloatArray:
            return np.hstack([columns(half) for half in _halves(rows, width)])

        def apart(sums: FloatArray) -> FloatArray:
            middle = sums.shape[-1] // 2
            return finish(sums[..., :middle]) - finish(sums[..., middle:])

        return SumStatistic(statistic.name, both, apart)

    def gap(rows: FloatArray) -> float:
        first, second = _halves(rows, width)
        return statistic(first) - statistic(second)

    return gap


def _halves(rows: FloatArray, width: int) -> tuple[FloatArray, FloatArray]:
    return (rows[:, 0], rows[:, 1]) if width == 1 else (rows[:, :width], rows[:, width:])


def units_of(cluster: Sequence[Hashable] | NDArray[np.generic] | None, n: int) -> tuple[IndexArray | None, int]:
    """The unit number of each sample, by order of first appearance, and the number of units.

    >>> units_of(["x", "y", "x"], 3)
    (array([0, 1, 0]), 2)
    >>> units_of(None, 3)
    (None, 3)
    """
    if cluster is None:
        return None, n
    tags: list[Hashable] = cluster.tolist() if isinstance(cluster, np.ndarray) else list(cluster)
    if len(tags) != n:
        raise InputError(f"{len(tags)} tags for {n} values", field="cluster")
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(tag, len(numbers)) for tag in tags], dtype=np.intp)
    return codes, len(numbers)


def replicate_of(statistic: Statistic, values: FloatArray, codes: IndexArray | None, units: int) -> Replicate:
    """The statistic as a function of the weights of units."""
    if isinstance(statistic, SumStatistic):
        columns = sums_by_unit(statistic, values, codes, units)

        def from_sums(weights: FloatArray) -> FloatArray:
            sums = np.empty((len(weights), columns.shape[1]))
            for place, column in enumerate(columns.T):
                even = bool((column == column[0]).all())  # every resample draws as many units
                sums[:, place] = column[0] * units if even else (weights * column).sum(axis=1)
            return statistic.finish(sums)

        return from_sums
    if isinstance(statistic, WeightStatistic):
        prepared = statistic.prepare(values)
        return prepared if codes is None else lambda weights: prepared(weights[:, codes])

    def one_call_each(weights: FloatArray) -> FloatArray:
        counts = (weights if codes is None else weights[:, codes]).astype(np.intp)
        return np.array([statistic(np.repeat(values, row, axis=0)) for row in counts], dtype=np.float64)

    return one_call_each


def sums_by_unit(statistic: SumStatistic, values: FloatArray, codes: IndexArray | None, units: int) -> FloatArray:
    """The statistic's columns, summed over the samples of each unit: units x c."""
    columns = np.asarray(statistic.columns(values), dtype=np.float64)
    if codes is None:
        return columns
    return np.column_stack([np.bincount(codes, column, units) for column in columns.T])


def resample(replicate: Replicate, units: int, resamples: int, seed: int) -> FloatArray:
    """The statistic over ``resamples`` draws of ``units`` units with replacement."""
    if resamples < 1:
        raise InputError(f"must be at least 1, found {resamples}", field="resamples")
    few = units * resamples <= CACHED
    blocks = _cached_weights(units, resamples, seed) if few else _weights(units, resamples, seed)
    return np.concatenate([replicate(weights) for weights in blocks])


@lru_cache(maxsize=8)
def _cached_weights(units: int, resamples: int, seed: int) -> tuple[FloatArray, ...]:
    """Cached weights, if they are few: a table of eighty measures resamples the same queries eighty times."""
    return tuple(_weights(units, resamples, seed))


def _weights(units: int, resamples: int, seed: int) -> Iterator[FloatArray]:
    source = _source(seed)
    rows = max(1, BLOCK // units)
    rows += rows % 2  # an even number of draws uses whole 64-bit words, so that results do not depend on blocks
    first = (np.arange(rows, dtype=np.int64) * units)[:, None]
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        words = np.asarray(source.random_raw((count * units + 1) // 2), dtype="<u8")
        drawn = words.view("<u4")[: count * units].astype(np.uint64)
        # The upper half of a product of 32-bit numbers is uniform below `units`, to one part in 2**32 / units.
        drawn *= np.uint64(units)
        drawn >>= np.uint64(32)
        cells = drawn.view(np.int64).reshape(count, units)
        cells += first[:count]
        yield np.bincount(cells.ravel(), minlength=count * units).astype(np.float64).reshape(count, units)


def jackknife(
    statistic: Statistic, values: FloatArray, codes: IndexArray | None, units: int, groups: int = 500
) -> FloatArray:
    """The jackknife: the statistic without each unit in turn.

    A plain function of more than ``groups`` units is called for that many groups of units instead.
    """
    if isinstance(statistic, SumStatistic):
        columns = sums_by_unit(statistic, values, codes, units)
        return statistic.finish(columns.sum(axis=0) - columns)
    replicate = replicate_of(statistic, values, codes, units)
    count = min(units, groups)
    group = np.arange(units) % count
    rows = max(1, BLOCK // units)
    blocks = (np.arange(start, min(start + rows, count)) for start in range(0, count, rows))
    return np.concatenate([replicate((group != block[:, None]).astype(np.float64)) for block in blocks])


def _source(seed: int) -> np.random.PCG64:
    if seed < 0:
        raise InputError(f"must be 0 or more, found {seed}", field="seed")
    return np.random.PCG64(seed)


def random_bytes(seed: int) -> Callable[[int, int], ByteArray]:
    """A source of uniform bytes in blocks of (rows, columns), the same on every platform."""
    source = _source(seed)

    def draw(rows: int, columns: int) -> ByteArray:
        words = np.asarray(source.random_raw((rows * columns + 7) // 8), dtype="<u8")
        return words.view(np.uint8)[: rows * columns].reshape(rows, columns)

    return draw
