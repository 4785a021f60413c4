"""A report for the terminal."""

from __future__ import annotations

from ..core.wording import pluralize
from ..reports.report import Report
from .cost_table import stage_costs
from .failure_table import failure_table
from .table import aligned, estimates, facts, failures, one_line, slices, suggested_fixes, undefined


def text(report: Report, *, scale: float = 1.0) -> str:
    """Return title, estimates, slices, failure analysis, costs, reasons, suggested fixes and provenance."""
    lines = [title(report), "", *aligned(estimates(report, scale=scale))]
    for name, table in slices(report):
        lines += ["", name, *aligned(table)]
    failed_groups = failure_table(report)
    if failed_groups is not None:
        lines += ["", "failure analysis:", *aligned(failed_groups)]
    costs = stage_costs(report)
    if costs is not None:
        lines += ["", "cost and timing:", *aligned(costs)]
    for heading, notes in (
        ("failed", failures(report)),
        ("undefined", undefined(report)),
        ("notes", report.warnings),
        ("suggested fixes", suggested_fixes(report)),
    ):
        if notes:
            lines += ["", f"{heading}:", *(f"  {note}" for note in notes)]
    pairs = facts(report)
    pad = max((len(key) for key, _ in pairs), default=0)
    lines += ["", *(f"{key:<{pad}}  {value}" for key, value in pairs if key != "system")]
    return "\n".join(map(one_line, lines))


def title(report: Report) -> str:
    """Return the title of a report: system, dataset and number of samples."""
    of = ("query", "queries") if report.kind == "ranking" else ("sample", "samples")
    name = " · ".join(filter(None, [report.system, report.dataset.name]))
    return f"{name + ' · ' if name else ''}{pluralize(report.n_samples, *of)}"
