"""Read runs and qrels from DataFrames (polars, pandas, pyarrow): find their columns and yield their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeGuard

from ..core.errors import InputError
from .qrels import finite_array, identifier
from .trec.line_parser import TrecLine

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    Table: TypeAlias = "pl.DataFrame | pd.DataFrame"

COLUMNS: dict[str, tuple[str, ...]] = {
    "query": ("query_id", "query-id", "queryid", "qid", "query", "q_id", "topic", "topic_id"),
    "document": ("doc_id", "doc-id", "docid", "docno", "document_id", "corpus-id", "corpus_id", "doc", "document"),
    "score": ("score", "sim", "similarity"),
    "grade": ("relevance", "rel", "grade", "label", "rating", "score"),
}


def is_table(thing: object) -> TypeGuard[Table]:
    """Whether an object is a DataFrame or an Arrow table; imports no library."""
    package = type(thing).__module__.partition(".")[0]
    return package in ("polars", "pandas", "pyarrow") and hasattr(thing, "columns")


def table_rows(table: Table, value: Literal["score", "grade"]) -> Iterator[TrecLine]:
    """The rows of a run (``value="score"``) or of qrels (``"grade"``), numbered from 1."""
    names = [str(name) for name in (getattr(table, "column_names", None) or table.columns)]
    queries, docs, values = (_cells(table, _find(names, what)) for what in ("query", "document", value))
    if not queries:
        raise InputError("the table is empty")
    ids: dict[object, str] = {}
    for line, (query, doc, cell) in enumerate(zip(queries, docs, values, strict=True), start=1):
        if type(cell) is not float or not isfinite(cell):
            if (checked := finite_array([cell], 1)) is None or isinstance(cell, str):
                raise InputError(f"expected a finite number, found {cell!r}", line=line, field=value)
            cell = float(checked[0])  # noqa: PLW2901 - the same number as a float
        if query not in ids:
            ids[query] = identifier(query, "query")
        yield TrecLine(line, ids[query], doc if type(doc) is str and doc else identifier(doc, "document"), cell)


def _find(names: Sequence[str], what: str) -> str:
    folded = {name.casefold(): name for name in names}
    for known in COLUMNS[what]:
        if known in folded:
            return folded[known]
    raise InputError(f"no column for the {what}: expected one of {', '.join(COLUMNS[what])}; found {', '.join(names)}")


def _cells(table: Table, name: str) -> list[object]:
    column = table[name]
    cells: list[object] = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    return cells
