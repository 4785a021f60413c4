"""A run file joined with judgements while it streams by: neither its lines nor its documents are ever kept."""

from __future__ import annotations

import numpy as np

from .join import Found, place, single
from .judgements import BoolArray, FloatArray, IntArray, Judgements, Policy
from .trec_blocks import ROOM, Block, Column, Odd, Reader, Text, Words, whole_queries
from .trec_numbers import numbers_of

_QUERY_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)


class Ungrouped(Odd):
    """The lines of a query are not together."""


def scan_run(read: Reader, rows: Judgements, policy: Policy) -> Found:
    """What a run holds of the judgements; Odd where only the careful reader can tell."""
    found = Found.nothing(rows)
    wanted = _Wanted(rows)
    known = {query.encode("utf-8"): at for at, query in enumerate(rows.queries)}
    seen: set[bytes] = set()
    for block in whole_queries(read, more=policy.trec):
        if not seen:
            found.run_id = _tag(block)
        names = block.text.fields(block.queries.part(block.starts[:-1]))
        if not seen.isdisjoint(names) or len(set(names)) < len(names):
            raise Ungrouped
        seen.update(names)
        queries = np.array([known.get(name, -1) for name in names], dtype=np.int64)
        found.ignored += [name.decode("utf-8") for name in names if name not in known]
        _place_block(block, queries, wanted, found, policy)
    if not seen:
        raise Odd
    return found


def _tag(block: Block) -> str:
    """The run id: the last field of the first line."""
    after = int(block.scores.starts[0] + block.scores.sizes[0])
    return block.text.buffer[after : block.text.buffer.index(b"\n", after)].split()[0].decode("utf-8")


def _place_block(block: Block, queries: IntArray, wanted: _Wanted, found: Found, policy: Policy) -> None:
    text, starts = block.text, block.starts
    docs, scores = block.docs, numbers_of(block.text, block.scores)
    hashes = text.hashes(docs)
    repeated = _repeated(text, docs, hashes, starts, scores)
    if len(repeated):
        if policy.duplicates == "error":
            raise Odd
        kept = np.ones(len(scores), dtype=np.bool_)
        kept[repeated] = False
        found.duplicates += len(repeated)
        docs, scores, hashes = docs.part(kept), scores[kept], hashes[kept]
        starts = np.concatenate(([0], np.cumsum(kept)))[starts]
    lines, judged = wanted.find(text, docs, hashes, queries, starts)
    groups = np.searchsorted(starts, lines, side="right") - 1
    ordering = single(scores) if policy.trec else scores

    def ids(group: int, positions: list[int]) -> list[bytes]:
        return text.fields(docs.part(starts[group] + np.array(positions, dtype=np.int64)))

    ranks, tied = place(
        ordering,
        starts,
        groups,
        ordering[lines],
        lambda hit: text.field(docs, int(lines[hit])),
        ids,
        given=policy.ties == "given",
    )
    scored = queries >= 0
    found.ranks[judged] = ranks
    found.retrieved[queries[scored]] = np.diff(starts)[scored]
    found.tied[queries[scored]] = tied[scored]


def _repeated(text: Text, docs: Column, hashes: Words, starts: IntArray, scores: FloatArray) -> IntArray:
    """Rows whose document is in the query a second time, all but the one of the best score, ascending."""
    bits = np.uint64(len(starts).bit_length())
    group = np.repeat(np.arange(len(starts) - 1, dtype=np.uint64), np.diff(starts))
    keys = (hashes >> bits) | (group << (np.uint64(64) - bits))
    ordered = np.sort(keys)
    same = ordered[1:] == ordered[:-1]
    if not same.any():
        return np.empty(0, dtype=np.int64)
    suspects = np.flatnonzero(np.isin(keys, ordered[1:][same]))
    suspects = suspects[np.argsort(-scores[suspects], kind="stable")]  # the best first
    best: set[tuple[int, bytes]] = set()
    repeated: list[int] = []
    for row, place_of in zip(suspects.tolist(), group[suspects].tolist(), strict=True):
        pair = (place_of, text.field(docs, row))
        if pair in best:
            repeated.append(row)
        best.add(pair)
    return np.array(sorted(repeated), dtype=np.int64)


class _Wanted:
    """The judged documents, to be found among all: by a small table, then by key, then by their bytes."""

    def __init__(self, rows: Judgements) -> None:
        self.docs = [doc.encode("utf-8") for doc in rows.docs]
        sizes = np.array([len(doc) for doc in self.docs], dtype=np.int64)
        text = Text.of(b"".join(self.docs))
        starts = np.concatenate(([0], np.cumsum(sizes)))[:-1] + ROOM
        hashes = text.hashes(Column(starts, sizes))
        bits = min(max(16, (16 * len(self.docs)).bit_length()), 24)
        self.shift = np.uint64(64 - bits)
        self.near: BoolArray = np.zeros(1 << bits, dtype=np.bool_)
        self.near[hashes >> self.shift] = True
        keys = _pair_keys(hashes, rows.query)
        self.order = np.argsort(keys)
        self.keys = keys[self.order]
        if (self.keys[1:] == self.keys[:-1]).any():  # one in 2^64: two judged pairs with the same key
            raise Odd

    def find(
        self, text: Text, docs: Column, hashes: Words, queries: IntArray, starts: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Rows that hold a document judged for their query, and the rows of the judgements."""
        lines = np.flatnonzero(self.near[hashes >> self.shift])
        query = queries[np.searchsorted(starts, lines, side="right") - 1]
        lines, query = lines[query >= 0], query[query >= 0]
        keys = _pair_keys(hashes[lines], query)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        equal = np.flatnonzero(self.keys[at] == keys)
        lines, judged = lines[equal], self.order[at[equal]]
        same = [
            found == self.docs[row] for found, row in zip(text.fields(docs.part(lines)), judged.tolist(), strict=True)
        ]
        sure = np.array(same, dtype=np.bool_)
        return lines[sure], judged[sure]


def _pair_keys(hashes: Words, query: IntArray) -> Words:
    return hashes ^ ((query + 1).astype(np.uint64) * _QUERY_MULTIPLIER)
