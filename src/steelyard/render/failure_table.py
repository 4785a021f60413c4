"""The failure analysis as a table, for the terminal and for Markdown."""

from __future__ import annotations

from ..reports.failure_analysis import FailureAnalysis, analyse_failures
from ..reports.report import Report
from .html_failures import describe_group
from .html_view import percent
from .table import Table


def failure_table(report: Report, *, most: int = 8) -> Table | None:
    """Return the largest failure groups with share, interval and suggested fix; None if the metrics show no groups."""
    return failure_group_table(analyse_failures(report), most=most)


def failure_group_table(failures: FailureAnalysis, *, most: int = 8) -> Table | None:
    """Return the same table for a finished failure analysis."""
    groups = failures.known[:most]
    if not groups:
        return None
    rows = [
        (
            str(group.n),
            percent(group.share),
            f"{percent(group.low)} – {percent(group.high)}",
            describe_group(group),
            group.remedy,
        )
        for group in groups
    ]
    return Table(("n", "share", "interval", "failure", "suggested fix"), rows, frozenset({0, 1}))
