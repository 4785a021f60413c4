"""Read runs and qrels from files, mappings and DataFrames, and write them as TREC files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ...core.errors import InputError, WrongType
from ...core.records import Qrels, Run
from ...io.ir_datasets import Collection, collection_name
from ...io.text_files import writing
from ..dataframes import is_table, table_rows
from ..join import ScannedRun, assemble, join
from ..policy import Compat, Duplicates, Grade, Missing, Policy, Ties, Undefined
from ..qrels import QrelsTable
from ..rankings import Rankings
from .block_parser import (
    ROOM,
    FieldColumn,
    Ids,
    NeedsSlowParser,
    Reader,
    TextBuffer,
    check_text,
    columns_of,
    groups_of,
    pair_hashes,
    reader_of,
    reader_of_chunks,
    whole_queries,
    whole_text,
)
from .line_parser import Layout, TrecLine, qrels_rows, run_rows, table_of
from .number_parser import parse_column
from .run_scanner import Ungrouped, scan_pieces, scan_run, split_run

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    Table: TypeAlias = "pl.DataFrame | pd.DataFrame"

File: TypeAlias = "str | PathLike[str]"

LARGE, MOST_THREADS = 256 << 20, 8
"""The file size in bytes from which several threads read a run file, and the largest number of threads."""


def load_rankings(
    run: Run | Table | File,
    qrels: Qrels | Table | File,
    *,
    encoding: str = "utf-8",
    compat: Compat = "steelyard",
    missing: Missing | None = None,
    undefined: Undefined | None = None,
    duplicates: Duplicates = "error",
    ties: Ties = "docid",
    drop_self: bool = False,
    relevance_level: Grade | None = None,
    judged_only: bool = False,
    depth: int | None = None,
    threads: int | None = None,
) -> Rankings:
    """Join a run with qrels, each a path, a mapping or a DataFrame, by the policies of ``Policy``.

    A file is read as a stream, in memory that does not grow with it unless the lines of a query are not contiguous.
    Several ``threads`` read a large plain file at once (default: one per processor), with the same result.
    Raises InputError with file and line for invalid input, and if run and qrels have no query id in common.

    >>> load_rankings({"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 1}}).ranks.tolist()
    [2]
    """
    policy = Policy(
        compat=compat,
        missing=missing,
        undefined=undefined,
        duplicates=duplicates,
        ties=ties,
        drop_self=drop_self,
        relevance_level=relevance_level,
        judged_only=judged_only,
        depth=depth,
    )
    qrels_table = load_qrels(qrels, encoding)
    if isinstance(run, Mapping):
        return join(run, qrels_table, policy)
    if is_table(run):
        table, repeated = table_of(
            table_rows(run, "score"), _RepeatedError("the run") if duplicates == "error" else None
        )
        return _with_duplicates(join(table, qrels_table, policy), repeated)
    if not isinstance(run, str | PathLike):
        raise WrongType(f"a run is a path, a mapping {{query: {{document: score}}}} or a DataFrame, not {run!r}")
    path = Path(run)
    rows = qrels_table.with_self() if drop_self else qrels_table
    try:
        try:
            found = _scan_file(path, encoding, rows, policy, threads)
        except Ungrouped:
            found = scan_run(reader_of_chunks(_group_by_query(reader_of(path, encoding))), rows, policy)
    except NeedsSlowParser:
        table, repeated = _slow_run(path, encoding, duplicates, extra_columns=policy.trec)
        return _with_duplicates(join(table, qrels_table, policy), repeated)
    return assemble(rows, found, policy)


def _scan_file(path: Path, encoding: str, rows: QrelsTable, policy: Policy, threads: int | None) -> ScannedRun:
    """The ranks of judged documents in a run file, which several threads read if it is large."""
    if threads is None:
        threads = min(MOST_THREADS, os.cpu_count() or 1) if path.is_file() and path.stat().st_size >= LARGE else 1
    if threads > 1 and encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        pieces = split_run(path, threads)
        if len(pieces) > 1:
            return scan_pieces([piece.reader() for piece in pieces], rows, policy, threads=threads)
    return scan_run(reader_of(path, encoding), rows, policy)


def _with_duplicates(rankings: Rankings, repeated: int) -> Rankings:
    return replace(rankings, counts=replace(rankings.counts, duplicates=repeated))


def load_qrels(qrels: Qrels | Table | File, encoding: str) -> QrelsTable:
    """Read qrels from a path, a mapping or a DataFrame."""
    if isinstance(qrels, Mapping):
        return QrelsTable.of_mapping(qrels)
    if is_table(qrels):
        return QrelsTable.of_mapping(table_of(table_rows(qrels, "grade"), _RepeatedError("the qrels"))[0])
    if not isinstance(qrels, str | PathLike):
        raise WrongType(f"qrels are a path, a mapping {{query: {{document: grade}}}} or a DataFrame, not {qrels!r}")
    if (collection := collection_name(qrels)) is not None:
        return QrelsTable.of_mapping(Collection(collection).qrels)
    path = Path(qrels)
    if path.is_dir():
        path = find_qrels(path)
    try:
        return _fast_qrels(path, encoding)
    except NeedsSlowParser:
        return QrelsTable.of_mapping(read_qrels(path, encoding=encoding))


def _fast_qrels(path: Path, encoding: str) -> QrelsTable:
    text, end = whole_text(reader_of(path, encoding))
    if (first := re.compile(rb"\S.*").search(text.buffer, ROOM, end)) is None:
        raise NeedsSlowParser
    layout = Layout.of(first[0])
    check_text(text, end)
    fields, width = ((0, 1, 2), 3) if layout.tabs else ((0, 2, 3), 4)
    columns = columns_of(text, end, fields, width, tabs=layout.tabs)
    queries, docs, grades = (column.part(slice(int(layout.header), None)) for column in columns)
    if not len(queries.starts):
        raise NeedsSlowParser
    if layout.tabs and any(_has_blank_ends(text, column) for column in (queries, docs)):
        raise NeedsSlowParser
    keys = np.sort(pair_hashes(text.hashes(queries), text.hashes(docs)))
    if (keys[1:] == keys[:-1]).any():  # a document is very likely judged twice
        raise NeedsSlowParser
    groups = groups_of(text, queries)
    names = list(Ids(text, queries.part(groups[:-1])))
    known: list[str] = []
    code_of = np.zeros(len(names), dtype=np.int64)
    for at in sorted(range(len(names)), key=names.__getitem__):
        if not known or names[at] != known[-1]:
            known.append(names[at])
        code_of[at] = len(known) - 1
    codes = np.repeat(code_of, np.diff(groups))
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(known) + 1))
    return QrelsTable(known, starts, Ids(text, docs.part(order)), parse_column(text, grades)[order])


def _has_blank_ends(text: TextBuffer, column: FieldColumn) -> bool:
    ends = (column.starts, column.starts + column.sizes - 1)
    return any(bool((text.bytes[places] <= 32).any()) for places in ends)


def _group_by_query(read: Reader) -> Iterator[bytes]:
    """The lines of a run, grouped by query in order of appearance."""
    text, end = whole_text(read)
    groups: dict[bytes, list[bytes]] = {}
    for line in bytes(text.buffer[ROOM:end]).split(b"\n"):
        if words := line.split(None, 1):
            groups.setdefault(words[0], []).append(line)
    for lines in groups.values():
        yield b"\n".join(lines) + b"\n"


def read_run(
    path: File, *, encoding: str = "utf-8", duplicates: Duplicates = "error", compat: Compat = "steelyard"
) -> dict[str, dict[str, float]]:
    """Read a TREC run, with lines ``query Q0 document rank score run``, as ``{query: {document: score}}``.

    Blanks of any kind separate fields, ``#`` and quotes are text, and ids stay text. gzip and zstd files are
    decompressed. Raises InputError with the line for an invalid line and for a repeated document of a query
    (``duplicates="best"`` keeps its best score); ``compat="trec_eval"`` accepts further columns.
    """
    extra_columns = compat == "trec_eval"
    try:
        return _fast_run(reader_of(Path(path), encoding), extra_columns=extra_columns)
    except NeedsSlowParser:
        return _slow_run(Path(path), encoding, duplicates, extra_columns=extra_columns)[0]


def _fast_run(read: Reader, *, extra_columns: bool) -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    size = 0
    for block in whole_queries(read, extra_columns=extra_columns):
        docs = [doc.decode("utf-8") for doc in block.text.fields(block.docs)]
        scores = parse_column(block.text, block.scores).tolist()
        bounds = block.starts.tolist()
        names = block.text.fields(block.queries.part(block.starts[:-1]))
        for name, start, end in zip(names, bounds, bounds[1:], strict=False):
            table.setdefault(name.decode("utf-8"), {}).update(zip(docs[start:end], scores[start:end], strict=True))
        size += len(docs)
    if not size or sum(map(len, table.values())) < size:  # an empty file, or a repeated document
        raise NeedsSlowParser
    return table


QRELS_PLACES = ("qrels.tsv", "qrels/test.tsv", "qrels/dev.tsv")


class NotFound(InputError, FileNotFoundError):
    """A folder lacks a file; the message lists the names that were tried."""


def find_qrels(directory: Path, qrels: File | None = None) -> Path:
    """Find the qrels file of a BEIR folder: ``qrels`` as a path or a split, or the first of ``QRELS_PLACES``.

    Raises NotFound, a FileNotFoundError.
    """
    wanted = QRELS_PLACES if qrels is None else (fspath(qrels), f"qrels/{fspath(qrels)}.tsv")
    for place in wanted:
        for suffix in ("", ".gz", ".zst"):
            if (path := directory / (place + suffix)).is_file():
                return path
    raise NotFound(f"no qrels in {directory}: looked for {', '.join(wanted)} (also .gz and .zst)")


def read_qrels(path: File, *, encoding: str = "utf-8") -> dict[str, dict[str, float]]:
    """Read qrels as ``{query: {document: grade}}``: TREC's ``query 0 document grade``, or BEIR's
    ``query-id, corpus-id, score`` separated by tabs, with or without a header.

    Raises InputError with the line for any other line, and for a document judged twice for a query.
    """
    path = Path(path)
    table, _ = table_of(qrels_rows(path, encoding), _RepeatedError(path))
    if not table:
        raise InputError("no relevance judgments after the header", path=path)
    return table


def _slow_run(
    path: Path, encoding: str, duplicates: Duplicates, *, extra_columns: bool
) -> tuple[dict[str, dict[str, float]], int]:
    repeated_error = None if duplicates == "best" else _RepeatedError(path, " (--duplicates best keeps the best score)")
    return table_of(run_rows(path, encoding, extra_columns=extra_columns), repeated_error)


class _RepeatedError:
    """Makes the error for a repeated document."""

    def __init__(self, where: Path | str, hint: str = "") -> None:
        self.where, self.hint = where, hint

    def __call__(self, row: TrecLine, first: int) -> InputError:
        message = f"document {row.doc!r} is in query {row.query!r} already, from line {first}{self.hint}"
        return InputError(message, path=self.where, line=row.line)


def write_run(path: File, run: Run, *, tag: str = "steelyard") -> None:
    """Write a TREC run, best first, scores with all their digits; a name ending in ``.gz`` is compressed.

    Raises InputError for an id that contains a blank, which a TREC file cannot represent.
    """
    _write(Path(path), _run_lines(run, tag))


def _run_lines(run: Run, tag: str) -> Iterator[str]:
    for query, ranking in run.items():
        ordered = sorted(ranking.items(), key=lambda item: item[0], reverse=True)
        ordered.sort(key=lambda item: item[1], reverse=True)
        for rank, (doc, score) in enumerate(ordered, start=1):
            yield f"{_checked_id(query)} Q0 {_checked_id(doc)} {rank} {float(score)!r} {_checked_id(tag)}\n"


def write_qrels(path: File, qrels: Qrels) -> None:
    """Write TREC qrels, ``query 0 document grade``; a name ending in ``.gz`` is compressed.

    Raises InputError for an id that contains a blank; ``write_beir`` can write such ids.
    """
    lines = (
        f"{_checked_id(query)} 0 {_checked_id(doc)} {format_grade(grade)}\n"
        for query, judged in qrels.items()
        for doc, grade in judged.items()
    )
    _write(Path(path), lines)


def format_grade(grade: Grade) -> str:
    """Format a grade for a file: whole numbers without a decimal point.

    >>> format_grade(2.0), format_grade(0.5)
    ('2', '0.5')
    """
    return str(int(grade)) if float(grade).is_integer() else repr(float(grade))


def _checked_id(field: str) -> str:
    if not field or field[0] == "\ufeff" or any(letter <= " " for letter in field):
        raise InputError(f"{field!r} cannot be written to a TREC file: an id has at least one letter and no blanks")
    return field


def _write(path: Path, lines: Iterable[str]) -> None:
    with writing(path) as file:
        for line in lines:
            file.write(line.encode("utf-8"))
