"""Rankings: a run joined with qrels, the input of all ranking measures.

A measure uses only judged documents, so a table of rankings is sparse: for every query the number of retrieved
documents, and for each judged document among them its rank and its grade. All measures use the same ranks: score
descending, then document id descending in byte order (or, with ``ties="given"``, the order given).

For writers of measures, with Q queries and n judged retrieved documents ("hits", grouped by query, by rank):

    rankings.queries       Q ids, sorted                     rankings.retrieved   (Q,) documents retrieved
    rankings.starts        (Q+1,) hits of query q are rows starts[q]:starts[q+1]
    rankings.ranks         (n,) ranks from 1                 rankings.grades      (n,) grades as judged
    rankings.level_firsts  (n,) first rank of the documents with a hit's score; level_sizes: the number of them
    rankings.query         (n,) index of the hit's query     rankings.gains       (n,) grades, 0 where negative
    rankings.relevant(rel) (n,) bool                         rankings.num_relevant(rel)   (Q,) R of the qrels
    rankings.nonrelevant(rel), num_nonrelevant(rel)          judged and not relevant
    rankings.ideal, ideal_starts                             all positive grades of a query, descending
    rankings.total(values), rankings.running(values)         sums per query: (Q,), and running, (n,)

A measure returns one float per query, NaN if it is undefined; ``rankings.settle(values)`` then applies the policy on
undefined values. ``join.join`` builds rankings from mappings, ``trec.files.load_rankings`` from any supported input.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .policy import Compat, Duplicates, Grade, Missing, Policy, Ties, Undefined
from .qrels import BoolArray, FloatArray, IntArray

__all__ = [
    "BoolArray", "Compat", "Counts", "Duplicates", "FloatArray", "Grade", "IntArray", "Missing", "Policy",
    "Rankings", "Ties", "Undefined", "quotient", "running", "sum_by",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Counts of special cases found when joining a run with qrels, for the report."""

    missing: tuple[str, ...] = ()
    """Judged queries that the run lacks."""
    ignored: tuple[str, ...] = ()
    """Queries of the run that have no relevance judgments."""
    tied: int = 0
    """Judged queries with at least two retrieved documents of equal score."""
    dropped_self: int = 0
    """Hits equal to their query id that ``drop_self`` removed."""
    duplicates: int = 0
    """Repeated documents that ``duplicates="best"`` removed."""


@dataclass(frozen=True)
class Rankings:
    """A run joined with qrels; the module docstring describes the fields."""

    queries: tuple[str, ...]
    present: BoolArray
    retrieved: IntArray
    starts: IntArray
    ranks: IntArray
    grades: FloatArray
    level_firsts: IntArray
    level_sizes: IntArray
    judged_starts: IntArray
    judged: FloatArray
    top_grade: float
    policy: Policy = field(default_factory=Policy)
    counts: Counts = field(default_factory=Counts)
    run_id: str = "steelyard"

    def __len__(self) -> int:
        return len(self.queries)

    @cached_property
    def query(self) -> IntArray:
        """The index of each hit's query, shape (n,)."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.starts))

    @cached_property
    def gains(self) -> FloatArray:
        """Grades with negative ones as 0, shape (n,)."""
        return np.maximum(self.grades, 0.0)

    @cached_property
    def _judged_query(self) -> IntArray:
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.judged_starts))

    @cached_property
    def num_judged(self) -> IntArray:
        """Judged documents of each query, shape (Q,)."""
        return np.diff(self.judged_starts)

    def _is_relevant(self, grades: FloatArray, rel: Grade | None) -> BoolArray:
        level = rel if rel is not None else self.policy.level
        return grades > 0 if level is None else grades >= level

    def _is_nonrelevant(self, grades: FloatArray, rel: Grade | None) -> BoolArray:
        low = ~self._is_relevant(grades, rel)
        return low & (grades >= 0) if self.policy.trec else low

    def relevant(self, rel: Grade | None = None) -> BoolArray:
        """A mask of the relevant hits: grade > 0, or >= the level if one is given; shape (n,)."""
        return self._is_relevant(self.grades, rel)

    def nonrelevant(self, rel: Grade | None = None) -> BoolArray:
        """A mask of the hits that are judged and not relevant, shape (n,); with compat, without negative grades."""
        return self._is_nonrelevant(self.grades, rel)

    def num_relevant(self, rel: Grade | None = None) -> IntArray:
        """R: the number of relevant documents of each query in the qrels, shape (Q,)."""
        return self._per_judged(self._is_relevant(self.judged, rel))

    def num_nonrelevant(self, rel: Grade | None = None) -> IntArray:
        """The number of documents of each query judged not relevant, shape (Q,)."""
        return self._per_judged(self._is_nonrelevant(self.judged, rel))

    def _per_judged(self, mask: BoolArray) -> IntArray:
        return np.bincount(self._judged_query[mask], minlength=len(self)).astype(np.int64)

    @cached_property
    def ideal(self) -> FloatArray:
        """All positive grades, query by query, descending within a query."""
        return self.judged[self.judged > 0]

    @cached_property
    def ideal_starts(self) -> IntArray:
        """The ideal grades of query q are rows ideal_starts[q]:ideal_starts[q+1] of ``ideal``; shape (Q+1,)."""
        return np.concatenate(([0], np.cumsum(self._per_judged(self.judged > 0)))).astype(np.int64)

    @cached_property
    def ideal_query(self) -> IntArray:
        """The index of the query of each ideal grade."""
        return self._judged_query[self.judged > 0]

    @cached_property
    def ideal_ranks(self) -> IntArray:
        """The rank, from 1, of each ideal grade."""
        return np.arange(1, len(self.ideal) + 1, dtype=np.int64) - self.ideal_starts[self.ideal_query]

    def total(self, values: FloatArray | BoolArray) -> FloatArray:
        """The sum of the values of hits per query, shape (Q,), added in the order of the ranks."""
        return sum_by(self.query, values, len(self))

    def running(self, values: FloatArray | BoolArray) -> FloatArray:
        """The running sum within each query, including the hit itself, shape (n,)."""
        return running(np.asarray(values, dtype=np.float64), self.starts)

    def settle(self, values: FloatArray) -> FloatArray:
        """Apply the policy on undefined values: under ``undefined="zero"`` NaN becomes 0."""
        return np.where(np.isnan(values), 0.0, values) if self.policy.undefined == "zero" else values


def sum_by(groups: IntArray, values: FloatArray | BoolArray, size: int) -> FloatArray:
    """The sum of the values of each group, added in the order given.

    >>> sum_by(np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [1.0, 0.0, 5.0]
    """
    return np.asarray(np.bincount(groups, weights=values, minlength=size), dtype=np.float64)


def quotient(part: FloatArray, whole: FloatArray | IntArray, *, empty: float = 0.0) -> FloatArray:
    """``part / whole``, or ``empty`` if the whole is not positive.

    >>> quotient(np.array([1.0, 0.0]), np.array([2.0, 0.0])).tolist()
    [0.5, 0.0]
    """
    result: FloatArray = np.full(len(part), empty, dtype=np.float64)
    np.divide(part, whole, out=result, where=np.asarray(whole) > 0)
    return result


def running(values: FloatArray, starts: IntArray) -> FloatArray:
    """Running sums within the groups that ``starts`` bounds, each computed separately from its first row.

    >>> running(np.array([1.0, 2.0, 4.0, 8.0]), np.array([0, 1, 1, 4])).tolist()
    [1.0, 2.0, 6.0, 14.0]
    """
    sizes = np.diff(starts)
    if bool(np.all(values == np.rint(values))) and float(np.abs(values).sum()) < 2**53:
        upto: FloatArray = np.concatenate(
            ([0.0], np.cumsum(values))
        )  # sums of whole numbers are exact, so those of the groups follow by subtraction
        return upto[1:] - np.repeat(upto[starts[:-1]], sizes)
    sums = values.copy()
    for step in range(1, int(sizes.max(initial=0))):
        rows = starts[:-1][sizes > step] + step
        sums[rows] += sums[rows - 1]
    return sums
