"""Measures of agreement between two raters: a judge and people, or people among themselves.

A pair in which either label is missing (None or NaN) is excluded and counted. An undefined value is None with a
reason, never 0 / 0. Every value has an interval over resampled pairs, computed by ``intervals.interval``; if raters
agree on every pair, no resample differs, and the bound comes from Wilson's interval of the share that agrees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias, TypedDict, Unpack

import numpy as np
from msgspec import Struct

from ..core.errors import InputError
from ..core.wording import pluralize
from .intervals import Cluster, Method, interval, wilson
from .rank_correlation import KENDALL, ROC_AUC, SPEARMAN, kendall_of_many
from .resampling import MEAN, FloatArray, Statistic, SumStatistic

Label: TypeAlias = str | float | None
"""A category's name, a number, or a rating; None if the rater gave none."""

MOST_RESAMPLED = 300
"""The most pairs for which Kendall's tau is resampled, because that needs a table of all pairs of pairs."""


class IntervalOptions(TypedDict, total=False):
    """The arguments of ``intervals.interval`` that all measures accept. ``cluster`` has one tag per pair."""

    confidence: float
    resamples: int
    seed: int
    cluster: Cluster | None


class Agreement(Struct, frozen=True):
    """One measure of agreement: value and interval, the number n of pairs used and the number left out.

    ``method`` is the method of the interval, or ``none`` if there is none; ``reason`` explains a missing value.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    excluded: int = 0
    method: str = "none"
    reason: str | None = None


class Confusion(Struct, frozen=True):
    """Counts of the pairs of labels: ``counts[i][j]`` for label i of the first rater and label j of the second."""

    labels: tuple[str | float, ...]
    counts: tuple[tuple[int, ...], ...]
    excluded: int = 0


class _Pairs(Struct, frozen=True):
    """The pairs with both labels: n x 2 numbers, either values or indices of ``labels``."""

    rows: FloatArray
    labels: tuple[str | float, ...]
    excluded: int
    options: IntervalOptions

    @property
    def floor(self) -> float:
        """Wilson's lower bound of a share that is 1 in all pairs; a cluster counts as one trial."""
        tags = self.options.get("cluster")
        trials = len(self.rows) if tags is None else len(set(tags))
        return _bound_if_all_agree(trials, self.options)


def confusion(first: Sequence[Label], second: Sequence[Label]) -> Confusion:
    """Counts of every pair of labels, in the labels' order: numbers, then text.

    >>> confusion([1, 1, 0, None], [1, 0, 0, 1])
    Confusion(labels=(0, 1), counts=((1, 0), (1, 1)), excluded=1)
    """
    pairs = _label_pairs(first, second, {})
    k = len(pairs.labels)
    table = np.bincount((pairs.rows @ [k, 1]).astype(np.intp), minlength=k * k).reshape(k, k)
    return Confusion(pairs.labels, tuple(tuple(row) for row in table.tolist()), pairs.excluded)


def accuracy(first: Sequence[Label], second: Sequence[Label], **options: Unpack[IntervalOptions]) -> Agreement:
    """The share of pairs with equal labels, in [0, 1].

    >>> accuracy(["yes", "no", "no"], ["yes", "no", "yes"]).value
    0.6666666666666666
    """
    pairs = _label_pairs(first, second, options)
    return _measure(MEAN, (pairs.rows[:, 0] == pairs.rows[:, 1]).astype(np.float64), pairs, least=0.0)


def balanced_accuracy(first: Sequence[Label], second: Sequence[Label], **options: Unpack[IntervalOptions]) -> Agreement:
    """The mean over the first rater's labels of the share that the second rater labels equally, in [0, 1].

    A second rater with only one label gets 1 / (number of labels). Undefined if the first rater's labels are all
    equal. Labels that only the second rater uses count as wrong, and add no term.

    >>> balanced_accuracy([1, 1, 1, 0], [1, 1, 1, 1]).value
    0.5
    """
    pairs = _label_pairs(first, second, options)
    used, sizes = np.unique(pairs.rows[:, 0], return_counts=True)
    k = len(used)
    if k == 1:
        return _undefined("the first rater's labels are all equal", pairs)

    def columns(rows: FloatArray) -> FloatArray:
        is_label = rows[:, :1] == used
        return np.hstack([is_label, is_label & (rows[:, :1] == rows[:, 1:])]).astype(np.float64)

    def finish(sums: FloatArray) -> FloatArray:
        shares: FloatArray = (sums[..., k:] / sums[..., :k]).mean(axis=-1)
        return shares

    found = _measure(SumStatistic("balanced accuracy", columns, finish), pairs.rows, pairs, least=0.0)
    if found.value == 1:
        return _at_end_of_range(found, sum(_bound_if_all_agree(size, options) for size in sizes.tolist()) / k)
    return found


def cohen_kappa(first: Sequence[Label], second: Sequence[Label], **options: Unpack[IntervalOptions]) -> Agreement:
    """Cohen's kappa (1960): agreement beyond chance, (observed - expected) / (1 - expected), at most 1.

    ``expected`` is the agreement of raters with these base rates who label at random. Undefined if both raters give
    the same label to all samples, because expected agreement is then 1.

    >>> cohen_kappa([1, 1, 0, 0], [1, 0, 0, 0]).value
    0.5
    """
    pairs = _label_pairs(first, second, options)
    k = len(pairs.labels)
    if k == 1:
        return _undefined("all labels are equal", pairs)

    def columns(rows: FloatArray) -> FloatArray:
        one, other, places = rows[:, :1], rows[:, 1:], np.arange(k)
        return np.hstack([one == places, other == places, one == other]).astype(np.float64)

    def finish(sums: FloatArray) -> FloatArray:
        one, other, equal = sums[..., :k], sums[..., k : 2 * k], sums[..., 2 * k]
        n = one.sum(axis=-1)
        chance = (one * other).sum(axis=-1)  # all over n squared: whole numbers stay whole, and a kappa of 0 is 0
        return np.where(chance == n * n, np.nan, (equal * n - chance) / (n * n - chance))

    found = _measure(SumStatistic("kappa", columns, finish), pairs.rows, pairs)
    if found.value == 1:
        shares = np.bincount(pairs.rows[:, 0].astype(np.intp)) / found.n
        return _at_end_of_range(found, 1 - (1 - pairs.floor) / (1 - float((shares**2).sum())))
    return found


def kappa_maximum(first: Sequence[Label], second: Sequence[Label]) -> float | None:
    """The highest kappa that raters with these base rates could reach; None if kappa is undefined.

    >>> kappa_maximum([1, 1, 1, 0], [1, 1, 0, 0])
    0.5
    """
    pairs = _label_pairs(first, second, {})
    n, k = len(pairs.rows), len(pairs.labels)
    if k < 2:
        return None
    one, other = (np.bincount(side.astype(np.intp), minlength=k) for side in pairs.rows.T)
    chance = int((one * other).sum())
    return (int(np.minimum(one, other).sum()) * n - chance) / (n * n - chance)


def spearman(first: Sequence[Label], second: Sequence[Label], **options: Unpack[IntervalOptions]) -> Agreement:
    """Spearman's rank correlation, ties at their mean rank, in [-1, 1]; undefined if a side is constant.

    >>> spearman([1, 2, 3, 4], [1, 2, 4, 3]).value
    0.8
    """
    return _correlation(SPEARMAN, _number_pairs(first, second, options))


def kendall_tau(first: Sequence[Label], second: Sequence[Label], **options: Unpack[IntervalOptions]) -> Agreement:
    """Kendall's tau-b (1945): concordant minus discordant pairs, corrected for ties, in [-1, 1].

    Undefined if a side is constant. For more than 300 pairs the interval comes from the jackknife.

    >>> round(kendall_tau([1, 2, 3, 4], [1, 2, 4, 3]).value, 6)
    0.666667
    """
    pairs = _number_pairs(first, second, options)
    if len(pairs.rows) > MOST_RESAMPLED:
        return _correlation(kendall_of_many, pairs, method="jackknife")
    return _correlation(KENDALL, pairs)


def roc_auc(labels: Sequence[Label], scores: Sequence[Label], **options: Unpack[IntervalOptions]) -> Agreement:
    """The probability that a sample labelled 1 has a higher score than one labelled 0, ties half; in [0, 1].

    Undefined without both labels. If the scores separate the labels perfectly, the bound is Wilson's with the number of
    the rarer label as trials: the variance of the area is at most A (1 - A) over that number (Birnbaum and Klose 1957).

    >>> roc_auc([1, 0, 1, 0], [0.9, 0.1, 0.4, 0.4]).value
    0.875
    """
    pairs = _number_pairs(labels, scores, options)
    ones = pairs.rows[:, 0] == 1
    if not (ones | (pairs.rows[:, 0] == 0)).all():
        raise InputError("must be 0 or 1", field="labels")
    rarer = int(min(ones.sum(), (~ones).sum()))
    if len(ones) and not rarer:
        return _undefined("all labels are equal", pairs)
    found = _measure(ROC_AUC, pairs.rows, pairs, least=0.0)
    return _at_end_of_range(found, _bound_if_all_agree(rarer, options)) if found.value in {0.0, 1.0} else found


def measure(
    statistic: Statistic,
    rows: FloatArray,
    excluded: int,
    options: IntervalOptions,
    *,
    least: float = -1.0,
    method: Method = "auto",
) -> Agreement:
    """Value and interval of a statistic over rows, with bounds clipped to [least, 1].

    There is no interval if no resample differs from the value.
    """
    n = len(rows)
    value = statistic(rows) if n else math.nan
    if not math.isfinite(value):
        return Agreement(
            None, n=n, excluded=excluded, reason="undefined for these labels" if n else "no labels to compare"
        )
    if abs(value) == 1 and statistic is not MEAN:
        return Agreement(value, n=n, excluded=excluded)
    found = interval(rows, statistic=statistic, method=method, **options)
    if found.low is None or found.high is None or found.method.endswith("constant"):
        return Agreement(value, n=n, excluded=excluded)
    return Agreement(value, max(found.low, least), min(found.high, 1.0), n, excluded, found.method)


def _measure(
    statistic: Statistic, rows: FloatArray, pairs: _Pairs, *, least: float = -1.0, method: Method = "auto"
) -> Agreement:
    return measure(statistic, rows, pairs.excluded, pairs.options, least=least, method=method)


def _correlation(statistic: Statistic, pairs: _Pairs, method: Method = "auto") -> Agreement:
    for side, column in zip(("first", "second"), pairs.rows.T, strict=True):
        if len(column) and (column == column[0]).all():
            return _undefined(f"the {side} rater's values are all equal", pairs)
    return _measure(statistic, pairs.rows, pairs, method=method)


def _undefined(reason: str, pairs: _Pairs) -> Agreement:
    return Agreement(None, n=len(pairs.rows), excluded=pairs.excluded, reason=reason)


def _at_end_of_range(found: Agreement, floor: float) -> Agreement:
    """The interval of a value at an end of its range, from a lower bound of the share that agrees."""
    low, high = (floor, 1.0) if found.value else (0.0, 1 - floor)
    return Agreement(found.value, low, high, found.n, found.excluded, "wilson")


def _bound_if_all_agree(trials: int, options: IntervalOptions) -> float:
    return wilson(trials, trials, confidence=options.get("confidence", 0.95))[0]


def _label_pairs(first: Sequence[Label], second: Sequence[Label], options: IntervalOptions) -> _Pairs:
    rows_used = _complete_rows(first, second)
    seen = {label for side in (first, second) for label in (side[place] for place in rows_used) if label is not None}
    labels = tuple(sorted(seen, key=lambda label: (isinstance(label, str), label)))
    place_of: dict[Label, int] = {label: place for place, label in enumerate(labels)}
    return _make_pairs(
        [(place_of[first[row]], place_of[second[row]]) for row in rows_used], labels, rows_used, len(first), options
    )


def _number_pairs(first: Sequence[Label], second: Sequence[Label], options: IntervalOptions) -> _Pairs:
    rows_used = _complete_rows(first, second)
    rows = [(first[row], second[row]) for row in rows_used]
    if any(isinstance(label, str) for pair in rows for label in pair):
        raise InputError("expected numbers, found text among the labels")
    return _make_pairs(rows, (), rows_used, len(first), options)


def _complete_rows(first: Sequence[Label], second: Sequence[Label]) -> list[int]:
    """The rows in which neither label is missing; only NaN is unequal to itself."""
    if len(first) != len(second):
        raise InputError(f"raters label the same samples: found {len(first)} and {pluralize(len(second), 'label')}")
    pairs = zip(first, second, strict=True)
    return [row for row, (a, b) in enumerate(pairs) if a is not None and b is not None and a == a and b == b]  # noqa: PLR0124


def _make_pairs(
    rows: Sequence[tuple[Label, Label]],
    labels: tuple[str | float, ...],
    rows_used: list[int],
    n: int,
    options: IntervalOptions,
) -> _Pairs:
    tags = options.get("cluster")
    if tags is not None:
        if len(tags) != n:
            raise InputError(f"{len(tags)} tags for {n} pairs", field="cluster")
        options = {**options, "cluster": [tags[row] for row in rows_used]}
    return _Pairs(np.array(rows, dtype=np.float64).reshape(-1, 2), labels, n - len(rows_used), options)
