"""Join a run with qrels to ``Rankings``: compute ranks by counting, then apply the policies.

A judged document's rank is one more than the number of documents with a better position, so scores are counted, and
only a list that is not in descending order is sorted. ``rank_hits`` does this for a batch of whole queries;
``assemble`` applies the policies to the results of all batches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from struct import (
    error as StructError,  # noqa: N812 - a class, named like one
    pack_into,
)
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError, WrongType
from ..core.records import Qrels, Run
from .policy import Policy
from .qrels import BoolArray, IntArray, QrelsTable, finite_array, identifier
from .rankings import Counts, Rankings

Scores: TypeAlias = NDArray[np.floating]
Id = TypeVar("Id", str, bytes)

BATCH = 1 << 18  # scores at once: enough to make calls cheap, few enough to stay in the cache


@dataclass
class ScannedRun:
    """The ranks of judged documents in a run, before the policies are applied."""

    ranks: IntArray
    """The rank of each row of the qrels, 0 if its document was not retrieved."""
    retrieved: IntArray
    """The number of documents retrieved for each judged query, -1 if the run lacks the query."""
    tied: BoolArray
    """A mask of the judged queries with documents of equal score."""
    firsts: IntArray
    """The first rank of the documents with the same score as each row's document."""
    sizes: IntArray
    """The number of documents with that score."""
    ignored: list[str] = field(default_factory=list)
    duplicates: int = 0
    run_id: str = "steelyard"

    @classmethod
    def empty(cls, qrels_table: QrelsTable) -> ScannedRun:
        """The state before any query is read."""
        size, rows = len(qrels_table.queries), len(qrels_table.docs)
        return cls(
            np.zeros(rows, dtype=np.int64),
            np.full(size, -1, dtype=np.int64),
            np.zeros(size, dtype=np.bool_),
            np.zeros(rows, dtype=np.int64),
            np.zeros(rows, dtype=np.int64),
        )

    def set_ranks(self, hit_ranks: HitRanks, rows: IntArray) -> None:
        """Store the ranks of the hits of some rows."""
        self.ranks[rows], self.firsts[rows], self.sizes[rows] = hit_ranks.ranks, hit_ranks.firsts, hit_ranks.sizes


class HitRanks(NamedTuple):
    """The ranks of hits, the first rank and the number of documents with each hit's score, and the groups with ties."""

    ranks: IntArray
    firsts: IntArray
    sizes: IntArray
    tied: BoolArray


def join(run: Run, qrels: Qrels | QrelsTable, policy: Policy | None = None) -> Rankings:
    """Join ``{query: {document: score}}`` with qrels.

    >>> table = join({"q": {"a": 3.0, "b": 2.0, "c": 2.0}}, {"q": {"b": 1, "x": 1}})
    >>> table.ranks.tolist(), table.retrieved.tolist()  # b and c are tied, and c comes first
    ([3], [3])
    """
    policy = policy or Policy()
    qrels_table = qrels if isinstance(qrels, QrelsTable) else QrelsTable.of_mapping(qrels)
    rows = qrels_table.with_self() if policy.drop_self else qrels_table
    found = ScannedRun.empty(rows)
    known = {query: at for at, query in enumerate(rows.queries)}
    if any(type(query) is not str for query in run):
        run = {identifier(query, "query"): ranking for query, ranking in run.items()}
    found.ignored = [query for query in run if query not in known]
    for batch in _batches(run, known):
        _rank_batch(batch, rows, found, policy)
    return assemble(rows, found, policy)


def _batches(run: Run, known: Mapping[str, int]) -> Iterator[list[tuple[int, Mapping[str, float]]]]:
    """Judged queries with their documents, about ``BATCH`` of these at a time."""
    batch: list[tuple[int, Mapping[str, float]]] = []
    size = 0
    for query, ranking in run.items():
        if (at := known.get(query)) is None:
            continue
        if type(ranking) is not dict and not isinstance(ranking, Mapping):
            raise WrongType(f"a run must be {{query: {{document: score}}}}, not {query!r}: {type(ranking).__name__}")
        batch.append((at, _text_keys(ranking)))
        size += len(ranking)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    yield batch


def _text_keys(ranking: Mapping[str, float]) -> Mapping[str, float]:
    """The ranking with ids as text. Only the first key is checked, so that a million ids need no check."""
    if None in ranking or not isinstance(next(iter(ranking), ""), str):
        return {identifier(doc, "document"): score for doc, score in ranking.items()}
    return ranking


def _rank_batch(
    batch: Sequence[tuple[int, Mapping[str, float]]], rows: QrelsTable, found: ScannedRun, policy: Policy
) -> None:
    sizes = [len(ranking) for _, ranking in batch]
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    scores = np.empty(int(starts[-1]))
    buffer = scores.data.cast("B") if len(scores) else bytearray()
    try:
        for start, size, (_, ranking) in zip(starts.tolist(), sizes, batch, strict=False):
            pack_into(f"{size}d", buffer, 8 * start, *ranking.values())  # twice as fast as numpy reads numbers
    except (StructError, TypeError, OverflowError):
        raise _invalid_score(batch, rows) from None
    if len(scores) and not (np.isfinite(scores.min()) and np.isfinite(scores.max())):
        raise _invalid_score(batch, rows)
    hits, groups, hit_scores = [], [], []
    docs, bounds = rows.docs, rows.starts.tolist()
    for group, (at, ranking) in enumerate(batch):
        for row in range(bounds[at], bounds[at + 1]):
            if (score := ranking.get(docs[row])) is not None:
                hits.append(row)
                groups.append(group)
                hit_scores.append(score)

    def ids(group: int, positions: list[int]) -> list[str]:
        names = list(batch[group][1])
        return [names[position] for position in positions]

    hit_ranks = rank_hits(
        single_precision(scores) if policy.trec else scores,
        starts,
        np.array(groups, dtype=np.int64),
        single_precision(np.array(hit_scores)) if policy.trec else np.array(hit_scores, dtype=np.float64),
        lambda hit: docs[hits[hit]],
        ids,
        given=policy.ties == "given",
    )
    queries = np.array([at for at, _ in batch], dtype=np.int64)
    found.set_ranks(hit_ranks, np.array(hits, dtype=np.intp))
    found.retrieved[queries] = sizes
    found.tied[queries] = hit_ranks.tied


def _invalid_score(batch: Sequence[tuple[int, Mapping[str, float]]], rows: QrelsTable) -> InputError:
    for at, ranking in batch:
        for doc, score in ranking.items():
            if isinstance(score, str) or finite_array([score], 1) is None:
                place_of = f"query {rows.queries[at]!r}, document {doc!r}"
                return InputError(f"score is not a finite number: {score!r} ({place_of})")
    raise AssertionError


def single_precision(scores: Scores) -> Scores:
    """Scores in single precision, as trec_eval 9 stores them: scores that are equal there are tied."""
    with np.errstate(over="ignore"):
        return scores.astype(np.float32)


def rank_hits(
    scores: Scores,
    starts: IntArray,
    groups: IntArray,
    hit_scores: Scores,
    hit_id: Callable[[int], Id],
    ids: Callable[[int, list[int]], list[Id]],
    *,
    given: bool = False,
) -> HitRanks:
    """The ranks of some documents, the hits, within their groups, and the documents tied with them.

    ``scores`` of group g are rows ``starts[g]:starts[g+1]``. A hit is given by its group and its score; ``hit_id`` and
    ``ids`` (the ids at positions of a group) are called only for equal scores.
    """
    ordered, tied = _descending(scores, starts)
    low, high = starts[groups], starts[groups + 1]
    places = _first_not_above(ordered, low, high, hit_scores)
    firsts = places - low + 1
    ranks, sizes = firsts.copy(), np.ones(len(places), dtype=np.int64)
    shared = (places + 1 < high) & (ordered[np.minimum(places + 1, high - 1)] == hit_scores)
    sizes[shared] += _last_equal(ordered, places[shared], high[shared], hit_scores[shared]) - places[shared]
    seen: dict[tuple[int, int], list[Id]] = {}
    for hit in np.flatnonzero(shared).tolist():
        group, first = int(groups[hit]), int(places[hit])
        if (group, first) not in seen:
            level = np.flatnonzero(scores[starts[group] : starts[group + 1]] == hit_scores[hit])
            names = ids(group, level.tolist())
            seen[group, first] = names if given else sorted(names, reverse=True)
        ranks[hit] += seen[group, first].index(hit_id(hit))
    return HitRanks(ranks, firsts, sizes, tied)


def _descending(scores: Scores, starts: IntArray) -> tuple[Scores, BoolArray]:
    """The scores, descending within each group, and a mask of the groups with equal scores."""
    tied = np.zeros(len(starts) - 1, dtype=np.bool_)
    if len(scores) < 2:
        return scores, tied
    between = starts[1:-1]
    between = between[(between > 0) & (between < len(scores))] - 1
    rises = scores[1:] > scores[:-1]
    rises[between] = False
    if rises.any():
        scores = scores.copy()
        for group in np.unique(np.searchsorted(starts, np.flatnonzero(rises), side="right") - 1).tolist():
            part = scores[starts[group] : starts[group + 1]]
            part[:] = np.sort(part)[::-1]
    same = scores[1:] == scores[:-1]
    same[between] = False
    tied[np.searchsorted(starts, np.flatnonzero(same), side="right") - 1] = True
    return scores, tied


def _first_not_above(ordered: Scores, low: IntArray, high: IntArray, sought: Scores) -> IntArray:
    """For each hit, the first position in its descending range with a score not above ``sought``."""
    low, high = low.copy(), high - 1  # the hit itself is in the range
    while (low < high).any():
        middle = (low + high) >> 1
        above = ordered[middle] > sought
        low = np.where(above, middle + 1, low)
        high = np.where(above, high, middle)
    return low


def _last_equal(ordered: Scores, low: IntArray, high: IntArray, sought: Scores) -> IntArray:
    """For each hit, the last position in its range with the score ``sought``; position ``low`` has it too."""
    low, high = low.copy(), high - 1
    while (low < high).any():
        middle = (low + high + 1) >> 1
        equal = ordered[middle] == sought
        low = np.where(equal, middle, low)
        high = np.where(equal, high, middle - 1)
    return low


def assemble(rows: QrelsTable, found: ScannedRun, policy: Policy) -> Rankings:
    """Apply the policies (own hits, depth, judged only, missing) to scanned ranks, and group them by query."""
    if (found.retrieved < 0).all():
        raise InputError(_no_common_query(found.ignored, rows.queries))
    query, ranks, retrieved = rows.query, found.ranks.copy(), found.retrieved.copy()
    real = ~np.isnan(rows.grades)
    dropped = 0
    if policy.drop_self:
        own = rows.is_self() & (ranks > 0)
        dropped = int(own.sum())
        limit = np.full(len(rows.queries), np.iinfo(np.int64).max)
        limit[query[own]] = ranks[own]
        retrieved[query[own]] -= 1
        ranks[own] = 0
        ranks -= ranks > limit[query]
    if policy.depth is not None:
        ranks[ranks > policy.depth] = 0
        retrieved = np.minimum(retrieved, policy.depth)
    present = found.retrieved >= 0
    hit = (ranks > 0) & real
    if policy.judged_only:
        hit &= (rows.grades >= 0) | (not policy.trec)
        retrieved = np.where(present, np.bincount(query[hit], minlength=len(rows.queries)), retrieved)
    kept = present | (policy.missing == "zero")
    hit &= kept[query]
    renumbered = np.cumsum(kept) - 1
    order = np.flatnonzero(hit)[np.lexsort((ranks[hit], query[hit]))]
    judged = np.flatnonzero(real & kept[query])
    judged = judged[np.lexsort((-rows.grades[judged], query[judged]))]
    size = int(kept.sum())
    starts = _starts(renumbered[query[order]], size)
    if policy.judged_only:  # ranks among the judged documents
        ranks[order] = np.arange(1, len(order) + 1) - starts[renumbered[query[order]]]
    missing = tuple(rows.queries[at] for at in np.flatnonzero(~present).tolist())
    return Rankings(
        queries=tuple(rows.queries[at] for at in np.flatnonzero(kept).tolist()),
        present=present[kept],
        retrieved=np.maximum(retrieved[kept], 0),
        starts=starts,
        ranks=ranks[order],
        grades=rows.grades[order],
        level_firsts=found.firsts[order],
        level_sizes=found.sizes[order],
        judged_starts=_starts(renumbered[query[judged]], size),
        judged=rows.grades[judged],
        top_grade=float(max(np.max(rows.grades, where=real, initial=0.0), 0.0)),
        policy=policy,
        counts=Counts(
            missing=missing,
            ignored=tuple(sorted(found.ignored)),
            tied=int(found.tied.sum()),
            dropped_self=dropped,
            duplicates=found.duplicates,
        ),
        run_id=found.run_id,
    )


def _starts(groups: IntArray, size: int) -> IntArray:
    return np.concatenate(([0], np.cumsum(np.bincount(groups, minlength=size)))).astype(np.int64)


def _no_common_query(run_queries: Sequence[str], judged: Sequence[str]) -> str:
    """The message for a run without judged queries, with examples of the ids and, if found, their difference."""
    if not run_queries:
        return "the run is empty"
    sides = f"the run has {', '.join(map(repr, run_queries[:3]))}; the qrels have {', '.join(map(repr, judged[:3]))}"
    hint = next((hint for hint, form in _FORMS.items() if {*map(form, run_queries)} & {*map(form, judged)}), "")
    return f"no query id in common: {sides}{hint}"


def _without_suffix(query: str) -> str:
    return re.sub(r"[._:-]\w+$", "", query)


def _without_prefix(query: str) -> str:
    return re.sub(r"^\w+[._:-]|^[^\W\d]+(?=\d)", "", query)


_FORMS: dict[str, Callable[[str], str]] = {
    " (they match without leading zeros)": lambda query: query.lstrip("0"),
    " (they match if case is ignored)": str.casefold,
    " (they match without a suffix such as '.1')": _without_suffix,
    " (they match without a prefix such as 'q')": _without_prefix,
}
