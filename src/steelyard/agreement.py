"""How far do two raters agree? A judge against people, people against each other.

A pair in which either label is missing (None or NaN) is excluded and counted. What is undefined is None with a
reason, never 0 / 0. Every value has the interval of ``steelyard.stats`` over resampled pairs; where raters agree on
every pair a resample shows no spread, and the bound comes from Wilson's interval of the share that agrees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .correlation import ROC_AUC, SPEARMAN, kendall
from .errors import InputError
from .resampling import FloatArray, Statistic, SumStatistic
from .stats import RESAMPLES, Cluster, Method, interval, wilson

Label: TypeAlias = str | float | None
"""A category's name, a number, or a rating; None where the rater gave none."""

CodeArray: TypeAlias = NDArray[np.intp]


class Options(Struct, frozen=True, kw_only=True):
    """How intervals are found: as the arguments of ``steelyard.stats.interval``. ``cluster`` has one tag per pair."""

    confidence: float = 0.95
    resamples: int = RESAMPLES
    seed: int = 0
    cluster: Cluster | None = None


DEFAULT = Options()


class Agreement(Struct, frozen=True):
    """One measure of agreement: its value and interval, the n of pairs used, the pairs left out, and what is missing.

    ``method`` says how the interval was found; ``reason`` why there is no value.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    excluded: int = 0
    method: str = "none"
    reason: str | None = None


class Confusion(Struct, frozen=True):
    """How often each label of the first rater met each label of the second: ``counts[i][j]`` for labels i and j."""

    labels: tuple[str | float, ...]
    counts: tuple[tuple[int, ...], ...]
    excluded: int = 0


class _Coded(Struct, frozen=True):
    """Pairs of labels as numbers into the sorted list of labels."""

    labels: tuple[str | float, ...]
    first: CodeArray
    second: CodeArray
    excluded: int
    cluster: Cluster | None


def confusion(first: Sequence[Label], second: Sequence[Label]) -> Confusion:
    """Counts of every pair of labels, in the labels' order (numbers, then text).

    >>> confusion([1, 1, 0, None], [1, 0, 0, 1])
    Confusion(labels=(0, 1), counts=((1, 0), (1, 1)), excluded=1)
    """
    coded = _coded(first, second, DEFAULT)
    k = len(coded.labels)
    table = np.bincount(coded.first * k + coded.second, minlength=k * k).reshape(k, k)
    return Confusion(coded.labels, tuple(tuple(row) for row in table.tolist()), coded.excluded)


def accuracy(first: Sequence[Label], second: Sequence[Label], options: Options = DEFAULT) -> Agreement:
    """Share of pairs with equal labels, in [0, 1].

    >>> accuracy(["yes", "no", "no"], ["yes", "no", "yes"]).value
    0.6666666666666666
    """
    coded = _coded(first, second, options)
    return _measured("mean", (coded.first == coded.second).astype(np.float64), coded, options)


def balanced_accuracy(first: Sequence[Label], second: Sequence[Label], options: Options = DEFAULT) -> Agreement:
    """Mean over the first rater's labels of the share that the second rater labels alike, in [0, 1].

    A second rater that always says the same gets 1 / (number of labels). Undefined where the first rater's labels are
    all equal. Labels that only the second rater uses count as wrong, and add no term.

    >>> balanced_accuracy([1, 1, 1, 0], [1, 1, 1, 1]).value
    0.5
    """
    coded = _coded(first, second, options)
    used = np.unique(coded.first)
    if len(coded.first) and len(used) < 2:
        return _undefined("the first rater's labels are all equal", coded)

    def columns(rows: FloatArray) -> FloatArray:
        held = rows[:, :1] == used
        return np.hstack([held, held & (rows[:, :1] == rows[:, 1:])]).astype(np.float64)

    def finish(sums: FloatArray) -> FloatArray:
        return (sums[..., len(used) :] / sums[..., : len(used)]).mean(axis=-1)

    found = _measured(SumStatistic("balanced accuracy", columns, finish), _rows(coded), coded, options)
    if found.value == 1:
        sizes = [int((coded.first == label).sum()) for label in used]
        floor = sum(wilson(size, size, confidence=options.confidence)[0] for size in sizes) / len(sizes)
        return _bounded(found, floor)
    return found


def cohen_kappa(first: Sequence[Label], second: Sequence[Label], options: Options = DEFAULT) -> Agreement:
    """Cohen's kappa (1960): agreement beyond chance, (observed - expected) / (1 - expected), at most 1.

    ``expected`` is the agreement of raters with these base rates who label at random. Undefined where both raters give
    one and the same label throughout: there is nothing beyond chance to agree on.

    >>> cohen_kappa([1, 1, 0, 0], [1, 0, 0, 0]).value
    0.5
    """
    coded = _coded(first, second, options)
    if len(coded.first) and len(coded.labels) < 2:
        return _undefined("all labels are equal", coded)
    k = len(coded.labels)

    def columns(rows: FloatArray) -> FloatArray:
        places = np.arange(k)
        return np.hstack([rows[:, :1] == places, rows[:, 1:] == places, rows[:, :1] == rows[:, 1:]]).astype(np.float64)

    def finish(sums: FloatArray) -> FloatArray:
        one, other, equal = sums[..., :k], sums[..., k : 2 * k], sums[..., 2 * k]
        n = one.sum(axis=-1)
        chance = (one * other).sum(axis=-1)
        # Over n squared throughout, so that whole numbers stay whole and a kappa of 0 is 0.
        return np.where(chance == n * n, np.nan, (equal * n - chance) / (n * n - chance))

    found = _measured(SumStatistic("kappa", columns, finish), _rows(coded), coded, options)
    if found.value == 1:
        shares = np.bincount(coded.first, minlength=k) / found.n
        error = 1 - wilson(found.n, found.n, confidence=options.confidence)[0]
        return _bounded(found, 1 - error / (1 - float((shares**2).sum())))
    return found


def kappa_maximum(first: Sequence[Label], second: Sequence[Label]) -> float | None:
    """The highest kappa that raters with these base rates could reach; None where kappa is undefined.

    >>> kappa_maximum([1, 1, 1, 0], [1, 1, 0, 0])
    0.5
    """
    coded = _coded(first, second, DEFAULT)
    if len(coded.labels) < 2:
        return None
    n, k = len(coded.first), len(coded.labels)
    one, other = np.bincount(coded.first, minlength=k), np.bincount(coded.second, minlength=k)
    chance = int((one * other).sum())
    return (int(np.minimum(one, other).sum()) * n - chance) / (n * n - chance)


def spearman(first: Sequence[Label], second: Sequence[Label], options: Options = DEFAULT) -> Agreement:
    """Spearman's rank correlation, ties at their mean rank, in [-1, 1]; undefined where a side is constant.

    >>> spearman([1, 2, 3, 4], [1, 2, 4, 3]).value
    0.8
    """
    return _correlated(SPEARMAN, first, second, options)


def kendall_tau(first: Sequence[Label], second: Sequence[Label], options: Options = DEFAULT) -> Agreement:
    """Kendall's tau-b (1945): concordant minus discordant pairs, corrected for ties, in [-1, 1].

    Undefined where a side is constant. Compared pair by pair: time grows with n squared.

    >>> round(kendall_tau([1, 2, 3, 4], [1, 2, 4, 3]).value, 6)
    0.666667
    """
    return _correlated(kendall, first, second, options)


def roc_auc(labels: Sequence[Label], scores: Sequence[Label], options: Options = DEFAULT) -> Agreement:
    """The chance that a sample labelled 1 has a higher score than one labelled 0, ties half; in [0, 1].

    Undefined without both labels. Where the two are wholly apart, the bound is Wilson's with as many trials as the
    rarer label has: the variance of the area is at most A (1 - A) over that number (Birnbaum and Klose 1957).

    >>> roc_auc([1, 0, 1, 0], [0.9, 0.1, 0.4, 0.4]).value
    0.875
    """
    rows, coded = _numbers(labels, scores, options)
    if not ((rows[:, 0] == 0) | (rows[:, 0] == 1)).all():
        raise InputError("labels are 0 and 1", field="labels")
    rarer = int(min(rows[:, 0].sum(), len(rows) - rows[:, 0].sum()))
    if len(rows) and not rarer:
        return _undefined("all labels are equal", coded)
    found = _measured(ROC_AUC, rows, coded, options)
    if found.value in {0.0, 1.0}:
        return _bounded(found, wilson(rarer, rarer, confidence=options.confidence)[0])
    return found


def _correlated(statistic: Statistic, first: Sequence[Label], second: Sequence[Label], options: Options) -> Agreement:
    rows, coded = _numbers(first, second, options)
    for side, column in zip(("first", "second"), rows.T, strict=True):
        if len(rows) and (column == column[0]).all():
            return _undefined(f"the {side} rater's values are all equal", coded)
    many = statistic is kendall and len(rows) > 500  # n x n comparisons for each resample would take minutes
    return _measured(statistic, rows, coded, options, method="jackknife" if many else "auto")


def _measured(
    statistic: str | Statistic, rows: FloatArray, coded: _Coded, options: Options, method: Method = "auto"
) -> Agreement:
    """Value and interval of a statistic over the pairs' rows; no interval where no resample differs."""
    if not len(rows):
        return _undefined("no pair has both labels", coded)
    value = float(rows.mean()) if statistic == "mean" else statistic(rows)  # type: ignore[operator]
    if not math.isfinite(value):
        return _undefined("undefined for these labels", coded)
    found = interval(
        rows,
        statistic=statistic,
        confidence=options.confidence,
        resamples=options.resamples,
        method=method,
        seed=options.seed,
        cluster=coded.cluster,
    )
    if found.method.endswith("constant"):
        return Agreement(value, n=len(rows), excluded=coded.excluded)
    return Agreement(value, found.low, found.high, len(rows), coded.excluded, found.method)


def _undefined(reason: str, coded: _Coded) -> Agreement:
    return Agreement(None, n=len(coded.first), excluded=coded.excluded, reason=reason)


def _bounded(found: Agreement, floor: float) -> Agreement:
    """Full agreement (or, for an area of 0, full disagreement): one side is the value itself, the other Wilson's."""
    low, high = (floor, 1.0) if found.value else (0.0, 1 - floor)
    return Agreement(found.value, low, high, found.n, found.excluded, "wilson")


def _rows(coded: _Coded) -> FloatArray:
    return np.column_stack([coded.first, coded.second]).astype(np.float64)


def _missing(label: Label) -> bool:
    return label is None or label != label  # noqa: PLR0124 - NaN is the only value that differs from itself


def _coded(first: Sequence[Label], second: Sequence[Label], options: Options) -> _Coded:
    kept = _kept(first, second)
    pairs = [(first[place], second[place]) for place in kept]
    labels = sorted({label for pair in pairs for label in pair if label is not None}, key=lambda x: (isinstance(x, str), x))
    code = {label: place for place, label in enumerate(labels)}
    codes = np.array([(code[one], code[other]) for one, other in pairs], dtype=np.intp).reshape(-1, 2)  # type: ignore[index]
    return _Coded(tuple(labels), codes[:, 0], codes[:, 1], len(first) - len(kept), _tags(options.cluster, kept, len(first)))


def _numbers(first: Sequence[Label], second: Sequence[Label], options: Options) -> tuple[FloatArray, _Coded]:
    kept = _kept(first, second)
    try:
        rows = np.array([(first[place], second[place]) for place in kept], dtype=np.float64).reshape(-1, 2)
    except ValueError:
        raise InputError("ranks need numbers, found text among the values") from None
    none = np.zeros(len(rows), dtype=np.intp)
    return rows, _Coded((), none, none, len(first) - len(kept), _tags(options.cluster, kept, len(first)))


def _kept(first: Sequence[Label], second: Sequence[Label]) -> list[int]:
    if len(first) != len(second):
        raise InputError(f"raters label the same samples: found {len(first)} and {len(second)} labels")
    return [place for place, pair in enumerate(zip(first, second, strict=True)) if not any(map(_missing, pair))]


def _tags(cluster: Cluster | None, kept: list[int], n: int) -> Cluster | None:
    if cluster is None:
        return None
    if len(cluster) != n:
        raise InputError(f"{len(cluster)} tags for {n} pairs", field="cluster")
    return [cluster[place] for place in kept]
