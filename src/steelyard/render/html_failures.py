"""The failure analysis of a page: a matrix, and descriptions of the groups with filter expressions that select them."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..reports.failure_analysis import ANSWER, GROUNDED, RETRIEVAL, FailureAnalysis, FailureGroup


class MatrixCell(NamedTuple):
    """One cell of the failure matrix: ``strength`` is its colour from 1 to 4, ``select`` its filter expression."""

    n: int
    strength: int
    works: bool
    select: str
    words: str


class FailureMatrix(NamedTuple):
    """Failure groups as a table: one row per state of retrieval, one column per state of answer and grounding."""

    columns: list[tuple[str, str]]
    rows: list[tuple[str, list[MatrixCell | None]]]


def failure_matrix(failures: FailureAnalysis) -> FailureMatrix | None:
    """Return the groups as a matrix without empty rows and columns; None if fewer than two dimensions are known."""
    if len(failures.by) < 2:
        return None
    at = {(cell.retrieval, cell.answer, cell.grounded): cell for cell in failures.cells}
    columns = [(said, rests) for said in ANSWER for rests in GROUNDED if any(key[1:] == (said, rests) for key in at)]
    lines = [found for found in RETRIEVAL if any(key[0] == found for key in at)]
    most = max(cell.n for cell in failures.cells)
    return FailureMatrix(
        columns,
        [(found, [_matrix_cell(at.get((found, *column)), most, failures) for column in columns]) for found in lines],
    )


def _matrix_cell(cell: FailureGroup | None, most: int, failures: FailureAnalysis) -> MatrixCell | None:
    if cell is None:
        return None
    return MatrixCell(
        cell.n, math.ceil(4 * cell.n / most), cell.works, filter_expression(cell, failures), describe_group(cell)
    )


def filter_expression(cell: FailureGroup, failures: FailureAnalysis) -> str:
    """Return the filter expression that selects the samples of a group."""
    words = {"retrieval": cell.retrieval, "answer": cell.answer, "grounded": cell.grounded}
    return " and ".join(f'{name} == "{word}"' for name, word in words.items() if name in failures.by)


def describe_group(cell: FailureGroup) -> str:
    """Describe a failure group; unknown dimensions are left out.

    >>> describe_group(FailureGroup("some", "wrong", "unknown", [0], 1.0, 0.2, 1.0, ""))
    'some relevant documents found, wrong answer'
    """
    found = {"all": "all relevant documents found", "some": "some relevant documents found",
             "none": "no relevant document found"}  # fmt: skip
    said = {"right": "right answer", "wrong": "wrong answer", "declined": "declined to answer"}
    rests = {"grounded": "grounded", "ungrounded": "not grounded"}
    parts = [found.get(cell.retrieval), said.get(cell.answer), rests.get(cell.grounded)]
    return ", ".join(filter(None, parts)) or "unknown to the metrics"


def described_groups(failures: FailureAnalysis) -> list[tuple[FailureGroup, str, str]]:
    """List the known groups, each with its description and filter expression."""
    return [(cell, describe_group(cell), filter_expression(cell, failures)) for cell in failures.known]


def quoted(text: str) -> str:
    """Quote a text for a filter expression.

    >>> print(quoted('a "b"'))
    "a \\"b\\""
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def quoted_name(name: str) -> str:
    """Quote a name for a filter expression, if it is not a plain identifier."""
    plain = name.replace("_", "a").isalnum() and name.isascii() and not name[0].isdigit()
    return name if plain else f"`{name}`"
