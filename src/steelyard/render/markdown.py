"""A report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..reports.report import Report
from .cost_table import stage_costs
from .failure_table import failure_table
from .table import Table, estimates, facts, failures, slices, suggested_fixes, undefined
from .text import title

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~])")


def escape(text: str) -> str:
    """Text that Markdown shows as it is.

    >>> escape("a|b <img> [x](javascript:y)")
    'a\\\\|b \\\\<img\\\\> \\\\[x\\\\](javascript:y)'
    """
    return _SPECIAL.sub(r"\\\1", text).replace("\n", " ").replace("\r", " ")


def markdown_table(table: Table, *, shown: Callable[[str], str] = escape) -> list[str]:
    """A pipe table; cells are data and escaped, unless ``shown`` writes them."""
    rule = ["---:" if at in table.right else "---" for at in range(len(table.head))]
    return [f"| {' | '.join(cells)} |" for cells in (table.head, rule)] + [
        f"| {' | '.join(map(shown, row))} |" for row in table.rows
    ]


def markdown(report: Report) -> str:
    """Return title, estimates, slices, failure analysis, costs, reasons, suggested fixes and provenance."""
    lines = [f"# {escape(title(report))}", "", *markdown_table(estimates(report))]
    for name, table in slices(report):
        lines += ["", f"## {escape(name)}", "", *markdown_table(table)]
    failed_groups = failure_table(report)
    if failed_groups is not None:
        lines += ["", "## Failure analysis", "", *markdown_table(failed_groups)]
    costs = stage_costs(report)
    if costs is not None:
        lines += ["", "## Cost and timing", "", *markdown_table(costs)]
    for heading, notes in (
        ("Failed", failures(report)),
        ("Undefined", undefined(report)),
        ("Notes", report.warnings),
        ("Suggested fixes", suggested_fixes(report)),
    ):
        if notes:
            lines += ["", f"## {heading}", "", *(f"- {escape(note)}" for note in notes)]
    lines += ["", "## Provenance", "", *(f"- {key}: {escape(value)}" for key, value in facts(report))]
    return "\n".join(lines) + "\n"
