"""Split blocks of a TREC file into fields without a step of Python per line.

A block is a buffer of bytes; a field is its start and its size in bytes, and a column of fields is two arrays. Only
bytes up to the space separate fields (``#`` and quotes are text); in tab-separated files, only tabs and line ends do.
Any other input raises ``NeedsSlowParser``; then ``line_parser`` reads the file.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from ...core.errors import InputError
from ...io.text_files import BOM, open_bytes, read_lines
from ..qrels import BoolArray, IntArray

WordArray: TypeAlias = NDArray[np.uint64]
Reader: TypeAlias = Callable[[memoryview], int]
"""Fills a buffer with the next bytes and returns their number; 0 at the end."""

ROOM = 64  # padding bytes around the text, so that a 64-bit word can be read at any position in it
BLOCK = 1 << 20
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
LOW_BYTES = np.array([(1 << 8 * size) - 1 for size in range(9)], dtype=np.uint64)
_ZSTD = b"\x28\xb5\x2f\xfd"


class NeedsSlowParser(Exception):
    """Input that the fast parser does not support; ``line_parser`` reads it or raises the exact error."""


class FieldColumn(NamedTuple):
    """One field of every line: its start in the buffer and its size."""

    starts: IntArray
    sizes: IntArray

    def part(self, rows: slice | IntArray | BoolArray) -> FieldColumn:
        """Some of the rows."""
        return FieldColumn(self.starts[rows], self.sizes[rows])


class TextBuffer:
    """A buffer of bytes, readable as bytes and as overlapping 64-bit words."""

    def __init__(self, size: int) -> None:
        self.buffer = bytearray(b"x" * ROOM + bytes(size + ROOM))
        self.bytes = np.frombuffer(self.buffer, np.uint8)
        self.words = np.ndarray((len(self.buffer) - 7,), "<u8", self.buffer, strides=(1,))

    @classmethod
    def of(cls, data: bytes) -> TextBuffer:
        """A buffer with the data, which starts at byte ``ROOM``."""
        text = cls(len(data))
        text.buffer[ROOM : ROOM + len(data)] = data
        return text

    def field(self, column: FieldColumn, row: int) -> bytes:
        """One field."""
        start = int(column.starts[row])
        return bytes(self.buffer[start : start + int(column.sizes[row])])

    def fields(self, column: FieldColumn) -> list[bytes]:
        """All fields of a column."""
        ends = (column.starts + column.sizes).tolist()
        if len(ends) < 1000:
            view = memoryview(self.buffer)
            return [bytes(view[start:end]) for start, end in zip(column.starts.tolist(), ends, strict=True)]
        data = bytes(self.buffer)
        return [data[start:end] for start, end in zip(column.starts.tolist(), ends, strict=True)]

    def hashes(self, column: FieldColumn) -> WordArray:
        """A 64-bit hash of each field; different fields of up to eight bytes have different hashes."""
        starts, sizes = column
        mixed = self.words[starts] & LOW_BYTES[np.minimum(sizes, 8)]
        mixed *= _MULTIPLIER
        for done in range(8, int(sizes.max(initial=0)), 8):
            rows = np.flatnonzero(sizes > done)
            more = self.words[starts[rows] + done] & LOW_BYTES[np.minimum(sizes[rows] - done, 8)]
            so_far = mixed[rows]
            mixed[rows] = ((so_far ^ (so_far >> np.uint64(32))) + more) * _MULTIPLIER
        return mixed


def pair_hashes(queries: WordArray, docs: WordArray) -> WordArray:
    """A hash of each pair of query and document, from their hashes.

    The query's hash is folded first: hashes of short fields are multiples of the fields, so plain sums often collide.
    """
    return (queries ^ (queries >> np.uint64(29))) * _MULTIPLIER + docs


class Ids(Sequence[str]):
    """A column of ids that stay bytes in their buffer until one is read."""

    def __init__(self, text: TextBuffer, column: FieldColumn) -> None:
        self.text, self.column = text, column

    @classmethod
    def of(cls, ids: Sequence[str]) -> Ids:
        """Return an ``Ids`` unchanged, or build one from other sequences."""
        if isinstance(ids, Ids):
            return ids
        data = "".join(ids)
        encoded = data.encode("utf-8")
        lengths = map(len, ids) if len(encoded) == len(data) else (len(one.encode("utf-8")) for one in ids)
        sizes = np.fromiter(lengths, np.int64, len(ids))
        return cls(TextBuffer.of(encoded), FieldColumn(ROOM + np.cumsum(sizes) - sizes, sizes))

    def __len__(self) -> int:
        return len(self.column.starts)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> Ids: ...
    def __getitem__(self, row: int | slice) -> str | Ids:
        if isinstance(row, slice):
            return Ids(self.text, self.column.part(row))
        return self.field(row).decode("utf-8")

    def field(self, row: int) -> bytes:
        """One id as bytes."""
        return self.text.field(self.column, row)

    def hashes(self) -> WordArray:
        """A 64-bit hash of each."""
        return self.text.hashes(self.column)


def columns_of(
    text: TextBuffer, end: int, fields: Sequence[int], width: int, *, extra_columns: bool = False, tabs: bool = False
) -> list[FieldColumn]:
    """Some fields of the complete lines of a buffer up to ``end``; NeedsSlowParser unless all have ``width`` fields.

    With ``extra_columns``, lines may have more fields, which are ignored. Blank lines are skipped.
    """
    if end == ROOM:
        return [FieldColumn(np.empty(0, np.int64), np.empty(0, np.int64))] * len(fields)
    part = text.bytes[:end]  # with the padding before the text, so that its positions are those in the buffer
    blank = ((part >= 9) & (part <= 13)) if tabs else part <= 32
    lines = int(np.count_nonzero(part == 10))
    if lines and not blank[ROOM] and not (blank[1:] & blank[:-1]).any():
        ends = np.flatnonzero(blank)
        if len(ends) == lines * width and (part[ends[width - 1 :: width]] == 10).all():
            return [_regular_column(ends, field, width) for field in fields]
    return _columns_of_any(part[ROOM:], blank[ROOM:], fields, width, extra_columns=extra_columns)


def _regular_column(ends: IntArray, field: int, width: int) -> FieldColumn:
    """A column of lines that all have ``width`` fields, each separated by one blank."""
    if field:
        starts = ends[field - 1 :: width] + 1
    else:
        starts = np.empty(len(ends) // width, dtype=np.int64)
        starts[0] = ROOM
        np.add(ends[width - 1 : -1 : width], 1, out=starts[1:])
    return FieldColumn(starts, ends[field::width] - starts)


def _columns_of_any(
    part: NDArray[np.uint8], blank: BoolArray, fields: Sequence[int], width: int, *, extra_columns: bool
) -> list[FieldColumn]:
    """Columns of lines that may be empty and have several blanks between fields."""
    after_blank = np.concatenate(([True], blank[:-1]))
    starts = np.flatnonzero(~blank & after_blank)
    sizes = np.flatnonzero(blank & ~after_blank) - starts
    upto = np.searchsorted(starts, np.flatnonzero(part == 10))
    counts = np.diff(upto, prepend=0)
    at = (upto - counts)[counts > 0]
    counts = counts[counts > 0]
    if (counts < width).any() or (not extra_columns and (counts > width).any()):
        raise NeedsSlowParser
    return [FieldColumn(starts[at + field] + ROOM, sizes[at + field]) for field in fields]


def whole_text(read: Reader) -> tuple[TextBuffer, int]:
    """Read everything into one buffer; the text starts at byte ``ROOM`` and ends, with a line end, at the offset."""
    text, end, done = TextBuffer(BLOCK), ROOM, False
    while not done:
        end, done = _fill(text, read, end)
        if not done:
            text = _enlarge(text, end)
    return text, end


class Block(NamedTuple):
    """The lines of some whole queries; ``starts`` has the first row of each query and the end of the last one."""

    text: TextBuffer
    queries: FieldColumn
    docs: FieldColumn
    scores: FieldColumn
    starts: IntArray


def whole_queries(read: Reader, *, extra_columns: bool = False) -> Iterator[Block]:
    """The queries, documents and scores of a run file, in blocks of whole queries."""
    text, end, done = TextBuffer(BLOCK), ROOM, False
    while not done:
        end, done = _fill(text, read, end)
        last = max(text.buffer.rfind(b"\n", ROOM, end) + 1, ROOM)
        check_text(text, last)
        queries, docs, scores = columns_of(text, last, (0, 2, 4), 6, extra_columns=extra_columns)
        groups = groups_of(text, queries)
        starts = groups if done else groups[:-1]  # the last query may continue in the next block
        rows = int(starts[-1])
        if rows:
            whole = slice(0, rows)
            yield Block(text, queries.part(whole), docs.part(whole), scores.part(whole), starts)
        rest = int(queries.starts[rows]) if rows < len(queries.starts) else last
        if rest == ROOM:
            text = _enlarge(text, end)
        else:
            text.buffer[ROOM : ROOM + end - rest] = text.buffer[rest:end]
            end = ROOM + end - rest


def _fill(text: TextBuffer, read: Reader, end: int) -> tuple[int, bool]:
    """Fill a buffer from ``end``: the new end, and whether the file is exhausted (its last line is then complete)."""
    full = len(text.buffer) - ROOM
    while end < full:
        if not (got := read(memoryview(text.buffer)[end:full])):
            return _end_line(text, end), True
        end += got
    return end, False


def groups_of(text: TextBuffer, queries: FieldColumn) -> IntArray:
    """The first row of each run of equal query ids, and the number of rows."""
    starts, sizes = queries
    if not len(starts):
        return np.zeros(2, dtype=np.int64)
    change = np.zeros(len(starts) - 1, dtype=np.bool_)
    for done in range(0, int(sizes.max()), 8):
        at = np.minimum(starts + done, len(text.words) - 1) if done else starts
        words = text.words[at] & LOW_BYTES[np.clip(sizes - done, 0, 8)]
        change |= words[1:] != words[:-1]
    return np.concatenate(([0], np.flatnonzero(change) + 1, [len(starts)])).astype(np.int64)


def check_text(text: TextBuffer, end: int) -> None:
    """Raise NeedsSlowParser unless the buffer up to a line's end is UTF-8."""
    if end > ROOM and text.bytes[ROOM:end].max() > 127:
        try:
            text.buffer[ROOM:end].decode("utf-8")
        except UnicodeDecodeError:
            raise NeedsSlowParser from None


def _end_line(text: TextBuffer, end: int) -> int:
    if end > ROOM and text.buffer[end - 1] != 10:
        text.buffer[end] = 10
        return end + 1
    return end


def _enlarge(text: TextBuffer, end: int) -> TextBuffer:
    larger = TextBuffer(2 * (len(text.buffer) - 2 * ROOM))
    larger.buffer[:end] = text.buffer[:end]
    return larger


def reader_of(path: Path, encoding: str = "utf-8") -> Reader:
    """A reader of a plain, gzip or zstd file as UTF-8 bytes."""
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
        return reader_of_chunks(line.data for line in read_lines(path, encoding))
    file = open_bytes(path)
    head = file.read(len(_ZSTD))
    if head == _ZSTD:
        file.close()
        return reader_of_chunks(_zstd_chunks(path))
    file.seek(len(BOM) if head.startswith(BOM) else 0)

    def read(into: memoryview) -> int:
        try:
            got = int(file.readinto(into))  # type: ignore[attr-defined]
        except (EOFError, OSError, zlib.error) as error:
            raise InputError(f"cannot be read: {error}", path=path) from None
        if not got:
            file.close()
        return got

    return read


def reader_of_chunks(chunks: Iterator[bytes]) -> Reader:
    """A reader of consecutive chunks of bytes."""
    rest = memoryview(b"")

    def read(into: memoryview) -> int:
        nonlocal rest
        while not rest:
            if (chunk := next(chunks, None)) is None:
                return 0
            rest = memoryview(chunk)
        got = min(len(rest), len(into))
        into[:got] = rest[:got]
        rest = rest[got:]
        return got

    return read


def _zstd_chunks(path: Path) -> Iterator[bytes]:
    """The text of a zstd file, decompressed by polars; a separator that no text contains keeps lines in one column."""
    import polars as pl

    lines = pl.scan_csv(path, has_header=False, separator="\0", quote_char=None, infer_schema=False, glob=False)
    try:
        for at, batch in enumerate(lines.collect_batches(maintain_order=True)):
            data = ("\n".join(batch.to_series().fill_null("").to_list()) + "\n").encode("utf-8")
            yield data if at else data.removeprefix(BOM)
    except pl.exceptions.NoDataError:
        return
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{reason} (a zstd file must be UTF-8: decompress it first)", path=path) from None
