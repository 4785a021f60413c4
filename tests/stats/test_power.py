"""Sample sizes and effects against the exact power of the t test; pass^k by hand."""

from __future__ import annotations

import itertools
import math

import pytest

from steelyard.core.errors import InputError
from steelyard.stats.power import detectable_effect, pass_at_k, pass_hat_k, samples_needed


def power_of_t(n: int, effect: float, alpha: float) -> float:
    """The power of a two-sided paired t test, from the noncentral t distribution."""
    from scipy import stats

    edge, shift = stats.t.ppf(1 - alpha / 2, n - 1), effect * math.sqrt(n)
    return float(stats.nct.sf(edge, n - 1, shift) + stats.nct.cdf(-edge, n - 1, shift))


@pytest.mark.parametrize("effect", [1.5, 0.8, 0.5, 0.2, 0.05])
@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.01, 0.9)])
def test_samples_needed_agree_with_exact_power(effect: float, alpha: float, power: float) -> None:
    """The least n whose exact power is enough, give or take one."""
    n = samples_needed(effect, 1.0, alpha=alpha, power=power)
    assert power_of_t(n + 1, effect, alpha) >= power
    assert power_of_t(n - 2, effect, alpha) < power


def test_effect_and_size_are_inverse() -> None:
    """n pairs detect the effect that n pairs are needed for; scale does not matter."""
    for n in (2, 3, 10, 57, 1_000, 123_456):
        effect = detectable_effect(n, 0.3)
        assert samples_needed(effect * (1 + 1e-9), 0.3) == n
        assert samples_needed(-effect * (1 + 1e-9), 0.3) == n
    assert detectable_effect(50, 0.5) == pytest.approx(2 * detectable_effect(50, 0.25))


def test_edges() -> None:
    """Nothing shows an effect of 0; without spread two pairs show any."""
    assert samples_needed(0.0, 0.3) is None
    assert samples_needed(1e-12, 0.3) is None
    assert samples_needed(0.1, 0.0) == 2
    assert detectable_effect(1, 0.3) is None
    assert detectable_effect(10, 0.0) == 0.0


def test_pass_k_by_enumeration() -> None:
    """Of the 10 ways to pick 3 of 5 tries with 4 passed, 4 hold passes only and 10 at least one."""
    tries = [1, 1, 1, 1, 0]
    picks = list(itertools.combinations(tries, 3))
    assert pass_hat_k(4, 5, 3) == sum(map(all, picks)) / len(picks) == 0.4
    assert pass_at_k(4, 5, 3) == sum(map(any, picks)) / len(picks) == 1.0
    assert pass_hat_k(2, 5, 3) == 0.0
    assert pass_at_k(0, 5, 3) == 0.0
    assert pass_hat_k(3, 3, 4) is None
    assert pass_at_k(3, 3, 4) is None


def test_bad_input_is_one_clear_line() -> None:
    """Numbers that make no sense are refused."""
    with pytest.raises(InputError, match="sd: must be a finite number of at least 0, found -1"):
        detectable_effect(10, -1)
    with pytest.raises(InputError, match="alpha: must be between 0 and 1, found 5"):
        detectable_effect(10, 1, alpha=5)
    with pytest.raises(InputError, match=r"power: must be between alpha and 1, found 0.01"):
        samples_needed(0.1, 1, power=0.01)
    with pytest.raises(InputError, match="4 successes in 3 tries"):
        pass_hat_k(4, 3, 1)
    with pytest.raises(InputError, match="k: must be at least 1, found 0"):
        pass_at_k(1, 3, 0)
