"""Human labels from files, and sheets for people to fill in.

A label is the verdict of one person on one sample, or on one claim of it. Unambiguous words (yes and no, pass and fail)
stand for numbers; any other text that is not a number is an error with its file and line. A row without a value is an
open label and is not counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TypeAlias, cast

import msgspec
from msgspec import Struct

from ..core.errors import InputError
from ..core.wording import did_you_mean
from ..io.csv_cells import escape, unescape, write_cells
from ..io.rows import Row, rows_of_columns, rows_of_file, rows_of_objects, rows_of_table
from ..io.text_files import suffix_of, writing

File: TypeAlias = "str | PathLike[str]"

WORDS: Mapping[str, float] = {
    **dict.fromkeys(("yes", "y", "true", "pass", "passed", "supported", "correct", "good", "ok"), 1.0),
    **dict.fromkeys(("no", "n", "false", "fail", "failed", "unsupported", "incorrect", "wrong", "bad"), 0.0),
}
"""Words for a label of 1 or 0, in any case."""

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "sample": ("sample", "sample_id", "id", "query_id", "qid"),
    "value": ("value", "label", "human", "human_value", "rating", "grade", "verdict", "score"),
    "metric": ("metric", "criterion"),
    "claim": ("claim", "claim_id", "claim_number"),
    "annotator": ("annotator", "rater", "labeller", "labeler", "person", "by"),
    "system": ("system", "model"),
    "stratum": ("stratum",),
    "share": ("share",),
    "drawn": ("drawn",),
}
"""Accepted names of the columns of labels; the first match counts."""


SHEETS = (".csv", ".tsv", ".jsonl", ".ndjson")
"""Suffixes of sheet files."""


class HumanLabel(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One label by one person. ``claim`` is the number (from 1) or the text of a claim of the sample.

    ``drawn`` is the method of sampling (``random``, ``stratified``; empty: unknown), ``stratum`` the part of all
    samples from which the sample was drawn, and ``share`` the size of that part.
    """

    sample: str
    value: float | None = None
    metric: str = ""
    claim: str = ""
    annotator: str = ""
    system: str = ""
    stratum: str = ""
    share: float | None = None
    drawn: str = ""


def read_labels(
    source: object, *, scale: tuple[float, float] | None = None, encoding: str = "utf-8"
) -> list[HumanLabel]:
    """Read labels from files (JSONL, JSON, CSV, TSV, Parquet), a table, mappings, or ``{sample: value}``.

    Columns are recognised by their usual names: ``sample`` (or ``id``), ``value`` (``label``, ``human``, ``rating`` …),
    and optionally ``metric``, ``claim``, ``annotator``, ``system``. With several files, the name of the file replaces a
    missing annotator. ``scale`` is the range of the ratings, which are mapped to [0, 1].

    >>> [label.value for label in read_labels([{"id": "a", "label": "yes"}, {"id": "b", "label": 0}])]
    [1.0, 0.0]
    >>> read_labels({"a": 4}, scale=(1, 5))[0].value
    0.75
    """
    if isinstance(source, str | PathLike):
        found = [_label(row) for row in rows_of_file(Path(source), encoding)]
    elif isinstance(source, Mapping) and source and all(isinstance(column, list) for column in source.values()):
        found = [_label(row) for row in rows_of_columns(source)]
    elif isinstance(source, Mapping):
        found = [HumanLabel(sample=str(one), value=value_of(value)) for one, value in source.items()]
    else:
        items = None if rows_of_table(source) is not None else list(cast("Iterable[object]", source))
        if items is not None and items and all(isinstance(one, str | PathLike) for one in items):
            files = [Path(cast("File", one)) for one in items]
            found = [label for path in files for label in _of_file(path, encoding, named=len(files) > 1)]
        elif items is not None and all(isinstance(one, HumanLabel) for one in items):
            found = cast("list[HumanLabel]", items)
        else:
            rows = rows_of_table(source) if items is None else rows_of_objects(items)
            assert rows is not None
            found = [_label(row) for row in rows]
    return found if scale is None else [_rescaled(label, *scale) for label in found]


def _of_file(path: Path, encoding: str, *, named: bool) -> list[HumanLabel]:
    labels = [_label(row) for row in rows_of_file(path, encoding)]
    if not named:
        return labels
    return [label if label.annotator else msgspec.structs.replace(label, annotator=path.stem) for label in labels]


def _label(row: Row) -> HumanLabel:
    """Convert a row to a label; raise InputError with its file and line if that is not possible."""
    if isinstance(row.values, InputError):
        raise row.values
    if isinstance(row.values, HumanLabel):
        return row.values
    if not isinstance(row.values, Mapping):
        raise row.place.error("expected an object with a sample and a value")
    given = {str(name).strip().casefold(): value for name, value in row.values.items()}
    cells = {field: _cell(given, names) for field, names in COLUMNS.items()}
    if cells["sample"] is None:
        known = ", ".join(map(str, row.values))
        raise row.place.error(f"no sample: expected one of {', '.join(COLUMNS['sample'])} (columns: {known})")
    if not any(name in given for name in COLUMNS["value"]):
        raise row.place.error(f"no value: expected one of {', '.join(COLUMNS['value'])}")
    texts = {
        field: "" if cells[field] is None else _text(cells[field], cells=row.kind == "cells")
        for field in ("sample", "metric", "claim", "annotator", "system", "stratum", "drawn")
    }
    try:
        return HumanLabel(**texts, value=value_of(cells["value"]), share=_share(cells["share"]))
    except InputError as error:
        raise row.place.error(error.message, error.field) from None


def _cell(given: Mapping[str, object], names: Sequence[str]) -> object:
    return next((given[name] for name in names if given.get(name) is not None), None)


def _text(value: object, *, cells: bool) -> str:
    text = str(value)
    return unescape(text) if cells else text


def value_of(value: object) -> float | None:
    """Parse the value of a label: a number or a word for one; None if it is empty.

    >>> value_of("Yes"), value_of("0.5"), value_of(" ")
    (1.0, 0.5, None)
    """
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        number = float(value)
    else:
        text = "" if value is None else str(value).strip().lstrip("'")
        if not text:
            return None
        word = WORDS.get(text.casefold())
        if word is not None:
            return word
        try:
            number = float(text)
        except ValueError:
            raise InputError(f"expected a number, yes or no, found {text!r}", field="value") from None
    if math.isnan(number):
        return None
    if math.isinf(number):
        raise InputError("expected a finite number", field="value")
    return number


def _share(value: object) -> float | None:
    try:
        number = value_of(value)
    except InputError as error:
        raise InputError(error.message.replace("a number, yes or no", "a share in (0, 1]"), field="share") from None
    if number is not None and not 0 < number <= 1:
        raise InputError(f"expected a share in (0, 1], found {number:g}", field="share")
    return number


def _rescaled(label: HumanLabel, low: float, high: float) -> HumanLabel:
    if not low < high:
        raise InputError(f"expected the lowest and the highest rating, found {low:g} and {high:g}", field="scale")
    if label.value is None:
        return label
    if not low <= label.value <= high:
        raise InputError(f"{label.value:g} of {label.sample} is outside {low:g} to {high:g}", field="scale")
    return msgspec.structs.replace(label, value=(label.value - low) / (high - low))


@dataclass
class Sheet:
    """Rows to label, with all columns of the file, so that a new value changes nothing else in it.

    ``rows`` are texts by column, None for an empty cell; people fill in the column ``value``.
    """

    path: Path
    columns: list[str]
    rows: list[dict[str, str | None]]

    @classmethod
    def read(cls, path: File) -> Sheet:
        """Read a sheet from CSV, TSV or JSONL."""
        source = Path(path)
        _check_format(source)
        rows: list[dict[str, str | None]] = []
        for row in rows_of_file(source):
            _label(row)
            values = cast("Mapping[str, object]", row.values)
            cells = row.kind == "cells"
            rows.append(
                {
                    name: None if value is None else _text(value, cells=cells) if _plain(value) else _json(value)
                    for name, value in values.items()
                }
            )
        columns = list(dict.fromkeys(name for one in rows for name in one))
        return cls(source, columns, rows)

    def column(self, field: str) -> str:
        """Return the name that this sheet uses for a column such as ``value``."""
        if not self.columns:
            raise InputError("the sheet is empty", path=self.path)
        folded = {name.strip().casefold(): name for name in self.columns}
        found = next((folded[name] for name in COLUMNS[field] if name in folded), None)
        if found is None:
            raise InputError(f"no column {field}: {did_you_mean(field, self.columns)}", path=self.path)
        return found

    def save(self) -> None:
        """Write the sheet atomically."""
        _check_format(self.path)
        form = suffix_of(self.path)
        with writing(self.path) as file:
            if form in {".jsonl", ".ndjson"}:
                for row in self.rows:
                    kept = {name: value for name, value in row.items() if value is not None or name == "value"}
                    file.write(msgspec.json.encode(kept) + b"\n")
                return
            lines = (
                [None if (cell := row.get(name)) is None else escape(cell) for name in self.columns]
                for row in self.rows
            )
            write_cells(file, self.columns, lines, "\t" if form == ".tsv" else ",")


def _check_format(path: Path) -> None:
    if suffix_of(path) not in SHEETS:
        raise InputError(f"a sheet is {', '.join(SHEETS[:-1])} or {SHEETS[-1]}", path=path)


def _plain(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
