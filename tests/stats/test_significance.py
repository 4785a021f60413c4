"""Paired tests: against scipy, against enumeration by hand, and where nothing differs."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from steelyard.core.errors import InputError
from steelyard.stats.significance import (
    EffectSize,
    SignCounts,
    TestResult,
    benjamini_hochberg,
    effect_size,
    holm,
    letters,
    paired_randomisation,
    paired_randomisations,
    paired_t,
    paired_test,
    sign_counts,
    sign_test,
    wilcoxon,
)

RNG = np.random.default_rng(11)
ONE, OTHER = RNG.random(40), RNG.random(40)


def test_a_noisy_judge_is_no_regression_and_a_worse_system_is(shared: Path) -> None:
    """Case A04: the exact p of two runs of one system, and of a drop in nine of ten samples and a tie in none."""
    cases = [json.loads(line) for line in (shared / "cases.jsonl").read_text("utf-8").strip().split("\n")]
    case = next(one for one in cases if one["id"] == "A04")
    first, second = case["input"], case["input"]["second"]
    noise = paired_randomisation(first["candidate"], first["baseline"])
    drop = paired_randomisation(second["candidate"], second["baseline"])
    assert [noise.p, drop.p] == [case["check"]["p1"], case["check"]["p2"]]
    assert (noise.delta, drop.delta) == pytest.approx((0.01, -0.088))
    assert {noise.method, drop.method} == {"exact randomisation"}


def test_exact_p_by_hand() -> None:
    """Differences .1, .2, .3: of eight sign patterns two reach +-.6; with .3, -.1, -.2 all eight reach 0."""
    assert paired_randomisation([0.1, 0.2, 0.3], [0.0, 0.0, 0.0]).p == 2 / 8
    assert paired_randomisation([0.3, 0.0, 0.0], [0.0, 0.1, 0.2]).p == 1.0


@pytest.mark.parametrize("n", [2, 7, 13, 16])
def test_exact_p_agrees_with_scipy(n: int) -> None:
    """All sign patterns, as scipy's permutation test enumerates them."""
    from scipy import stats

    peer = stats.permutation_test(
        (ONE[:n], OTHER[:n]),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        n_resamples=100_000,
        vectorized=True,
    )
    found = paired_randomisation(ONE[:n], OTHER[:n])
    assert found.p == pytest.approx(peer.pvalue, abs=1e-12)
    assert found.delta == pytest.approx(peer.statistic)


def test_monte_carlo_agrees_with_the_exact_distribution() -> None:
    """Twenty pairs of differences that are multiples of .1: p within four standard errors of full enumeration."""
    apart = np.round(RNG.normal(0.1, 0.3, 20), 1)
    apart[apart == 0] = 0.1
    whole = np.rint(apart * 10).astype(int)
    sums = np.zeros(1, dtype=int)
    for step in whole:
        sums = np.concatenate([sums - step, sums + step])
    exact = (np.abs(sums) >= abs(whole.sum())).mean()
    found = paired_randomisation(apart, np.zeros(20), resamples=40_000)
    assert found.method == "randomisation"
    assert found.p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 40_000))


def test_rounding_noise_makes_and_breaks_no_tie() -> None:
    """0.1 + 0.2 and 0.3 are one number: sums that are equal on paper are equal in the test."""
    noisy = paired_randomisation([0.1 + 0.2, 0.3, 0.1, 0.1], [0.3, 0.1 + 0.2, 0.2, 0.3])
    assert noisy.p == paired_randomisation([0.0, 0.0, 0.1, 0.1], [0.0, 0.0, 0.2, 0.3]).p == 0.5


def test_p_is_never_zero() -> None:
    """(b + 1) / (m + 1): a hundred wins of a hundred leave 1 / 10,001."""
    assert paired_randomisation(np.ones(100), np.zeros(100)).p == 1 / 10_001


def test_seed_gives_these_numbers_everywhere() -> None:
    """Equal seeds give equal p on every platform and version: this one."""
    one, other = np.arange(30) % 7, np.arange(30) % 5
    assert paired_randomisation(one, other).p == paired_randomisation(one, other, seed=0).p == 1_126 / 10_001
    assert paired_randomisation(one, other, seed=1).p != 1_126 / 10_001


def test_nothing_to_compare_has_no_p() -> None:
    """No pairs, no p; no differences, p = 1."""
    assert paired_randomisation([], []) == TestResult(None, None, 0, "none")
    assert paired_randomisation([0.5, math.nan], [math.nan, 0.5]) == TestResult(None, None, 0, "none")
    assert paired_randomisation([0.5] * 9, [0.5] * 9) == TestResult(1.0, 0.0, 9, "exact randomisation")


def test_many_measures_are_tested_as_each_alone() -> None:
    """One call for a table of measures gives what a call for each gives; gaps leave a measure's pair out."""
    one, other = RNG.random((60, 4)), RNG.random((60, 4))
    one[:50, 1], other[:50, 1] = 0.5, 0.5
    one[3:9, 2] = np.nan
    other[:, 3] = np.nan
    found = paired_randomisations(one, other)
    assert [test.n for test in found] == [60, 60, 54, 0]
    assert found[0].p == paired_randomisation(one[:, 0], other[:, 0]).p
    alone = paired_randomisation(one[:, 1], other[:, 1])
    assert (found[1].p, found[1].n, found[1].method) == (alone.p, 60, "exact randomisation")
    assert found[1].delta == pytest.approx(alone.delta, rel=1e-12)  # summed in another order
    assert found[3] == TestResult(None, None, 0, "none")


def test_a_cluster_swaps_as_one() -> None:
    """Copies of a sample are no new evidence: p is that of the clusters' sums, exact for few of them."""
    apart = np.array([0.3, -0.1, 0.2, 0.4, 0.1])
    copied, tags = np.repeat(apart, 8), np.repeat(list("abcde"), 8)
    found = paired_randomisation(copied, np.zeros(40), cluster=tags)
    assert found == TestResult(
        paired_randomisation(apart, np.zeros(5)).p, pytest.approx(0.18), 40, "exact randomisation"
    )
    assert paired_randomisation(copied, np.zeros(40)).p < found.p


@pytest.mark.parametrize("n", [9, 40])
@pytest.mark.parametrize("statistic", ["mean", "total", "geometric", "ratio"])
def test_the_statistic_is_an_argument(statistic: str, n: int) -> None:
    """The fast way of a named statistic and the plain loop over a function find the same: exactly for few pairs."""
    rng = np.random.default_rng(n)
    shape = (n, 2) if statistic == "ratio" else n
    one, other = rng.random(shape), rng.random(shape)
    plain = {
        "mean": lambda rows: float(rows.mean()),
        "total": lambda rows: float(rows.sum()),
        "geometric": lambda rows: math.exp(np.log(np.maximum(rows, 1e-5)).mean()),
        "ratio": lambda rows: float(rows[:, 0].sum() / rows[:, 1].sum()),
    }[statistic]
    tags = [i // 2 for i in range(n)]
    for cluster in (None, tags):
        named, loop = (
            paired_randomisation(one, other, statistic=rule, cluster=cluster, resamples=2_000)
            for rule in (statistic, plain)
        )
        assert named.p == pytest.approx(loop.p, abs=1e-12 if n == 9 else 0.06)
        assert named.delta == pytest.approx(loop.delta)
        assert named.method == loop.method


def test_a_swap_that_leaves_the_statistic_undefined_counts_against_a_difference() -> None:
    """A ratio that some swaps divide by 0 must not look more significant for it."""
    one, other = [[1.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 2.0]]
    assert paired_randomisation(one, other, statistic="ratio").p == 1.0
    assert paired_randomisation(one, [[0.0, 0.0]] * 2, statistic="ratio") == TestResult(None, None, 2, "none")


def test_t_and_wilcoxon_agree_with_scipy() -> None:
    """The options, against their reference."""
    from scipy import stats

    assert paired_t(ONE, OTHER).p == pytest.approx(stats.ttest_rel(ONE, OTHER).pvalue)
    assert paired_t(ONE[:3], OTHER[:3]).p == pytest.approx(stats.ttest_rel(ONE[:3], OTHER[:3]).pvalue)
    assert wilcoxon(ONE, OTHER).p == pytest.approx(stats.wilcoxon(ONE, OTHER).pvalue)
    rounded = np.round(ONE, 1), np.round(OTHER, 1)
    assert wilcoxon(*rounded).p == pytest.approx(stats.wilcoxon(np.round(rounded[0] - rounded[1], 9)).pvalue)


@pytest.mark.parametrize("values", [2, 5, 40, 10**6])
@pytest.mark.parametrize("n", [1, 2, 7, 13, 14, 30, 50, 51, 200])
def test_wilcoxon_takes_the_method_that_scipy_takes(n: int, values: int) -> None:
    """Exact without ties and with them, and the normal approximation."""
    from scipy import stats

    rng = np.random.default_rng(n)
    for _ in range(5):
        one, other = rng.integers(0, values + 1, (2, n)) / values
        apart = np.round(one - other, 9)
        moved = apart[apart != 0]
        expected = stats.wilcoxon(moved).pvalue if len(moved) else 1.0
        assert wilcoxon(one, other).p == pytest.approx(expected, rel=1e-13)


def test_t_and_wilcoxon_without_spread() -> None:
    """A constant difference, no difference, one pair, no pair."""
    assert paired_t([1.0, 1.0], [0.5, 0.5]).p == 0.0
    assert paired_t([1.0, 1.0], [1.0, 1.0]).p == 1.0
    assert paired_t([1.0], [0.5]) == TestResult(None, 0.5, 1, "none")
    assert wilcoxon([1.0, 1.0], [1.0, 1.0]).p == 1.0
    assert wilcoxon([], []) == TestResult(None, None, 0, "none")


@pytest.mark.parametrize(("win", "loss"), [(1, 0), (3, 0), (1, 1), (4, 2), (7, 7), (60, 30), (1_500, 1_600)])
def test_mid_p_agrees_with_the_binomial_distribution(win: int, loss: int) -> None:
    """The chance of every more lopsided count, and half of that of those as lopsided; level pairs play no part."""
    from scipy import stats

    n = win + loss
    chances, apart = stats.binom.pmf(np.arange(n + 1), n, 0.5), np.abs(2 * np.arange(n + 1) - n)
    expected = chances[apart > abs(win - loss)].sum() + chances[apart == abs(win - loss)].sum() / 2
    one, other = np.repeat([1.0, 0.0, 1.0], [win, loss, 5]), np.repeat([0.0, 1.0, 1.0], [win, loss, 5])
    found = sign_test(one, other)
    assert found.p == pytest.approx(expected, rel=1e-9)
    assert (found.n, found.delta) == (n + 5, pytest.approx((win - loss) / (n + 5)))
    assert sign_test(other, one).p == found.p


def test_pass_or_fail_takes_the_mid_p_and_graded_scores_the_randomisation_test() -> None:
    """Equal gaps are all that counts, whatever their size; clusters and ratios stay with randomisation."""
    one, other = np.array([1.0, 1.0, 1.0, 0.0, 1.0]), np.array([0.0, 0.0, 0.0, 0.0, 1.0])
    assert paired_test(one, other) == sign_test(one, other)
    assert paired_test(one / 4 + 0.1, other / 4 + 0.1).p == sign_test(one, other).p
    assert paired_test(ONE, OTHER) == paired_randomisation(ONE, OTHER)
    assert paired_test(one, other, cluster=list("aabbc")).method == "exact randomisation"
    pairs = np.column_stack([one, np.ones(5)]), np.column_stack([other, np.ones(5)])
    assert paired_test(*pairs, statistic="ratio").method == "exact randomisation"
    assert paired_test([0.5] * 4, [0.5] * 4).p == 1.0
    assert paired_test([], []).p is sign_test([], []).p is None


def test_two_equal_systems_differ_as_often_as_alpha_says() -> None:
    """Pass or fail, 100 pairs of which 40 differ, by exact calculation: 4 to 5 % at .05; the exact test has 3 to 4 %."""
    from scipy import stats

    chances = stats.binom.pmf(np.arange(41), 40, 0.5)
    mid = [
        sign_test(np.repeat([1.0, 0.0], [win, 40 - win]), np.repeat([0.0, 1.0], [win, 40 - win])).p for win in range(41)
    ]
    exact = [stats.binomtest(win, 40).pvalue for win in range(41)]
    assert 0.035 < chances[np.array(mid) <= 0.05].sum() < 0.05
    assert chances[np.array(exact) <= 0.05].sum() <= chances[np.array(mid) <= 0.05].sum()


def test_signs_and_effect_by_hand() -> None:
    """Two wins, one tie within the tolerance, one loss; dz is .1 over the differences' deviation."""
    one, other = [0.5, 0.6, 0.3, 0.1], [0.2, 0.3, 0.1 + 0.2, 0.3]
    assert sign_counts(one, other) == SignCounts(2, 1, 1)
    assert sign_counts(one, other, tolerance=0.25) == SignCounts(2, 2, 0)
    assert sign_counts(one, other).n == 4
    size = effect_size(one, other)
    assert size.dz == pytest.approx(0.1 / np.std([0.3, 0.3, 0.0, -0.2], ddof=1))
    assert (size.win_probability, size.dominance) == (0.625, 0.25)
    assert effect_size([], []) == EffectSize(None, None, None)
    assert effect_size([1.0, 1.0], [0.5, 0.5]) == EffectSize(None, 1.0, 1.0)


def test_corrections_against_scipy_and_by_hand() -> None:
    """Benjamini and Hochberg as scipy's; Holm by hand: 4 x .01, 3 x .02, 2 x .03 (kept at .06), .04 (kept at .06)."""
    from scipy import stats

    p = [0.03, 0.01, 0.04, 0.02]
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))
    assert holm(p) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == benjamini_hochberg([]) == []


def test_a_metric_without_p_is_not_counted() -> None:
    """A metric that nobody could test does not make the others' p worse."""
    assert holm([0.02, None, 0.5]) == [0.04, None, 0.5]
    assert benjamini_hochberg([None, 0.02]) == [None, 0.02]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(0, 1), max_size=8))
def test_laws_of_corrections(p: list[float]) -> None:
    """Never below p, never above 1, in p's order, and Benjamini and Hochberg never above Holm."""
    strict, lenient = holm(p), benjamini_hochberg(p)
    order = np.argsort(p, kind="stable")
    for adjusted in (strict, lenient):
        assert all(raw - 1e-12 <= new <= 1 for raw, new in zip(p, adjusted, strict=True))
        assert (np.diff(np.array(adjusted)[order]) >= 0).all() if p else True
    assert all(b <= a + 1e-12 for a, b in zip(strict, lenient, strict=True))


@settings(deadline=None, max_examples=40)
@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] < pair[1])))
def test_letters_say_exactly_what_differs(pairs: set[tuple[int, int]]) -> None:
    """Two systems share a letter if and only if they do not differ, and the best has the letter a."""
    names = list("ABCDEF")
    differ = {frozenset((names[i], names[j])) for i, j in pairs}
    shown = letters(names, lambda one, other: frozenset((one, other)) in differ)
    for one, other in itertools.combinations(names, 2):
        assert bool(set(shown[one]) & set(shown[other])) == (frozenset((one, other)) not in differ)
    assert shown["A"].startswith("a")


def test_letters_of_none_and_one() -> None:
    """Nobody gets no letter, one system gets a."""
    assert letters([], lambda one, other: True) == {}
    assert letters(["x"], lambda one, other: True) == {"x": "a"}


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=1, max_size=25))
def test_turning_the_systems_around_turns_the_delta(pairs: list[tuple[int, int]]) -> None:
    """The test is two-sided: p stays, the delta changes its sign, and p has a sane range."""
    one, other = np.array(pairs).T / 10
    there, back = paired_randomisation(one, other, resamples=500), paired_randomisation(other, one, resamples=500)
    assert there.p == back.p
    assert 0 < there.p <= 1
    assert there.delta == pytest.approx(-back.delta)


def test_bad_input_is_one_clear_line() -> None:
    """What cannot be tested is refused, and the message says what was found."""
    with pytest.raises(InputError, match=r"pairs need equal shapes, found \(2,\) and \(1,\)"):
        paired_randomisation([0.1, 0.2], [0.1])
    with pytest.raises(InputError, match=r"expected two tables, samples x measures, found shapes \(2,\) and \(2,\)"):
        paired_randomisations([0.1, 0.2], [0.1, 0.2])
    with pytest.raises(InputError, match="resamples: must be at least 1, found 0"):
        paired_randomisation(ONE, OTHER, resamples=0)
    with pytest.raises(InputError, match="a value is infinite"):
        paired_randomisations([[math.inf]], [[0.0]])
    with pytest.raises(InputError, match=r"p-values lie in \[0, 1\]"):
        holm([0.5, 1.5])
    with pytest.raises(InputError, match="expected one number per sample"):
        sign_counts([[0.1, 0.2]], [[0.1, 0.2]])
