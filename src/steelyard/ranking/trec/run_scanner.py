"""Join a run file with qrels as a stream, without storing its lines or documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from ...core.errors import InputError
from ...io.text_files import BOM
from ..join import ScannedRun, rank_hits, single_precision
from ..policy import Policy
from ..qrels import BoolArray, FloatArray, IntArray, QrelsTable
from .block_parser import BLOCK, Block, FieldColumn, Ids, NeedsSlowParser, Reader, TextBuffer, WordArray, whole_queries
from .number_parser import parse_column

_QUERY_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)


class Ungrouped(NeedsSlowParser):
    """The lines of a query are not contiguous."""


def scan_run(read: Reader, rows: QrelsTable, policy: Policy) -> ScannedRun:
    """The ranks of judged documents in a run; NeedsSlowParser if the fast parser does not support the file."""
    return scan_pieces([read], rows, policy)


def scan_pieces(reads: Sequence[Reader], rows: QrelsTable, policy: Policy, *, threads: int = 1) -> ScannedRun:
    """The ranks of judged documents in a run that is read in pieces, each of whole queries."""
    scan = RunScanner(rows, policy)
    if threads > 1 and len(reads) > 1:
        with ThreadPoolExecutor(min(threads, len(reads))) as pool:
            return merge_pieces(rows, pool.map(scan.piece, reads))
    return merge_pieces(rows, map(scan.piece, reads))


def merge_pieces(rows: QrelsTable, pieces: Iterable[ScannedRun]) -> ScannedRun:
    """Merge the results of the pieces of a run; Ungrouped if two of them contain the same query."""
    whole = ScannedRun.empty(rows)
    unknown: dict[str, None] = {}
    empty = True
    for piece in pieces:
        if not piece.run_id:
            continue
        if ((whole.retrieved >= 0) & (piece.retrieved >= 0)).any() or not unknown.keys().isdisjoint(piece.ignored):
            raise Ungrouped
        if empty:
            whole.run_id, empty = piece.run_id, False
        for mine, theirs in (
            (whole.ranks, piece.ranks),
            (whole.firsts, piece.firsts),
            (whole.sizes, piece.sizes),
            (whole.retrieved, piece.retrieved),
        ):
            np.maximum(mine, theirs, out=mine)
        whole.tied |= piece.tied
        whole.duplicates += piece.duplicates
        unknown.update(dict.fromkeys(piece.ignored))
    if empty:
        raise NeedsSlowParser
    whole.ignored = list(unknown)
    return whole


class RunScanner:
    """Scans runs for judged documents; several threads may use one scanner at once."""

    def __init__(self, rows: QrelsTable, policy: Policy) -> None:
        self.rows, self.policy = rows, policy
        self.wanted, self.known = _DocumentIndex(rows), _QueryIndex(rows.queries)

    def piece(self, read: Reader) -> ScannedRun:
        """The ranks of judged documents in some whole queries; the run id is empty if there are no queries."""
        found = ScannedRun.empty(self.rows)
        found.run_id = ""
        unknown: dict[bytes, None] = {}
        for block in whole_queries(read, extra_columns=self.policy.trec):
            found.run_id = found.run_id or _tag(block)
            names = block.queries.part(block.starts[:-1])
            queries = self.known.find(block.text, names)
            judged, strange = queries[queries >= 0], block.text.fields(names.part(queries < 0))
            if (found.retrieved[judged] >= 0).any() or len(np.unique(judged)) < len(judged):
                raise Ungrouped
            if not unknown.keys().isdisjoint(strange) or len(set(strange)) < len(strange):
                raise Ungrouped
            unknown.update(dict.fromkeys(strange))
            _rank_block(block, queries, self.wanted, found, self.policy)
        found.ignored = [name.decode("utf-8") for name in unknown]
        return found


def _tag(block: Block) -> str:
    """The run id: the last field of the first line."""
    after = int(block.scores.starts[0] + block.scores.sizes[0])
    return block.text.buffer[after : block.text.buffer.index(b"\n", after)].split()[0].decode("utf-8")


def _rank_block(block: Block, queries: IntArray, wanted: _DocumentIndex, found: ScannedRun, policy: Policy) -> None:
    text, starts = block.text, block.starts
    docs, scores = block.docs, parse_column(block.text, block.scores)
    hashes = text.hashes(docs)
    repeated = _repeated(text, docs, hashes, starts, scores)
    if len(repeated):
        if policy.duplicates == "error":
            raise NeedsSlowParser
        kept = np.ones(len(scores), dtype=np.bool_)
        kept[repeated] = False
        found.duplicates += len(repeated)
        docs, scores, hashes = docs.part(kept), scores[kept], hashes[kept]
        starts = np.concatenate(([0], np.cumsum(kept)))[starts]
    lines, judged = wanted.find(text, docs, hashes, queries, starts)
    groups = np.searchsorted(starts, lines, side="right") - 1
    ordering = single_precision(scores) if policy.trec else scores

    def ids(group: int, positions: list[int]) -> list[bytes]:
        return text.fields(docs.part(starts[group] + np.array(positions, dtype=np.int64)))

    hit_ranks = rank_hits(
        ordering,
        starts,
        groups,
        ordering[lines],
        lambda hit: text.field(docs, int(lines[hit])),
        ids,
        given=policy.ties == "given",
    )
    scored = queries >= 0
    found.set_ranks(hit_ranks, judged)
    found.retrieved[queries[scored]] = np.diff(starts)[scored]
    found.tied[queries[scored]] = hit_ranks.tied[scored]


def _repeated(text: TextBuffer, docs: FieldColumn, hashes: WordArray, starts: IntArray, scores: FloatArray) -> IntArray:
    """The rows that repeat a document of their query, except the one with the best score, ascending."""
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


class _QueryIndex:
    """Finds judged queries by the hash of their ids."""

    def __init__(self, queries: Sequence[str]) -> None:
        self.ids = Ids.of(queries)
        hashes = self.ids.hashes()
        self.order = np.argsort(hashes)
        self.hashes = hashes[self.order]
        if (self.hashes[1:] == self.hashes[:-1]).any():  # one in 2^64
            raise NeedsSlowParser

    def find(self, text: TextBuffer, names: FieldColumn) -> IntArray:
        """The index of the judged query of each name, -1 if the query is not judged."""
        hashes = text.hashes(names)
        at = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        found = np.where(self.hashes[at] == hashes, self.order[at], -1)
        for row, name in enumerate(text.fields(names)):
            if found[row] >= 0 and self.ids.field(int(found[row])) != name:
                found[row] = -1
        return found


class _DocumentIndex:
    """Finds judged documents among all: by a small table, then by key, then by their bytes."""

    def __init__(self, rows: QrelsTable) -> None:
        self.docs = Ids.of(rows.docs)
        hashes = self.docs.hashes()
        bits = min(max(16, (16 * len(self.docs)).bit_length()), 24)
        self.shift = np.uint64(64 - bits)
        self.near: BoolArray = np.zeros(1 << bits, dtype=np.bool_)
        self.near[hashes >> self.shift] = True
        keys = _pair_keys(hashes, rows.query)
        self.order = np.argsort(keys)
        self.keys = keys[self.order]
        if (self.keys[1:] == self.keys[:-1]).any():  # one in 2^64: two judged pairs with the same key
            raise NeedsSlowParser

    def find(
        self, text: TextBuffer, docs: FieldColumn, hashes: WordArray, queries: IntArray, starts: IntArray
    ) -> tuple[IntArray, IntArray]:
        """The rows with a document judged for their query, and the matching rows of the qrels."""
        lines = np.flatnonzero(self.near[hashes >> self.shift])
        query = queries[np.searchsorted(starts, lines, side="right") - 1]
        lines, query = lines[query >= 0], query[query >= 0]
        keys = _pair_keys(hashes[lines], query)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        equal = np.flatnonzero(self.keys[at] == keys)
        lines, judged = lines[equal], self.order[at[equal]]
        same = [
            found == self.docs.field(row)
            for found, row in zip(text.fields(docs.part(lines)), judged.tolist(), strict=True)
        ]
        sure = np.array(same, dtype=np.bool_)
        return lines[sure], judged[sure]


def _pair_keys(hashes: WordArray, query: IntArray) -> WordArray:
    return hashes ^ ((query + 1).astype(np.uint64) * _QUERY_MULTIPLIER)


_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")  # gzip, zstd


class RunPiece(NamedTuple):
    """Bytes ``start`` to ``end`` of a file: the contiguous lines of some whole queries."""

    path: Path
    start: int
    end: int

    def reader(self) -> Reader:
        """A reader of the bytes. The file is open only during a read, because a caller may stop at any time."""
        place = self.start

        def read(into: memoryview) -> int:
            nonlocal place
            wanted = min(len(into), self.end - place)
            if not wanted:
                return 0
            with _open(self.path) as file:
                file.seek(place)
                got = int(file.readinto(into[:wanted]))  # type: ignore[attr-defined]
            place += got
            return got

        return read


def split_run(path: Path, count: int) -> list[RunPiece]:
    """Split a file into at most ``count`` pieces of similar size; one piece or none if it cannot be split.

    A piece starts at a line whose query differs from that of the line before it. Compressed files cannot be split.
    """
    with _open(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        head = file.read(4)
        if head.startswith(_COMPRESSED):
            return []
        first = len(BOM) if head.startswith(BOM) else 0
        cuts = [first]
        for number in range(1, count):
            cut = _query_start(file, first + (size - first) * number // count, size)
            if cut > cuts[-1]:
                cuts.append(cut)
    return [RunPiece(path, start, end) for start, end in zip(cuts, [*cuts[1:], size], strict=True) if end > start]


def _query_start(file: IO[bytes], near: int, size: int) -> int:
    """The first offset after ``near`` at which a query starts; the end of the file if there is none."""
    before: bytes | None = None
    for offset, line in _lines(file, near):
        query = line.split(None, 1)[:1]
        if query:
            if before is not None and query[0] != before:
                return offset
            before = query[0]
    return size


def _lines(file: IO[bytes], near: int) -> Iterator[tuple[int, bytes]]:
    """The whole lines that start after ``near``, with their offsets."""
    file.seek(near)
    offset = near + len(file.readline(BLOCK))
    while line := file.readline(BLOCK):
        yield offset, line
        offset += len(line)


def _open(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        expected = "is a directory (expected a file)" if path.is_dir() else (error.strerror or str(error)).lower()
        raise InputError(expected, path=path) from None
