"""Confidence intervals of any pooled value.

The default method depends on the data alone and is named in the result:

- ``wilson``: values that are all 0 or 1 (a bootstrap of all ones would give an interval of width 0);
- ``t``: fewer than eight values, for which a bootstrap cannot exceed the observed range, and differences of two
  systems, which are nearly symmetric: a skewness estimated from few differing pairs harms coverage there;
- ``bca``: up to 1,000 values; bias-corrected and accelerated bootstrap, widened for small samples;
- ``jackknife``: more than 1,000 values; the limit of the bootstrap, by formula (mean, ratio and similar statistics);
- ``order statistics``: quantiles;
- ``constant``: all values are equal but neither 0 nor 1; the interval is that value, which means only that the sample
  has no spread;
- ``none``: no values, one value, or a statistic that is undefined for most resamples; there is no interval.

With ``cluster`` whole clusters are resampled, and the method's name begins with ``cluster``. ``bench/inference.py``
measures the coverage behind these choices.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from ..core.errors import InputError
from ..core.wording import pluralize
from .distributions import normal_cdf, normal_quantile, student_quantile
from .resampling import (
    MEAN,
    FloatArray,
    IndexArray,
    Quantile,
    Statistic,
    SumStatistic,
    WeightStatistic,
    difference,
    jackknife,
    replicate_of,
    resample,
    statistic_of,
    units_of,
)

Method: TypeAlias = Literal["auto", "bca", "percentile", "t", "jackknife", "wilson", "order statistics"]
Cluster: TypeAlias = Sequence[Hashable] | NDArray[np.generic]

RESAMPLES = 2_000
LARGE = 1_000
"""Above this number of units, the jackknife replaces the bootstrap for smooth statistics."""

SMALL = 8
"""Below this number of units, Student's t replaces the bootstrap."""


class DegenerateData(UserWarning):
    """Warns that the data have no spread for a method that was requested by name."""


class Interval(Struct, frozen=True):
    """The bounds of a number (None if there are none), the method, and the number n of values."""

    low: float | None
    high: float | None
    method: str
    n: int


def interval(
    values: ArrayLike,
    *,
    statistic: str | Statistic = "mean",
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    method: Method = "auto",
    seed: int = 0,
    cluster: Cluster | None = None,
) -> Interval:
    """The confidence interval of a statistic of the values; two-sided, equal tails.

    ``values`` has one row per sample: shape (n,), or (n, columns) for a statistic that takes several. ``statistic``
    is ``mean``, ``total``, ``geometric``, ``ratio`` (first column's sum over the second's), ``Quantile(q)``, or any
    function of the rows whose order does not matter. Leave out undefined samples first: a value that is not finite is
    an ``InputError``. For the difference of two systems use ``difference_interval``: differences that happen to be 0
    and 1 are not a pass rate.

    Bootstrap: BCa (Efron 1987) or percentile, both at the normal quantile widened to sqrt(n / (n - 1)) times
    Student's (Hesterberg 2015, section 5.3), without which intervals of 20 samples cover 91 % instead of 95.
    If requested by name on data without spread, it warns ``DegenerateData``.

    >>> found = interval([0.0, 1.0, 1.0, 1.0])
    >>> round(found.low, 4), round(found.high, 4), found.method, found.n
    (0.3006, 0.9544, 'wilson', 4)
    >>> interval([0.2, 0.9, 0.4, 0.6, 0.5, 0.8, 0.3, 0.7, 0.1, 1.0]).method
    'bca'
    """
    rows, rule = _checked(values), statistic_of(statistic)
    n = len(rows)
    codes, units = units_of(cluster, n)
    level = _checked_level(confidence)
    scores = rule is MEAN and n > 0 and bool(((rows >= 0) & (rows <= 1)).all())
    if method == "wilson" or (method == "auto" and scores and _suits_wilson(rows, clustered=codes is not None)):
        if not (rule is MEAN and n and ((rows == 0) | (rows == 1)).all()):
            raise InputError("wilson is for the mean of values that are all 0 or 1", field="method")
        trials = n if codes is None else units
        found = Interval(*wilson(float(rows.mean()) * trials, trials, confidence=confidence), "wilson", n)
    else:
        chosen = _default(rule, codes, units) if method == "auto" else method
        found = _resampling_interval(rows, rule, level, resamples, chosen, seed, codes, units, warn=method != "auto")
        if scores and found.low is not None and found.high is not None:
            found = Interval(max(found.low, 0.0), min(found.high, 1.0), found.method, n)
    return found if codes is None else Interval(found.low, found.high, f"cluster {found.method}", n)


def difference_interval(
    current: ArrayLike,
    baseline: ArrayLike,
    *,
    statistic: str | Statistic = "mean",
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    method: Method = "auto",
    seed: int = 0,
    cluster: Cluster | None = None,
) -> Interval:
    """The interval of statistic(current) - statistic(baseline), both measured on the same samples in the same order.

    A pair with NaN on either side is left out; ``n`` counts the others. Pairs are resampled together. If both sides
    are all 0 or 1, the interval of the difference of their means is Bonett and Price's (2012), which adds one
    disagreement in each direction, so that it covers well even if few pairs differ. If no pair differs, the interval
    is [0, 0], ``constant``.

    >>> difference_interval([1.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0]).method
    'bonett-price'
    """
    first, second, cluster = pairs(current, baseline, cluster)
    n, rule = len(first), statistic_of(statistic)
    codes, units = units_of(cluster, n)
    both = np.column_stack([first, second])
    binary = rule is MEAN and codes is None and n > 0 and bool(((both == 0) | (both == 1)).all())
    if binary and method == "auto" and (first != second).any():
        low, high = _paired_shares(first - second, normal_quantile((1 + confidence) / 2))
        return Interval(low, high, "bonett-price", n)
    difference_rule = difference(rule, 1 if first.ndim == 1 else first.shape[1])
    if method == "auto" and isinstance(difference_rule, SumStatistic):
        chosen: Method = "t"
    else:
        chosen = _default(difference_rule, codes, units) if method == "auto" else method
    found = _resampling_interval(
        both, difference_rule, _checked_level(confidence), resamples, chosen, seed, codes, units, warn=method != "auto"
    )
    if rule is MEAN and found.low is not None and found.high is not None and (np.abs(first - second) <= 1).all():
        found = Interval(max(found.low, -1.0), min(found.high, 1.0), found.method, n)
    return found if codes is None else Interval(found.low, found.high, f"cluster {found.method}", n)


def wilson(successes: float, trials: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval (1927) of a share; its width is never 0, and it covers well from about five trials on.

    >>> low, high = wilson(5, 5)
    >>> round(low, 4), high
    (0.5655, 1.0)
    """
    if not 0 <= successes <= trials or trials < 1:
        raise InputError(f"{successes:g} successes in {trials} trials")
    z = normal_quantile((1 + _checked_level(confidence)) / 2)
    p, shrink = successes / trials, z * z / trials
    middle = (p + shrink / 2) / (1 + shrink)
    half = z / (1 + shrink) * math.sqrt(p * (1 - p) / trials + shrink / (4 * trials))
    return (0.0 if p == 0 else middle - half), (1.0 if p == 1 else middle + half)


def pairs(
    first: ArrayLike, second: ArrayLike, cluster: Cluster | None = None
) -> tuple[FloatArray, FloatArray, Cluster | None]:
    """The pairs that are defined on both sides, and their clusters; an infinite value is an ``InputError``.

    >>> pairs([0.5, float("nan"), 0.25], [0.0, 0.5, 1.0], ["x", "y", "z"])
    (array([0.5 , 0.25]), array([0., 1.]), ['x', 'z'])
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != other.shape:
        raise InputError(f"pairs need equal shapes, found {one.shape} and {other.shape}")
    missing = np.isnan(one) | np.isnan(other)
    complete = ~(missing if missing.ndim == 1 else missing.any(axis=-1))
    if cluster is not None and not complete.all():
        if len(cluster) != len(one):
            raise InputError(f"{len(cluster)} tags for {len(one)} values", field="cluster")
        cluster = [cluster[place] for place in np.flatnonzero(complete).tolist()]
    return _checked(one[complete]), _checked(other[complete]), cluster


def _checked(values: ArrayLike) -> FloatArray:
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim not in {1, 2}:
        raise InputError(f"values have shape (n,) or (n, columns), found {rows.shape}")
    finite = np.isfinite(rows) if rows.ndim == 1 else np.isfinite(rows).all(axis=1)
    if not finite.all():
        place = int(np.flatnonzero(~finite)[0])
        raise InputError(f"value {place} is {rows[place]}: leave undefined samples out")
    return rows


def _checked_level(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise InputError(f"must be between 0 and 1, found {confidence}", field="confidence")
    return confidence


def _suits_wilson(rows: FloatArray, *, clustered: bool) -> bool:
    """Whether values are binary; clustered values must also be all equal, and each cluster then counts as one trial."""
    if not ((rows == 0) | (rows == 1)).all():
        return False
    return not clustered or bool((rows == rows[0]).all())


def _paired_shares(differences: FloatArray, z: float) -> tuple[float, float]:
    n = len(differences) + 2
    better, worse = (float((differences > 0).sum()) + 1) / n, (float((differences < 0).sum()) + 1) / n
    middle = better - worse
    half = z * math.sqrt((better + worse - middle * middle) / n)
    return max(middle - half, -1.0), min(middle + half, 1.0)


def _default(rule: Statistic, codes: IndexArray | None, units: int) -> Method:
    if isinstance(rule, Quantile) and codes is None:
        return "order statistics"
    if isinstance(rule, SumStatistic) and units < SMALL:
        return "t"
    return "jackknife" if isinstance(rule, SumStatistic | WeightStatistic) and units > LARGE else "bca"


def _resampling_interval(
    rows: FloatArray,
    rule: Statistic,
    level: float,
    resamples: int,
    method: Method,
    seed: int,
    codes: IndexArray | None,
    units: int,
    *,
    warn: bool,
) -> Interval:
    """The interval of any statistic by resampling units, or by the formula that replaces resampling."""
    if method not in get_args(Method):
        raise InputError(f"unknown method {method!r}: expected one of {', '.join(get_args(Method))}", field="method")
    n = len(rows)
    if units < 2:
        return _no_interval(n, warn=warn)
    if method == "order statistics":
        return _order_statistics(rows, rule, level)
    with np.errstate(all="ignore"):
        estimate = float(rule(rows))
        left = _finite_values(jackknife(rule, rows, codes, units))
        if not math.isfinite(estimate) or left is None:
            return _no_interval(n, warn=warn)
        if method in {"t", "jackknife"}:
            return _from_jackknife(left, estimate, units, level, method, n, warn=warn)
        drawn = _finite_values(resample(replicate_of(rule, rows, codes, units), units, resamples, seed))
    if drawn is None:
        return _no_interval(n, warn=warn)
    if _is_constant(drawn, estimate):
        return _constant(estimate, n, warn=warn)
    correction = _BcaCorrection.of(drawn, estimate, left) if method == "bca" else _BcaCorrection(0.0, 0.0)
    z = math.sqrt(units / (units - 1)) * student_quantile((1 + level) / 2, units - 1)
    low, high = np.quantile(drawn, [correction.share(-z), correction.share(z)])
    return Interval(float(low), float(high), method, n)


class _BcaCorrection(NamedTuple):
    """The two corrections of BCa: the bias of the bootstrap's median, and the change of the error with the value."""

    bias: float
    acceleration: float

    @classmethod
    def of(cls, drawn: FloatArray, estimate: float, left: FloatArray) -> _BcaCorrection:
        near = np.abs(drawn - estimate) <= 1e-12 * max(abs(estimate), float(np.ptp(drawn)))
        below = (float((drawn < estimate)[~near].sum()) + near.sum() / 2) / len(drawn)
        edge = 0.5 / len(drawn)
        return cls(normal_quantile(min(max(below, edge), 1 - edge)), _acceleration(left))

    def share(self, z: float) -> float:
        """The share of the bootstrap's distribution that corresponds to the normal quantile ``z``."""
        sum_ = self.bias + z
        scale = 1 - self.acceleration * sum_
        return normal_cdf(self.bias + sum_ / scale) if scale > 0 else float(sum_ > 0)


def _acceleration(left: FloatArray) -> float:
    """One sixth of the skewness of the mean of the jackknife's influences."""
    gaps = left.mean() - left
    squares = float((gaps**2).sum())
    return float((gaps**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0


def _from_jackknife(
    left: FloatArray, estimate: float, units: int, level: float, method: Method, n: int, *, warn: bool
) -> Interval:
    """The interval from the jackknife's standard error; for large samples, with the correction of BCa for skewness."""
    if _is_constant(left, estimate):
        return _constant(estimate, n, warn=warn)
    parts = len(left)
    error = math.sqrt((parts - 1) / parts * float(((left - left.mean()) ** 2).sum()))
    t = student_quantile((1 + level) / 2, units - 1)
    skew = _acceleration(left) if method == "jackknife" else 0.0
    low, high = (estimate + error * (z + skew * (1 + 2 * z * z)) for z in (-t, t))
    return Interval(low, high, method, n)


def _order_statistics(rows: FloatArray, rule: Statistic, level: float) -> Interval:
    """The values between which the quantile lies (Woodruff 1952), for any distribution."""
    if not isinstance(rule, Quantile) or rows.ndim != 1:
        raise InputError("order statistics are for a quantile of one number per sample", field="method")
    ordered, n, q = np.sort(rows), len(rows), rule.q
    half = normal_quantile((1 + level) / 2) * math.sqrt(n * q * (1 - q))
    first, last = math.floor(n * q - half), math.ceil(n * q + half) + 1
    low, high = ordered[max(first, 1) - 1], ordered[min(last, n) - 1]
    return Interval(float(low), float(high), "order statistics", n)


def _finite_values(values: FloatArray) -> FloatArray | None:
    """The finite values, if at least half are finite."""
    finite = values[np.isfinite(values)]
    return finite if len(finite) and 2 * len(finite) >= len(values) else None


def _is_constant(values: FloatArray, estimate: float) -> bool:
    return float(np.ptp(values)) <= 1e-12 * max(abs(estimate), 1e-300)


def _constant(value: float, n: int, *, warn: bool) -> Interval:
    if warn:
        warnings.warn(
            f"all resamples of {pluralize(n, 'value')} give {value:g}: no spread was seen", DegenerateData, stacklevel=4
        )
    return Interval(value, value, "constant", n)


def _no_interval(n: int, *, warn: bool) -> Interval:
    if warn:
        warnings.warn(f"{pluralize(n, 'value is', 'values are')} too few for an interval", DegenerateData, stacklevel=4)
    return Interval(None, None, "none", n)
