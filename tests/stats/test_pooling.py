"""Pools: what a number rests on."""

from __future__ import annotations

import math

import numpy as np
import pytest

from steelyard.core.errors import InputError
from steelyard.stats.pooling import Column, estimate, groups, passes


def column() -> Column:
    """Four scores: 1.0, undefined, failed, 0.5."""
    made = Column(np.array([1.0, math.nan, math.nan, 0.5]))
    made.undefined[1] = "no claims"
    made.failed[2] = "http_500: three times"
    return made


def test_undefined_and_failed_leave_the_mean_and_are_counted() -> None:
    """The mean is over what was scored; the n, the others and the bounds stand beside it."""
    one = estimate(column(), metric="faithfulness")
    assert (one.value, one.n, one.undefined, one.failed, one.total) == (0.75, 2, 1, 1, 4)
    assert (one.if_failed_zero, one.if_failed_one) == (0.5, pytest.approx(2.5 / 3))


def test_nothing_scored_has_no_value() -> None:
    """No score, no number: never 0, never NaN."""
    made = Column(np.array([math.nan]))
    made.failed[0] = "x"
    one = estimate(made, metric="m")
    assert (one.value, one.low, one.high, one.n, one.failed, one.if_failed_zero) == (None, None, None, 0, 1, 0.0)


def test_ratio_is_the_micro_average() -> None:
    """1 of 1 and 1 of 3 pool to 2 of 4, where the mean of the scores is 2/3."""
    made = Column(np.array([1.0, 1 / 3]), parts={0: (1, 1), 1: (1, 3)})
    assert estimate(made, metric="m", pool="ratio").value == 0.5
    assert estimate(made, metric="m").value == pytest.approx(2 / 3)
    with pytest.raises(InputError, match="no numerator"):
        estimate(Column(np.array([1.0])), metric="m", pool="ratio")


def test_other_pools() -> None:
    """Total, geometric (with its floor) and quantile."""
    made = Column(np.array([0.0, 1.0, 4.0]))
    assert estimate(made, metric="m", pool="total").value == 5.0
    assert estimate(made, metric="m", pool="geometric").value == pytest.approx((1e-5 * 4) ** (1 / 3))
    assert estimate(made, metric="m", pool="quantile(q=0.5)").value == 1.0
    with pytest.raises(InputError, match="did you mean mean"):
        estimate(made, metric="m", pool="meen")


def test_pass_rate_is_compared_after_rounding() -> None:
    """0.1 + 0.2 reaches 0.3; where lower is better, at most the threshold passes."""
    made = Column(np.array([0.1 + 0.2, 0.299]))
    assert estimate(made, metric="m", threshold=0.3).pass_rate == 0.5
    assert estimate(made, metric="m", threshold=0.299, higher_is_better=False).pass_rate == 0.5
    assert passes(0.30000000001, 0.3, higher_is_better=False)


def test_every_number_has_an_interval() -> None:
    """Value and pass rate carry theirs, and the interval holds the value."""
    one = estimate(Column(np.linspace(0, 1, 50)), metric="m", threshold=0.5)
    assert one.low is not None
    assert one.high is not None
    assert one.low <= 0.5 <= one.high
    assert one.pass_low is not None
    assert one.method


def test_seeds_make_intervals_repeat() -> None:
    """Two runs give the same bounds to the bit, and another seed gives others."""
    values = Column(np.random.default_rng(3).random(40) ** 2)
    first, again, other = (estimate(values, metric="m", seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert (first.low, first.high) != (other.low, other.high)


def test_clusters_are_resampled_whole() -> None:
    """Ten copies of each score are no more evidence than one: the clustered interval is the wider one."""
    values = Column(np.repeat(np.random.default_rng(1).random(12), 10))
    plain = estimate(values, metric="m")
    clustered = estimate(values, metric="m", cluster=[str(row // 10) for row in range(120)])
    assert clustered.high - clustered.low > 2 * (plain.high - plain.low)  # type: ignore[operator]


def test_take_keeps_what_belongs_to_the_rows() -> None:
    """A slice of a column has its own reasons at its own rows."""
    part = column().take([3, 2])
    assert part.values[0] == 0.5
    assert part.failed == {1: "http_500: three times"}
    assert part.undefined == {}


def test_groups_name_the_untagged() -> None:
    """Samples without the tag are a slice of their own, not lost."""
    assert groups([{"t": "b"}, {}, {"t": "a"}], "t") == {"(none)": [1], "a": [2], "b": [0]}
