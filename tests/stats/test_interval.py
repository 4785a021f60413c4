"""Intervals: against scipy, against hand-worked examples, and where data say little."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from steelyard.core.errors import InputError
from steelyard.stats.distributions import normal_cdf, normal_quantile, student_cdf, student_quantile
from steelyard.stats.intervals import DegenerateData, Interval, difference_interval, interval, wilson
from steelyard.stats.resampling import Quantile, geometric

SCORES = np.random.default_rng(5).beta(0.5, 2, 40)


def widened(confidence: float, n: int) -> float:
    """The textbook level whose bootstrap interval is ours at ``confidence``."""
    return 1 - 2 * normal_cdf(-math.sqrt(n / (n - 1)) * student_quantile((1 + confidence) / 2, n - 1))


@pytest.mark.parametrize("df", [1, 2, 3, 7.5, 30, 999, 99_999, 1e7])
def test_distributions_agree_with_scipy(df: float) -> None:
    """Normal and Student's t by formula are scipy's."""
    from scipy import stats

    for t in (-40.0, -3.2, -0.4, 0.0, 1.0, 2.6, 12.0):
        assert student_cdf(t, df) == pytest.approx(stats.t.cdf(t, df), rel=1e-6, abs=1e-11)
        assert normal_cdf(t) == pytest.approx(stats.norm.cdf(t), rel=1e-9)
    for p in (0.0005, 0.025, 0.3, 0.5, 0.8, 0.975, 0.9999):
        assert student_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-8, abs=1e-12)
        assert normal_quantile(p) == pytest.approx(stats.norm.ppf(p), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("ours", "theirs"), [("bca", "BCa"), ("percentile", "percentile")])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_bootstrap_agrees_with_scipy(ours: str, theirs: str, confidence: float) -> None:
    """BCa and percentile are scipy's at the widened level, up to the noise of 20,000 resamples."""
    from scipy import stats

    found = interval(SCORES, method=ours, confidence=confidence, resamples=20_000, seed=1)  # type: ignore[arg-type]
    level = widened(confidence, len(SCORES))
    peer = stats.bootstrap(
        (SCORES,), np.mean, confidence_level=level, n_resamples=20_000, method=theirs, rng=2
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((peer.low, peer.high), abs=0.003)
    assert (found.method, found.n) == (ours, 40)


@pytest.mark.parametrize("name", ["total", "geometric", "ratio", "deviation"])
def test_other_statistics_agree_with_scipy(name: str) -> None:
    """The statistic is an argument: named ones and any function get the BCa interval that scipy gives them."""
    from scipy import stats

    rows = np.column_stack([SCORES, SCORES + np.linspace(0.1, 1, 40)]) if name == "ratio" else SCORES
    plain = {
        "total": np.sum,
        "geometric": lambda x: np.exp(np.log(np.maximum(x, 1e-5)).mean()),
        "ratio": lambda x, y: x.sum() / y.sum(),
        "deviation": np.std,
    }[name]
    statistic = (lambda values: float(np.std(values))) if name == "deviation" else name
    found = interval(rows, statistic=statistic, resamples=5_000, seed=1)
    peer = stats.bootstrap(
        tuple(rows.T) if name == "ratio" else (rows,),
        plain,
        paired=name == "ratio",
        vectorized=False,
        confidence_level=widened(0.95, 40),
        n_resamples=5_000,
        rng=2,
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((peer.low, peer.high), abs=0.05 * (peer.high - peer.low))
    assert found.method == "bca"


def test_seed_gives_these_numbers_everywhere() -> None:
    """Equal seeds give equal numbers on every platform and version: these."""
    found = interval(np.arange(10) / 10)
    assert (found.low, found.high) == pytest.approx((0.23, 0.6520128), abs=1e-7)
    assert found == interval(np.arange(10) / 10, seed=0)
    assert found != interval(np.arange(10) / 10, seed=1)


def test_small_samples_use_students_t() -> None:
    """Five values: mean -+ t(4) * s / sqrt(5), by hand 3 -+ 2.7764 * 1.5811 / 2.2361; scores stay within [0, 1]."""
    found = interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (found.low, found.high) == pytest.approx((3 - 1.963243, 3 + 1.963243), abs=1e-6)
    assert found.method == "t"
    assert interval([0.9, 0.7, 1.0]).high == 1.0


def test_large_samples_use_the_jackknife() -> None:
    """Beyond a thousand values the formula agrees with the bootstrap it replaces."""
    values = np.random.default_rng(1).beta(0.5, 2, 1_500)
    found, peer = interval(values), interval(values, method="bca", resamples=10_000)
    assert found.method == "jackknife"
    assert (found.low, found.high) == pytest.approx((peer.low, peer.high), abs=4e-4)


def test_wilson_against_published_values() -> None:
    """Newcombe (1998), table I: 81 of 263 is 0.2553-0.3662, 0 of 20 is 0.0000-0.1611, 1 of 29 is 0.0061-0.1718."""
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson(1, 29) == pytest.approx((0.0061, 0.1718), abs=5e-5)


def test_all_ones_are_not_certain() -> None:
    """Five of five is no certainty, clustered or not; a cluster counts as one trial."""
    assert interval([1.0] * 5).low == pytest.approx(0.5655, abs=1e-4)
    assert interval([1.0] * 6, cluster=["a", "a", "b", "b", "c", "c"]).low == pytest.approx(wilson(3, 3)[0])
    assert interval([1.0] * 6, cluster=["a", "a", "b", "b", "c", "c"]).method == "cluster wilson"


def test_data_without_spread_are_named_and_not_warned_of() -> None:
    """The default names what it met: no values, one value, equal values."""
    assert interval([]) == Interval(None, None, "none", 0)
    assert interval([0.3]) == Interval(None, None, "none", 1)
    assert interval([0.3] * 9) == Interval(0.3, 0.3, "constant", 9)
    assert interval([0.3, 0.4], cluster=["a", "a"]) == Interval(None, None, "cluster none", 2)


@pytest.mark.parametrize("values", [[], [0.3], [0.3, 0.3, 0.3]])
def test_a_method_asked_for_by_name_warns(values: list[float]) -> None:
    """A bootstrap that can say nothing says so, by a named warning."""
    with pytest.warns(DegenerateData):
        interval(values, method="bca")


def test_a_statistic_that_resamples_leave_undefined() -> None:
    """A ratio whose denominator is mostly 0 in a resample has no interval; a rare gap does no harm."""
    rare = [[1.0, 1.0]] + [[0.0, 0.0]] * 40
    assert interval(rare, statistic=lambda rows: rows[:, 0].sum() / rows[:, 1].sum()).method in {"none", "constant"}
    assert interval([[0.0, 0.0]] * 9, statistic="ratio") == Interval(None, None, "none", 9)
    assert interval([[1.0, 2.0], [0.0, 0.0], [2.0, 3.0]] * 4, statistic="ratio").method == "bca"


def test_clusters_widen_the_interval_as_their_means_do() -> None:
    """Ten equal values per cluster are worth one: the interval is that of the clusters' means."""
    means = np.random.default_rng(2).random(12)
    tags = np.repeat([f"c{i}" for i in range(12)], 10)
    found, apart = interval(np.repeat(means, 10), cluster=tags), interval(means)
    assert (found.low, found.high) == pytest.approx((apart.low, apart.high))
    assert (found.method, found.n) == ("cluster bca", 120)
    assert found.high - found.low > 2 * (interval(np.repeat(means, 10)).high - interval(np.repeat(means, 10)).low)


def test_clusters_of_any_function() -> None:
    """A plain function and the named statistic resample the same clusters."""
    values, tags = np.random.default_rng(3).random(30), [i % 11 for i in range(30)]
    named, plain = (interval(values, statistic=one, cluster=tags) for one in ("mean", lambda rows: float(rows.mean())))
    assert (named.low, named.high) == pytest.approx((plain.low, plain.high), abs=1e-9)


def test_quantile_lies_between_order_statistics() -> None:
    """Median of 1..100: ranks 50 -+ 9.8 by the normal approximation of the binomial, so 40 and 61."""
    assert interval(np.arange(1.0, 101.0), statistic=Quantile(0.5)) == Interval(40.0, 61.0, "order statistics", 100)
    tags = [i % 10 for i in range(100)]
    assert interval(np.arange(1.0, 101.0), statistic=Quantile(0.5), cluster=tags).method == "cluster bca"


def test_difference_is_paired() -> None:
    """The interval of a mean difference is the paired t interval; what samples share cancels."""
    from scipy import stats

    base = np.random.default_rng(4).random(60) * 0.8
    better = base + np.random.default_rng(5).normal(0.05, 0.02, 60)
    found, peer = difference_interval(better, base), stats.ttest_rel(better, base).confidence_interval()
    assert (found.low, found.high) == pytest.approx((peer.low, peer.high))
    assert (found.method, found.n) == ("t", 60)
    assert difference_interval(better, base, method="bca").low == pytest.approx(found.low, abs=1e-3)


def test_difference_of_shares_against_a_hand_worked_example() -> None:
    """Bonett and Price (2012): 36 pairs, 9 won, 3 lost: (10 - 4) / 38 -+ 1.96 sqrt((14 / 38 - (6 / 38)^2) / 38)."""
    one, other = np.ones(36), np.ones(36)
    other[:9], one[9:12] = 0.0, 0.0
    half = 1.959964 * math.sqrt((14 / 38 - (6 / 38) ** 2) / 38)
    found = difference_interval(one, other)
    assert (found.low, found.high) == pytest.approx((6 / 38 - half, 6 / 38 + half), abs=1e-6)
    assert found.method == "bonett-price"


def test_difference_where_nothing_differs() -> None:
    """The same answers twice: no change, whatever the scores."""
    assert difference_interval(SCORES, SCORES) == Interval(0.0, 0.0, "constant", 40)
    assert difference_interval([1.0, 0.0], [1.0, 0.0]) == Interval(0.0, 0.0, "constant", 2)


def test_differences_of_nought_and_one_are_no_pass_rate() -> None:
    """Three won and none lost of 20 may still be none: the interval reaches below 0 as the test's p says."""
    found = difference_interval([1.0] * 10 + [0.0] * 10, [1.0] * 7 + [0.0] * 13)
    assert found.low is not None
    assert found.low < 0


@pytest.mark.parametrize("statistic", ["total", "geometric", "ratio"])
def test_difference_of_other_statistics(statistic: str) -> None:
    """Estimates minus each other, in the middle of their interval; a plain function agrees with the named one."""
    rng = np.random.default_rng(6)
    shape = (40, 2) if statistic == "ratio" else 40
    one, other = rng.random(shape) + 0.5, rng.random(shape) + 0.5
    plain = {
        "total": lambda rows: float(rows.sum()),
        "geometric": lambda rows: float(geometric()(rows)),
        "ratio": lambda rows: float(rows[:, 0].sum() / rows[:, 1].sum()),
    }[statistic]
    found = difference_interval(one, other, statistic=statistic, method="bca")
    assert found.low < plain(one) - plain(other) < found.high
    by_function = difference_interval(one, other, statistic=plain)
    assert (found.low, found.high) == pytest.approx((by_function.low, by_function.high))


def test_pairs_with_a_gap_are_left_out() -> None:
    """A pair that is undefined on either side is no pair; its cluster's tag goes with it."""
    gap = math.nan
    whole = difference_interval([0.5, 0.75, 0.25, 0.5], [0.25, 0.5, 0.5, 0.125])
    assert difference_interval([0.5, 0.75, gap, 0.25, 0.5, 1.0], [0.25, 0.5, 0.5, 0.5, 0.125, gap]) == whole
    assert difference_interval([0.5, gap, 0.25], [0.25, 0.5, 0.5], cluster=["a", "b", "c"]).n == 2


def test_bad_input_is_one_clear_line() -> None:
    """What cannot be weighed is refused, and the message says what was found."""
    with pytest.raises(InputError, match=r"value 1 is nan: leave undefined samples out"):
        interval([0.1, math.nan])
    with pytest.raises(InputError, match=r"cluster: 1 tags for 2 values"):
        interval([0.1, 0.2], cluster=["a"])
    with pytest.raises(InputError, match=r"confidence: must be between 0 and 1, found 95"):
        interval([0.1, 0.2], confidence=95)
    with pytest.raises(InputError, match=r"unknown statistic 'median'"):
        interval([0.1, 0.2], statistic="median")
    with pytest.raises(InputError, match=r"expected 1 column\(s\) of values, found 2"):
        interval([[0.1, 0.2]] * 9)
    with pytest.raises(InputError, match=r"wilson is for the mean of values that are all 0 or 1"):
        interval([0.1, 1.0], method="wilson")
    with pytest.raises(InputError, match=r"method: unknown method 'normal': expected one of auto, bca"):
        interval([0.1, 0.2], method="normal")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"seed: must be 0 or more, found -1"):
        interval(SCORES, seed=-1)
    with pytest.raises(InputError, match=r"resamples: must be at least 1, found 0"):
        interval(SCORES, resamples=0)
    with pytest.raises(InputError, match=r"3 successes in 2 trials"):
        wilson(3, 2)
    with pytest.raises(InputError, match=r"pairs need equal shapes, found \(2,\) and \(1,\)"):
        difference_interval([0.1, 0.2], [0.1])


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(0, 1).map(lambda x: round(x, 2)), min_size=2, max_size=30), st.integers(0, 5))
def test_interval_of_scores_holds_its_mean(values: list[float], seed: int) -> None:
    """Within [0, 1], ordered, around the mean of the smallest and largest seen, and silent."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = interval(values, seed=seed, resamples=200)
    assert 0 <= found.low <= found.high <= 1
    assert found.low <= np.mean(values) + 1e-9
    assert found.high >= np.mean(values) - 1e-9


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(-1, 1).map(lambda x: round(x, 2)), min_size=2, max_size=20))
def test_difference_turns_around(values: list[float]) -> None:
    """Swapping the two systems swaps the bounds and their signs."""
    zeros = [0.0] * len(values)
    there, back = difference_interval(values, zeros), difference_interval(zeros, values)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=1e-12)


def test_blocks_do_not_show_in_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many resamples are drawn at a time changes nothing."""
    from steelyard.stats import resampling

    values = np.random.default_rng(7).random(301)
    replicate = resampling.replicate_of(resampling.MEAN, values, None, 301)
    whole = resampling.resample(replicate, 301, 2_000, 3)
    monkeypatch.setattr(resampling, "BLOCK", 1_000)
    np.testing.assert_array_equal(resampling.resample(replicate, 301, 2_000, 3), whole)


def test_resamples_are_uniform() -> None:
    """Each unit is drawn once on average, with the variance of the multinomial, 1 - 1 / n."""
    from steelyard.stats import resampling

    counts = np.concatenate(list(resampling._weights(40, 20_000, 1)))
    assert (counts.sum(axis=1) == 40).all()
    assert np.abs(counts.mean(axis=0) - 1).max() < 4 * math.sqrt(0.975 / 20_000)
    assert counts.var(axis=0).mean() == pytest.approx(0.975, abs=0.01)
