"""The normal and Student's t distribution, computed here so that intervals do not have to import a large library.

Both agree with scipy to ten digits over the range that intervals and tests use.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()
_NEARLY_NORMAL = 1e5  # above this number of degrees of freedom, a corrected normal is exact to ten digits


def normal_cdf(z: float) -> float:
    """P(Z <= z) for a standard normal Z.

    >>> normal_cdf(0.0)
    0.5
    """
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def normal_quantile(p: float) -> float:
    """The quantile of the standard normal distribution: P(Z <= z) = ``p``; 0 < p < 1.

    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    return _NORMAL.inv_cdf(p)


def student_cdf(t: float, df: float) -> float:
    """P(T <= t) for Student's T with ``df`` > 0 degrees of freedom.

    One half of the regularised incomplete beta function I(df/2, 1/2) at df / (df + t^2) is the tail beyond |t|
    (Abramowitz and Stegun 26.7.1).

    >>> round(student_cdf(2.228, 10), 4)
    0.975
    """
    if df > _NEARLY_NORMAL:
        return normal_cdf(t * (1 - 1 / (4 * df)) / math.sqrt(1 + t * t / (2 * df)))
    tail = 0.5 * _incomplete_beta(df / 2, 0.5, df / (df + t * t))
    return 1 - tail if t > 0 else tail


@lru_cache(maxsize=256)
def student_quantile(p: float, df: float) -> float:
    """The quantile of Student's T with ``df`` degrees of freedom: P(T <= t) = ``p``; 0 < p < 1.

    >>> round(student_quantile(0.975, 10), 4)
    2.2281
    """
    if p == 0.5:
        return 0.0
    if p < 0.5:
        return -student_quantile(1 - p, df)
    low, high = 0.0, 1.0
    while student_cdf(high, df) < p:
        low, high = high, 2 * high
    # Newton's steps, kept inside a bracket that every step narrows.
    log_peak = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - 0.5 * math.log(df * math.pi)
    t = (low + high) / 2
    for _ in range(100):
        excess = student_cdf(t, df) - p
        low, high = (low, t) if excess > 0 else (t, high)
        step = excess / math.exp(log_peak - (df + 1) / 2 * math.log1p(t * t / df))
        t, last = (t - step if low < t - step < high else (low + high) / 2), t
        if abs(t - last) <= 1e-14 * t:
            break
    return t


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised I_x(a, b) by its continued fraction (Abramowitz and Stegun 26.5.8)."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast only on this side
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    # Lentz's method: ratios of successive numerators (c) and denominators (d), multiplied up into the value.
    value, c, d = 1.0, math.inf, 1.0
    for step in range(1, 10_000):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / _away_from_zero(1 + term * d)
        c = _away_from_zero(1 + term / c)
        value *= c * d
        if step > 1 and abs(c * d - 1) < 1e-15:
            break
    return front * value / a


def _away_from_zero(x: float) -> float:
    return x if abs(x) > 1e-300 else 1e-300
