"""Detectable effects and sample sizes of a paired comparison, and the probability of success in k tries.

The formulas are those of the paired t test, which the randomisation test follows closely from a dozen pairs on. For a
correction over m metrics, pass alpha / m.
"""

from __future__ import annotations

import math

from ..core.errors import InputError
from .distributions import student_quantile

MOST = 10**9


def detectable_effect(n: int, sd: float, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The smallest true mean difference that n pairs show as significant with probability ``power``; two-sided test.

    (t(1 - alpha / 2) + t(power)) * sd / sqrt(n), with Student's quantiles at n - 1 degrees of freedom. ``sd`` is the
    standard deviation of the paired differences, in the metric's own units; for pass or fail it is
    sqrt(share that differ - difference squared). Fewer than two pairs detect nothing: None.

    >>> round(detectable_effect(50, sd=0.25), 3)
    0.101
    """
    _check(sd=sd, alpha=alpha, power=power)
    if n < 2:
        return None
    quantiles = student_quantile(1 - alpha / 2, n - 1) + student_quantile(power, n - 1)
    return quantiles * sd / math.sqrt(n)


def samples_needed(effect: float, sd: float, *, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """The smallest number of pairs that shows a true mean difference of ``effect`` with probability ``power``.

    The inverse of ``detectable_effect``. No number of pairs shows an effect of 0: None.

    >>> samples_needed(0.05, sd=0.25)
    199
    """
    _check(sd=sd, alpha=alpha, power=power)
    size = abs(effect)
    if size == 0:
        return None

    def shows(n: int) -> bool:
        least = detectable_effect(n, sd, alpha=alpha, power=power)
        return least is not None and least <= size

    high = 2
    while not shows(high):
        high *= 2
        if high > MOST:
            return None
    low = high // 2
    while high - low > 1:  # low is too few (or one), high is enough
        middle = (low + high) // 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high


def pass_hat_k(successes: int, trials: int, k: int) -> float | None:
    """pass^k: the chance that all of k tries at a sample succeed, C(successes, k) / C(trials, k).

    Unbiased from ``trials`` >= k tries (Yao et al. 2024, tau-bench); None for fewer tries. The value of a system is the
    mean over its samples.

    >>> pass_hat_k(3, 4, 2)
    0.5
    """
    _check_tries(successes, trials, k)
    return math.comb(successes, k) / math.comb(trials, k) if k <= trials else None


def pass_at_k(successes: int, trials: int, k: int) -> float | None:
    """pass@k: the chance that at least one of k tries at a sample succeeds, 1 - C(failures, k) / C(trials, k).

    Unbiased from ``trials`` >= k tries (Chen et al. 2021); None for fewer tries.

    >>> round(pass_at_k(1, 4, 2), 6)
    0.5
    """
    _check_tries(successes, trials, k)
    return 1 - math.comb(trials - successes, k) / math.comb(trials, k) if k <= trials else None


def _check(*, sd: float, alpha: float, power: float) -> None:
    if not (math.isfinite(sd) and sd >= 0):
        raise InputError(f"must be a finite number of at least 0, found {sd}", field="sd")
    if not 0 < alpha < 1:
        raise InputError(f"must be between 0 and 1, found {alpha}", field="alpha")
    if not alpha < power < 1:
        raise InputError(f"must be between alpha and 1, found {power}", field="power")


def _check_tries(successes: int, trials: int, k: int) -> None:
    if not 0 <= successes <= trials:
        raise InputError(f"{successes} successes in {trials} tries")
    if k < 1:
        raise InputError(f"must be at least 1, found {k}", field="k")
