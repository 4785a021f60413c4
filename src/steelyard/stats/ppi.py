"""Prediction-powered inference: an unbiased mean from many judged samples and few human labels.

The judge has scored every sample, people have labelled some. The mean label is unbiased but uses few samples; the
judge's mean uses many samples but is biased. Labels are regressed on scores, and the slope times the difference between
the judge's mean over all samples and over the labelled ones is added to the mean label. The result is unbiased even if
the judge is not; its interval is narrower the better scores predict labels; if they do not, only the labels are used.

This is PPI++ (Angelopoulos, Duchi and Zrnic 2023, arXiv:2311.01453) for means, with the slope tuned on the labels,
which survey statistics calls the regression estimator of double sampling. Its variance assumes that the labelled
samples are a random sample of all, or random within strata, and that the samples are a random sample of future
questions. Three corrections make intervals cover from a few dozen labels on: one degree of freedom for the slope, the
distance over which the slope extrapolates, and Student's t with the degrees of freedom of the residuals' variance
(Satterthwaite), which are few if the judge is nearly always right and its rare errors cause all the variance.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import ArrayLike, NDArray

from ..core.errors import InputError
from ..core.wording import pluralize
from .distributions import normal_quantile, student_quantile
from .intervals import Cluster, wilson
from .resampling import FloatArray, IndexArray, units_of

NO_RESIDUAL = 1e-9
"""Residuals with a smaller sum of squares count as zero: a straight line fits every label."""


MOST_WIDENING = 1.05
"""The largest width of an interval relative to that of the labels alone. Always choosing the narrower of two intervals
would favour one that is narrow by chance, and costs one percent of coverage."""


class Corrected(Struct, frozen=True):
    """An estimate of the mean human label, from ``n`` labels and ``judged`` scores.

    ``uncorrected`` is the judge's mean over all samples; ``alone`` is the mean label, with its own interval. ``slope``
    is the slope of labels on scores (0 if only the labels are used); ``effective`` is the number of random labels that
    would give as narrow an interval without the judge. ``unscored`` samples have no score and are left out. A missing
    value is None with its ``reason``.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    method: str = "none"
    n: int = 0
    judged: int = 0
    unscored: int = 0
    uncorrected: float | None = None
    alone: float | None = None
    alone_low: float | None = None
    alone_high: float | None = None
    slope: float = 0.0
    effective: float | None = None
    reason: str | None = None

    @property
    def gain(self) -> float | None:
        """The factor by which the judge's scores increase the number of labels: effective / n."""
        return None if self.effective is None or not self.n else self.effective / self.n


def corrected_mean(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    strata: Sequence[Hashable] | None = None,
    shares: Mapping[Hashable, float] | None = None,
    cluster: Cluster | None = None,
    confidence: float = 0.95,
) -> Corrected:
    """Estimate the mean label over all samples, from labels on some and a judge's scores on all.

    ``labels`` and ``scores`` have one number per sample, NaN if it is missing; labels need not be on the scale of the
    scores. ``strata`` has one name per sample if labels are random only within strata; ``shares`` is then the share of
    each stratum in all samples (default: counted, and every sample needs its name). With ``cluster``, samples of one
    cluster count as one draw.

    The interval is Wilson's with the effective number of labels if all labels are 0 or 1, else Student's. It is at most
    5 % wider than that of the labels alone, which replaces it if the judge does not help.

    >>> labels = [1, 1, 0, 1, 0, 1, 1, 0, 1, 1] * 3 + [float("nan")] * 60
    >>> scores = [0.9, 0.9, 0.3, 0.9, 0.9, 0.9, 0.9, 0.3, 0.9, 0.9] * 3 + [0.9, 0.3] * 30
    >>> found = corrected_mean(labels, scores)
    >>> round(found.value, 3), round(found.uncorrected, 3), round(found.alone, 3), round(found.effective, 1)
    (0.525, 0.66, 0.7, 44.1)
    """
    return _corrected(labels, scores, strata, shares, cluster, confidence, is_difference=False)


def corrected_difference(
    labels: ArrayLike,
    scores: ArrayLike,
    other_labels: ArrayLike,
    other_scores: ArrayLike,
    *,
    strata: Sequence[Hashable] | None = None,
    shares: Mapping[Hashable, float] | None = None,
    cluster: Cluster | None = None,
    confidence: float = 0.95,
) -> Corrected:
    """Estimate the mean human label of one system minus that of another on the same samples in the same order.

    A pair counts if both systems have a score, and its label counts if both have one. If all labels are 0 or 1, the
    interval is Bonett and Price's (2012) with the effective number of pairs, else Student's.

    >>> mine = [1, 1, 0, 1, 1] * 6 + [float("nan")] * 30
    >>> theirs = [0, 1, 0, 1, 0] * 6 + [float("nan")] * 30
    >>> found = corrected_difference(mine, [0.9, 0.8, 0.3, 0.8, 0.7] * 12, theirs, [0.4, 0.8, 0.4, 0.9, 0.3] * 12)
    >>> round(found.value, 3), round(found.uncorrected, 3), found.n
    (0.4, 0.14, 30)
    """
    mine, theirs = (np.asarray(side, dtype=np.float64) for side in (labels, other_labels))
    ours, others = (np.asarray(side, dtype=np.float64) for side in (scores, other_scores))
    if not mine.shape == theirs.shape == ours.shape == others.shape:
        raise InputError("two systems need labels and scores of equal length")
    return _corrected(mine - theirs, ours - others, strata, shares, cluster, confidence, is_difference=True)


class _LabelledSamples(Struct, frozen=True):
    """The labelled samples: labels, scores, strata and weights; and the scores of all judged samples."""

    labels: FloatArray
    scores: FloatArray
    every: FloatArray
    codes: IndexArray
    weights: FloatArray
    thinned: FloatArray
    clusters: IndexArray | None
    spread: float
    level: float
    is_difference: bool

    @property
    def strata(self) -> int:
        return int(self.codes.max()) + 1

    def centred(self, values: FloatArray) -> FloatArray:
        """The values minus the mean of their stratum."""
        counts = np.bincount(self.codes)
        centred: FloatArray = values - (np.bincount(self.codes, values) / counts)[self.codes]
        return centred


class _Fit(Struct, frozen=True):
    """One estimate: the value, its variance, its degrees of freedom; ``plain`` is true for a simple random sample."""

    value: float
    variance: float
    df: float
    plain: bool = False


def _corrected(
    labels: ArrayLike,
    scores: ArrayLike,
    strata: Sequence[Hashable] | None,
    shares: Mapping[Hashable, float] | None,
    cluster: Cluster | None,
    confidence: float,
    *,
    is_difference: bool,
) -> Corrected:
    y, f = np.asarray(labels, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if y.shape != f.shape or y.ndim != 1:
        raise InputError(f"labels and scores need one number per sample, found shapes {y.shape} and {f.shape}")
    if np.isinf(y).any() or np.isinf(f).any():
        raise InputError("a label or score is infinite")
    if not 0 < confidence < 1:
        raise InputError(f"must be between 0 and 1, found {confidence}", field="confidence")
    scored = ~np.isnan(f)
    used = scored & ~np.isnan(y)
    empty = Corrected(
        n=int(used.sum()),
        judged=int(scored.sum()),
        unscored=int((~scored).sum()),
        uncorrected=float(f[scored].mean()) if scored.any() else None,
    )
    rows = np.flatnonzero(used)
    if len(rows) < 2:
        return _with_reason(empty, f"{pluralize(len(rows), 'label')} on scored samples: at least 2 are needed")
    names: Sequence[Hashable] = ["all"] * len(y) if strata is None else strata
    if len(names) != len(y):
        raise InputError(
            f"{pluralize(len(names), 'stratum', 'strata')} for {pluralize(len(y), 'sample')}", field="strata"
        )
    normalized_shares = _shares(names, scored, shares)
    codes, count = units_of([names[row] for row in rows.tolist()], len(rows))
    assert codes is not None
    order = list(dict.fromkeys(names[row] for row in rows.tolist()))
    sizes = np.bincount(codes, minlength=count)
    if reason := _too_few_labels(normalized_shares, order, sizes):
        return _with_reason(empty, reason)
    share = np.array([normalized_shares[name] for name in order])
    units = None if cluster is None else units_of(cluster, len(y))[0]
    plan = _LabelledSamples(
        labels=y[rows],
        scores=f[rows],
        every=f[scored],
        codes=codes,
        weights=(share / sizes)[codes],
        thinned=np.clip(1 - sizes / (share * empty.judged), 0.0, 1.0)[codes],
        clusters=None if units is None else units_of(units[rows], len(rows))[0],
        spread=1.0 if units is None else _design_effect(f[scored], units[scored]),
        level=confidence,
        is_difference=is_difference,
    )
    return _best_estimate(plan, empty)


def _with_reason(empty: Corrected, reason: str) -> Corrected:
    return replace(empty, reason=reason)


def _shares(
    names: Sequence[Hashable],
    scored: NDArray[np.bool_],
    shares: Mapping[Hashable, float] | None,
) -> dict[Hashable, float]:
    """The share of each stratum in all samples; the shares add up to 1."""
    if shares is None:
        found: dict[Hashable, float] = {}
        for row in np.flatnonzero(scored).tolist():
            found[names[row]] = found.get(names[row], 0.0) + 1.0
    else:
        found = dict(shares)
    if any(not share > 0 for share in found.values()):
        raise InputError("every stratum has a share above 0", field="shares")
    total = math.fsum(found.values())
    return {name: share / total for name, share in found.items()}


def _too_few_labels(
    normalized_shares: Mapping[Hashable, float], order: Sequence[Hashable], sizes: IndexArray
) -> str | None:
    """The reason why strata have too few labels; None if they have enough."""
    if unknown := next((name for name in order if name not in normalized_shares), None):
        raise InputError(f"no share is given for the stratum {unknown!r}", field="shares")
    labelled = dict(zip(order, sizes.tolist(), strict=True))
    few = [str(name) for name in normalized_shares if labelled.get(name, 0) < 2]
    if not few:
        return None
    return f"every stratum needs 2 labels: too few in {', '.join(few[:3])}{', …' if len(few) > 3 else ''}"


def _best_estimate(plan: _LabelledSamples, empty: Corrected) -> Corrected:
    """The estimate with the judge's scores, or from the labels alone if the scores do not help."""
    total = float(plan.weights @ plan.labels)
    n = len(plan.labels)
    variance = float(plan.weights @ (plan.labels - total) ** 2) * n / (n - 1)
    alone = _fit(plan, variance, slope=0.0)
    alone_low, alone_high, method = _bounds(plan, alone, variance)
    chosen, slope, low, high = alone, 0.0, alone_low, alone_high
    if (found := _slope(plan)) and n > plan.strata + 1:
        helped = _fit(plan, variance, slope=found)
        ends = _bounds(plan, helped, variance)
        if ends[1] - ends[0] <= MOST_WIDENING * (alone_high - alone_low):
            chosen, slope, low, high = helped, found, *ends[:2]
    simple = alone if plan.clusters is not None else _Fit(total, variance / n, n - 1, plain=True)
    ends = _bounds(plan, simple, variance)
    width, wide = high - low, ends[1] - ends[0]
    value = min(max(chosen.value, low), high)
    return Corrected(
        value=value,
        low=low,
        high=high,
        method=method,
        n=empty.n,
        judged=empty.judged,
        unscored=empty.unscored,
        uncorrected=empty.uncorrected,
        alone=total,
        alone_low=alone_low,
        alone_high=alone_high,
        slope=slope,
        effective=n * (wide / width) ** 2 if width > 0 else float(n),
    )


def _slope_weights(plan: _LabelledSamples) -> FloatArray:
    """The weight of each labelled sample in the slope: its contribution to the variance of the mean."""
    sizes = np.bincount(plan.codes)[plan.codes]
    weight: FloatArray = plan.weights**2 * plan.thinned * sizes / np.maximum(sizes - 1, 1)
    return weight


def _slope(plan: _LabelledSamples) -> float:
    """The slope of labels on scores within strata that minimises the variance; 0 if scores do not differ."""
    scores, weight = plan.centred(plan.scores), _slope_weights(plan)
    below = float(weight @ scores**2)
    scale = float(np.ptp(plan.every)) ** 2
    if below <= 1e-12 * scale * float(weight.sum()):
        return 0.0
    return float(weight @ (scores * plan.centred(plan.labels))) / below


def _fit(plan: _LabelledSamples, variance: float, *, slope: float) -> _Fit:
    """The estimate with a slope, and its variance: that of the mean over all samples, plus that from missing labels.

    The second part sums the squared contributions of labelled samples to the error: residual times weight, where the
    slope increases the weights of scores that are rare among the labelled samples.
    """
    total = float(plan.weights @ plan.labels)
    gap = float(plan.every.mean() - plan.weights @ plan.scores)
    scores = plan.centred(plan.scores)
    weights = plan.weights.copy()
    fitted = slope != 0.0
    if fitted:
        weight = _slope_weights(plan)
        weights += gap * weight * scores / float(weight @ scores**2)
    residuals = plan.centred(plan.labels) - slope * scores
    sizes = np.bincount(plan.codes)[plan.codes]
    parts = np.sqrt(plan.thinned * sizes / (sizes - 1)) * weights * residuals
    n = len(parts)
    if plan.clusters is not None:
        parts = np.bincount(plan.clusters, parts).astype(np.float64)
        n = len(parts)
        parts = parts * math.sqrt(n / (n - 1)) if n > 1 else parts
    free = n - plan.strata - fitted
    second, df = float(parts @ parts), float(max(free, 1))
    if fitted:
        second *= (n - plan.strata) / max(free, 1)
        if float(residuals @ residuals) > NO_RESIDUAL * n * max(variance, 1e-300):
            df = min(df, _satterthwaite_df(parts))
        elif _is_binary(plan):  # the judge made no error so far: assume that the next label is one
            second, df = float((plan.thinned * plan.weights**2).max()), 2.0
    elif plan.strata > 1 or plan.clusters is not None:
        df = min(df, _satterthwaite_df(parts)) if second > 0 else df
    first = variance * plan.spread / len(plan.every)
    return _Fit(
        total + slope * gap, first + second, df, plain=not fitted and plan.strata == 1 and plan.clusters is None
    )


def _satterthwaite_df(parts: FloatArray) -> float:
    """The degrees of freedom of a sum of squares, from its fourth moment: n for normal parts, few for a few large."""
    squares = parts**2
    total = float(squares.sum())
    if total == 0:
        return 1.0
    concentration = float((squares**2).sum()) / total**2
    return max(2 / max(concentration - 1 / len(parts), 1e-9), 1.0)


def _is_binary(plan: _LabelledSamples) -> bool:
    return bool(np.isin(plan.labels, (-1.0, 0.0, 1.0) if plan.is_difference else (0.0, 1.0)).all())


def _bounds(plan: _LabelledSamples, fit: _Fit, variance: float) -> tuple[float, float, str]:
    """The interval and its method."""
    n = len(plan.labels) if plan.clusters is None else int(plan.clusters.max()) + 1
    z = normal_quantile((1 + plan.level) / 2)
    t = student_quantile((1 + plan.level) / 2, fit.df)
    if _is_binary(plan):
        effective = float(n)
        if fit.variance > 0 and variance > 0 and not fit.plain:
            own = max(fit.value * (1 - fit.value) * n / (n - 1), 0.0) if not plan.is_difference else variance
            effective = max(own / fit.variance * (z / t) ** 2, 1.0)
        if not plan.is_difference:
            return *wilson(min(max(fit.value, 0.0), 1.0) * effective, effective, confidence=plan.level), "wilson"
        even = variance * (len(plan.labels) - 1) / len(plan.labels)
        return *_paired_shares(fit.value, even, effective, z), "bonett-price"
    half = t * math.sqrt(fit.variance)
    low, high = fit.value - half, fit.value + half
    least, most = (-1.0, 1.0) if plan.is_difference else (0.0, 1.0)
    if (plan.labels >= least).all() and (plan.labels <= most).all():
        low, high = min(max(low, least), most), min(max(high, least), most)
    return low, high, "t" if half > 0 else "constant"


def _paired_shares(value: float, variance: float, effective: float, z: float) -> tuple[float, float]:
    """Bonett and Price's interval from the difference, its variance and a number of pairs that may be fractional."""
    value = min(max(value, -1.0), 1.0)
    differ = min(max(variance + value * value, abs(value)), 1.0)
    count = effective + 2
    better = (effective * (differ + value) / 2 + 1) / count
    worse = (effective * (differ - value) / 2 + 1) / count
    middle = better - worse
    half = z * math.sqrt(max(better + worse - middle * middle, 0.0) / count)
    return max(middle - half, -1.0), min(middle + half, 1.0)


def _design_effect(scores: FloatArray, units: IndexArray) -> float:
    """The design effect of clusters: the factor by which they increase the variance of the mean score; at least 1."""
    centred = scores - scores.mean()
    sums = np.bincount(units, centred)
    even = float(centred @ centred)
    return max(float(sums @ sums) / even, 1.0) if even > 0 else 1.0
