"""Read rows from files and tables, each with its location, before their columns are interpreted.

Rules of this file: an unreadable row is yielded as an InputError, so that a reader can stop at the first one and a
check can list all of them. Files are read as streams (a JSON file is read whole), and polars is imported only for
Parquet and zstd.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeAlias, cast, runtime_checkable

import msgspec

from ..core.errors import InputError, WrongType
from .csv_cells import read_cells
from .text_files import peek, read_lines, read_utf8, suffix_of

Kind: TypeAlias = Literal["json", "object", "cells", "table"]
"""The origin of a row's values: JSON, an object in memory, text cells of CSV, or cells of a typed table."""

CONTAINERS = ("queries", "samples", "data", "rows", "records", "test_cases", "goldens", "tests")
"""Keys of a JSON object that may contain its rows."""

FORMATS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
"""The formats of files with rows, by suffix."""

_NAN = re.compile(rb'"(?:[^"\\]|\\.)*"|\bNaN\b')
_BYTE = re.compile(r" \(byte (\d+)\)$")


class RowPlace(NamedTuple):
    """The location of a row: its file and line, and its number from 1 (a table has only the number)."""

    path: Path | None = None
    line: int | None = None
    row: int = 0

    def error(self, message: str, field: str | None = None) -> InputError:
        """An error that names this location."""
        text = message if self.line is not None else f"row {self.row}: {message}"
        return InputError(text, path=self.path, line=self.line, field=field)

    def __str__(self) -> str:
        here = f"row {self.row}" if self.line is None else f"line {self.line}"
        return here if self.path is None else f"{self.path} {here}"


class Row(NamedTuple):
    """One row: its location, its values (an InputError if it cannot be read), and the kind of its values."""

    place: RowPlace
    values: object
    kind: Kind = "json"


class InvalidValue(ValueError):
    """A value that is not the expected one; callers that know its location convert this to an InputError."""

    def __init__(self, message: str, byte: int | None = None) -> None:
        super().__init__(message)
        self.byte = byte


# Files


def rows_of_file(path: Path, encoding: str = "utf-8", *, form: str | None = None) -> Iterator[Row]:
    """The rows of a JSONL, JSON, CSV, TSV or Parquet file; text may be gzip or zstd.

    ``form`` or else the suffix determines the format; the content determines it if the suffix is unknown or if a
    ``.json`` file has one JSON object per line.
    """
    form = form or format_of(path)
    if form == "parquet":
        return _parquet_rows(path)
    if form in ("csv", "tsv"):
        return _cell_rows(path, encoding, "\t" if form == "tsv" else None)
    return _json_rows(path, encoding) if form == "json" else _jsonl_rows(path, encoding)


def format_of(path: Path) -> str:
    """``jsonl``, ``json``, ``csv``, ``tsv`` or ``parquet``, by suffix and content; anything else is an error."""
    form, head = FORMATS.get(suffix_of(path)), peek(path)
    if head.startswith(b"PAR1") or form == "parquet":
        if not head.startswith(b"PAR1"):
            raise InputError("not a Parquet file", path=path)
        return "parquet"
    if form in ("json", "csv", "tsv"):
        return form
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if first == b"[":
        return "json"
    if form == "jsonl" or first == b"{":
        return "jsonl"
    raise InputError("unknown format (expected .jsonl, .json, .csv, .tsv or .parquet, also with .gz)", path=path)


def _jsonl_rows(path: Path, encoding: str) -> Iterator[Row]:
    row = 0
    for line in read_lines(path, encoding):
        if line.data.isspace():
            continue
        row += 1
        place = RowPlace(path, line.number, row)
        try:
            yield Row(place, decode_json(line.data))
        except InvalidValue as error:
            column = "" if error.byte is None else f" at byte {error.byte + 1}"
            message = f"not JSON: {error}{column} (expected one JSON object per line)"
            yield Row(place, line.encoding_error(path) or place.error(message))


def _json_rows(path: Path, encoding: str) -> Iterator[Row]:
    data = read_utf8(path, encoding)
    if not data.strip():
        return iter(())
    try:
        return _rows_of_json(path, data)
    except RecursionError:
        raise InputError("not JSON: nested too deeply", path=path) from None
    except msgspec.MsgspecError as error:
        bad = _bad_json(error)
    if bad.byte is not None and bad.args[0] == "trailing characters" and data.lstrip()[:1] == b"{":
        return _jsonl_rows(path, encoding)
    if b"NaN" in data:
        try:
            return _rows_of_json(path, _nan_is_null(data))
        except msgspec.MsgspecError as error:
            bad = _bad_json(error)
    end = len(data.rstrip()) if bad.byte is None else bad.byte
    raise InputError(f"not JSON: {bad}", path=path, line=data.count(b"\n", 0, end) + 1)


def _rows_of_json(path: Path, data: bytes) -> Iterator[Row]:
    """The rows of a JSON text: a list, a list under a known key, columns of equal length, or one row."""
    if data.lstrip()[:1] != b"{":
        return _rows_of_list(path, data, data)
    top = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    keys = {key.casefold(): key for key in top}
    for container in CONTAINERS:
        inner = bytes(top[keys[container]]) if container in keys else b""
        if container == "queries" and inner == b"null":
            return iter(())
        if inner[:1] == b"[":
            rows = _rows_of_list(path, data, inner)
            return map(_query_row, rows) if container == "queries" else rows
    value = msgspec.json.decode(data, type=dict[str, object])
    if value and all(isinstance(column, list) for column in value.values()):
        return rows_of_columns(value, path=path)
    if value and all(isinstance(column, dict) for column in value.values()):
        raise InputError("expected a list of objects, found an object of objects", path=path, line=1)
    return iter([Row(RowPlace(path, 1, 1), value)])


def _rows_of_list(path: Path, data: bytes, inner: bytes) -> Iterator[Row]:
    """The rows of the JSON list ``inner``, a part of ``data``, each with its line number."""
    items = msgspec.json.decode(inner, type=list[msgspec.Raw])
    return _rows_with_lines(path, data, data.index(inner), items)


def _rows_with_lines(path: Path, data: bytes, at: int, items: Iterable[msgspec.Raw]) -> Iterator[Row]:
    line = data.count(b"\n", 0, at) + 1
    for row, raw in enumerate(items, 1):
        text = bytes(raw)
        begin = data.index(text, at)
        line += data.count(b"\n", at, begin)
        yield Row(RowPlace(path, line, row), msgspec.json.decode(text))
        line, at = line + text.count(b"\n"), begin + len(text)


def _query_row(row: Row) -> Row:
    """A row of the dataset format, where ``context`` is the reference context and an empty text is an absent value."""
    if not isinstance(row.values, dict):
        return row
    values = {}
    for key, value in row.values.items():
        name = key.casefold()
        given = None if value == "" and name in ("context", "reference_answer") else value
        if name == "context":
            values["reference_contexts"] = [given] if isinstance(given, str) else given
        else:
            values[key] = given
    return row._replace(values=values)


def _cell_rows(path: Path, encoding: str, delimiter: str | None) -> Iterator[Row]:
    for row, (line, cells) in enumerate(read_cells(path, encoding, delimiter=delimiter), 1):
        yield Row(RowPlace(path, line, row), cells, "cells")


def _parquet_rows(path: Path) -> Iterator[Row]:
    import polars as pl

    row = 0
    try:
        for batch in pl.scan_parquet(path, glob=False).collect_batches(maintain_order=True):
            for values in batch.iter_rows(named=True):
                row += 1
                yield Row(RowPlace(path, None, row), values, "table")
    except pl.exceptions.PolarsError as error:
        raise InputError(f"cannot be read as Parquet: {str(error).splitlines()[0]}", path=path) from None


# JSON


def decode_json(data: bytes | str) -> object:
    """Parse a JSON value. ``NaN``, which many programs write for a missing cell, is read as null.

    Raises InvalidValue with the reason, and with the byte offset if it is known.
    """
    try:
        return msgspec.json.decode(data)
    except RecursionError:
        raise InvalidValue("nested too deeply") from None
    except msgspec.MsgspecError as error:
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        if b"NaN" in raw:
            try:
                return msgspec.json.decode(_nan_is_null(raw))
            except msgspec.MsgspecError:
                pass
        raise _bad_json(error) from None


def _nan_is_null(data: bytes) -> bytes:
    return _NAN.sub(lambda token: b"null" if token[0] == b"NaN" else token[0], data)


def _bad_json(error: Exception) -> InvalidValue:
    reason = str(error).removeprefix("JSON is malformed: ")
    at = _BYTE.search(reason)
    reason = "unexpected end of the text" if "truncated" in reason else _BYTE.sub("", reason)
    return InvalidValue(reason, None if at is None else int(at[1]))


# Tables in memory


@runtime_checkable
class _Polars(Protocol):
    """The methods of a polars DataFrame that reading uses."""

    def iter_rows(self, *, named: bool) -> Iterator[dict[str, object]]: ...


@runtime_checkable
class _Lazy(Protocol):
    """A polars LazyFrame."""

    def collect_batches(self, *, maintain_order: bool) -> Iterator[_Polars]: ...


@runtime_checkable
class _Pandas(Protocol):
    """A pandas DataFrame."""

    columns: Iterable[object]

    def itertuples(self, index: bool, name: str | None) -> Iterator[tuple[object, ...]]: ...


@runtime_checkable
class _Arrow(Protocol):
    """A pyarrow Table."""

    def to_batches(self) -> list[object]: ...


def rows_of_table(source: object) -> Iterator[Row] | None:
    """The rows of a polars, pandas or pyarrow table; None if it is none of them."""
    if isinstance(source, _Polars):
        values: Iterable[Mapping[str, object]] = source.iter_rows(named=True)
    elif isinstance(source, _Lazy):
        values = (row for batch in source.collect_batches(maintain_order=True) for row in batch.iter_rows(named=True))
    elif isinstance(source, _Pandas):
        names = [str(name) for name in source.columns]
        if repeated := next((name for name in names if names.count(name) > 1), None):
            raise InputError(f"the column {repeated!r} occurs twice in the table")
        values = (dict(zip(names, cells, strict=True)) for cells in source.itertuples(False, None))
    elif isinstance(source, _Arrow):
        batches = cast("Iterable[object]", source.to_batches())
        values = (row for batch in batches for row in batch.to_pylist())  # type: ignore[attr-defined]
    else:
        return None
    return (Row(RowPlace(None, None, number), row, "table") for number, row in enumerate(values, 1))


def rows_of_columns(columns: Mapping[str, object], *, path: Path | None = None) -> Iterator[Row]:
    """The rows of a mapping of columns; columns of unequal length are an error."""
    lists = {name: list(cast("Iterable[object]", column)) for name, column in columns.items()}
    lengths = {name: len(column) for name, column in lists.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"columns of unequal length: {found}", path=path)
    rows = zip(*lists.values(), strict=True)
    return (
        Row(RowPlace(path, None, n), dict(zip(lists, cells, strict=True)), "object") for n, cells in enumerate(rows, 1)
    )


def rows_of_objects(source: Iterable[object]) -> Iterator[Row]:
    """The rows of mappings, records, or objects that convert to a dict (pydantic, ragas, dataclass)."""
    for number, item in enumerate(source, 1):
        yield Row(RowPlace(None, None, number), _mapping(item), "object")


def _mapping(item: object) -> object:
    if isinstance(item, Mapping):
        return item
    if isinstance(item, msgspec.Struct):
        return msgspec.structs.asdict(item)
    for name in ("model_dump", "to_dict", "_asdict"):
        if callable(method := getattr(item, name, None)):
            return method()
    if isinstance(item, str | bytes | int | float | list | tuple | None):
        return item
    if fields := getattr(item, "__dict__", None):
        return {name: value for name, value in fields.items() if not name.startswith("_")}
    raise WrongType(f"expected a mapping or a Sample, found {type(item).__name__}")
