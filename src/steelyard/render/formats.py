"""A report in the formats that the command line prints."""

from __future__ import annotations

import csv
import io
import math

from ..core.errors import InputError
from ..reports.report import Report
from .latex import latex
from .markdown import markdown
from .text import text

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def printed(report: Report, output_format: str, *, scale: float = 1.0) -> str:
    """The report as table, json, md, latex or csv (one row per estimate)."""
    if not 0 < scale < math.inf:
        raise InputError(f"--scale {scale:g}: a scale is above 0")
    if output_format == "json":
        return report.to_json().decode().rstrip("\n")
    if output_format == "md":
        return markdown(report).rstrip("\n")
    if output_format == "latex":
        return latex(report).rstrip("\n")
    if output_format == "csv":
        return estimates_csv([report]).rstrip("\n")
    return text(report, scale=scale)


def estimates_csv(reports: list[Report]) -> str:
    """One row per system, slice and metric."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(
        ["system", "slice", "metric", "way", "value", "low", "high", "n", "undefined", "failed", "pass_rate"]
    )
    for report in reports:
        for part, estimates in {"": report.estimates, **report.slices}.items():
            for label, one in estimates.items():
                numbers = [one.value, one.low, one.high, one.n, one.undefined, one.failed, one.pass_rate]
                cells = [report.system, part, label, one.way]
                writer.writerow([*map(cell, cells), *("" if value is None else repr(value) for value in numbers)])
    return target.getvalue()


def scores_csv(report: Report) -> str:
    """One row per sample, one column per metric; an empty cell where there is no score."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(["id", *map(cell, report.columns)])
    columns = [column.values for column in report.columns.values()]
    for row, one in enumerate(report.ids):  # row by row: a run of 70,000 queries needs no table of Python floats
        values = (float(column[row]) for column in columns)
        writer.writerow([cell(one), *("" if value != value else repr(value) for value in values)])  # noqa: PLR0124
    return target.getvalue()


def cell(text: str) -> str:
    """Text that a spreadsheet does not take for a formula.

    >>> cell("=HYPERLINK(1)"), cell("ndcg@10")
    ("'=HYPERLINK(1)", 'ndcg@10')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text
