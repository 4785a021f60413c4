"""Tie bounds: the worst, the expected and the best value of a metric over all orders of documents with equal scores.

Only the order *within* a level of equal scores is free, so no orders are enumerated. The best order has the judged
documents of a level first, highest grade first; the worst order has them last, lowest grade first: each measure listed
here never falls when a better document moves up. The expected value over random orders is a formula (McSherry and
Najork 2008): a level of n documents with r relevant ones is a draw without replacement.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from msgspec import Struct

from ..core.errors import InputError
from ..core.records import Qrels, Run
from ..metrics.lookup import RequestedMetric
from ..metrics.ranking import ndcg
from ..metrics.registry import Metric
from ..ranking.rankings import (
    Compat,
    Duplicates,
    FloatArray,
    Grade,
    IntArray,
    Missing,
    Rankings,
    Ties,
    Undefined,
    quotient,
    running,
    sum_by,
)
from ..ranking.trec.files import load_rankings
from ..stats.pooling import statistic_for
from .evaluate_rankings import DEFAULT_METRICS, ranking_metrics

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    Table: TypeAlias = "pl.DataFrame | pd.DataFrame"

MOVED = 1e-9
"""A query does not depend on the order if the difference of its best and worst value is at most this."""


class TieBounds(Struct, frozen=True):
    """The value of one query or of all: with ties as broken in the run, and over all orders; None if not known."""

    value: float | None
    worst: float | None
    expected: float | None
    best: float | None


class TiedOrders(Struct, frozen=True, kw_only=True):
    """One metric of one run: pooled over the ``n`` scored queries, and each query whose value depends on the order."""

    metric: str
    system: str
    n: int
    pooled: TieBounds
    moving: dict[str, TieBounds]


def tied_orders(
    run: Run | Table | str | PathLike[str],
    qrels: Qrels | Table | str | PathLike[str],
    metrics: Iterable[str | Metric] = DEFAULT_METRICS,
    *,
    compat: Compat = "steelyard",
    missing: Missing | None = None,
    undefined: Undefined | None = None,
    duplicates: Duplicates = "error",
    ties: Ties = "docid",
    relevance_level: Grade | None = None,
    encoding: str = "utf-8",
    name: str = "",
) -> list[TiedOrders]:
    """The worst, expected and best value of every metric over the orders of tied documents.

    Worst and best are known for the measures of ``ORDERED`` and ``UNORDERED``, expected values for those of
    ``EXPECTED`` and ``UNORDERED``; others are None. The pooled worst value pools the worst value of each query.

    >>> [found] = tied_orders({"q": {"a": 1.0, "b": 1.0, "c": 1.0}}, {"q": {"b": 1}}, ["mrr"])
    >>> round(found.pooled.worst, 4), round(found.pooled.expected, 4), found.pooled.best
    (0.3333, 0.6111, 1.0)
    """
    asked = ranking_metrics(metrics)
    rankings = load_rankings(
        run,
        qrels,
        encoding=encoding,
        compat=compat,
        missing=missing,
        undefined=undefined,
        duplicates=duplicates,
        ties=ties,
        relevance_level=relevance_level,
    )
    return of_rankings(rankings, asked, system=name or (rankings.run_id if isinstance(run, str | PathLike) else ""))


def of_rankings(rankings: Rankings, asked: Iterable[RequestedMetric], *, system: str = "") -> list[TiedOrders]:
    """Like ``tied_orders`` for joined rankings, which must be whole: a cut takes documents out of their level."""
    policy = rankings.policy
    if policy.depth is not None or policy.judged_only or policy.drop_self:
        raise InputError("tie bounds need whole rankings: remove depth, judged_only and drop_self")
    worst, best = reordered(rankings, best=False), reordered(rankings, best=True)
    return [_of_metric(one, system, rankings, worst, best) for one in asked]


def reordered(rankings: Rankings, *, best: bool) -> Rankings:
    """The rankings with the documents of every level in their best or in their worst order."""
    levels = _Levels(rankings)
    order = np.lexsort((-rankings.grades if best else rankings.grades, levels.of_hit))
    within = np.arange(len(order), dtype=np.int64) - levels.starts[levels.of_hit]
    before = 0 if best else rankings.level_sizes - levels.hits[levels.of_hit]
    ranks = rankings.level_firsts + before + within
    return dataclasses.replace(rankings, ranks=ranks, grades=rankings.grades[order])


def _of_metric(one: RequestedMetric, system: str, rankings: Rankings, worst: Rankings, best: Rankings) -> TiedOrders:
    metric = one.metric

    def values(table: Rankings) -> FloatArray:
        return np.asarray(metric.rule(table, **metric.params), dtype=np.float64)

    given = values(rankings)
    ends: list[FloatArray | None] = [None, None]
    if metric.name in {*ORDERED, *UNORDERED} and metric.params.get("gains") is None:
        ends = [values(worst), values(best)] if metric.higher_is_better else [values(best), values(worst)]
    sides = [given, ends[0], _expected(metric, rankings, given), ends[1]]
    sides = [None if side is None else rankings.settle(side) for side in sides]
    rows = np.flatnonzero(~np.isnan(rankings.settle(given)))
    statistic = statistic_for(metric.pool)
    pooled = [None if side is None or not len(rows) else float(statistic(side[rows])) for side in sides]
    moving = {
        rankings.queries[row]: TieBounds(*(None if side is None else float(side[row]) for side in sides))
        for row in rows.tolist()
        if sides[1] is not None and sides[3] is not None and abs(sides[3][row] - sides[1][row]) > MOVED
    }
    return TiedOrders(metric=one.label, system=system, n=len(rows), pooled=TieBounds(*pooled), moving=moving)


class _Levels:
    """The levels of equal scores with judged documents, query by query, from the top."""

    def __init__(self, rankings: Rankings) -> None:
        query, firsts = rankings.query, rankings.level_firsts
        begins = np.ones(len(query), dtype=np.bool_)
        begins[1:] = (query[1:] != query[:-1]) | (firsts[1:] != firsts[:-1])
        self.of_hit: IntArray = np.cumsum(begins) - 1
        self.starts: IntArray = np.flatnonzero(begins)
        self.hits: IntArray = np.diff(np.append(self.starts, len(query)))
        self.query: IntArray = query[begins]
        self.above: IntArray = firsts[begins] - 1
        self.size: IntArray = rankings.level_sizes[begins]
        self.queries = len(rankings)
        last = int((self.above + self.size).max(initial=0))
        self.harmonic: FloatArray = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1.0, last + 1))))

    def inside(self, k: int | IntArray | None) -> IntArray:
        """How many documents of each level are among the first k of their query."""
        if k is None:
            return self.size
        return np.clip((k if isinstance(k, int) else k[self.query]) - self.above, 0, self.size)

    def sums(self, values: FloatArray) -> FloatArray:
        """The values of hits, added up by level."""
        return sum_by(self.of_hit, values, len(self.starts))

    def reciprocals(self, inside: IntArray) -> FloatArray:
        """The sum of 1 / rank over the first ``inside`` ranks of each level."""
        found: FloatArray = self.harmonic[self.above + inside] - self.harmonic[self.above]
        return found

    def total(self, values: FloatArray) -> FloatArray:
        """The values of levels, added up by query."""
        return sum_by(self.query, values, self.queries)

    def earlier(self, values: FloatArray) -> FloatArray:
        """For each level the sum of the values of its query's levels above it."""
        bounds = np.searchsorted(self.query, np.arange(self.queries + 1))
        return running(values, bounds.astype(np.int64)) - values


def _spread(
    levels: _Levels, worth: FloatArray, k: int | IntArray | None, upto: Callable[[IntArray], FloatArray | IntArray]
) -> FloatArray:
    """The expected sum, per query, of what the hits among the first k are worth times the weights of their ranks;
    ``upto`` is the sum of the weights of the ranks up to one."""
    inside = levels.inside(k)
    weight = upto(levels.above + inside) - upto(levels.above)
    return levels.total(levels.sums(worth) / levels.size * weight)


def _count(ranks: IntArray) -> IntArray:
    return ranks


def _found(rankings: Rankings, k: int | IntArray | None, rel: Grade | None) -> FloatArray:
    """The expected number of relevant documents among the first k."""
    return _spread(_Levels(rankings), rankings.relevant(rel).astype(np.float64), k, _count)


def _precision(rankings: Rankings, k: int | None = None, rel: Grade | None = None) -> FloatArray:
    whole = rankings.retrieved if k is None else np.full(len(rankings), k)
    return quotient(_found(rankings, k, rel), whole)


def _recall(rankings: Rankings, k: int | None = None, rel: Grade | None = None) -> FloatArray:
    return quotient(_found(rankings, k, rel), rankings.num_relevant(rel))


def _f(rankings: Rankings, beta: float = 1.0, k: int | None = None, rel: Grade | None = None) -> FloatArray:
    whole = rankings.retrieved if k is None else np.full(len(rankings), k)
    weight = beta * beta
    return quotient((1 + weight) * _found(rankings, k, rel), weight * rankings.num_relevant(rel) + whole)


def _rprec(rankings: Rankings, rel: Grade | None = None) -> FloatArray:
    wanted = rankings.num_relevant(rel)
    return quotient(_found(rankings, wanted, rel), wanted)


def _judged(rankings: Rankings, k: int | None = None) -> FloatArray:
    looked_at = rankings.retrieved if k is None else np.minimum(rankings.retrieved, k)
    return quotient(_spread(_Levels(rankings), np.ones(len(rankings.ranks)), k, _count), looked_at)


def _hit(rankings: Rankings, k: int | None = None, rel: Grade | None = None) -> FloatArray:
    """1 less the chance that no level has a relevant document inside: (n - m) / n, (n - m - 1) / (n - 1), …"""
    levels = _Levels(rankings)
    relevant, outside = levels.sums(rankings.relevant(rel).astype(np.float64)), levels.size - levels.inside(k)
    without = np.ones(len(levels.size))
    for step in range(int(relevant.max(initial=0))):
        rows = np.flatnonzero(relevant > step)
        without[rows] *= np.maximum(outside[rows] - step, 0) / (levels.size[rows] - step)
    none = np.ones(len(rankings))
    np.multiply.at(none, levels.query, without)
    return 1.0 - none


def _mrr(rankings: Rankings, k: int | None = None, rel: Grade | None = None) -> FloatArray:
    """The first level with a relevant document decides; its j-th is the first one with chance C(n-j, r-1) / C(n, r)."""
    levels = _Levels(rankings)
    relevant = levels.sums(rankings.relevant(rel).astype(np.float64))
    rows = np.flatnonzero(relevant > 0)
    rows = rows[np.unique(levels.query[rows], return_index=True)[1]]
    size, above, wanted, inside = levels.size[rows], levels.above[rows], relevant[rows], levels.inside(k)[rows]
    values = levels.reciprocals(levels.inside(k))[rows] / size  # with one relevant document every place is as likely
    several = np.flatnonzero(wanted > 1)
    values[several] = 0.0
    chance = wanted / size
    for step in range(int(inside[several].max(initial=0))):
        several = several[(step < inside[several]) & (chance[several] > 0)]
        values[several] += chance[several] / (above[several] + step + 1)
        left = size[several] - step - 1
        chance[several] *= np.maximum(left - wanted[several] + 1, 0) / np.maximum(left, 1)
    return sum_by(levels.query[rows], values, len(rankings))


def _map(rankings: Rankings, k: int | None = None, rel: Grade | None = None) -> FloatArray:
    """At place j of a level a relevant document stands with chance r / n, and (j - 1)(r - 1) / (n - 1) of the level's
    other relevant ones are expected above it, beside those of the levels above."""
    levels = _Levels(rankings)
    relevant = levels.sums(rankings.relevant(rel).astype(np.float64))
    inside = levels.inside(k)
    reciprocals = levels.reciprocals(inside)
    others = (relevant - 1) / np.maximum(levels.size - 1, 1)
    precisions = (levels.earlier(relevant) + 1) * reciprocals + others * (inside - (levels.above + 1) * reciprocals)
    return quotient(levels.total(relevant / levels.size * precisions), rankings.num_relevant(rel))


def _discounts(ranks: IntArray) -> FloatArray:
    most = int(ranks.max(initial=0))
    upto: FloatArray = np.concatenate(([0.0], np.cumsum(1.0 / np.log2(np.arange(2.0, most + 2)))))
    return upto[ranks]


def _dcg(rankings: Rankings, gain: ndcg.Gain = "linear", gains: str | None = None, k: int | None = None) -> FloatArray:
    return _spread(_Levels(rankings), ndcg.gain_of(rankings.gains, gain, gains), k, _discounts)


def _ndcg(rankings: Rankings, gain: ndcg.Gain = "linear", gains: str | None = None, k: int | None = None) -> FloatArray:
    return quotient(_dcg(rankings, gain, gains, k), ndcg.ideal_dcg(rankings, gain, gains, k))


def _rbp(
    rankings: Rankings, p: float = 0.8, graded: bool = False, k: int | None = None, rel: Grade | None = None
) -> FloatArray:
    weight = rankings.gains / (rankings.top_grade or 1.0) if graded else rankings.relevant(rel).astype(np.float64)
    return _spread(_Levels(rankings), weight, k, lambda ranks: 1.0 - p ** ranks.astype(np.float64))


EXPECTED: Mapping[str, Callable[..., FloatArray]] = {
    "precision": _precision,
    "recall": _recall,
    "f": _f,
    "rprec": _rprec,
    "judged": _judged,
    "hit": _hit,
    "mrr": _mrr,
    "map": _map,
    "dcg": _dcg,
    "ndcg": _ndcg,
    "rbp": _rbp,
}
"""Measures whose expected value over tied orders is a formula here."""

ORDERED = (*EXPECTED, "gmap", "err", "bpref", "gbpref", "iprec", "11pt", "rprec_mult", "relative_p")
"""Measures that never fall when a better document moves up."""

UNORDERED = (
    "set_p", "set_recall", "set_f", "set_map", "set_relative_p",
    "num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret", "utility",
)  # fmt: skip
"""Measures of the set of retrieved documents, which do not depend on the order."""


def _expected(metric: Metric, rankings: Rankings, given: FloatArray) -> FloatArray | None:
    if metric.name in UNORDERED:
        return given
    rule = EXPECTED.get(metric.name)
    return None if rule is None else np.where(np.isnan(given), np.nan, rule(rankings, **metric.params))
