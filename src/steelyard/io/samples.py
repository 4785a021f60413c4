"""Read samples from files and objects, write them to files, and check them.

``read_samples`` reads JSONL, JSON, CSV, TSV, Parquet, tables in memory, lists of mappings, and the datasets of other
libraries. ``write_samples`` writes files that read back identical.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import structs

from ..core.errors import InputError, InputErrors, WrongType
from ..core.records import Sample
from ..core.wording import pluralize
from .convert_values import json_value
from .csv_cells import escape, write_cells
from .deepeval_promptfoo import as_sample_row
from .row_parser import RowParser
from .rows import FORMATS, InvalidValue, Row, RowPlace, rows_of_columns, rows_of_file, rows_of_objects, rows_of_table
from .text_files import suffix_of, writing

Item = TypeVar("Item")
File: TypeAlias = "str | PathLike[str]"
MOST_PROBLEMS = 20
"""The number of problems that are listed; further ones are only counted."""

_TEXTS = ("id", "user_input", "response")
_LISTS = ("retrieved_contexts", "reference_contexts", "retrieved_ids")
_EMPTY_IS_ABSENT = ("id", "tags", "metadata")
_NUMBER = re.compile("[1-9][0-9]{0,17}")


def read_samples(source: object, *, fields: Mapping[str, str] | None = None, encoding: str = "utf-8") -> list[Sample]:
    """Read all samples of a source.

    ``source`` is a path or several (``.jsonl``, ``.json``, ``.csv``, ``.tsv``, ``.parquet``; text also ``.gz`` and
    ``.zst``), a polars, pandas or pyarrow table, an iterable of samples or mappings, a mapping of columns, or an object
    with ``to_list()`` or ``samples`` (a ragas EvaluationDataset, a Dataset). Columns are recognised by their usual
    names (``question``, ``answer``, ``contexts``, ``ground_truth`` …); ``fields`` maps other names, nested ones by
    path: ``{"user_input": "meta.q", "retrieved_contexts": "hits.*.body", "tags.lang": "language"}``. Columns that
    fill no field are stored in the metadata. Ids are text; rows without id are numbered from 1, over all files.

    An empty cell of a CSV file or table is an absent value; ``""`` and ``[]`` of JSON are present and empty.
    A doubtful value (a text instead of a list) is read with a warning, issued once per kind.

    Raises InputError with file, line and column: one problem, or an InputErrors with the first twenty.

    >>> (sample,) = read_samples([{"question": "Who?", "answer": "Ada", "contexts": ["Ada did."], "lang": "en"}])
    >>> sample.id, sample.user_input, sample.response, sample.retrieved_contexts, sample.metadata
    ('1', 'Who?', 'Ada', ['Ada did.'], {'lang': 'en'})
    """
    return collect_samples(samples_of(_rows(source, encoding, fields), RowParser(fields, warn_remark)))


def iter_samples(
    source: object, *, fields: Mapping[str, str] | None = None, encoding: str = "utf-8"
) -> Iterator[Sample]:
    """Yield the samples of a source one at a time: as ``read_samples``, but the first problem is raised at once.

    Memory contains one sample and all ids so far, to detect repeated ids (a JSON file is read whole).
    """
    for item in samples_of(_rows(source, encoding, fields), RowParser(fields, warn_remark)):
        if not isinstance(item, Sample):
            raise item[0] if len(item) == 1 else InputErrors(item)
        yield item


@dataclass
class CheckResult:
    """The result of checking a file: number of rows, number of rows per field, problems and warnings.

    ``problems`` are the first twenty; ``more`` counts the rest.
    """

    kind: str
    rows: int = 0
    fields: dict[str, int] = field(default_factory=dict)
    problems: list[InputError] = field(default_factory=list)
    more: int = 0
    warnings: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """The number of all problems, listed or not."""
        return len(self.problems) + self.more

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.problems

    def add(self, problems: Iterable[InputError]) -> None:
        """Add problems: the first twenty are listed, the others counted."""
        for problem in problems:
            if len(self.problems) < MOST_PROBLEMS:
                self.problems.append(problem)
            else:
                self.more += 1

    def add_rows(
        self, items: Iterable[Sample | list[InputError]], inspect: Callable[[Sample], None] | None = None
    ) -> None:
        """Count samples and their fields, call ``inspect`` with each sample, and add the problems of invalid rows."""
        for item in items:
            self.rows += 1
            if not isinstance(item, Sample):
                self.add(item)
                continue
            for name in Sample.__struct_fields__:
                if has_field(item, name):
                    self.fields[name] = self.fields.get(name, 0) + 1
            if inspect is not None:
                inspect(item)

    def add_remarks(self, parser: RowParser, *, several: bool = False) -> None:
        """Add the remarks of a parser as warnings; with ``several`` files, each names its file."""
        for text, (place, count) in parser.remarks.items():
            others = f" (and {pluralize(count - 1, 'more row')})" if count > 1 else ""
            self.warnings.append(f"{place if several else place._replace(path=None)}: {text}{others}")

    def raise_problems(self) -> None:
        """Raise the problems as one error: all listed ones, and the number of others."""
        if len(self.problems) == 1 and not self.more:
            raise self.problems[0]
        if self.problems:
            rest = [InputError(f"and {pluralize(self.more, 'more problem')}")] if self.more else []
            raise InputErrors([*self.problems, *rest])


def check_samples(source: object, *, fields: Mapping[str, str] | None = None, encoding: str = "utf-8") -> CheckResult:
    """Read a whole source and report all its problems."""
    result, parser = CheckResult("samples"), RowParser(fields)
    try:
        result.add_rows(samples_of(_rows(source, encoding, fields), parser))
    except InputErrors as errors:
        result.add(errors.problems)
    except InputError as error:
        result.add([error])
    result.add_remarks(parser, several=not isinstance(source, str | PathLike))
    return result


def warn_remark(message: str) -> None:
    """Issue a remark of a reader as a warning."""
    warnings.warn(message, UserWarning, stacklevel=4)


def collect_samples(items: Iterable[Item | list[InputError]]) -> list[Item]:
    """Return all items, or raise an error with the first problems."""
    found, problems = list[Item](), list[InputError]()
    for item in items:
        if not isinstance(item, list):
            found.append(item)
            continue
        problems += item
        if len(problems) >= MOST_PROBLEMS:
            problems = [*problems[:MOST_PROBLEMS], InputError("reading stopped here; there may be more problems")]
            break
    if problems:
        raise problems[0] if len(problems) == 1 else InputErrors(problems)
    return found


# Reading


def samples_of(rows: Iterable[Row], parser: RowParser) -> Iterator[Sample | list[InputError]]:
    """The samples of rows, numbered if they have no id; an invalid row yields its problems instead."""
    ids = _Ids()
    for row in rows:
        ids.rows += 1
        try:
            yield ids.assign(parser.sample(row), row.place)
        except InputErrors as errors:
            yield list(errors.problems)
        except InputError as error:
            yield [error]
    parser.mapper.check_found()


def _rows(source: object, encoding: str, fields: Mapping[str, str] | None = None) -> Iterator[Row]:
    if isinstance(source, str | PathLike):
        read = rows_of_file(Path(source), encoding)
        # Test cases of other tools are JSON lists; explicit ``fields`` name the columns of the file itself.
        return map(as_sample_row, read) if suffix_of(Path(source)) == ".json" and not fields else read
    if isinstance(source, Sample | bytes):
        raise WrongType(f"expected several samples, found one {type(source).__name__}: put it in a list")
    if (rows := rows_of_table(source)) is not None:
        return rows
    if isinstance(source, Mapping):
        return _rows_of_mapping(source)
    if hasattr(source, "column_names") and isinstance(source, Iterable):
        return rows_of_objects(source)
    if callable(to_list := getattr(source, "to_list", None)):
        return rows_of_objects(to_list())
    if (samples := getattr(source, "samples", None)) is not None:
        return rows_of_objects(samples() if callable(samples) else samples)
    if not isinstance(source, Iterable):
        raise WrongType(f"expected paths, samples, mappings or a table, found {type(source).__name__}")
    return _rows_of_iterable(iter(source), encoding, fields)


def _rows_of_iterable(items: Iterator[object], encoding: str, fields: Mapping[str, str] | None) -> Iterator[Row]:
    for first in items:
        every = chain([first], items)
        if isinstance(first, str | PathLike):
            return chain.from_iterable(_rows(path, encoding, fields) for path in every)
        return rows_of_objects(every)
    return iter(())


def _rows_of_mapping(source: Mapping[object, object]) -> Iterator[Row]:
    columns = {str(name): column for name, column in source.items()}
    if columns and all(hasattr(column, "column_names") for column in columns.values()):
        raise WrongType(f"expected one split of the data, found {', '.join(columns)}: choose one by its name")
    if any(isinstance(column, str) or not isinstance(column, Iterable) for column in columns.values()):
        raise WrongType("expected several samples, found one mapping: put it in a list")
    return rows_of_columns(columns)


class _Ids:
    """Assigns and checks ids: a row without id gets its number, and no two rows may have the same id."""

    def __init__(self) -> None:
        self.rows = 0
        # Line numbers by id and file, and one byte per numbered row: a million rows must fit into memory.
        self._lines: dict[Path | None, dict[str, int]] = {}
        self._numbered = bytearray()

    def assign(self, sample: Sample, place: RowPlace) -> Sample:
        if not sample.id:
            sample = structs.replace(sample, id=str(self.rows))
            self._numbered.extend(bytes(self.rows - len(self._numbered)))
            self._numbered[self.rows - 1] = 1
        for path, lines in self._lines.items():
            if (first := lines.get(sample.id)) is not None:
                where = RowPlace(None if path == place.path else path, first if place.line else None, first)
                raise place.error(f"the id {sample.id!r} is given twice, first at {where}", "id")
        if len(self._numbered) < self.rows or not self._numbered[self.rows - 1]:
            number = int(sample.id) if _NUMBER.fullmatch(sample.id) else 0
            if 0 < number <= len(self._numbered) and self._numbered[number - 1]:
                raise place.error(f"the id {sample.id!r} is the number of row {number}, which has no id", "id")
            self._lines.setdefault(place.path, {})[sample.id] = place.row if place.line is None else place.line
        return sample


# Writing


def write_samples(path: File, samples: Iterable[Sample], *, form: str | None = None) -> None:
    """Write samples so that ``read_samples`` returns them unchanged. ``form`` or else the suffix sets the format.

    Formats are JSONL (written as a stream), JSON, CSV, TSV, each also ``.gz``, and Parquet. In CSV, lists and mappings
    are cells of JSON, and a text that a spreadsheet would run as a formula is preceded by an apostrophe, which the
    reader removes. The file becomes visible when it is complete. Raises InputError for a sample that a file cannot
    store: a number that is not finite, or half of a surrogate pair.
    """
    path = Path(path)
    form = form or FORMATS.get(suffix_of(path))
    if form == "parquet":
        _write_parquet(path, _encodable(samples))
    elif form in ("csv", "tsv"):
        _write_cells(path, _encodable(samples), "\t" if form == "tsv" else ",")
    elif form in ("json", "jsonl"):
        _write_json(path, samples, listed=form == "json")
    else:
        raise InputError("unknown format (expected .jsonl, .json, .csv, .tsv or .parquet, also with .gz)", path=path)


def _encodable(samples: Iterable[Sample]) -> list[Sample]:
    """Return the samples as a list, after checking that each can be written."""
    return [sample for sample in samples if _json(sample)]


def _json(sample: Sample) -> bytes:
    """A sample as JSON. A value that JSON cannot represent is an error; it is never replaced."""
    try:
        if sample.metadata or sample.relevance:
            json_value([sample.metadata, sample.relevance])
        return msgspec.json.encode(sample)
    except (InvalidValue, UnicodeEncodeError, OverflowError) as error:
        raise InputError(f"cannot be written: {error}", field=f"sample {sample.id!r}") from None


def _write_json(path: Path, samples: Iterable[Sample], *, listed: bool) -> None:
    with writing(path) as file:
        file.write(b"[" if listed else b"")
        for number, sample in enumerate(samples):
            before = b"" if not listed else b",\n" if number else b"\n"
            file.write(before + _json(sample) + (b"" if listed else b"\n"))
        file.write(b"\n]\n" if listed else b"")


def _write_cells(path: Path, samples: list[Sample], delimiter: str) -> None:
    columns = _used_fields(samples)
    with writing(path) as file:
        write_cells(file, columns, ([_cell(sample, name) for name in columns] for sample in samples), delimiter)


def _cell(sample: Sample, name: str) -> str | None:
    if not has_field(sample, name):
        return None
    value = getattr(sample, name)
    if isinstance(value, str):
        return escape(value, maybe_list=name == "reference")
    return msgspec.json.encode(value).decode("utf-8")


def _write_parquet(path: Path, samples: list[Sample]) -> None:
    """Write texts and lists as columns of their type (lists of references in a second column), mappings as JSON."""
    import polars as pl

    text, texts = pl.String(), pl.List(pl.String())
    columns = []
    for name in _used_fields(samples):
        values = [getattr(sample, name) for sample in samples]
        if name in _TEXTS:
            columns.append(pl.Series(name, [value or None if name == "id" else value for value in values], text))
        elif name in _LISTS:
            columns.append(pl.Series(name, values, texts))
        elif name == "reference":
            columns.append(pl.Series(name, [value if isinstance(value, str) else None for value in values], text))
            columns.append(
                pl.Series("references", [value if isinstance(value, list) else None for value in values], texts)
            )
        else:
            cells = [_cell(sample, name) for sample in samples]
            columns.append(pl.Series(name, cells, text))
    with writing(path) as file:
        pl.DataFrame(columns).write_parquet(file)


def has_field(sample: Sample, name: str) -> bool:
    """Whether a sample has a field; the id, tags and metadata are absent if they are empty."""
    value = getattr(sample, name)
    return value is not None and bool(value or name not in _EMPTY_IS_ABSENT)


def _used_fields(samples: Iterable[Sample]) -> list[str]:
    """The fields that any of the samples has, in the order of the record; only the id if there is none."""
    used = {name for sample in samples for name in Sample.__struct_fields__ if has_field(sample, name)}
    return [name for name in Sample.__struct_fields__ if name in used] or ["id"]
