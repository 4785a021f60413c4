"""Paired tests of two systems on the same samples, effect sizes, and corrections for multiple tests.

The default is the randomisation test: under the null hypothesis the two scores of each pair could be swapped. It
assumes nothing about the distribution of scores. For pass or fail its exact p has so few possible values that the test
loses power, so ``paired_test``, which comparisons use, computes the mid-p there. A pair with NaN on either side is left
out, and ``n`` counts the others. Values that differ by at most ``TOLERANCE`` are equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from ..core.errors import InputError
from .distributions import student_cdf
from .intervals import Cluster, pairs
from .resampling import MEAN, FloatArray, IndexArray, Statistic, SumStatistic, statistic_of, sums_by_unit, units_of
from .sign_flips import all_patterns, all_sums, random_patterns, random_sums, to_integers

TOLERANCE = 1e-9
"""The largest rounding error, which does not count as a difference."""

EXACT = 16
"""The most differing pairs for which all sign patterns (65,536) are computed."""

_EXACT_RANKS, _EXACT_TIED_RANKS = 50, 13


class TestResult(Struct, frozen=True):
    """The result of a test: its two-sided p, the difference (first minus second), the number n of pairs, the method.

    Both numbers are None if there are no pairs.
    """

    __test__: ClassVar[bool] = False

    p: float | None
    delta: float | None
    n: int
    method: str


class SignCounts(Struct, frozen=True):
    """The numbers of samples on which the first system is above, equal to and below the second."""

    win: int
    tie: int
    loss: int

    @property
    def n(self) -> int:
        """Number of pairs."""
        return self.win + self.tie + self.loss


class EffectSize(Struct, frozen=True):
    """The size of a paired difference relative to its spread, and how often the first system wins.

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
    large: exact, over all ways, up to 16 pairs that differ (13 for a plain function); else (b + 1) / (m + 1) over
    m = ``resamples`` seeded random ways, which is never 0 and never too small on average. With ``cluster`` all pairs
    of a cluster swap together.

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
    if isinstance(rule, SumStatistic):
        return _test_of_sums(rule, a, b, codes, units, resamples, seed)
    differs = np.abs(a - b) > TOLERANCE
    rows = differs if differs.ndim == 1 else differs.any(axis=1)
    movable = np.flatnonzero(rows) if codes is None else np.unique(codes[rows])

    def delta(swap: NDArray[np.bool_]) -> float:
        turned = np.zeros(units, dtype=bool)
        turned[movable] = swap
        side = turned if codes is None else turned[codes]
        side = side if a.ndim == 1 else side[:, None]
        return float(rule(np.where(side, b, a)) - rule(np.where(side, a, b)))

    observed = delta(np.zeros(len(movable), dtype=bool))
    if not math.isfinite(observed):
        return TestResult(None, None, n, "none")
    exact = len(movable) <= EXACT and 2 ** len(movable) <= resamples
    swaps = all_patterns(len(movable)) if exact else random_patterns(len(movable), resamples, seed)
    return _result(np.array([delta(swap) for swap in swaps]), observed, n, exact=exact)


def _test_of_sums(
    rule: SumStatistic,
    a: FloatArray,
    b: FloatArray,
    codes: IndexArray | None,
    units: int,
    resamples: int,
    seed: int,
) -> TestResult:
    """The test of a function of sums: swapping changes the difference of the two sums, and not their total."""
    first, second = (sums_by_unit(rule, side, codes, units) for side in (a, b))
    whole, unit = to_integers(first - second)
    moving = whole[(whole != 0).any(axis=1)]
    exact = len(moving) <= EXACT
    differences = (all_sums(moving) if exact else random_sums(whole, resamples, seed)) * unit
    total, n = (first + second).sum(axis=0), len(a)
    with np.errstate(all="ignore"):
        deltas = rule.finish((total + differences) / 2) - rule.finish((total - differences) / 2)
    observed = rule(a) - rule(b)
    if not math.isfinite(observed):
        return TestResult(None, None, n, "none")
    return _result(deltas, observed, n, exact=exact)


def _result(deltas: FloatArray, observed: float, n: int, *, exact: bool) -> TestResult:
    """The result from the differences under swaps. An undefined one counts as large, so that p is not too small."""
    least = abs(observed) - TOLERANCE * max(1.0, abs(observed))
    hits = int((~(np.abs(deltas) < least)).sum())
    if exact:
        return TestResult(hits / len(deltas), observed, n, "exact randomisation")
    return TestResult((hits + 1) / (len(deltas) + 1), observed, n, "randomisation")


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
    for that measure. All measures share the same swaps, so the p of one does not depend on the others.

    >>> [one.p for one in paired_randomisations([[1, 0.5], [1, 0.5], [1, 0.5]], [[0, 0.5], [0, 0.5], [0, 0.5]])]
    [0.25, 1.0]
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 2 or a.shape != b.shape:
        raise InputError(f"expected two tables, samples x measures, found shapes {a.shape} and {b.shape}")
    if np.isinf(a).any() or np.isinf(b).any():
        raise InputError("a value is infinite")
    differences = a - b
    there = ~np.isnan(differences)
    counts = there.sum(axis=0)
    differences = np.where(there, differences, 0.0)
    deltas = differences.sum(axis=0) / np.maximum(counts, 1)
    differences[np.abs(differences) <= TOLERANCE] = 0.0
    codes, units = units_of(cluster, len(differences))
    if codes is not None:
        differences = np.column_stack([np.bincount(codes, column, units) for column in differences.T])
    whole, _ = to_integers(differences)
    least = np.abs(whole.sum(axis=0)) - len(whole)  # each row is rounded by half a unit at most
    sampled = np.flatnonzero((whole != 0).sum(axis=0) > EXACT)
    hits = (np.abs(random_sums(whole[:, sampled], resamples, seed)) >= least[sampled]).sum(axis=0)
    p = dict(zip(sampled.tolist(), ((hits + 1) / (resamples + 1)).tolist(), strict=True))
    results = []
    for column, (n, delta) in enumerate(zip(counts.tolist(), deltas.tolist(), strict=True)):
        if n == 0:
            results.append(TestResult(None, None, 0, "none"))
        elif column in p:
            results.append(TestResult(p[column], delta, n, "randomisation"))
        else:
            moved = whole[whole[:, column] != 0, column]
            share = float((np.abs(all_sums(moved)) >= least[column]).mean())
            results.append(TestResult(share, delta, n, "exact randomisation"))
    return results


def paired_test(
    first: ArrayLike,
    second: ArrayLike,
    *,
    resamples: int = 10_000,
    seed: int = 0,
    statistic: str | Statistic = "mean",
    cluster: Cluster | None = None,
) -> TestResult:
    """The test that comparisons use: ``sign_test`` if all differing pairs differ by the same amount, else
    ``paired_randomisation``.

    >>> paired_test([1.0, 1.0, 0.0], [0.0, 0.0, 0.0]).method, paired_test([0.9, 0.8], [0.5, 0.6]).method
    ('sign, mid-p', 'exact randomisation')
    """
    a, b, cluster = pairs(first, second, cluster)
    if statistic_of(statistic) is MEAN and a.ndim == 1 and cluster is None:
        sizes = np.abs(a - b)
        sizes = sizes[sizes > TOLERANCE]
        if len(sizes) and np.ptp(sizes) <= TOLERANCE:
            return sign_test(a, b)
    return paired_randomisation(a, b, resamples=resamples, seed=seed, statistic=statistic, cluster=cluster)


def sign_test(first: ArrayLike, second: ArrayLike) -> TestResult:
    """Two-sided sign test of the differing pairs, with the mid-p: for pass or fail it is McNemar's test.

    p is the binomial chance of a more lopsided count of wins and losses, plus half the chance of the one found
    (Lancaster 1961). The exact p, with all of that chance, finds a difference between two equal systems in 2 % of
    comparisons of 30 pairs where alpha is 5 %; the mid-p keeps close to alpha and rarely exceeds it (Fagerland,
    Lydersen and Laake 2013). Without a pair that differs p is 1.

    >>> round(sign_test([1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]).p, 6)
    0.125
    """
    differences = _differences(first, second)
    if not len(differences):
        return TestResult(None, None, 0, "none")
    signs = sign_counts(first, second)
    moved, fewer = signs.win + signs.loss, min(signs.win, signs.loss)
    logs = [math.lgamma(moved + 1) - math.lgamma(k + 1) - math.lgamma(moved - k + 1) for k in range(fewer + 1)]
    chances = [math.exp(one - moved * math.log(2)) for one in logs]
    both = 1 if 2 * fewer == moved else 2  # an even count is one outcome, not two
    p = min(1.0, 2 * math.fsum(chances[:-1]) + both * chances[-1] / 2) if moved else 1.0
    return TestResult(p, float(differences.mean()), len(differences), "sign, mid-p")


def paired_t(first: ArrayLike, second: ArrayLike) -> TestResult:
    """Two-sided paired t test of the mean difference. Without spread p is 1 for no difference, else 0.

    >>> round(paired_t([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.4, 0.8]).p, 4)
    0.0305
    """
    differences = _differences(first, second)
    n = len(differences)
    if n < 2:
        return TestResult(None, float(differences[0]) if n else None, n, "none")
    delta, spread = float(differences.mean()), float(differences.std(ddof=1))
    if spread <= TOLERANCE:
        return TestResult(float(abs(delta) <= TOLERANCE), delta, n, "t")
    return TestResult(2 * student_cdf(-abs(delta) / (spread / math.sqrt(n)), n - 1), delta, n, "t")


def wilcoxon(first: ArrayLike, second: ArrayLike) -> TestResult:
    """Two-sided Wilcoxon signed-rank test; pairs without a difference are left out (Wilcoxon 1945).

    As in scipy, p is exact for up to 50 differences of distinct sizes, or 13 where some have the same size, and
    otherwise from the normal approximation with its correction for ties, without one for continuity.

    >>> wilcoxon([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.4, 0.8]).p
    0.125
    """
    differences = _differences(first, second)
    n = len(differences)
    if n == 0:
        return TestResult(None, None, 0, "none")
    moved = np.round(
        differences[np.abs(differences) > TOLERANCE], 9
    )  # equal differences are ties, whatever their last bits
    p = _signed_rank_p(moved) if len(moved) else 1.0
    return TestResult(p, float(differences.mean()), n, "wilcoxon")


def _signed_rank_p(moved: FloatArray) -> float:
    """The two-sided p of the sum of the ranks of the positive differences; ranks are doubled, so that all are whole."""
    _, level, ties = np.unique(np.abs(moved), return_inverse=True, return_counts=True)
    ranks = (2 * np.cumsum(ties) - ties + 1)[level]
    n, positive = len(moved), int(ranks[moved > 0].sum())
    if n <= (_EXACT_RANKS if len(ties) == n else _EXACT_TIED_RANKS):
        ways = np.ones(1, dtype=np.int64)  # for each sum of ranks the number of sign patterns that have it
        for rank in ranks.tolist():
            nothing = np.zeros(rank, dtype=np.int64)
            ways = np.concatenate((ways, nothing)) + np.concatenate((nothing, ways))
        tail = min(int(ways[: positive + 1].sum()), int(ways[positive:].sum()))
        return min(1.0, 2 * tail / (1 << n))
    variance = (n * (n + 1) * (2 * n + 1) - float((ties.astype(np.float64) ** 3 - ties).sum()) / 2) / 24
    z: float = abs(positive / 2 - n * (n + 1) / 4) / math.sqrt(variance)
    return math.erfc(z * math.sqrt(0.5))


def sign_counts(first: ArrayLike, second: ArrayLike, *, tolerance: float = TOLERANCE) -> SignCounts:
    """Wins, ties and losses of the first system; differences up to ``tolerance`` are ties.

    >>> sign_counts([0.3, 1.0, 0.2], [0.1 + 0.2, 0.5, 0.4])
    SignCounts(win=1, tie=1, loss=1)
    """
    differences = _differences(first, second)
    win, loss = int((differences > tolerance).sum()), int((differences < -tolerance).sum())
    return SignCounts(win, len(differences) - win - loss, loss)


def effect_size(first: ArrayLike, second: ArrayLike) -> EffectSize:
    """Cohen's dz, the win probability and the dominance of the first system over the second.

    >>> effect_size([1.0, 1.0, 0.0], [0.0, 1.0, 1.0])
    EffectSize(dz=0.0, win_probability=0.5, dominance=0.0)
    """
    differences, signs = _differences(first, second), sign_counts(first, second)
    n = len(differences)
    if n == 0:
        return EffectSize(None, None, None)
    spread = float(differences.std(ddof=1)) if n > 1 else 0.0
    dz = float(differences.mean()) / spread if spread > TOLERANCE else None
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
    """Compact letter display: two systems share a letter if and only if they do not differ.

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
