"""Agreement of raters: against scipy, scikit-learn, the krippendorff package, and by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from steelyard.core.errors import InputError
from steelyard.stats.agreement import (
    Agreement,
    Confusion,
    accuracy,
    balanced_accuracy,
    cohen_kappa,
    confusion,
    kappa_maximum,
    kendall_tau,
    roc_auc,
    spearman,
)
from steelyard.stats.intervals import interval, wilson
from steelyard.stats.krippendorff import krippendorff_alpha
from steelyard.stats.rank_correlation import kendall_of_many

HUMAN = [2, 0, 2, 2, 0, 1, 1, 0, 2, 1, 0, 0]
JUDGE = [2, 0, 1, 2, 0, 1, 0, 0, 2, 2, 0, 1]

# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", section C: four raters, twelve units, gaps.
PUBLISHED = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
# Three raters, thirty units, drawn at random; the values below are those of krippendorff 0.9.0.
DRAWN = json.loads(
    "[[5,4,4,5,null,null,5,2,null,2,2,5,5,1,3,null,1,4,1,3,5,null,2,null,null,2,5,3,3,3],"
    "[3,4,4,5,5,4,5,null,1,null,2,2,null,1,3,null,1,1,1,3,5,null,2,null,4,5,5,4,3,3],"
    "[2,3,2,2,5,1,1,1,5,4,5,null,4,2,3,1,4,5,4,1,3,2,5,5,null,3,5,5,null,4]]"
)

ALL = [accuracy, balanced_accuracy, cohen_kappa, spearman, kendall_tau, roc_auc, krippendorff_alpha]


def test_kappa_and_balanced_accuracy_against_scikit_learn() -> None:
    """scikit-learn 1.9.1 gives 0.4893617021276596 and 0.6277777777777778."""
    assert cohen_kappa(HUMAN, JUDGE).value == pytest.approx(0.4893617021276596)
    assert balanced_accuracy(HUMAN, JUDGE).value == pytest.approx(0.6277777777777778)


def test_roc_auc_against_scikit_learn() -> None:
    """scikit-learn 1.9.1 gives 0.8333333333333334; one pair of ten is a tie across labels."""
    scores = [0.1, 0.9, 0.4, 0.4, 0.8, 0.3, 0.35, 0.7, 0.6, 0.6]
    assert roc_auc([0, 1, 1, 0, 1, 0, 1, 1, 0, 1], scores).value == pytest.approx(0.8333333333333334)


@pytest.mark.parametrize(("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_against_the_published_example(level: str, value: float) -> None:
    """The values that Krippendorff prints, to his three digits; the unit with one value is excluded."""
    found = krippendorff_alpha(PUBLISHED, level)  # type: ignore[arg-type]
    assert found.value == pytest.approx(value, abs=6e-4)
    assert (found.n, found.excluded) == (11, 1)


@pytest.mark.parametrize(
    ("level", "value"),
    [("nominal", 0.14462809917355368), ("ordinal", 0.0367442031112416), ("interval", 0.02985362095531585)],
)
def test_alpha_against_the_krippendorff_package(level: str, value: float) -> None:
    """krippendorff 0.9.0 on thirty units of three raters with gaps; the interval contains the value."""
    found = krippendorff_alpha(DRAWN, level)  # type: ignore[arg-type]
    assert found.value == pytest.approx(value, abs=1e-12)
    assert found.low < value < found.high
    assert (found.n, found.excluded, found.method) == (26, 4, "bca")


def test_alpha_of_names() -> None:
    """At the nominal level names do as well as numbers."""
    names = {None: None, 1: "pear", 2: "fig", 3: "plum", 4: "apple", 5: "quince"}
    named = [[names[value] for value in row] for row in PUBLISHED]
    assert krippendorff_alpha(named).value == pytest.approx(krippendorff_alpha(PUBLISHED).value, abs=1e-12)


@pytest.mark.parametrize("n", [12, 400])
def test_rank_correlations_agree_with_scipy(n: int) -> None:
    """Spearman and tau-b with ties, for few pairs and for many."""
    from scipy import stats

    rng = np.random.default_rng(n)
    one = rng.integers(1, 6, n)
    other = np.clip(one + rng.integers(-2, 3, n), 1, 5)
    assert spearman(one.tolist(), other.tolist()).value == pytest.approx(stats.spearmanr(one, other).statistic)
    assert kendall_tau(one.tolist(), other.tolist()).value == pytest.approx(stats.kendalltau(one, other).statistic)


@pytest.mark.parametrize("values", [2, 5, 30, 10**6])
@pytest.mark.parametrize("n", [2, 3, 16, 17, 400, 1000])
def test_tau_of_many_pairs_is_that_of_scipy(n: int, values: int) -> None:
    """To the last bit, and undefined where a column is constant."""
    from scipy import stats

    rng = np.random.default_rng(n)
    for _ in range(5):
        one = rng.integers(0, values, n)
        rows = np.column_stack([one, np.where(rng.random(n) < 0.6, one, rng.integers(0, values, n))]).astype(float)
        expected = float(stats.kendalltau(rows[:, 0], rows[:, 1]).statistic)
        assert kendall_of_many(rows) == pytest.approx(expected, rel=0, abs=0, nan_ok=True)


@pytest.mark.parametrize(
    ("measure", "of_rows"),
    [
        (spearman, lambda a, b: _scipy("spearmanr", a, b)),
        (kendall_tau, lambda a, b: _scipy("kendalltau", a, b)),
        (cohen_kappa, lambda a, b: cohen_kappa(a.tolist(), b.tolist(), resamples=2).value),
        (roc_auc, lambda a, b: _scipy("mannwhitneyu", b[a == 1], b[a == 0]) / ((a == 1).sum() * (a == 0).sum())),
    ],
)
def test_resampling_by_weights_is_resampling(measure: Callable[..., Agreement], of_rows: Callable[..., float]) -> None:
    """Intervals from weights are those of the plain function on every resample's rows."""
    rng = np.random.default_rng(8)
    one = rng.integers(0, 2, 25)
    other = np.clip(one + rng.integers(-1, 2, 25), 0, 1) if measure is cohen_kappa else one + rng.integers(0, 3, 25)
    found = measure(one.tolist(), other.tolist(), resamples=150)
    peer = interval(
        np.column_stack([one, other]), statistic=lambda rows: of_rows(rows[:, 0], rows[:, 1]), resamples=150
    )
    assert (found.low, found.high) == pytest.approx((peer.low, peer.high), abs=1e-9)


def _scipy(name: str, one: np.ndarray, other: np.ndarray) -> float:
    from scipy import stats

    return float(getattr(stats, name)(one, other).statistic)


def test_a_judge_that_always_says_yes(shared: Path) -> None:
    """Case A06: agreement .667 with its interval, kappa exactly 0, and kappa's maximum says why."""
    cases = [json.loads(line) for line in (shared / "cases.jsonl").read_text("utf-8").strip().split("\n")]
    case = next(one for one in cases if one["id"] == "A06")
    human, judge = case["input"]["human"], case["input"]["judge"]
    assert accuracy(human, judge).value == pytest.approx(case["check"]["agreement"])
    assert cohen_kappa(human, judge).value == case["check"]["kappa"] == 0.0
    assert kappa_maximum(human, judge) == 0.0
    assert balanced_accuracy(human, judge).value == roc_auc(human, judge).value == 0.5
    assert interval(human).method == "wilson"
    assert spearman(human, judge).reason == "the second rater's values are all equal"


def test_undefined_has_a_reason_and_no_number() -> None:
    """Equal labels throughout: kappa is None, not 0 / 0."""
    same = [1, 1, 1, 1]
    assert accuracy(same, same).value == 1.0
    assert cohen_kappa(same, same) == Agreement(None, n=4, reason="all labels are equal")
    assert kappa_maximum(same, same) is None
    assert balanced_accuracy(same, [1, 0, 1, 0]).reason == "the first rater's labels are all equal"
    assert roc_auc(same, [0.1, 0.2, 0.3, 0.4]).reason == "all labels are equal"
    assert krippendorff_alpha([same, same]).reason == "all values are equal"
    assert kendall_tau(same, [1, 2, 3, 4]).reason == "the first rater's values are all equal"


@pytest.mark.parametrize("measure", ALL)
def test_no_pairs_at_all(measure: Callable[..., Agreement]) -> None:
    """Nothing labelled twice: None, with a reason and the number left out."""
    found = measure([[None, 1.0], [1.0, None]]) if measure is krippendorff_alpha else measure([None, 1.0], [1.0, None])
    assert found == Agreement(None, n=0, excluded=2, reason="no labels to compare")


@pytest.mark.parametrize("measure", ALL[:-1])
def test_missing_labels_are_excluded_and_counted(measure: Callable[..., Agreement]) -> None:
    """A pair without one of its labels changes nothing but the count."""
    one, other = [0, 1, 1, 0, 1, 0, 1, 0, 1], [0, 1, 0, 0, 1, 1, 1, 0, 1]
    whole, gaps = measure(one, other), measure([*one, None, 1], [*other, 1, math.nan])
    assert (gaps.value, gaps.low, gaps.high, gaps.n) == (whole.value, whole.low, whole.high, 9)
    assert (whole.excluded, gaps.excluded) == (0, 2)


def test_full_agreement_of_few_is_not_certain() -> None:
    """Five of five: the bound is Wilson's, carried over to each measure; rank correlations have none."""
    labels = [1, 1, 0, 0, 1]
    floor = wilson(5, 5)[0]
    chance = (3 / 5) ** 2 + (2 / 5) ** 2
    assert (accuracy(labels, labels).low, accuracy(labels, labels).high) == (pytest.approx(floor), 1.0)
    assert cohen_kappa(labels, labels).low == pytest.approx(1 - (1 - floor) / (1 - chance))
    assert balanced_accuracy(labels, labels).low == pytest.approx((wilson(3, 3)[0] + wilson(2, 2)[0]) / 2)
    assert roc_auc(labels, labels).low == pytest.approx(wilson(2, 2)[0])
    assert roc_auc(labels, [1 - one for one in labels]).high == pytest.approx(1 - wilson(2, 2)[0])
    assert spearman(labels, labels) == Agreement(pytest.approx(1.0), n=5)
    assert krippendorff_alpha([labels, labels]) == Agreement(1.0, n=5)


def test_confusion_and_kappa_maximum_by_hand() -> None:
    """Base rates 3:1 and 2:2 allow three agreements of four: (.75 - .5) / .5."""
    assert confusion(["a", "a", "b", None], ["a", "b", "b", "a"]) == Confusion(("a", "b"), ((1, 1), (0, 1)), 1)
    assert confusion([], []) == Confusion((), ())
    assert kappa_maximum([1, 1, 1, 0], [1, 1, 0, 0]) == 0.5
    assert kappa_maximum(HUMAN, HUMAN) == 1.0


def test_clusters_are_resampled_whole() -> None:
    """Copies of each pair, clustered, leave the interval where it was."""
    one, other = [0, 1, 1, 0, 1, 0, 1, 0, 1, 1], [0, 1, 0, 0, 1, 1, 1, 0, 1, 1]
    tags = [f"s{i}" for i in range(10) for _ in range(4)]
    copies = [label for label in one for _ in range(4)], [label for label in other for _ in range(4)]
    for measure in (cohen_kappa, spearman):
        whole, found = measure(one, other), measure(*copies, cluster=tags)
        assert (found.value, found.low, found.high) == pytest.approx((whole.value, whole.low, whole.high), abs=1e-9)
        assert (found.n, found.method) == (40, "cluster bca")


def test_many_pairs_take_the_jackknife() -> None:
    """Kendall's tau beyond 300 pairs: by formula, near the bootstrap's, without a table of pairs of pairs."""
    rng = np.random.default_rng(9)
    one = rng.normal(size=301)
    other = one + rng.normal(size=301)
    many, few = kendall_tau(one.tolist(), other.tolist()), kendall_tau(one[:300].tolist(), other[:300].tolist())
    assert (many.method, few.method) == ("jackknife", "bca")
    assert (many.low, many.high) == pytest.approx((few.low, few.high), abs=0.01)


def test_bad_input_is_one_clear_line() -> None:
    """What cannot be compared is refused, and the message says what was found."""
    with pytest.raises(InputError, match="raters label the same samples: found 2 and 1 label"):
        accuracy([1, 0], [1])
    with pytest.raises(InputError, match="expected numbers, found text among the labels"):
        spearman([1, 2], ["1", "2"])
    with pytest.raises(InputError, match="labels: must be 0 or 1"):
        roc_auc([0, 2], [0.1, 0.2])
    with pytest.raises(InputError, match="cluster: 1 tags for 2 pairs"):
        accuracy([1, 0], [1, 0], cluster=["a"])
    with pytest.raises(InputError, match="cluster: 1 tags for 2 units"):
        krippendorff_alpha([[1, 0], [1, 1]], cluster=["a"])
    with pytest.raises(InputError, match="level: unknown level 'ratio': expected one of nominal, ordinal, interval"):
        krippendorff_alpha([[1, 0], [1, 1]], "ratio")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="every rater has one place per unit"):
        krippendorff_alpha([[1, 0], [1]])
    with pytest.raises(InputError, match="the ordinal level needs numbers, found 'low'"):
        krippendorff_alpha([["low", 1], [1, 1]], "ordinal")
    with pytest.raises(InputError, match="found both names and numbers"):
        krippendorff_alpha([["low", 1], [1, 1]])
    with pytest.raises(InputError, match="level: 100 distinct values: expected at most 60"):
        krippendorff_alpha([list(range(100)), list(range(100))])


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=20))
def test_symmetric_measures(pairs: list[tuple[int, int]]) -> None:
    """Which rater comes first does not matter, nor does the order of the samples; values stay in range."""
    one, other = (list(side) for side in zip(*pairs, strict=True))
    for measure in (accuracy, cohen_kappa, spearman, kendall_tau):
        there, back = measure(one, other, resamples=2), measure(other, one, resamples=2)
        turned = measure(one[::-1], other[::-1], resamples=2)
        assert there.value == pytest.approx(back.value) == pytest.approx(turned.value)
        assert there.value is None or -1 <= there.value <= 1
    alpha = [krippendorff_alpha(sides, resamples=2).value for sides in ([one, other], [other, one])]
    assert alpha[0] == pytest.approx(alpha[1])
