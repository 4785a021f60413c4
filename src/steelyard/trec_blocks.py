"""Blocks of a TREC file, cut into fields without a step of Python per line.

A block is a buffer of bytes; a field is where it starts and how many bytes it has, and a column of fields is two
arrays. Every byte up to the space separates, as does nothing else (``#`` and quotes are text); in tab-separated
files only tabs and line ends do. Whatever does not fit raises ``Odd``, and a careful reader goes over the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .judgements import BoolArray, FloatArray, IntArray
from .lines import BOM, blamed, open_bytes, read_lines

Words = NDArray[np.uint64]
ROOM = 64  # bytes around the text, so that a word may be read at any place in it
BLOCK = 1 << 20
_ODD_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_LOW_BYTES = np.array([(1 << 8 * size) - 1 for size in range(9)], dtype=np.uint64)
_ZSTD = b"\x28\xb5\x2f\xfd"


class Odd(Exception):  # noqa: N818 - a signal within these modules, never a user's error
    """Something that only the careful reader can judge."""


class Column(NamedTuple):
    """One field of every line: where it starts in the buffer, and its size."""

    starts: IntArray
    sizes: IntArray

    def part(self, rows: slice | IntArray | BoolArray) -> Column:
        """Some of the rows."""
        return Column(self.starts[rows], self.sizes[rows])


class Text:
    """A buffer of bytes, readable by bytes and by overlapping words."""

    def __init__(self, size: int) -> None:
        self.buffer = bytearray(ROOM + size + ROOM)
        self.bytes = np.frombuffer(self.buffer, np.uint8)
        self.words = np.ndarray((len(self.buffer) - 7,), "<u8", self.buffer, strides=(1,))

    @classmethod
    def of(cls, data: bytes) -> Text:
        """A buffer that holds the data, from byte ``ROOM`` on."""
        text = cls(len(data))
        text.buffer[ROOM : ROOM + len(data)] = data
        return text

    def field(self, column: Column, row: int) -> bytes:
        """One field."""
        start = int(column.starts[row])
        return bytes(self.buffer[start : start + int(column.sizes[row])])

    def fields(self, column: Column) -> list[bytes]:
        """All fields of a column."""
        data = bytes(self.buffer)
        ends = (column.starts + column.sizes).tolist()
        return [data[start:end] for start, end in zip(column.starts.tolist(), ends, strict=True)]

    def hashes(self, column: Column) -> Words:
        """A 64-bit hash of each field; of fields up to eight bytes no two have the same."""
        starts, sizes = column
        mixed = self.words[starts] & _LOW_BYTES[np.minimum(sizes, 8)]
        mixed *= _ODD_MULTIPLIER
        for done in range(8, int(sizes.max(initial=0)), 8):
            rows = np.flatnonzero(sizes > done)
            more = self.words[starts[rows] + done] & _LOW_BYTES[np.minimum(sizes[rows] - done, 8)]
            so_far = mixed[rows]
            mixed[rows] = ((so_far ^ (so_far >> np.uint64(32))) + more) * _ODD_MULTIPLIER
        return mixed


def columns_of(
    text: Text, begin: int, end: int, width: int, *, more: bool = False, tabs: bool = False
) -> list[Column]:
    """The columns of the lines between two places of a buffer, the last line ended; Odd unless each has ``width``.

    With ``more``, lines may have more fields, which are left out. Blank lines are no lines.
    """
    part = text.bytes[begin:end]
    blank = ((part >= 9) & (part <= 13)) if tabs else part <= 32
    ends = np.flatnonzero(blank)
    lines = int(np.count_nonzero(part == 10))
    regular = len(ends) == lines * width and lines and not blank[0] and not (blank[1:] & blank[:-1]).any()
    if regular:
        table = ends.reshape(lines, width)
        regular = bool((part[table[:, -1]] == 10).all())
    if regular:
        table += begin
        starts = np.empty(lines, dtype=np.int64)
        starts[0], starts[1:] = begin, table[:-1, -1] + 1
        columns = [Column(starts, table[:, 0] - starts)]
        return columns + [Column(table[:, at - 1] + 1, table[:, at] - table[:, at - 1] - 1) for at in range(1, width)]
    return _columns_of_any(part, blank, begin, width, more=more)


def _columns_of_any(
    part: NDArray[np.uint8], blank: BoolArray, begin: int, width: int, *, more: bool
) -> list[Column]:
    """Columns where blanks may come in runs, and lines may be empty."""
    after_blank = np.concatenate(([True], blank[:-1]))
    starts = np.flatnonzero(~blank & after_blank)
    sizes = np.flatnonzero(blank & ~after_blank) - starts
    upto = np.searchsorted(starts, np.flatnonzero(part == 10))
    counts = np.diff(upto, prepend=0)
    at = (upto - counts)[counts > 0]
    counts = counts[counts > 0]
    if (counts < width).any() or (not more and (counts > width).any()):
        raise Odd
    return [Column(starts[at + field] + begin, sizes[at + field]) for field in range(width)]


def numbers_of(text: Text, column: Column) -> FloatArray:
    """The fields as numbers, each the double nearest to what is written; Odd where one is no number."""
    if not len(column.starts):
        return np.empty(0)
    if (fixed := _fixed_point(text, column)) is not None:
        return fixed
    width = int(column.sizes.max())
    if width > 64:
        raise Odd
    row = np.dtype((np.void, width + 1))
    table = np.ndarray((len(text.buffer) - width,), row, text.buffer, strides=(1,))[column.starts]
    shown = table.view(np.uint8).reshape(-1, width + 1)
    shown = np.where(np.arange(width + 1) < column.sizes[:, None], shown, np.uint8(32))
    shown[:, -1] = 44
    try:
        decoded = _NUMBERS.decode(b"[" + shown.tobytes()[:-1] + b"]")
    except msgspec.DecodeError:  # not as JSON writes numbers: +1, .5, 1., inf, or no number at all
        decoded = [number(field.decode("utf-8", "replace")) for field in text.fields(column)]
        if None in decoded:
            raise Odd from None
    return np.fromiter(decoded, np.float64, len(decoded))  # type: ignore[arg-type]


_NUMBERS = msgspec.json.Decoder(list[float])


def number(text: str) -> float | None:
    """A number as trec files write it; None for anything else, NaN among it.

    >>> number("1e-3"), number("high"), number("nan"), number("1_000")
    (0.001, None, None, None)
    """
    try:
        value = float(text)
    except ValueError:
        return None
    return None if value != value or "_" in text else value


_ZEROS = np.uint64(0x3030303030303030)
_EXACT = 2.0**53


def _fixed_point(text: Text, column: Column) -> FloatArray | None:
    """Numbers that are digits with one and the same number of decimals, eight digits at once; None for others.

    Up to 2^53 the digits are an exact double and so is the power of ten: their quotient is the nearest double.
    """
    starts, sizes = column
    negative = text.bytes[starts] == 45
    sizes = sizes - negative
    if int(sizes.max()) > 16 or int(sizes.min()) < 1:
        return None
    ends = starts + column.sizes
    first = text.field(column, 0)
    decimals = len(first) - 1 - first.rfind(b".") if b"." in first else 0
    low = _digits(text.words[ends - 8], sizes)
    high = _digits(text.words[ends - 16], sizes - 8)
    if decimals > 6:
        return None
    if decimals:
        point = np.uint64(8 * (7 - decimals))
        if ((low >> point) & np.uint64(255) != 46).any():
            return None
        whole = (low & ((np.uint64(1) << point) - np.uint64(1))) << np.uint64(8)
        low = low >> (point + np.uint64(8)) << (point + np.uint64(8)) | whole | high >> np.uint64(56)
        high = high << np.uint64(8) | np.uint64(0x30)
    low ^= _ZEROS
    high ^= _ZEROS
    if (((low | high | (low + _TOP) | (high + _TOP)) & _EIGHTY) != 0).any():
        return None
    value = _eight(high).astype(np.float64) * 1e8 + _eight(low)
    if value.max() > _EXACT:
        return None
    value /= 10.0**decimals
    return np.where(negative, -value, value) if negative.any() else value


_TOP = np.uint64(0x7676767676767676)  # carries into the top bit of a byte that is more than nine
_EIGHTY = np.uint64(0x8080808080808080)


def _digits(words: Words, sizes: IntArray) -> Words:
    """Words of which the last ``sizes`` bytes stand and the others are the digit 0."""
    kept = _LOW_BYTES[8 - np.clip(sizes, 0, 8)]
    return (words & ~kept) | (_ZEROS & kept)


def _eight(words: Words) -> Words:
    """Eight digits, the first in the lowest byte, as their number: pairs, then fours, then all."""
    pairs = words * np.uint64(10) + (words >> np.uint64(8))
    mask = np.uint64(0x000000FF000000FF)
    left = (pairs & mask) * np.uint64(0x000F424000000064)
    right = ((pairs >> np.uint64(16)) & mask) * np.uint64(0x0000271000000001)
    return (left + right) >> np.uint64(32)


def whole_text(path: Path, encoding: str = "utf-8") -> tuple[Text, int]:
    """A whole file as one buffer, its text from byte ``ROOM`` to the place given, the last line ended."""
    read = _reader(path, encoding)
    text, end = Text(BLOCK), ROOM
    while True:
        got = read(memoryview(text.buffer)[end : len(text.buffer) - ROOM])
        if not got:
            return text, _end_line(text, end)
        end += got
        if end == len(text.buffer) - ROOM:
            text = _grown(text, end)


def whole_queries(path: Path, encoding: str = "utf-8", *, width: int = 6, more: bool = False) -> Iterator[Block]:
    """A run file in blocks that end where a query does."""
    read = _reader(path, encoding)
    text, end = Text(BLOCK), ROOM
    done = False
    while not done:
        got = read(memoryview(text.buffer)[end : len(text.buffer) - ROOM])
        end += got
        if done := not got:
            end = last = _end_line(text, end)
        elif end < len(text.buffer) - ROOM:
            continue
        else:
            last = text.buffer.rfind(b"\n", ROOM, end) + 1
        rest = last
        if last > ROOM:
            check_text(text, last)
            columns = columns_of(text, ROOM, last, width, more=more)
            groups = _groups(text, columns[0])
            rows = int(groups[-1 if done else -2])
            if rows:
                yield Block(text, [column.part(slice(0, rows)) for column in columns], groups[: None if done else -1])
            if rows < len(columns[0].starts):
                rest = int(columns[0].starts[rows])
        if done:
            return
        if rest == ROOM:
            text = _grown(text, end)
        else:
            text.buffer[ROOM : ROOM + end - rest] = text.buffer[rest:end]
            end = ROOM + end - rest


class Block(NamedTuple):
    """Lines of some whole queries: their columns, and the rows at which each query starts and the last ends."""

    text: Text
    columns: list[Column]
    starts: IntArray


def _groups(text: Text, queries: Column) -> IntArray:
    """The rows at which another query id begins, and the number of rows."""
    starts, sizes = queries
    if not len(starts):
        return np.zeros(2, dtype=np.int64)
    change = np.zeros(len(starts) - 1, dtype=np.bool_)
    for done in range(0, int(sizes.max()), 8):
        at = np.minimum(starts + done, len(text.words) - 1) if done else starts
        words = text.words[at] & _LOW_BYTES[np.clip(sizes - done, 0, 8)]
        change |= words[1:] != words[:-1]
    return np.concatenate(([0], np.flatnonzero(change) + 1, [len(starts)])).astype(np.int64)


def check_text(text: Text, end: int) -> None:
    """Odd unless the buffer up to a line's end is UTF-8."""
    if (text.bytes[ROOM:end] > 127).any():
        try:
            text.buffer[ROOM:end].decode("utf-8")
        except UnicodeDecodeError:
            raise Odd from None


def _end_line(text: Text, end: int) -> int:
    if end > ROOM and text.buffer[end - 1] != 10:
        text.buffer[end] = 10
        return end + 1
    return end


def _grown(text: Text, end: int) -> Text:
    larger = Text(2 * (len(text.buffer) - 2 * ROOM))
    larger.buffer[:end] = text.buffer[:end]
    return larger


Reader = Callable[[memoryview], int]


def _reader(path: Path, encoding: str) -> Reader:
    """A function that fills a buffer with the next UTF-8 bytes of a file and says how many, 0 at its end."""
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
        return _from_chunks(line.data for line in read_lines(path, encoding))
    file = open_bytes(path)
    with blamed(path):
        head = file.read(len(_ZSTD))
        if head == _ZSTD:
            file.close()
            return _from_chunks(_zstd_chunks(path))
        file.seek(len(BOM) if head.startswith(BOM) else 0)

    def read(into: memoryview) -> int:
        with blamed(path):
            got = int(file.readinto(into))  # type: ignore[attr-defined]
        if not got:
            file.close()
        return got

    return read


def _from_chunks(chunks: Iterator[bytes]) -> Reader:
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
