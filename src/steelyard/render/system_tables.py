"""Tables of several systems: values with paired tests, cost and timing, notes and failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..core.records import Json
from ..reports.leaderboard import Standing
from ..reports.report import Report
from .latex import latex_table
from .leaderboard import FOOT, table
from .markdown import escape, markdown_table
from .table import Table, aligned, failures

COST_HEAD = ("system", "retrieve s (median, p95)", "answer s (median, p95)", "calls", "tokens", "cost")


def side_by_side(reports: Sequence[Report], places: Sequence[Standing], output_format: str = "table") -> str:
    """Return both tables as text, Markdown or LaTeX, followed by notes and failures of each system."""
    values, costs = table(places), system_costs(reports)
    if output_format == "latex":
        return f"{latex_table(values)}\n{latex_table(costs)}"
    markdown = output_format == "md"
    lines = [*_lines(values, markdown=markdown), "", FOOT, "", *_lines(costs, markdown=markdown)]
    notes = [f"{report.system}: {line}" for report in reports for line in [*report.warnings, *failures(report)]]
    if notes:
        lines += ["", *(f"- {escape(note)}" if markdown else note for note in notes)]
    return "\n".join(lines)


def system_costs(reports: Sequence[Report]) -> Table:
    """Return seconds per question and stage, calls, tokens and cost of each system."""
    rows: list[tuple[str, ...]] = []
    for report in reports:
        stages = report.run.get("stages")
        measured: Mapping[str, Json] = stages if isinstance(stages, dict) else {}
        usage = report.usage
        rows.append(
            (
                report.system,
                _seconds(measured.get("retrieve")),
                _seconds(measured.get("answer")),
                str(usage.calls),
                str(usage.prompt_tokens + usage.completion_tokens),
                usage.cost_text or "–",
            )
        )
    return Table(COST_HEAD, rows, frozenset(range(1, len(COST_HEAD))))


def _seconds(stage: Json) -> str:
    if not isinstance(stage, dict) or "median" not in stage:
        return "–"
    return f"{stage['median']:.4f}, {stage['p95']:.4f}"


def _lines(found: Table, *, markdown: bool) -> list[str]:
    return markdown_table(found) if markdown else aligned(found)
