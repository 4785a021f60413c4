"""Statistics of ranks for many resamples at once: Spearman, Kendall's tau-b, area under the ROC curve.

Each accepts rows of two numbers: the two sides, or for the ROC curve a label of 0 or 1 and a score. Ranks are computed
from weights: a value's mean rank is the weight below it plus half the weight at it, so no resample is sorted again.
"""

from __future__ import annotations

import math

import numpy as np

from .resampling import FloatArray, IndexArray, Replicate, WeightStatistic


def _levels(column: FloatArray) -> tuple[IndexArray, IndexArray, IndexArray]:
    """The order of a column, the first position of each distinct value in it, and the value number of each row."""
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
        # All terms are whole numbers, so the order in which a matrix product adds them does not matter.
        across, first, second = (
            ((weights @ table) * weights).sum(axis=1) for table in (concord, moved_one, moved_other)
        )
        return np.where(first * second > 0, across / np.sqrt(first * second), np.nan)

    return replicate


def kendall_of_many(rows: FloatArray) -> float:
    """Kendall's tau-b in n log n time, for too many rows for a table of all pairs.

    Concordant minus discordant pairs over the geometric mean of the pairs that each column orders; NaN if a column is
    constant. The number of discordant pairs is the number of inversions of one column in the order of the other
    (Knight 1966). The result equals scipy's ``kendalltau`` bit by bit.

    >>> round(kendall_of_many(np.array([[1.0, 1.0], [2.0, 3.0], [3.0, 2.0], [3.0, 4.0]])), 6)
    0.547723
    """
    one, other = (np.unique(column, return_inverse=True)[1] for column in rows.T)
    both = np.unique(one * len(rows) + other, return_inverse=True)[1]
    pairs = len(rows) * (len(rows) - 1) // 2
    tied_one, tied_other, tied_both = (_pairs_within(numbers) for numbers in (one, other, both))
    if pairs in {tied_one, tied_other}:
        return math.nan
    discordant = _inversions(other[np.lexsort((other, one))])
    concordant_less_discordant = pairs - tied_one - tied_other + tied_both - 2 * discordant
    tau = concordant_less_discordant / math.sqrt(pairs - tied_one) / math.sqrt(pairs - tied_other)
    return min(1.0, max(-1.0, tau))


def _pairs_within(numbers: IndexArray) -> int:
    """The number of pairs of rows with equal value numbers."""
    counts = np.bincount(numbers)
    return int((counts * (counts - 1) // 2).sum())


def _inversions(numbers: IndexArray) -> int:
    """The number of pairs in which the earlier of two value numbers is the greater one, by a merge sort."""
    size = 1 << (len(numbers) - 1).bit_length()
    beyond = int(numbers.max()) + 1
    row = np.full(size, beyond)
    row[: len(numbers)] = numbers
    count, width = 0, 1
    while width < size:
        # Numbers that rise from block to block make one sorted array of the left halves of all blocks.
        blocks = row.reshape(-1, 2, width) + np.arange(size // width // 2)[:, None, None] * (beyond + 1)
        left, right = blocks[:, 0].ravel(), blocks[:, 1].ravel()
        ends = np.repeat(np.arange(width, len(left) + 1, width), width)
        count += int((ends - np.searchsorted(left, right, side="right")).sum())
        width *= 2
        row = np.sort(row.reshape(-1, width), axis=1).ravel()
    return count


SPEARMAN = WeightStatistic("spearman", _spearman)
KENDALL = WeightStatistic("kendall", _kendall)
ROC_AUC = WeightStatistic("roc auc", _roc_auc)
