"""Statistics of ranks, for many resamples at once: Spearman, Kendall's tau-b, area under the ROC curve.

Each takes rows of two numbers: the two sides, or for the curve a label of 0 or 1 and a score. Ranks come from weights:
a value's mean rank is the weight below it plus half the weight at it, so that no resample is sorted again.
"""

from __future__ import annotations

import numpy as np

from .resampling import FloatArray, IndexArray, Replicate, WeightStatistic


def _levels(column: FloatArray) -> tuple[IndexArray, IndexArray, IndexArray]:
    """The order of a column, where each distinct value begins in that order, and the value number of each row."""
    _, numbers, counts = np.unique(column, return_inverse=True, return_counts=True)
    return np.argsort(column, kind="stable"), np.cumsum(counts) - counts, numbers


def _at_and_below(weights: FloatArray, order: IndexArray, starts: IndexArray) -> tuple[FloatArray, FloatArray]:
    """The weight at each distinct value, and below it: resamples x values."""
    at = np.add.reduceat(weights[:, order], starts, axis=1)
    return at, np.cumsum(at, axis=1) - at


def _spearman(rows: FloatArray) -> Replicate:
    sides = [_levels(column) for column in rows.T]

    def replicate(weights: FloatArray) -> FloatArray:
        n = weights.sum(axis=1, keepdims=True)
        centred = []
        for order, starts, numbers in sides:
            at, below = _at_and_below(weights, order, starts)
            centred.append((below + at / 2)[:, numbers] - n / 2)  # the mean of all mean ranks is the middle
        one, other = centred
        across = (weights * one * other).sum(axis=1)
        squares = (weights * one**2).sum(axis=1) * (weights * other**2).sum(axis=1)
        return np.where(squares > 0, across / np.sqrt(squares), np.nan)

    return replicate


def _roc_auc(rows: FloatArray) -> Replicate:
    order, starts, _ = _levels(rows[:, 1])
    positive = rows[:, 0] == 1

    def replicate(weights: FloatArray) -> FloatArray:
        ones, _ = _at_and_below(weights * positive, order, starts)
        zeros, below = _at_and_below(weights * ~positive, order, starts)
        pairs = ones.sum(axis=1) * zeros.sum(axis=1)
        return np.where(pairs > 0, (ones * (below + zeros / 2)).sum(axis=1) / pairs, np.nan)

    return replicate


def _kendall(rows: FloatArray) -> Replicate:
    one, other = (np.sign(column[:, None] - column) for column in rows.T)
    concord, moved_one, moved_other = one * other, np.abs(one), np.abs(other)

    def replicate(weights: FloatArray) -> FloatArray:
        # Whole numbers, so the order in which a matrix product adds them does not matter.
        across, first, second = (
            ((weights @ table) * weights).sum(axis=1) for table in (concord, moved_one, moved_other)
        )
        return np.where(first * second > 0, across / np.sqrt(first * second), np.nan)

    return replicate


def kendall_of_many(rows: FloatArray) -> float:
    """Kendall's tau-b in n log n time, by scipy: for more rows than a table of all pairs should hold."""
    from scipy import stats

    return float(stats.kendalltau(rows[:, 0], rows[:, 1]).statistic)


SPEARMAN = WeightStatistic("spearman", _spearman)
KENDALL = WeightStatistic("kendall", _kendall)
ROC_AUC = WeightStatistic("roc auc", _roc_auc)
