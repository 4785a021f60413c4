"""Check that the parts of a report are consistent, once, when it is read.

Rules of this file: an error names the field as ``$.columns.token_f1.values``; a report written by Steelyard always
passes; checks cover whole columns at once, since reports are large.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from msgspec.structs import replace

from ..core.errors import InputError
from ..core.records import Estimate
from ..core.wording import pluralize
from ..stats.pooling import Column, FloatArray
from .provenance import MetricNote

if TYPE_CHECKING:
    from .report import Report

BY_ROW = ("undefined", "failed", "evidence", "parts", "requests", "usage", "draws")
MOST = 2**53
"""The upper limit of a count."""
_WITHIN = 1e-9  # the rounding tolerance at the ends of a range
_BOUNDED = ("mean", "geometric", "quantile")


def check_report(report: Report, path: str | PathLike[str] | None) -> None:
    """Raise InputError if ids repeat, lengths differ, a number is out of range, or an entry has no counterpart.

    The report of a part of a job has no samples, notes or estimates, and needs none.
    """
    check_ids(report.ids, path, "$.ids")
    if report.samples and [sample.id for sample in report.samples] != report.ids:
        _fail(f"expected {pluralize(len(report.ids), 'sample')}, in the order of the ids", path, "$.samples")
    for label, column in report.columns.items():
        note = report.notes.get(label)
        check_column(column, len(report.ids), None if note is None else note.bounds, path, f"$.columns.{label}")
        _check_reasons(column, path, f"$.columns.{label}")
    if report.samples or report.notes or report.estimates:
        for label in report.columns:
            for name, known in (("metrics", report.notes), ("estimates", report.estimates)):
                if label not in known:
                    _fail(f"the column {label!r} has no entry", path, f"$.{name}.{label}")
    for label in report.notes:
        if label not in report.columns:
            _fail(f"the metric {label!r} has no column", path, f"$.columns.{label}")
    _check_estimates(report.estimates, report.notes, path, "$.estimates")
    for name, estimates in report.slices.items():
        _check_estimates(estimates, report.notes, path, f"$.slices.{name}")
    if "confidence" in report.policy:
        _check_confidence(report.policy["confidence"], path, "$.policy.confidence")


def check_ids(ids: Sequence[str], path: str | PathLike[str] | None, field: str) -> None:
    """Raise InputError if an id is repeated."""
    if len(set(ids)) == len(ids):
        return
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            _fail(f"the id {one!r} occurs more than once", path, field)
        seen.add(one)


def check_column(
    column: Column, rows: int, bounds: tuple[float, float] | None, path: str | PathLike[str] | None, field: str
) -> None:
    """Raise InputError if a column has another length, cells outside its rows, or values out of bounds."""
    if len(column.values) != rows:
        _fail(
            f"expected {pluralize(rows, 'value')}, one for each id, found {len(column.values)}", path, f"{field}.values"
        )
    for name in BY_ROW:
        cells = getattr(column, name)
        if cells and not (min(cells) >= 0 and max(cells) < rows):
            row = next(row for row in cells if not 0 <= row < rows)
            place = field.replace("$.columns", "$.run.used.cells", 1) if name == "usage" else f"{field}.{name}"
            _fail(f"row {row} is not there (of {pluralize(rows, 'id')})", path, place)
    outside = beyond(column.values, bounds)
    if outside is not None:
        _fail(f"expected values {_range(bounds)}, found {outside:g}", path, f"{field}.values")


def _check_reasons(column: Column, path: str | PathLike[str] | None, field: str) -> None:
    """Raise InputError if a cell is neither scored, undefined nor failed."""
    unscored = set(np.flatnonzero(np.isnan(column.values)).tolist())
    both = column.undefined.keys() & column.failed.keys()
    if odd := both or unscored ^ (column.undefined.keys() | column.failed.keys()):
        _fail(f"row {min(odd)} is neither scored, undefined nor failed", path, field)


def beyond(values: FloatArray, bounds: tuple[float, float] | None) -> float | None:
    """The first value that is infinite or out of bounds; None if there is none.

    >>> beyond(np.array([0.5, np.nan, 7.0]), (0.0, 1.0)), beyond(np.array([0.5, np.nan, 7.0]), None)
    (7.0, None)
    """
    low, high = (-np.inf, np.inf) if bounds is None else (bounds[0] - _WITHIN, bounds[1] + _WITHIN)
    odd = np.flatnonzero((values < low) | (values > high) | np.isinf(values))
    return float(values[odd[0]]) if len(odd) else None


def saved_note(note: MetricNote, column: Column | None, estimate: Estimate | None) -> MetricNote:
    """The note of a metric for the file, without bounds if values of the metric are outside them."""
    values = np.empty(0) if column is None else column.values[np.isfinite(column.values)]
    pooled = None if estimate is None else _pooled(estimate)
    reported = values if pooled is None else np.append(values, pooled)
    return note if note.bounds is None or beyond(reported, note.bounds) is None else replace(note, bounds=None)


def _pooled(one: Estimate) -> float | None:
    """The value of an estimate that must be within the bounds of its metric; None for a total, for example."""
    return one.value if one.pool.partition("(")[0] in _BOUNDED else None


def _check_estimates(
    estimates: Mapping[str, Estimate],
    notes: Mapping[str, MetricNote],
    path: str | PathLike[str] | None,
    field: str,
) -> None:
    for label, one in estimates.items():
        _check_confidence(one.confidence, path, f"{field}.{label}.confidence")
        bounds, value = notes[label].bounds if label in notes else None, _pooled(one)
        if value is not None and beyond(np.array([value]), bounds) is not None:
            _fail(f"expected a value {_range(bounds)}, found {value:g}", path, f"{field}.{label}.value")
        for name, count in (("n", one.n), ("undefined", one.undefined), ("failed", one.failed)):
            if not 0 <= count <= MOST:
                found = count if count < 0 else "a number too large for a count"
                _fail(f"expected at least 0, found {found}", path, f"{field}.{label}.{name}")


def _check_confidence(value: object, path: str | PathLike[str] | None, field: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        _fail(f"expected a number between 0 and 1, found {value!r}", path, field)


def _range(bounds: tuple[float, float] | None) -> str:
    return "finite" if bounds is None else f"from {bounds[0]:g} to {bounds[1]:g}"


def _fail(message: str, path: str | PathLike[str] | None, field: str) -> NoReturn:
    raise InputError(message, path=path, field=field)
