"""Blocks of a TREC file, cut into fields without a step of Python per line.

A block is a buffer of bytes; a field is where it starts and how many bytes it has, and a column of fields is two
arrays. Every byte up to the space separates, as does nothing else (``#`` and quotes are text); in tab-separated
files only tabs and line ends do. Anything else raises ``NeedsSlowParser``; then the line parser reads the file.
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

Words: TypeAlias = NDArray[np.uint64]
Reader: TypeAlias = Callable[[memoryview], int]
"""Fills a buffer with the bytes that come next and says how many they are; 0 at the end."""

ROOM = 64  # bytes around the text, so that a word may be read at any place in it
BLOCK = 1 << 20
_ODD_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
LOW_BYTES = np.array([(1 << 8 * size) - 1 for size in range(9)], dtype=np.uint64)
_ZSTD = b"\x28\xb5\x2f\xfd"


class NeedsSlowParser(Exception):
    """Something that only the careful reader can judge."""


class FieldColumn(NamedTuple):
    """One field of every line: where it starts in the buffer, and its size."""

    starts: IntArray
    sizes: IntArray

    def part(self, rows: slice | IntArray | BoolArray) -> FieldColumn:
        """Some of the rows."""
        return FieldColumn(self.starts[rows], self.sizes[rows])


class Text:
    """A buffer of bytes, readable by bytes and by overlapping words."""

    def __init__(self, size: int) -> None:
        self.buffer = bytearray(b"x" * ROOM + bytes(size + ROOM))
        self.bytes = np.frombuffer(self.buffer, np.uint8)
        self.words = np.ndarray((len(self.buffer) - 7,), "<u8", self.buffer, strides=(1,))

    @classmethod
    def of(cls, data: bytes) -> Text:
        """A buffer that holds the data, from byte ``ROOM`` on."""
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

    def hashes(self, column: FieldColumn) -> Words:
        """A 64-bit hash of each field; of fields up to eight bytes no two have the same."""
        starts, sizes = column
        mixed = self.words[starts] & LOW_BYTES[np.minimum(sizes, 8)]
        mixed *= _ODD_MULTIPLIER
        for done in range(8, int(sizes.max(initial=0)), 8):
            rows = np.flatnonzero(sizes > done)
            more = self.words[starts[rows] + done] & LOW_BYTES[np.minimum(sizes[rows] - done, 8)]
            so_far = mixed[rows]
            mixed[rows] = ((so_far ^ (so_far >> np.uint64(32))) + more) * _ODD_MULTIPLIER
        return mixed


def paired(queries: Words, docs: Words) -> Words:
    """A hash of each pair, from those of its fields.

    The query's is folded first: hashes of short fields are multiples of the fields, whose plain sums meet often.
    """
    return (queries ^ (queries >> np.uint64(29))) * _ODD_MULTIPLIER + docs


class Ids(Sequence[str]):
    """A column of ids that stay bytes in their buffer until one is asked for."""

    def __init__(self, text: Text, column: FieldColumn) -> None:
        self.text, self.column = text, column

    @classmethod
    def of(cls, ids: Sequence[str]) -> Ids:
        """The ids as they are, or from a list."""
        if isinstance(ids, Ids):
            return ids
        data = "".join(ids)
        encoded = data.encode("utf-8")
        lengths = map(len, ids) if len(encoded) == len(data) else (len(one.encode("utf-8")) for one in ids)
        sizes = np.fromiter(lengths, np.int64, len(ids))
        return cls(Text.of(encoded), FieldColumn(ROOM + np.cumsum(sizes) - sizes, sizes))

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

    def hashes(self) -> Words:
        """A 64-bit hash of each."""
        return self.text.hashes(self.column)


def columns_of(
    text: Text, end: int, fields: Sequence[int], width: int, *, more: bool = False, tabs: bool = False
) -> list[FieldColumn]:
    """Some fields of the lines of a buffer up to ``end``, the last line ended; Odd unless all have ``width`` fields.

    With ``more``, lines may have more fields, which are left out. Blank lines are no lines.
    """
    if end == ROOM:
        return [FieldColumn(np.empty(0, np.int64), np.empty(0, np.int64))] * len(fields)
    part = text.bytes[:end]  # with the room before the text, so that places in it are places in the buffer
    blank = ((part >= 9) & (part <= 13)) if tabs else part <= 32
    lines = int(np.count_nonzero(part == 10))
    if lines and not blank[ROOM] and not (blank[1:] & blank[:-1]).any():
        ends = np.flatnonzero(blank)
        if len(ends) == lines * width and (part[ends[width - 1 :: width]] == 10).all():
            return [_regular_column(ends, field, width) for field in fields]
    return _columns_of_any(part[ROOM:], blank[ROOM:], fields, width, more=more)


def _regular_column(ends: IntArray, field: int, width: int) -> FieldColumn:
    """A field of lines whose fields end at every ``width``-th place."""
    if field:
        starts = ends[field - 1 :: width] + 1
    else:
        starts = np.empty(len(ends) // width, dtype=np.int64)
        starts[0] = ROOM
        np.add(ends[width - 1 : -1 : width], 1, out=starts[1:])
    return FieldColumn(starts, ends[field::width] - starts)


def _columns_of_any(
    part: NDArray[np.uint8], blank: BoolArray, fields: Sequence[int], width: int, *, more: bool
) -> list[FieldColumn]:
    """Columns where blanks may come in runs, and lines may be empty."""
    after_blank = np.concatenate(([True], blank[:-1]))
    starts = np.flatnonzero(~blank & after_blank)
    sizes = np.flatnonzero(blank & ~after_blank) - starts
    upto = np.searchsorted(starts, np.flatnonzero(part == 10))
    counts = np.diff(upto, prepend=0)
    at = (upto - counts)[counts > 0]
    counts = counts[counts > 0]
    if (counts < width).any() or (not more and (counts > width).any()):
        raise NeedsSlowParser
    return [FieldColumn(starts[at + field] + ROOM, sizes[at + field]) for field in fields]


def whole_text(read: Reader) -> tuple[Text, int]:
    """All there is to read as one buffer, its text from byte ``ROOM`` to the place given, the last line ended."""
    text, end, done = Text(BLOCK), ROOM, False
    while not done:
        end, done = _filled(text, read, end)
        if not done:
            text = _grown(text, end)
    return text, end


class Block(NamedTuple):
    """Lines of some whole queries, and the rows at which each query starts and the last one ends."""

    text: Text
    queries: FieldColumn
    docs: FieldColumn
    scores: FieldColumn
    starts: IntArray


def whole_queries(read: Reader, *, more: bool = False) -> Iterator[Block]:
    """The queries, documents and scores of a run file, in blocks that end where a query does."""
    text, end, done = Text(BLOCK), ROOM, False
    while not done:
        end, done = _filled(text, read, end)
        last = max(text.buffer.rfind(b"\n", ROOM, end) + 1, ROOM)
        check_text(text, last)
        queries, docs, scores = columns_of(text, last, (0, 2, 4), 6, more=more)
        groups = groups_of(text, queries)
        starts = groups if done else groups[:-1]  # the last query may go on in the next block
        rows = int(starts[-1])
        if rows:
            whole = slice(0, rows)
            yield Block(text, queries.part(whole), docs.part(whole), scores.part(whole), starts)
        rest = int(queries.starts[rows]) if rows < len(queries.starts) else last
        if rest == ROOM:
            text = _grown(text, end)
        else:
            text.buffer[ROOM : ROOM + end - rest] = text.buffer[rest:end]
            end = ROOM + end - rest


def _filled(text: Text, read: Reader, end: int) -> tuple[int, bool]:
    """Fill a buffer from ``end`` on: the new end, and whether it is that of the file (its last line then ended)."""
    full = len(text.buffer) - ROOM
    while end < full:
        if not (got := read(memoryview(text.buffer)[end:full])):
            return _end_line(text, end), True
        end += got
    return end, False


def groups_of(text: Text, queries: FieldColumn) -> IntArray:
    """The rows at which another query id begins, and the number of rows."""
    starts, sizes = queries
    if not len(starts):
        return np.zeros(2, dtype=np.int64)
    change = np.zeros(len(starts) - 1, dtype=np.bool_)
    for done in range(0, int(sizes.max()), 8):
        at = np.minimum(starts + done, len(text.words) - 1) if done else starts
        words = text.words[at] & LOW_BYTES[np.clip(sizes - done, 0, 8)]
        change |= words[1:] != words[:-1]
    return np.concatenate(([0], np.flatnonzero(change) + 1, [len(starts)])).astype(np.int64)


def check_text(text: Text, end: int) -> None:
    """Odd unless the buffer up to a line's end is UTF-8."""
    if end > ROOM and text.bytes[ROOM:end].max() > 127:
        try:
            text.buffer[ROOM:end].decode("utf-8")
        except UnicodeDecodeError:
            raise NeedsSlowParser from None


def _end_line(text: Text, end: int) -> int:
    if end > ROOM and text.buffer[end - 1] != 10:
        text.buffer[end] = 10
        return end + 1
    return end


def _grown(text: Text, end: int) -> Text:
    larger = Text(2 * (len(text.buffer) - 2 * ROOM))
    larger.buffer[:end] = text.buffer[:end]
    return larger


def reader_of(path: Path, encoding: str = "utf-8") -> Reader:
    """The UTF-8 bytes of a plain, gzip or zstd file."""
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
    """The bytes of some chunks, one after the other."""
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
    """Polars decompresses; a separator that no text holds keeps each line whole."""
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
