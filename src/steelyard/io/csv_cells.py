"""Read and write the cells of CSV and TSV files as text, without guessing types.

A spreadsheet runs a cell that begins with ``=``, ``+``, ``-``, ``@`` or white space that ends a cell. The writer puts
an apostrophe before such texts, before an empty text (an empty cell is an absent value) and before a text that looks
like an escaped one. The reader removes one apostrophe, so every text reads back identical and ``'tis`` is unchanged.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from ..core.errors import InputError
from .text_files import read_lines

_ESCAPED = re.compile(r"'*([=+\-@\t\r\n＝＋－＠]|\Z)")
_LISTLIKE = re.compile(r"'*([=+\-@\t\r\n＝＋－＠\[]|\Z)")


def escape(text: str, *, maybe_list: bool = False) -> str:
    """The cell for a text. In a column that may contain lists, a text that looks like a list is escaped too.

    >>> escape("=1+1"), escape("'tis"), escape("")
    ("'=1+1", "'tis", "'")
    """
    return f"'{text}" if (_LISTLIKE if maybe_list else _ESCAPED).match(text) else text


def unescape(cell: str, *, maybe_list: bool = False) -> str:
    """The text of a cell that ``escape`` wrote.

    >>> unescape("'=1+1"), unescape("'tis"), unescape("'")
    ('=1+1', "'tis", '')
    """
    return cell[1:] if cell[:1] == "'" and (_LISTLIKE if maybe_list else _ESCAPED).match(cell) else cell


def read_cells(
    path: Path, encoding: str = "utf-8", *, delimiter: str | None = None
) -> Iterator[tuple[int, Mapping[str, str | None] | InputError]]:
    """The line number and the cells by column of each row; an empty cell is None, an unreadable row is an InputError.

    Without ``delimiter``, the header decides: a comma, else a semicolon, else a tab. Blank lines are skipped.
    """
    problems: list[InputError] = []

    def text() -> Iterator[str]:
        for line in read_lines(path, encoding):
            if encoding_error := line.encoding_error(path):
                problems.append(encoding_error)
            yield line.data.decode("utf-8", "replace")

    lines = text()
    head = next(lines, "")
    if delimiter is None:
        delimiter = next((mark for mark in ",;\t" if mark in head), ",")
    reader = csv.reader(_chain(head, lines), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    while True:
        start = reader.line_num + 1
        try:
            cells = _next(reader)
        except csv.Error as error:
            problems.append(InputError(f"not CSV: {error}", path=path, line=start))
            cells = []
        if cells is None:
            return
        if problems:
            if header is None:
                raise problems[0]
            yield start, problems[0]
            problems.clear()
        elif not cells:
            continue
        elif header is None:
            header = _column_names(cells, path)
        elif len(cells) != len(header):
            message = f"found {_count(len(cells))}, expected {len(header)} as in the header"
            yield start, InputError(message, path=path, line=start)
        else:
            yield start, {name: cell or None for name, cell in zip(header, cells, strict=True)}


def _next(reader: Iterator[list[str]]) -> list[str] | None:
    """The next record. The limit on cell length applies to the whole process, so it is restored at once."""
    limit = csv.field_size_limit(sys.maxsize)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(limit)


def _chain(head: str, lines: Iterator[str]) -> Iterator[str]:
    if head:
        yield head
    yield from lines


def _column_names(header: list[str], path: Path) -> list[str]:
    names = [name.strip() for name in header]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"the column {repeated!r} occurs twice in the header", path=path, line=1)
    return names


def _count(cells: int) -> str:
    return "1 cell" if cells == 1 else f"{cells} cells"


def write_cells(file: IO[bytes], header: Sequence[str], rows: Iterable[Sequence[str | None]], delimiter: str) -> None:
    """Write rows of escaped cells. Lines end with CR LF, as in RFC 4180, so that the writer quotes both characters."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(rows)
    text.flush()
    text.detach()
