"""Precision, recall, MRR, MAP and other ranking measures, each over all queries at once (nDCG: ``ndcg.py``).

In the formulas R is the number of relevant documents of the query, rel(i) is 1 if the document at rank i is
relevant and 0 otherwise, g(i) is its grade (0 if unjudged or negative), and n is the number of documents retrieved.
Relevant means grade > 0, or grade >= ``rel`` (else ``relevance_level``) where one is given.

Every function takes a ``Rankings`` of Q queries and returns Q floats; NaN means undefined. Every measure except the
counts is undefined for a query without relevant documents.
"""

from __future__ import annotations

import numpy as np

from ...core.errors import InputError
from ...ranking.rankings import BoolArray, FloatArray, Grade, Rankings, quotient
from ..registry import NotNegative, ranking_metric


def first(rankings: Rankings, k: int | None) -> BoolArray:
    """A mask of the hits among the first k; without a cut-off, of all hits."""
    return np.ones(len(rankings.ranks), dtype=np.bool_) if k is None else rankings.ranks <= k


def found(rankings: Rankings, k: int | None, rel: Grade | None) -> FloatArray:
    """Count the relevant documents among the first k of each query."""
    return rankings.total(rankings.relevant(rel) & first(rankings, k))


def where_relevant(rankings: Rankings, values: FloatArray, rel: Grade | None = None) -> FloatArray:
    """The values, with NaN for queries without relevant documents."""
    return np.where(rankings.num_relevant(rel) > 0, values, np.nan)


@ranking_metric(aliases=("P", "prec"), source="van Rijsbergen 1979", explained_by="missed documents")
def precision(rankings: Rankings, *, k: int | None = None, rel: Grade | None = None) -> FloatArray:
    """Relevant documents in the first k, divided by k. In [0, 1].

    A list shorter than k still divides by k: dividing by what was returned would reward short lists. Without k it
    is the precision of all retrieved documents, and 0 if there are none.

    >>> from steelyard.ranking.join import join
    >>> table = join({"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"a": 1, "c": 1, "d": 1}})
    >>> precision(table, k=2).tolist(), precision(table, k=10).tolist()
    ([0.5], [0.2])
    """
    whole = rankings.retrieved if k is None else np.full(len(rankings), k)
    return where_relevant(rankings, quotient(found(rankings, k, rel), whole), rel)


@ranking_metric(
    aliases=("R",), source="van Rijsbergen 1979", stage="retrieval", stage_rank=20, explained_by="missed documents"
)
def recall(rankings: Rankings, *, k: int | None = None, rel: Grade | None = None) -> FloatArray:
    """Relevant documents in the first k, divided by R. In [0, 1]. Not capped: the divisor is R, not min(R, k).

    >>> from steelyard.ranking.join import join
    >>> recall(join({"q": {"a": 3.0, "b": 2.0}}, {"q": {"a": 1, "d": 1}}), k=10).tolist()
    [0.5]
    """
    return where_relevant(rankings, quotient(found(rankings, k, rel), rankings.num_relevant(rel)), rel)


@ranking_metric(aliases=("success", "hit_rate"), source="Buckley and Voorhees 2005", explained_by="missed documents")
def hit(rankings: Rankings, *, k: int | None = None, rel: Grade | None = None) -> FloatArray:
    """1 if any of the first k documents is relevant, else 0.

    >>> from steelyard.ranking.join import join
    >>> table = join({"q": {"a": 3.0, "b": 2.0}}, {"q": {"b": 1}})
    >>> hit(table, k=1).tolist(), hit(table, k=2).tolist()
    ([0.0], [1.0])
    """
    return where_relevant(rankings, (found(rankings, k, rel) > 0).astype(np.float64), rel)


@ranking_metric(name="f", aliases=("f_measure",), source="van Rijsbergen 1979", explained_by="missed documents")
def f_measure(
    rankings: Rankings, *, beta: NotNegative = 1.0, k: int | None = None, rel: Grade | None = None
) -> FloatArray:
    """F of precision P and recall S at k: (1 + beta^2) P S / (beta^2 P + S), and 0 if both are 0. In [0, 1].

    ``beta`` is the weight of recall. trec_eval's parameter of ``set_F`` equals beta squared: see ``set_f``.

    >>> from steelyard.ranking.join import join
    >>> f_measure(join({"q": {"a": 3.0, "b": 2.0}}, {"q": {"b": 1}}), k=2).round(4).tolist()
    [0.6667]
    """
    p, s = precision(rankings, k=k, rel=rel), recall(rankings, k=k, rel=rel)
    return f_of(p, s, beta * beta)


def f_of(p: FloatArray, s: FloatArray, weight: float) -> FloatArray:
    """(1 + weight) p s / (weight p + s): 0 where both are 0, NaN where either is."""
    below = weight * p + s
    with np.errstate(invalid="ignore"):
        return np.divide((1 + weight) * p * s, below, out=np.where(below == 0, 0.0, below), where=below > 0)


@ranking_metric(
    aliases=("rr", "recip_rank", "reciprocal_rank"), source="Kantor and Voorhees 2000", explained_by="missed documents"
)
def mrr(rankings: Rankings, *, k: int | None = None, rel: Grade | None = None) -> FloatArray:
    """1 / rank of the first relevant document, 0 if the first k contain none. In [0, 1].

    The mean over queries is the mean reciprocal rank, which gives the metric its name.

    >>> from steelyard.ranking.join import join
    >>> table = join({"q": {"a": 3.0, "b": 2.0}}, {"q": {"b": 1}})
    >>> mrr(table).tolist(), mrr(table, k=1).tolist()
    ([0.5], [0.0])
    """
    rows = np.flatnonzero(rankings.relevant(rel) & first(rankings, k))
    values = np.zeros(len(rankings))
    queries, at = np.unique(rankings.query[rows], return_index=True)
    values[queries] = 1.0 / rankings.ranks[rows[at]]
    return where_relevant(rankings, values, rel)


@ranking_metric(
    name="map", aliases=("ap", "map_cut", "average_precision"), source="Harman 1992", explained_by="missed documents"
)
def average_precision(rankings: Rankings, *, k: int | None = None, rel: Grade | None = None) -> FloatArray:
    """Sum over relevant ranks i <= k of precision at i, divided by R. In [0, 1].

    The divisor is R, also with a cut-off. Dividing by the relevant documents found, or by min(R, k), would raise the
    score of a system that finds fewer.

    >>> from steelyard.ranking.join import join
    >>> table = join({"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"a": 1, "c": 1, "d": 1}})
    >>> average_precision(table).round(4).tolist(), average_precision(table, k=1).round(4).tolist()
    ([0.5556], [0.3333])
    """
    relevant = rankings.relevant(rel)
    precisions = rankings.running(relevant) / rankings.ranks * (relevant & first(rankings, k))
    return where_relevant(rankings, quotient(rankings.total(precisions), rankings.num_relevant(rel)), rel)


@ranking_metric(aliases=("gm_map",), pool="geometric", source="Robertson 2006")
def gmap(rankings: Rankings, *, rel: Grade | None = None) -> FloatArray:
    """``map`` whose mean over queries is geometric, values below 1e-5 counting as 1e-5: it shows the hard queries.

    >>> from steelyard.ranking.join import join
    >>> gmap(join({"q": {"a": 3.0, "b": 2.0}}, {"q": {"b": 1}})).tolist()
    [0.5]
    """
    return average_precision(rankings, rel=rel)


@ranking_metric(
    aliases=("r_precision", "r-precision"), source="Buckley and Voorhees 2005", explained_by="missed documents"
)
def rprec(rankings: Rankings, *, rel: Grade | None = None) -> FloatArray:
    """Precision at rank R. In [0, 1].

    >>> from steelyard.ranking.join import join
    >>> rprec(join({"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"a": 1, "c": 1}})).tolist()
    [0.5]
    """
    wanted = rankings.num_relevant(rel)
    inside = rankings.ranks <= wanted[rankings.query]
    return where_relevant(rankings, quotient(rankings.total(rankings.relevant(rel) & inside), wanted), rel)


@ranking_metric(source="Buckley and Voorhees 2004, as revised in trec_eval 8")
def bpref(rankings: Rankings, *, rel: Grade | None = None) -> FloatArray:
    """Mean over the R relevant documents of 1 - min(n(d), R) / min(N, R); 0 for those not retrieved. In [0, 1].

    n(d) counts the documents judged not relevant that are ranked above d, N those in the qrels. A relevant document
    with none above it counts 1, also if N is 0; unjudged documents are ignored.

    >>> from steelyard.ranking.join import join
    >>> bpref(join({"q": {"x": 3.0, "u": 2.5, "a": 2.0}}, {"q": {"a": 1, "b": 1, "x": 0, "y": 0}})).tolist()
    [0.25]
    """
    relevant = rankings.relevant(rel)
    wanted, unwanted = rankings.num_relevant(rel), rankings.num_nonrelevant(rel)
    above = np.minimum(rankings.running(rankings.nonrelevant(rel)), wanted[rankings.query])
    worst = np.minimum(wanted, unwanted)[rankings.query]
    credit = 1.0 - np.divide(above, worst, out=np.zeros(len(above)), where=(above > 0) & (worst > 0))
    return where_relevant(rankings, quotient(rankings.total(credit * relevant), wanted), rel)


@ranking_metric(aliases=("gm_bpref",), pool="geometric", source="Buckley and Voorhees 2004, Robertson 2006")
def gbpref(rankings: Rankings, *, rel: Grade | None = None) -> FloatArray:
    """``bpref`` whose mean over queries is geometric, values below 1e-5 counting as 1e-5.

    >>> from steelyard.ranking.join import join
    >>> gbpref(join({"q": {"a": 2.0}}, {"q": {"a": 1, "x": 0}})).tolist()
    [1.0]
    """
    return bpref(rankings, rel=rel)


@ranking_metric(aliases=("iprec_at_recall",), source="Salton and McGill 1983")
def iprec(rankings: Rankings, *, recall: float, rel: Grade | None = None) -> FloatArray:
    """Interpolated precision: the highest precision at any rank where recall is at least ``recall``. In [0, 1].

    It is 0 if that recall is never reached. Recall x is reached with x R documents, rounded up; as in trec_eval, a
    remainder below a tenth counts as rounding noise.

    >>> from steelyard.ranking.join import join
    >>> table = join({"q": {"x": 3.0, "a": 2.0, "b": 1.0}}, {"q": {"a": 1, "b": 1}})
    >>> iprec(table, recall=0.5).round(4).tolist()
    [0.6667]
    """
    if not 0.0 <= recall <= 1.0:
        raise InputError(f"iprec(recall={recall!r}): must be in [0, 1]")
    return where_relevant(rankings, _interpolated(rankings, recall, rel), rel)


def _interpolated(rankings: Rankings, level: float, rel: Grade | None) -> FloatArray:
    rows = np.flatnonzero(rankings.relevant(rel))
    precisions = (rankings.running(rankings.relevant(rel)) / rankings.ranks)[rows]
    ends = np.searchsorted(rankings.query[rows], np.arange(len(rankings)), side="right")
    begins = np.concatenate(([0], ends))[: len(rankings)]
    needed = (level * rankings.num_relevant(rel) + 0.9).astype(np.int64)
    begins = begins + np.maximum(needed, 1) - 1
    reached = np.flatnonzero(begins < ends)
    values = np.zeros(len(rankings))
    if len(reached):
        stretches = np.stack((begins[reached], ends[reached]), axis=1).ravel()
        values[reached] = np.maximum.reduceat(np.append(precisions, 0.0), stretches)[::2]
    return values


@ranking_metric(name="11pt", aliases=("11pt_avg", "eleven_point"), source="Salton and McGill 1983")
def eleven_point(rankings: Rankings, *, rel: Grade | None = None) -> FloatArray:
    """Mean of the interpolated precisions at recall 0, 0.1, … 1. In [0, 1].

    >>> from steelyard.ranking.join import join
    >>> eleven_point(join({"q": {"x": 3.0, "a": 2.0}}, {"q": {"a": 1}})).tolist()
    [0.5]
    """
    levels = [_interpolated(rankings, step / 10, rel) for step in range(11)]
    return where_relevant(rankings, np.sum(levels, axis=0) / 11, rel)


@ranking_metric(source="Moffat and Zobel 2008", explained_by="missed documents")
def rbp(
    rankings: Rankings,
    *,
    p: float = 0.8,
    graded: bool = False,
    k: int | None = None,
    rel: Grade | None = None,
) -> FloatArray:
    """Rank-biased precision, (1 - p) sum rel(i) p^(i - 1): a reader continues to the next document with chance p.

    ``graded=True`` uses g(i) / g_max in place of rel(i); g_max is the highest grade in the whole qrels.
    In [0, 1]. Unjudged documents count as not relevant, so the value is a lower bound.

    >>> from steelyard.ranking.join import join
    >>> rbp(join({"q": {"a": 3.0, "x": 2.0, "b": 1.0}}, {"q": {"a": 1, "b": 1}}), p=0.5).tolist()
    [0.625]
    """
    if not 0.0 < p < 1.0:
        raise InputError(f"rbp(p={p!r}): must be between 0 and 1")
    weight = rankings.gains / (rankings.top_grade or 1.0) if graded else rankings.relevant(rel).astype(np.float64)
    weight = weight * first(rankings, k)
    return where_relevant(rankings, (1.0 - p) * rankings.total(weight * p ** (rankings.ranks - 1.0)), rel)


@ranking_metric(source="Chapelle et al. 2009", explained_by="missed documents")
def err(rankings: Rankings, *, k: int | None = None) -> FloatArray:
    """Expected reciprocal rank: sum over i <= k of 1/i times the chance that the reader stops at rank i. In [0, 1].

    A reader who reaches a document of grade g stops with chance (2^g - 1) / 2^g_max; g_max is the highest grade in
    the whole qrels, not of the query, so that values of different queries are comparable.

    >>> from steelyard.ranking.join import join
    >>> err(join({"q": {"a": 3.0, "b": 2.0}}, {"q": {"a": 1, "b": 1}}), k=10).tolist()
    [0.625]
    """
    stop = np.exp2(rankings.gains - rankings.top_grade) - np.exp2(-rankings.top_grade)  # 2^g itself may be too large
    goes_on = np.ones(len(stop))
    sizes = np.diff(rankings.starts)
    for step in range(1, int(sizes.max(initial=0))):  # step by step down all rankings at once
        rows = rankings.starts[:-1][sizes > step] + step
        goes_on[rows] = goes_on[rows - 1] * (1.0 - stop[rows - 1])
    worth = stop * goes_on / rankings.ranks * first(rankings, k)
    some = np.diff(rankings.ideal_starts) > 0
    return np.where(some, rankings.total(worth), np.nan)


@ranking_metric(source="Sakai 2007, Yilmaz and Aslam 2006: how far unjudged documents may matter")
def judged(rankings: Rankings, *, k: int | None = None) -> FloatArray:
    """Judged documents among the first k, divided by the documents there (at most k). In [0, 1].

    A list shorter than k divides by its own length, since the measure is the share of returned documents that have
    a judgment; an empty list scores 0. Negative grades are judgments.

    >>> from steelyard.ranking.join import join
    >>> judged(join({"q": {"a": 3.0, "x": 2.0}}, {"q": {"a": 1, "b": 0}}), k=10).tolist()
    [0.5]
    """
    looked_at = rankings.retrieved if k is None else np.minimum(rankings.retrieved, k)
    return where_relevant(rankings, quotient(rankings.total(first(rankings, k)), looked_at))
