"""A report for the terminal."""

from __future__ import annotations

from ..core.wording import pluralize
from ..reports.report import Report
from .stages import stages
from .table import aligned, estimates, facts, failures, one_line, remedies, slices, undefined
from .where import where


def text(report: Report, *, scale: float = 1.0) -> str:
    """Title, table of estimates, slices, failures and what is undefined, remedies, provenance."""
    lines = [title(report), "", *aligned(estimates(report, scale=scale))]
    for name, table in slices(report):
        lines += ["", name, *aligned(table)]
    fails = where(report)
    if fails is not None:
        lines += ["", "failure analysis:", *aligned(fails)]
    took = stages(report)
    if took is not None:
        lines += ["", "cost and timing:", *aligned(took)]
    for heading, notes in (
        ("failed", failures(report)),
        ("undefined", undefined(report)),
        ("notes", report.warnings),
        ("suggested fixes", remedies(report)),
    ):
        if notes:
            lines += ["", f"{heading}:", *(f"  {note}" for note in notes)]
    pairs = facts(report)
    pad = max((len(key) for key, _ in pairs), default=0)
    lines += ["", *(f"{key:<{pad}}  {value}" for key, value in pairs if key != "system")]
    return "\n".join(map(one_line, lines))


def title(report: Report) -> str:
    """What was weighed and how much of it."""
    of = ("query", "queries") if report.kind == "ranking" else ("sample", "samples")
    name = " · ".join(filter(None, [report.system, report.dataset.name]))
    return f"{name + ' · ' if name else ''}{pluralize(report.n_samples, *of)}"
