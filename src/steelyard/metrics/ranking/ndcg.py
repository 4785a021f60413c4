"""nDCG and DCG, with the gain of a grade and the DCG of the ideal ranking; symbols as in ``measures``."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np

from ...core.errors import InputError
from ...ranking.rankings import FloatArray, Rankings, quotient, sum_by
from ..registry import ranking_metric
from .measures import first

Gain: TypeAlias = Literal["linear", "exponential"]
TOP_EXPONENT = 1000
"""The highest grade for which the gain may be 2^g - 1, so that sums of gains stay finite."""


@ranking_metric(
    aliases=("ndcg_cut",),
    source="Järvelin and Kekäläinen 2002; exponential: Burges et al. 2005",
    explained_by="missed documents",
)
def ndcg(rankings: Rankings, *, gain: Gain = "linear", gains: str | None = None, k: int | None = None) -> FloatArray:
    """DCG@k divided by the DCG@k of the ideal ranking, all positive grades in descending order. In [0, 1].

    DCG = sum over i <= k of gain(g(i)) / log2(i + 1). ``gain="linear"`` uses the grade itself, as trec_eval and
    BEIR do; ``"exponential"`` uses 2^g - 1, as much of the learning-to-rank literature does: another measure, with
    another name. ``gains="1=1,2=3"`` sets the gain of each grade; other grades keep their own gain.
    The discount begins at rank 2; the older form with log2(i) from rank 2 on is not offered.

    Undefined if no grade is positive.

    >>> from steelyard.ranking.join import join
    >>> table = join({"q": {"x": 3.0, "a": 2.0, "b": 1.0}}, {"q": {"a": 1, "b": 2}})
    >>> ndcg(table, k=10).round(4).tolist(), ndcg(table, gain="exponential", k=10).round(4).tolist()
    ([0.6199], [0.5869])
    """
    best = ideal_dcg(rankings, gain, gains, k)
    actual = dcg(rankings, gain=gain, gains=gains, k=k)
    return quotient(actual, best, empty=np.nan)


@ranking_metric(bounds=None, source="Järvelin and Kekäläinen 2002", explained_by="missed documents")
def dcg(rankings: Rankings, *, gain: Gain = "linear", gains: str | None = None, k: int | None = None) -> FloatArray:
    """Sum over i <= k of gain(g(i)) / log2(i + 1). At least 0, not bounded by 1; ``ndcg`` has the parameters.

    >>> from steelyard.ranking.join import join
    >>> dcg(join({"q": {"a": 3.0, "b": 2.0}}, {"q": {"a": 2, "b": 1}}), k=10).round(4).tolist()
    [2.6309]
    """
    worth = gain_of(rankings.gains, gain, gains) * first(rankings, k) / np.log2(rankings.ranks + 1.0)
    some = np.diff(rankings.ideal_starts) > 0
    return np.where(some, rankings.total(worth), np.nan)


def gain_of(grades: FloatArray, gain: Gain, gains: str | None) -> FloatArray:
    """The gain of each grade; the grades must not be negative."""
    if gain not in ("linear", "exponential"):
        raise InputError(f"gain={gain!r}: must be 'linear' or 'exponential'")
    if gain == "exponential" and (top := grades.max(initial=0.0)) > TOP_EXPONENT:
        raise InputError(f"gain='exponential': expected grades of at most {TOP_EXPONENT}, found {top:g}")
    worth = np.exp2(grades) - 1.0 if gain == "exponential" else grades
    if gains is not None:
        worth = worth.copy()
        for grade, value in read_gains(gains):
            worth[grades == grade] = value
    return worth


def read_gains(text: str) -> list[tuple[float, float]]:
    """Read a list of gains such as ``1=1,2=3`` into (grade, gain) pairs.

    >>> read_gains("1=1,2=3")
    [(1.0, 1.0), (2.0, 3.0)]
    """
    try:
        pairs = [(float(grade), float(value)) for grade, _, value in (one.partition("=") for one in text.split(","))]
    except ValueError:
        pairs = []
    if not pairs or not all(math.isfinite(grade) and 0 <= value < math.inf for grade, value in pairs):
        raise InputError(f"gains={text!r}: expected grade=gain pairs such as '1=1,2=3', no gain negative")
    return pairs


def ideal_dcg(rankings: Rankings, gain: Gain, gains: str | None, k: int | None) -> FloatArray:
    """The DCG@k of each query's ideal ranking: its positive grades in descending order of their gains."""
    worth = gain_of(rankings.ideal, gain, gains)
    if gains is not None:  # a higher grade may have a lower gain: the ideal ranking follows the gains
        worth = worth[np.lexsort((-worth, rankings.ideal_query))]
    inside = rankings.ideal_ranks <= (k or len(worth))
    discounted = (worth / np.log2(rankings.ideal_ranks + 1.0))[inside]
    return sum_by(rankings.ideal_query[inside], discounted, len(rankings))
