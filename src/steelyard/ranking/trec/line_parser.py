"""Parse TREC and BEIR lines one by one: slower than ``block_parser``, with exact error messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ...core.errors import InputError
from ...io.text_files import Line, read_lines
from .number_parser import is_infinite, parse_number

RUN_LINE = "query Q0 document rank score run"
QRELS_LINE = "query 0 document grade"
TSV_LINE = "query-id, corpus-id and score, separated by tabs"
_BLANKS = bytes(max(byte, 32) for byte in range(256))


class TrecLine(NamedTuple):
    """A line of a run or of qrels, with its line number."""

    line: int
    query: str
    doc: str
    value: float


class Layout(NamedTuple):
    """The format of the lines of a qrels file."""

    tabs: bool
    header: bool

    @classmethod
    def of(cls, first: bytes) -> Layout:
        """Detect the format from the first nonblank line: four columns, or three separated by tabs, maybe a header.

        >>> Layout.of(b"query-id\\tcorpus-id\\tscore"), Layout.of(b"q1 0 d1 1")
        (Layout(tabs=True, header=True), Layout(tabs=False, header=False))
        """
        cells, words = first.strip(b"\r\n").split(b"\t"), first.translate(_BLANKS).split()
        if len(cells) == 3:
            header = _parse_field(cells[2]) is None and not is_infinite(cells[2].decode("utf-8", "replace"))
            if not header or len(words) != 4 or _parse_field(words[3]) is None:
                return cls(tabs=True, header=header)
        return cls(tabs=False, header=False)


def run_rows(path: Path, encoding: str, *, extra_columns: bool) -> Iterator[TrecLine]:
    """The lines of a run file; ``extra_columns`` accepts columns after the sixth."""
    for line in _nonblank_lines(path, encoding):
        fields = _words(line, path)
        if len(fields) < 6 or (len(fields) > 6 and not extra_columns):
            raise _wrong_column_count(line, path, len(fields), f"6 ({RUN_LINE})")
        yield TrecLine(line.number, fields[0], fields[2], _value(fields[4], "score", path, line))


def qrels_rows(path: Path, encoding: str) -> Iterator[TrecLine]:
    """The lines of a qrels file in the TREC or BEIR format."""
    layout = None
    for line in _nonblank_lines(path, encoding):
        if layout is None:
            layout = Layout.of(line.data)
            if layout.header:
                continue
        if layout.tabs:
            fields = [field.strip() for field in _text(line, path).split("\t")]
            if len(fields) != 3:
                raise _wrong_column_count(line, path, len(fields), f"3 ({TSV_LINE})")
            if not (fields[0] and fields[1]):
                raise InputError("an id is empty", path=path, line=line.number)
            query, doc, grade = fields
        else:
            fields = _words(line, path)
            if len(fields) != 4:
                raise _wrong_column_count(line, path, len(fields), f"4 ({QRELS_LINE}), or 3 ({TSV_LINE})")
            query, _, doc, grade = fields
        yield TrecLine(line.number, query, doc, _value(grade, "grade", path, line))


def table_of(
    rows: Iterable[TrecLine], repeated_error: Callable[[TrecLine, int], InputError] | None
) -> tuple[dict[str, dict[str, float]], int]:
    """``{query: {document: value}}``, and the number of repeated documents of which the best value was kept.

    ``repeated_error`` makes the error for a repeated document of a query, from its row and the line of the first one;
    without it, the best value is kept.
    """
    table: dict[str, dict[str, float]] = {}
    lines: dict[tuple[str, str], int] = {}
    repeated = 0
    for row in rows:
        inner = table.setdefault(row.query, {})
        if row.doc in inner:
            if repeated_error is not None:
                raise repeated_error(row, lines[row.query, row.doc])
            repeated += 1
            if row.value > inner[row.doc]:
                del inner[row.doc]  # so that the best value also determines the position
                inner[row.doc] = row.value
            continue
        inner[row.doc] = row.value
        if repeated_error is not None:
            lines[row.query, row.doc] = row.line
    return table, repeated


def _nonblank_lines(path: Path, encoding: str) -> Iterator[Line]:
    """The lines that are not blank; raise InputError if there is none."""
    some = False
    for line in read_lines(path, encoding):
        if line.data.strip():
            some = True
            yield line
    if not some:
        raise InputError("the file is empty", path=path)


def _text(line: Line, path: Path) -> str:
    if encoding_error := line.encoding_error(path):
        raise encoding_error
    return line.data.decode("utf-8").rstrip("\r\n")


def _words(line: Line, path: Path) -> list[str]:
    if encoding_error := line.encoding_error(path):
        raise encoding_error
    return [word.decode("utf-8") for word in line.data.translate(_BLANKS).split()]


def _parse_field(field: bytes) -> float | None:
    return parse_number(field.decode("utf-8", "replace").strip())


def _value(field: str, what: str, path: Path, line: Line) -> float:
    if (value := parse_number(field)) is None:
        wanted = "a finite number" if is_infinite(field) else "a number"
        raise InputError(f"expected {wanted}, found {field!r}", path=path, line=line.number, field=what)
    return value


def _wrong_column_count(line: Line, path: Path, found: int, expected: str) -> InputError:
    return InputError(f"{found} column{'s' * (found != 1)}, expected {expected}", path=path, line=line.number)
