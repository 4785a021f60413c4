"""What happened, where it works and where it fails, as a table of text: for the terminal and for Markdown."""

from __future__ import annotations

from ..reports.failure_analysis import FailureAnalysis, analyse_failures
from ..reports.report import Report
from .html_view import percent
from .html_where import in_words
from .table import Table


def where(report: Report, *, most: int = 8) -> Table | None:
    """The largest cells of the failures with share, interval and remedy; None where the metrics tell nothing."""
    return table(analyse_failures(report), most=most)


def table(failures: FailureAnalysis, *, most: int = 8) -> Table | None:
    """The same for failures that are known already."""
    cells = failures.known[:most]
    if not cells:
        return None
    rows = [
        (str(cell.n), percent(cell.share), f"{percent(cell.low)} – {percent(cell.high)}", in_words(cell), cell.remedy)
        for cell in cells
    ]
    return Table(("n", "share", "interval", "failure", "suggested fix"), rows, frozenset({0, 1}))
