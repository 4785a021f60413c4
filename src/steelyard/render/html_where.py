"""Where it fails, as the page shows it: a matrix, and the cells in words with the expressions that select them."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..reports.failure_analysis import ANSWER, GROUNDED, RETRIEVAL, FailureAnalysis, FailureGroup


class Square(NamedTuple):
    """One place of the matrix of failures."""

    n: int
    strength: int
    works: bool
    select: str
    words: str


class Matrix(NamedTuple):
    """Failures as a table: a row per state of retrieval, a column per answer and grounds."""

    columns: list[tuple[str, str]]
    rows: list[tuple[str, list[Square | None]]]


def matrix(failures: FailureAnalysis) -> Matrix | None:
    """The cells as a matrix without empty lines; None where fewer than two questions are answered."""
    if len(failures.by) < 2:
        return None
    at = {(cell.retrieval, cell.answer, cell.grounded): cell for cell in failures.cells}
    columns = [(said, rests) for said in ANSWER for rests in GROUNDED if any(key[1:] == (said, rests) for key in at)]
    lines = [found for found in RETRIEVAL if any(key[0] == found for key in at)]
    most = max(cell.n for cell in failures.cells)
    return Matrix(
        columns,
        [(found, [_square(at.get((found, *column)), most, failures) for column in columns]) for found in lines],
    )


def _square(cell: FailureGroup | None, most: int, failures: FailureAnalysis) -> Square | None:
    if cell is None:
        return None
    return Square(cell.n, math.ceil(4 * cell.n / most), cell.works, selection(cell, failures), in_words(cell))


def selection(cell: FailureGroup, failures: FailureAnalysis) -> str:
    """The filter expression that selects the samples of a cell."""
    words = {"retrieval": cell.retrieval, "answer": cell.answer, "grounded": cell.grounded}
    return " and ".join(f'{name} == "{word}"' for name, word in words.items() if name in failures.by)


def in_words(cell: FailureGroup) -> str:
    """A cell in words, without what is not known.

    >>> in_words(FailureGroup("some", "wrong", "unknown", [0], 1.0, 0.2, 1.0, ""))
    'some relevant documents found, wrong answer'
    """
    found = {"all": "all relevant documents found", "some": "some relevant documents found",
             "none": "no relevant document found"}  # fmt: skip
    said = {"right": "right answer", "wrong": "wrong answer", "declined": "declined to answer"}
    rests = {"grounded": "grounded", "ungrounded": "not grounded"}
    parts = [found.get(cell.retrieval), said.get(cell.answer), rests.get(cell.grounded)]
    return ", ".join(filter(None, parts)) or "unknown to the metrics"


def known_cells(failures: FailureAnalysis) -> list[tuple[FailureGroup, str, str]]:
    """The cells of which something is known, in words and with the expression that selects them."""
    return [(cell, in_words(cell), selection(cell, failures)) for cell in failures.known]


def quoted(text: str) -> str:
    """A text as the filter expressions write it.

    >>> print(quoted('a "b"'))
    "a \\"b\\""
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def quoted_name(name: str) -> str:
    """A name as the filter expressions write it, whatever it holds."""
    plain = name.replace("_", "a").isalnum() and name.isascii() and not name[0].isdigit()
    return name if plain else f"`{name}`"
