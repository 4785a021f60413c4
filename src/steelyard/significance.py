"""Is the difference real? Paired tests of two systems on the same samples, and corrections for many of them.

The default is the randomisation test: if the two systems were the same, each pair could as well have been the other
way round. It assumes nothing about the scores' distribution. A pair with NaN on either side is left out, and ``n``
counts the others. Values that differ by at most ``TOLERANCE`` are equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from .distributions import student_cdf
from .errors import InputError
from .resampling import MEAN, ByteArray, FloatArray, Statistic, random_bytes, statistic_of, units_of
from .stats import Cluster, pairs

IntArray: TypeAlias = NDArray[np.int64]

TOLERANCE = 1e-9
"""Rounding noise never counts as a difference."""

EXACT = 16
"""Up to so many pairs that differ, all 65,536 sign patterns are looked at."""

BITS = 40
"""Differences are rounded to this many bits of the largest, so that sums are whole numbers, equal sums are equal
in any order, and no rounding noise makes or breaks a tie."""


class TestResult(Struct, frozen=True):
    """A test's two-sided p, the difference it is about (first minus second), its n of pairs and its method.

    Both numbers are None where there is no pair to look at.
    """

    __test__: ClassVar[bool] = False

    p: float | None
    delta: float | None
    n: int
    method: str


class SignCounts(Struct, frozen=True):
    """How often the first system is above, level with and below the second."""

    win: int
    tie: int
    loss: int

    @property
    def n(self) -> int:
        """Number of pairs."""
        return self.win + self.tie + self.loss


class EffectSize(Struct, frozen=True):
    """How large a paired difference is beside its spread, and how often it shows.

    ``dz`` is Cohen's: the mean difference in units of the differences' standard deviation. ``win_probability`` is the
    chance that the first system is above on a sample, ties split; ``dominance`` (Cliff's delta for pairs) is
    wins minus losses over n, in [-1, 1]. Each is None where it is undefined: no pairs, or for ``dz`` no spread.
    """

    dz: float | None
    win_probability: float | None
    dominance: float | None


def paired_randomisation(
    first: ArrayLike,
    second: ArrayLike,
    *,
    resamples: int = 10_000,
    seed: int = 0,
    statistic: str | Statistic = "mean",
    cluster: Cluster | None = None,
) -> TestResult:
    """Two-sided paired randomisation test (Fisher 1935; Smucker, Allan and Carterette 2007).

    ``first`` and ``second`` hold the same samples in the same order: shape (n,), or (n, columns) for a statistic of
    several. p is the share of ways to swap the two within pairs that give a difference of ``statistic`` at least as
    large: exact, over all ways, up to 16 pairs that differ; else (b + 1) / (m + 1) over m = ``resamples`` seeded
    random ways, which is never 0 and never too small on average. With ``cluster`` all pairs of a cluster swap together.

    >>> paired_randomisation([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.4, 0.8]).p
    0.125
    """
    a, b, cluster = pairs(first, second, cluster)
    n, rule = len(a), statistic_of(statistic)
    if rule is MEAN and a.ndim == 1:
        table = a[:, None], b[:, None]
        return paired_randomisations(*table, resamples=resamples, seed=seed, cluster=cluster)[0]
    if n == 0:
        return TestResult(None, None, 0, "none")
    codes, units = units_of(cluster, n)
    differs = np.abs(a - b) > TOLERANCE
    rows = differs if differs.ndim == 1 else differs.any(axis=1)
    movable = np.flatnonzero(rows) if codes is None else np.unique(codes[rows])

    def delta(swap: NDArray[np.bool_]) -> float:
        turned = np.zeros(units, dtype=bool)
        turned[movable] = swap
        side = turned if codes is None else turned[codes]
        side = side if a.ndim == 1 else side[:, None]
        return rule(np.where(side, b, a)) - rule(np.where(side, a, b))

    observed = delta(np.zeros(len(movable), dtype=bool))
    least = abs(observed) - 1e-12 * max(1.0, abs(observed))
    if 2 ** min(len(movable), 60) <= max(resamples, 2):
        patterns: Iterator[NDArray[np.bool_]] = _all_patterns(len(movable))
        hits = sum(abs(delta(swap)) >= least for swap in patterns)
        return TestResult(hits / 2 ** len(movable), observed, n, "exact randomisation")
    hits = sum(abs(delta(swap)) >= least for swap in _random_patterns(len(movable), resamples, seed))
    return TestResult((hits + 1) / (resamples + 1), observed, n, "randomisation")


def paired_randomisations(
    first: ArrayLike,
    second: ArrayLike,
    *,
    resamples: int = 10_000,
    seed: int = 0,
    cluster: Cluster | None = None,
) -> list[TestResult]:
    """The paired randomisation test of the mean for many measures at once: one result per column.

    Both tables have one row per sample and one column per measure; a pair in which either side is NaN is left out
    for that measure. All measures share the same swaps, so the p of one does not depend on which others are there.

    >>> [one.p for one in paired_randomisations([[1, 0.5], [1, 0.5], [1, 0.5]], [[0, 0.5], [0, 0.5], [0, 0.5]])]
    [0.25, 1.0]
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 2 or a.shape != b.shape:
        raise InputError(f"expected two tables, samples x measures, found shapes {a.shape} and {b.shape}")
    apart = a - b
    there = ~np.isnan(apart)
    if np.isinf(apart).any():
        raise InputError("a value is infinite")
    counts = there.sum(axis=0)
    apart = np.where(there, apart, 0.0)
    deltas = apart.sum(axis=0) / np.maximum(counts, 1)
    apart[np.abs(apart) <= TOLERANCE] = 0.0
    codes, units = units_of(cluster, len(apart))
    if codes is not None:
        apart = np.column_stack([np.bincount(codes, column, units) for column in apart.T])
    whole, slack = _whole(apart)
    moving = (whole != 0).sum(axis=0)
    sampled = np.flatnonzero(moving > EXACT)
    hits = _hits(whole[:, sampled], slack, resamples, seed) if len(sampled) else ()
    p = {int(column): (int(hit) + 1) / (resamples + 1) for column, hit in zip(sampled, hits, strict=True)}
    results = []
    for column, (n, delta) in enumerate(zip(counts.tolist(), deltas.tolist(), strict=True)):
        if n == 0:
            results.append(TestResult(None, None, 0, "none"))
        elif column in p:
            results.append(TestResult(p[column], delta, n, "randomisation"))
        else:
            results.append(TestResult(_exact(whole[:, column], slack), delta, n, "exact randomisation"))
    return results


def paired_t(first: ArrayLike, second: ArrayLike) -> TestResult:
    """Two-sided paired t test of the mean difference. Without spread p is 1 for no difference, else 0.

    >>> round(paired_t([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.4, 0.8]).p, 4)
    0.0305
    """
    apart = _differences(first, second)
    n = len(apart)
    if n < 2:
        return TestResult(None, float(apart[0]) if n else None, n, "none")
    delta, spread = float(apart.mean()), float(apart.std(ddof=1))
    if spread <= TOLERANCE:
        return TestResult(float(abs(delta) <= TOLERANCE), delta, n, "t")
    return TestResult(2 * student_cdf(-abs(delta) / (spread / math.sqrt(n)), n - 1), delta, n, "t")


def wilcoxon(first: ArrayLike, second: ArrayLike) -> TestResult:
    """Two-sided Wilcoxon signed-rank test; pairs that are level are left out (Wilcoxon 1945), by scipy.

    >>> wilcoxon([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.4, 0.8]).p
    0.125
    """
    from scipy import stats

    apart = _differences(first, second)
    n = len(apart)
    if n == 0:
        return TestResult(None, None, 0, "none")
    moved = np.round(apart[np.abs(apart) > TOLERANCE], 9)  # equal differences are ties, whatever their last bits
    p = float(stats.wilcoxon(moved).pvalue) if len(moved) else 1.0
    return TestResult(p, float(apart.mean()), n, "wilcoxon")


def sign_counts(first: ArrayLike, second: ArrayLike, *, tolerance: float = TOLERANCE) -> SignCounts:
    """Wins, ties and losses of the first system; differences up to ``tolerance`` are ties.

    >>> sign_counts([0.3, 1.0, 0.2], [0.1 + 0.2, 0.5, 0.4])
    SignCounts(win=1, tie=1, loss=1)
    """
    apart = _differences(first, second)
    win, loss = int((apart > tolerance).sum()), int((apart < -tolerance).sum())
    return SignCounts(win, len(apart) - win - loss, loss)


def effect_size(first: ArrayLike, second: ArrayLike) -> EffectSize:
    """Cohen's dz, the win probability and the dominance of the first system over the second.

    >>> effect_size([1.0, 1.0, 0.0], [0.0, 1.0, 1.0])
    EffectSize(dz=0.0, win_probability=0.5, dominance=0.0)
    """
    apart, signs = _differences(first, second), sign_counts(first, second)
    n = len(apart)
    if n == 0:
        return EffectSize(None, None, None)
    spread = float(apart.std(ddof=1)) if n > 1 else 0.0
    dz = float(apart.mean()) / spread if spread > TOLERANCE else None
    return EffectSize(dz, (signs.win + signs.tie / 2) / n, (signs.win - signs.loss) / n)


def holm(pvalues: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p-values (1979): the chance of any false alarm stays below alpha. None stays None, uncounted.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """

    def adjust(ordered: FloatArray) -> FloatArray:
        count = len(ordered)
        return np.maximum.accumulate(ordered * np.arange(count, 0, -1))

    return _adjusted(pvalues, adjust)


def benjamini_hochberg(pvalues: Sequence[float | None]) -> list[float | None]:
    """Benjamini and Hochberg's adjusted p-values (1995): the expected share of false alarms among alarms.

    >>> benjamini_hochberg([0.01, 0.04, None, 0.03])
    [0.03, 0.04, None, 0.04]
    """

    def adjust(ordered: FloatArray) -> FloatArray:
        count = len(ordered)
        return np.minimum.accumulate((ordered * count / np.arange(1, count + 1))[::-1])[::-1]

    return _adjusted(pvalues, adjust)


def letters(names: Sequence[str], different: Callable[[str, str], bool]) -> dict[str, str]:
    """Compact letter display: two systems share a letter exactly if they do not differ.

    ``names`` come best first, so ``a`` marks the group of the best. Insert and absorb (Piepho 2004).

    >>> letters(["x", "y", "z"], lambda one, other: {one, other} == {"x", "z"})
    {'x': 'a', 'y': 'ab', 'z': 'b'}
    """
    groups = [frozenset(range(len(names)))]
    for i in range(len(names)):
        for j in range(i + 1, len(names)):
            if not different(names[i], names[j]):
                continue
            split = [part for group in groups for part in _without_both(group, i, j)]
            kept: list[frozenset[int]] = []
            for group in sorted(split, key=len, reverse=True):
                if not any(group <= larger for larger in kept):
                    kept.append(group)
            groups = kept
    groups.sort(key=sorted)
    marks = [_letter(place) for place in range(len(groups))]
    return {
        name: "".join(mark for mark, group in zip(marks, groups, strict=True) if place in group)
        for place, name in enumerate(names)
    }


def _without_both(group: frozenset[int], i: int, j: int) -> tuple[frozenset[int], ...]:
    return (group - {i}, group - {j}) if i in group and j in group else (group,)


def _letter(place: int) -> str:
    alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return alphabet[place] if place < len(alphabet) else f"({place})"


def _adjusted(pvalues: Sequence[float | None], adjust: Callable[[FloatArray], FloatArray]) -> list[float | None]:
    there = [place for place, p in enumerate(pvalues) if p is not None]
    found = np.array([pvalues[place] for place in there], dtype=np.float64)
    if not ((found >= 0) & (found <= 1)).all():
        raise InputError("p-values lie in [0, 1]")
    result: list[float | None] = [None] * len(pvalues)
    order = np.argsort(found, kind="stable")
    for place, p in zip(order.tolist(), np.minimum(adjust(found[order]), 1.0).tolist(), strict=True):
        result[there[place]] = p
    return result


def _differences(first: ArrayLike, second: ArrayLike) -> FloatArray:
    one, other, _ = pairs(first, second)
    if one.ndim != 1:
        raise InputError(f"expected one number per sample, found shape {one.shape}")
    return one - other


def _whole(apart: FloatArray) -> tuple[IntArray, int]:
    """Differences as whole numbers on a grid of their column's largest, and by how much equal sums may be apart."""
    bits = min(BITS, 62 - max(len(apart), 1).bit_length())
    largest = np.abs(apart).max(axis=0, initial=0.0)
    scale = np.where(largest > 0, largest, 1.0)
    return np.rint(apart / scale * 2.0**bits).astype(np.int64), len(apart)


def _exact(whole: IntArray, slack: int) -> float:
    sums = np.zeros(1, dtype=np.int64)
    for step in whole[whole != 0]:
        sums = np.concatenate([sums - step, sums + step])
    return float((np.abs(sums) >= abs(int(whole.sum())) - slack).mean())


def _hits(whole: IntArray, slack: int, resamples: int, seed: int) -> IntArray:
    """How many of the random sign patterns give a sum at least as far from 0 as the observed one, by column.

    Eight rows at a time: a random byte says which of them keep their sign, and a table of the 256 possible partial
    sums is looked up with it. That costs one addition for eight rows, and whole numbers add up exactly.
    """
    columns = whole.shape[1]
    whole = np.vstack([whole, np.zeros((-len(whole) % 8, columns), dtype=np.int64)])
    octets = whole.reshape(-1, 8, columns)
    draw = random_bytes(seed)
    sums = np.zeros((resamples, columns), dtype=np.int64)
    part = np.empty_like(sums)
    for start in range(0, len(octets), 64):
        block = octets[start : start + 64]
        tables = np.zeros((len(block), 1, columns), dtype=np.int64)
        for row in range(8):
            step = block[:, row : row + 1]
            tables = np.concatenate([tables - step, tables + step], axis=1)
        for table, bytes_ in zip(tables, draw(len(block), resamples), strict=True):
            np.take(table, bytes_, axis=0, out=part, mode="clip")
            sums += part
    hits: IntArray = (np.abs(sums) >= np.abs(whole.sum(axis=0)) - slack).sum(axis=0)
    return hits


def _all_patterns(count: int) -> Iterator[NDArray[np.bool_]]:
    places = np.arange(count)
    for pattern in range(2**count):
        yield (pattern >> places & 1).astype(bool)


def _random_patterns(count: int, resamples: int, seed: int) -> Iterator[NDArray[np.bool_]]:
    bytes_: ByteArray = random_bytes(seed)(resamples, -(-count // 8))
    for row in bytes_:
        yield np.unpackbits(row, count=count).astype(bool)
