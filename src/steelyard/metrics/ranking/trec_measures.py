"""Further measures of trec_eval: sets, counts, utility, inferred and graded precision.

Symbols are those of ``measures``: R relevant documents of the query, n retrieved documents, g(i) the grade at rank i.
"""

from __future__ import annotations

import numpy as np

from ...core.errors import InputError
from ...ranking.rankings import FloatArray, Grade, IntArray, Rankings, quotient, running, sum_by
from ..registry import NotNegative, Positive, ranking_metric
from .measures import f_of, found, precision, recall, where_relevant
from .ndcg import ndcg

INFAP_EPSILON = 1e-5


@ranking_metric(source="Yilmaz and Aslam 2006")
def infap(rankings: Rankings, *, rel: Grade | None = None) -> FloatArray:
    """Inferred average precision: ``map`` estimated from judgments of a sample of the pool. About [0, 1].

    For a relevant document at rank i the precision is 1/i + (i-1)/i * p/(i-1) * (r+e)/(r+s+2e). Of the documents above
    it, r are relevant, s are judged not relevant and p are in the pool; e = 1e-5. The sum is divided by R. Under
    compat, a negative grade marks a document that is in the pool but was not judged.

    >>> from steelyard.ranking.join import join
    >>> infap(join({"q": {"x": 3.0, "a": 2.0}}, {"q": {"a": 1, "x": 0}})).round(4).tolist()
    [0.5]
    """
    relevant = rankings.relevant(rel)
    above_relevant = rankings.running(relevant) - relevant
    above_judged = above_relevant + rankings.running(rankings.nonrelevant(rel))
    above_pool = rankings.running(np.ones(len(rankings.ranks))) - 1.0
    chance = (above_relevant + INFAP_EPSILON) / (above_judged + 2 * INFAP_EPSILON)
    expected = (1.0 + above_pool * chance) / rankings.ranks
    return where_relevant(rankings, quotient(rankings.total(expected * relevant), rankings.num_relevant(rel)), rel)


@ranking_metric(source="Buckley and Voorhees 2005")
def rprec_mult(rankings: Rankings, *, factor: Positive, rel: Grade | None = None) -> FloatArray:
    """Precision at rank ``factor`` times R, rounded up. In [0, 1]; 0 if that rank is 0.

    >>> from steelyard.ranking.join import join
    >>> rprec_mult(join({"q": {"a": 3.0, "x": 2.0}}, {"q": {"a": 1}}), factor=2).tolist()
    [0.5]
    """
    if factor <= 0:
        raise InputError(f"rprec_mult(factor={factor!r}): must be positive")
    cut = (factor * rankings.num_relevant(rel) + 0.9).astype(np.int64)
    inside = rankings.relevant(rel) & (rankings.ranks <= cut[rankings.query])
    return where_relevant(rankings, quotient(rankings.total(inside), cut), rel)


@ranking_metric(source="Buckley and Voorhees 2005")
def relative_p(rankings: Rankings, *, k: int, rel: Grade | None = None) -> FloatArray:
    """Relevant documents in the first k divided by the largest possible number, min(k, R). In [0, 1].

    >>> from steelyard.ranking.join import join
    >>> relative_p(join({"q": {"a": 3.0, "x": 2.0}}, {"q": {"a": 1}}), k=10).tolist()
    [1.0]
    """
    possible = np.minimum(rankings.num_relevant(rel), k)
    return where_relevant(rankings, quotient(found(rankings, k, rel), possible), rel)


@ranking_metric(aliases=("SetP",), source="van Rijsbergen 1979")
def set_p(rankings: Rankings, *, rel: Grade | None = None) -> FloatArray:
    """Precision of the retrieved set: relevant retrieved / n, 0 if nothing was retrieved. In [0, 1].

    >>> from steelyard.ranking.join import join
    >>> set_p(join({"q": {"a": 3.0, "x": 2.0}}, {"q": {"a": 1}})).tolist()
    [0.5]
    """
    return precision(rankings, rel=rel)


@ranking_metric(aliases=("SetR",), source="van Rijsbergen 1979")
def set_recall(rankings: Rankings, *, rel: Grade | None = None) -> FloatArray:
    """Recall of the retrieved set: relevant retrieved / R. In [0, 1].

    >>> from steelyard.ranking.join import join
    >>> set_recall(join({"q": {"a": 3.0, "x": 2.0}}, {"q": {"a": 1, "b": 1}})).tolist()
    [0.5]
    """
    return recall(rankings, rel=rel)


@ranking_metric(source="Buckley and Voorhees 2005")
def set_relative_p(rankings: Rankings, *, rel: Grade | None = None) -> FloatArray:
    """Relevant retrieved divided by the largest possible number, min(n, R). In [0, 1].

    >>> from steelyard.ranking.join import join
    >>> set_relative_p(join({"q": {"a": 3.0}}, {"q": {"a": 1, "b": 1}})).tolist()
    [1.0]
    """
    possible = np.minimum(rankings.num_relevant(rel), rankings.retrieved)
    return where_relevant(rankings, quotient(found(rankings, None, rel), possible), rel)


@ranking_metric(aliases=("SetAP",), source="Buckley and Voorhees 2005")
def set_map(rankings: Rankings, *, rel: Grade | None = None) -> FloatArray:
    """Precision times recall of the retrieved set: the average precision of a set in random order. In [0, 1].

    >>> from steelyard.ranking.join import join
    >>> set_map(join({"q": {"a": 3.0, "x": 2.0}}, {"q": {"a": 1, "b": 1}})).tolist()
    [0.25]
    """
    return precision(rankings, rel=rel) * recall(rankings, rel=rel)


@ranking_metric(aliases=("SetF",), source="van Rijsbergen 1979")
def set_f(rankings: Rankings, *, weight: NotNegative = 1.0, rel: Grade | None = None) -> FloatArray:
    """F of the retrieved set: (1 + w) P S / (w P + S) of precision P and recall S, 0 if both are 0. In [0, 1].

    ``weight`` is the parameter of trec_eval's ``set_F``; it equals beta squared of ``f``.

    >>> from steelyard.ranking.join import join
    >>> set_f(join({"q": {"a": 3.0, "x": 2.0}}, {"q": {"a": 1}})).round(4).tolist()
    [0.6667]
    """
    if weight < 0:
        raise InputError(f"set_f(weight={weight!r}): must be at least 0")
    return f_of(precision(rankings, rel=rel), recall(rankings, rel=rel), weight)


@ranking_metric(bounds=None, source="Hull 1997")
def utility(
    rankings: Rankings,
    *,
    a: float = 1.0,
    b: float = -1.0,
    c: float = 0.0,
    d: float = 0.0,
    rel: Grade | None = None,
) -> FloatArray:
    """a (relevant retrieved) + b (others retrieved) + c (relevant missed) + d (judged not relevant, not retrieved).

    A sum of counts: not bounded, and defined even for a query without relevant documents.

    >>> from steelyard.ranking.join import join
    >>> utility(join({"q": {"a": 3.0, "x": 2.0, "y": 1.0}}, {"q": {"a": 1}})).tolist()
    [-1.0]
    """
    got = found(rankings, None, rel)
    missed = rankings.num_relevant(rel) - got
    avoided = rankings.num_nonrelevant(rel) - rankings.total(rankings.nonrelevant(rel))
    return a * got + b * (rankings.retrieved - got) + c * missed + d * avoided


@ranking_metric(name="g", source="trec_eval 9 (experimental)")
def graded_gain(rankings: Rankings) -> FloatArray:
    """Sum over relevant ranks i of g(i) / log2(2 + I(i) - C(i)), divided by the sum of all positive grades. [0, 1].

    C(i) is the gain up to rank i and I(i) that of an ideal ranking, in which each rank after the last relevant
    document adds 1. The discount of a document depends on how far the ranking lags behind the ideal, not on its rank.

    >>> from steelyard.ranking.join import join
    >>> graded_gain(join({"q": {"x": 3.0, "a": 2.0}}, {"q": {"a": 1}})).round(4).tolist()
    [0.6309]
    """
    ideal = _ideal_at(rankings, rankings.ranks, _ideal_running(rankings, rankings.ideal))
    beyond = np.maximum(rankings.ranks - np.diff(rankings.ideal_starts)[rankings.query], 0)
    lag = ideal + beyond - rankings.running(rankings.gains)
    worth = rankings.gains / np.log2(2.0 + np.where(rankings.gains > 0, lag, 0.0))
    whole = sum_by(rankings.ideal_query, rankings.ideal, len(rankings))
    return quotient(rankings.total(worth), whole, empty=np.nan)


@ranking_metric(name="bing", aliases=("binG",), source="trec_eval 9 (experimental)")
def binary_gain(rankings: Rankings, *, rel: Grade | None = None) -> FloatArray:
    """Mean over the R relevant documents of 1 / log2(2 + documents above that are not relevant). In [0, 1].

    >>> from steelyard.ranking.join import join
    >>> binary_gain(join({"q": {"x": 3.0, "a": 2.0}}, {"q": {"a": 1}})).round(4).tolist()
    [0.6309]
    """
    relevant = rankings.relevant(rel)
    above = np.where(relevant, rankings.ranks - rankings.running(relevant), 0.0)
    worth = relevant / np.log2(2.0 + above)
    return where_relevant(rankings, quotient(rankings.total(worth), rankings.num_relevant(rel)), rel)


@ranking_metric(source="trec_eval 9 (experimental)")
def rndcg(rankings: Rankings) -> FloatArray:
    """Mean of ndcg at the ranks where the ideal ranking ends each grade, and over the whole list. In [0, 1].

    An ideal ranking lists the documents of the highest grade first, then those of the next grade. The mean is over
    ndcg at the end of each grade present, and over the whole list too if it is longer than R + 1.

    >>> from steelyard.ranking.join import join
    >>> rndcg(join({"q": {"x": 3.0, "a": 2.0}}, {"q": {"x": 1, "a": 2}})).round(4).tolist()
    [0.6799]
    """
    ends = (np.diff(rankings.ideal) != 0) | (np.diff(rankings.ideal_query) != 0)
    last = np.flatnonzero(np.append(ends, True)[: len(rankings.ideal)])
    cuts, queries = rankings.ideal_ranks[last], rankings.ideal_query[last]
    ideal = _ideal_running(rankings, rankings.ideal / np.log2(rankings.ideal_ranks + 1.0))[last]
    gained = np.append(rankings.running(rankings.gains / np.log2(rankings.ranks + 1.0)), 0.0)
    stride = int(max(rankings.ranks.max(initial=0), cuts.max(initial=0))) + 1
    upto = np.searchsorted(rankings.query * stride + rankings.ranks, queries * stride + cuts, side="right") - 1
    actual = np.where(upto >= rankings.starts[queries], gained[upto], 0.0)
    sums = sum_by(queries, actual / ideal, len(rankings))
    terms = np.bincount(queries, minlength=len(rankings))
    long = (rankings.retrieved > np.diff(rankings.ideal_starts) + 1) & (terms > 0)
    return where_relevant(rankings, quotient(sums + np.where(long, ndcg(rankings), 0.0), terms + long, empty=np.nan))


@ranking_metric(source="trec_eval 9 (experimental)")
def ndcg_rel(rankings: Rankings) -> FloatArray:
    """Mean over the relevant documents of ndcg at their ranks; a missed document counts ndcg of the whole list.

    In [0, 1].

    >>> from steelyard.ranking.join import join
    >>> ndcg_rel(join({"q": {"a": 3.0, "x": 2.0, "b": 1.0}}, {"q": {"a": 1, "b": 1}})).round(4).tolist()
    [0.9599]
    """
    gained = rankings.running(rankings.gains / np.log2(rankings.ranks + 1.0))
    discounted = _ideal_running(rankings, rankings.ideal / np.log2(rankings.ideal_ranks + 1.0))
    positive = rankings.gains > 0
    at_ranks = np.zeros(len(gained))
    ideal = _ideal_at(rankings, rankings.ranks, discounted)
    np.divide(gained, ideal, out=at_ranks, where=positive)
    many = np.diff(rankings.ideal_starts)
    missed = many - rankings.total(positive)
    sums = rankings.total(at_ranks) + np.where(missed > 0, missed * ndcg(rankings), 0.0)
    return quotient(sums, many, empty=np.nan)


def _ideal_running(rankings: Rankings, values: FloatArray) -> FloatArray:
    return running(values, rankings.ideal_starts)


def _ideal_at(rankings: Rankings, ranks: IntArray, sums: FloatArray) -> FloatArray:
    """Running sums of the ideal ranking at the ranks of the hits: its last sum beyond its end, 0 if it is empty."""
    begin = rankings.ideal_starts[rankings.query]
    last = rankings.ideal_starts[rankings.query + 1] - 1
    rows = np.minimum(begin + ranks - 1, last)
    return np.where(rows >= begin, np.append(sums, 0.0)[rows], 0.0)


@ranking_metric(aliases=("NumQ",), pool="total", bounds=None, source="trec_eval 9")
def num_q(rankings: Rankings) -> FloatArray:
    """1 for each query, so that the total is the number of queries.

    >>> from steelyard.ranking.join import join
    >>> num_q(join({"q": {"a": 3.0}}, {"q": {"a": 1}})).tolist()
    [1.0]
    """
    return np.ones(len(rankings))


@ranking_metric(aliases=("NumRet",), pool="total", bounds=None, source="trec_eval 9")
def num_ret(rankings: Rankings) -> FloatArray:
    """Documents retrieved; pooled as a total.

    >>> from steelyard.ranking.join import join
    >>> num_ret(join({"q": {"a": 3.0, "x": 2.0}}, {"q": {"a": 1}})).tolist()
    [2.0]
    """
    return rankings.retrieved.astype(np.float64)


@ranking_metric(aliases=("NumRel",), pool="total", bounds=None, source="trec_eval 9")
def num_rel(rankings: Rankings, *, rel: Grade | None = None) -> FloatArray:
    """R, the relevant documents in the qrels; pooled as a total.

    >>> from steelyard.ranking.join import join
    >>> num_rel(join({"q": {"a": 3.0, "x": 2.0}}, {"q": {"a": 1, "b": 2}}), rel=2).tolist()
    [1.0]
    """
    return rankings.num_relevant(rel).astype(np.float64)


@ranking_metric(aliases=("NumRelRet",), pool="total", bounds=None, source="trec_eval 9")
def num_rel_ret(rankings: Rankings, *, rel: Grade | None = None) -> FloatArray:
    """Relevant documents retrieved; pooled as a total.

    >>> from steelyard.ranking.join import join
    >>> num_rel_ret(join({"q": {"a": 3.0, "x": 2.0}}, {"q": {"a": 1, "b": 2}})).tolist()
    [1.0]
    """
    return found(rankings, None, rel)


@ranking_metric(pool="total", bounds=None, higher_is_better=False, source="trec_eval 9")
def num_nonrel_judged_ret(rankings: Rankings, *, rel: Grade | None = None) -> FloatArray:
    """Documents retrieved that were judged not relevant; pooled as a total.

    >>> from steelyard.ranking.join import join
    >>> num_nonrel_judged_ret(join({"q": {"a": 3.0, "x": 2.0}}, {"q": {"a": 1, "x": 0}})).tolist()
    [1.0]
    """
    return rankings.total(rankings.nonrelevant(rel))


def relstrings(rankings: Rankings, *, length: int = 10) -> list[str]:
    """The first grades of each ranking as quoted text: a digit, ``>`` above 9, ``-`` if unjudged, ``.`` for -1, ``<``
    below -1.

    >>> from steelyard.ranking.join import join
    >>> relstrings(join({"q": {"a": 3.0, "x": 2.0, "b": 1.0}}, {"q": {"a": 2, "b": 0}}))
    ["'2-0'"]
    """
    shown = []
    for at in range(len(rankings)):
        marks = ["-"] * min(int(rankings.retrieved[at]), length)
        rows = slice(*rankings.starts[at : at + 2].tolist())
        for rank, grade in zip(rankings.ranks[rows].tolist(), rankings.grades[rows].tolist(), strict=True):
            if rank <= length:
                marks[rank - 1] = ">" if grade > 9 else str(int(grade)) if grade >= 0 else "." if grade >= -1 else "<"
        shown.append("'" + "".join(marks) + "'")
    return shown
