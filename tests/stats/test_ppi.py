"""Corrected means: the estimator by its definition, what cannot change it, and whether it covers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from steelyard.core.errors import InputError
from steelyard.stats.distributions import student_quantile
from steelyard.stats.intervals import difference_interval, interval
from steelyard.stats.ppi import Corrected, corrected_difference, corrected_mean

NAN = float("nan")


def drawn(seed: int, *, n: int = 60, judged: int = 500, follow: float = 0.8) -> tuple[np.ndarray, np.ndarray]:
    """Ratings, the first ``n`` of which are known, and scores that follow them."""
    rng = np.random.default_rng(seed)
    labels = rng.normal(0.5, 0.2, judged)
    scores = follow * labels + 0.3 + rng.normal(0, 0.1, judged)
    return np.where(np.arange(judged) < n, labels, NAN), scores


def test_it_is_the_ppi_plus_plus_estimator() -> None:
    """mean(Y - l f) over labelled plus l mean(f) over unlabelled, with l = cov / ((1 + n / N) var): arXiv:2311.01453."""
    labels, scores = drawn(1)
    n, rest = 60, 440
    y, f = labels[:n], scores[:n]
    tuned = np.cov(y, f)[0, 1] / ((1 + n / rest) * np.var(f, ddof=1))
    assert corrected_mean(labels, scores).value == pytest.approx(tuned * scores[n:].mean() + (y - tuned * f).mean())


def test_its_interval_by_hand() -> None:
    """Student's, around two variances: of all samples' labels, and of the residuals weighted by where they lie."""
    labels, scores = drawn(2)
    n, judged = 60, 500
    y, f = labels[:n], scores[:n]
    slope, _ = np.polyfit(f, y, 1)
    gap, even = scores.mean() - f.mean(), ((f - f.mean()) ** 2).sum()
    parts = (1 / n + gap * (f - f.mean()) / even) * (y - y.mean() - slope * (f - f.mean())) * math.sqrt(1 - n / judged)
    parts *= math.sqrt(n / (n - 1))
    variance = y.var(ddof=1) / judged + (parts**2).sum() * (n - 1) / (n - 2)
    own = 2 / ((parts**4).sum() / (parts**2).sum() ** 2 - 1 / n)
    half = student_quantile(0.975, min(own, n - 2)) * math.sqrt(variance)
    found = corrected_mean(labels, scores)
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half))
    assert found.slope == pytest.approx(slope)
    assert (found.n, found.judged, found.method) == (60, 500, "t")


def test_a_judge_that_knows_nothing_leaves_the_labels_alone() -> None:
    """A constant score, or one without relation: the interval is that of the labels."""
    people = [1.0] * 30 + [0.0] * 10
    found = corrected_mean([*people, *[NAN] * 60], [0.7] * 100)
    alone = interval(people)
    assert (found.value, found.low, found.high, found.method) == (0.75, alone.low, alone.high, "wilson")
    assert (found.slope, found.effective, found.gain) == (0.0, 40.0, 1.0)


def test_a_perfect_judge_makes_every_score_a_label() -> None:
    """No residual at all: the mean of all, yet not with the certainty of as many labels."""
    rng = np.random.default_rng(3)
    truth = (rng.random(1000) < 0.6) * 1.0
    found = corrected_mean(np.where(np.arange(1000) < 100, truth, NAN), truth)
    assert found.value == pytest.approx(truth.mean())
    assert 100 < found.effective < 1000


def test_binary_pairs_alone_have_bonett_and_prices_interval() -> None:
    """With a judge that sees no difference, the interval is the one of two systems beside labels."""
    mine, theirs = [1.0, 1.0, 0.0, 1.0, 0.0] * 8, [0.0, 1.0, 0.0, 1.0, 1.0] * 8
    missing = [NAN] * 20
    found = corrected_difference([*mine, *missing], [0.5] * 60, [*theirs, *missing], [0.5] * 60)
    alone = difference_interval(mine, theirs)
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))
    assert (found.value, found.method, alone.method) == (0.0, "bonett-price", "bonett-price")


def test_two_systems_pair_where_both_are_labelled() -> None:
    """A sample labelled for one system alone counts nowhere; one scored for one alone neither."""
    labels, scores = drawn(4, judged=100)
    other = labels - 0.1
    other[:10] = NAN
    theirs = scores - 0.1
    theirs[50] = NAN
    found = corrected_difference(labels, scores, other, theirs)
    assert (found.n, found.judged, found.unscored) == (49, 99, 1)
    assert found.value == pytest.approx(0.1)


@given(st.integers(0, 10_000), st.floats(0.1, 10), st.floats(-5, 5), st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_scale_of_the_judge_does_not_matter(seed: int, factor: float, shift: float, whole: bool) -> None:
    """However biased, stretched or turned round its scores are, the estimate and its interval stay."""
    labels, scores = drawn(seed, n=40, judged=120)
    if whole:
        labels = np.where(np.isnan(labels), NAN, (labels > 0.45) * 1.0)
    plain, other = corrected_mean(labels, scores), corrected_mean(labels, shift - factor * scores)
    assert (other.value, other.low, other.high) == pytest.approx((plain.value, plain.low, plain.high), abs=1e-9)


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)), min_size=4, max_size=40),
    st.lists(st.floats(0, 1), max_size=40),
)
@settings(max_examples=80, deadline=None)
def test_it_is_never_wider_than_the_labels_alone(pairs: list[tuple[float, float]], rest: list[float]) -> None:
    """Whatever is labelled and scored, the interval is finite, holds its value, and is at most 5 % wider."""
    labels = [label for label, _ in pairs] + [NAN] * len(rest)
    found = corrected_mean(labels, [score for _, score in pairs] + rest)
    assert found.low <= found.value <= found.high
    assert found.high - found.low <= 1.05 * (found.alone_high - found.alone_low) + 1e-12
    assert 0 <= found.low <= found.high <= 1


def _covered(found: Corrected, truth: float) -> bool:
    return found.low <= truth <= found.high


@pytest.mark.parametrize("bias", [0.0, 0.3])
@pytest.mark.parametrize("whole", [False, True])
def test_it_covers_and_gains_with_a_good_judge(bias: float, whole: bool) -> None:
    """Correlation .8: 95 % intervals hold the truth, biased or not, and labels count at least twice."""
    rng = np.random.default_rng(5)
    hits, gains = 0, []
    for _ in range(200):
        labels = (rng.random(1000) < 0.7) * 1.0 if whole else rng.normal(0.0, 1.0, 1000)
        spread = math.sqrt(0.21) if whole else 1.0
        even = (labels - (0.7 if whole else 0.0)) / spread
        scores = bias + 0.8 * even + 0.6 * rng.normal(0.0, 1.0, 1000)
        labels[100:] = NAN
        found = corrected_mean(labels, scores)
        hits += _covered(found, 0.7 if whole else 0.0)
        gains.append(found.gain)
    assert 0.92 <= hits / 200 <= 0.98
    assert np.mean(gains) >= 2


def test_strata_undo_an_uneven_draw() -> None:
    """As many labels from the tenth with the lowest scores as from the rest: by strata the mean is right."""
    rng = np.random.default_rng(6)
    hits = naive = 0
    for _ in range(100):
        truth = rng.normal(0.5, 0.2, 600)
        scores = truth + rng.normal(0, 0.15, 600)
        low = scores < np.quantile(scores, 0.1)
        kept = np.concatenate([rng.permutation(np.flatnonzero(part))[:30] for part in (low, ~low)])
        labels = np.full(600, NAN)
        labels[kept] = truth[kept]
        found = corrected_mean(labels, scores, strata=low.tolist())
        same = corrected_mean(labels, scores, strata=[str(one) for one in low], shares={"True": 0.1, "False": 0.9})
        assert (found.value, found.high) == pytest.approx((same.value, same.high))
        hits += _covered(found, 0.5)
        naive += abs(np.nanmean(labels) - 0.5) < 1.96 * np.nanstd(labels) / math.sqrt(60)
    assert 0.9 <= hits / 100 <= 0.99
    assert naive / 100 < 0.6


def test_clusters_of_copies_count_once() -> None:
    """Every sample three times over, in clusters, knows as much as every sample once."""
    labels, scores = drawn(7, n=50, judged=300)
    once = corrected_mean(labels, scores)
    thrice = corrected_mean(np.repeat(labels, 3), np.repeat(scores, 3), cluster=np.repeat(np.arange(300), 3).tolist())
    assert thrice.value == pytest.approx(once.value)
    assert thrice.high - thrice.low == pytest.approx(once.high - once.low, rel=0.05)


@pytest.mark.parametrize(
    ("labels", "scores", "options", "words"),
    [
        ([1.0, NAN], [0.5, 0.5], {}, "1 label on scored samples: at least 2 are needed"),
        ([1.0, 0.0, NAN], [NAN, 0.5, 0.5], {}, "1 label on scored samples"),
        ([1.0, 0.0, 1.0], [0.1, 0.5, 0.5], {"strata": ["a", "a", "b"]}, "every stratum needs 2 labels: too few in b"),
    ],
)
def test_what_cannot_be_estimated_says_why(
    labels: list[float], scores: list[float], options: dict[str, list[str]], words: str
) -> None:
    """No number, and a reason; what the judge says is still told."""
    found = corrected_mean(labels, scores, **options)
    assert found.value is None
    assert words in found.reason
    assert found.uncorrected == pytest.approx(np.nanmean(scores))


def test_bad_input_is_one_clear_line() -> None:
    """Unequal lengths, strata without a share, infinite values, a confidence of 1."""
    with pytest.raises(InputError, match="one number per sample"):
        corrected_mean([1.0, 0.0], [0.5])
    with pytest.raises(InputError, match="no share is given for the stratum 'b'"):
        corrected_mean([1.0, 0.0, 1.0], [0.5] * 3, strata=["a", "a", "b"], shares={"a": 1.0})
    with pytest.raises(InputError, match="share above 0"):
        corrected_mean([1.0, 0.0], [0.5] * 2, strata=["a", "a"], shares={"a": 1.0, "b": 0.0})
    with pytest.raises(InputError, match="2 strata for 3 samples"):
        corrected_mean([1.0, 0.0, NAN], [0.5] * 3, strata=["a", "a"])
    with pytest.raises(InputError, match="infinite"):
        corrected_mean([1.0, math.inf], [0.5] * 2)
    with pytest.raises(InputError, match="between 0 and 1"):
        corrected_mean([1.0, 0.0], [0.5] * 2, confidence=1.0)
    with pytest.raises(InputError, match="equal length"):
        corrected_difference([1.0], [0.5], [1.0, 0.0], [0.5])
