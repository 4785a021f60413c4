"""A jury: what each judge found by itself, how it moves the verdict, how far the judges agree, what they cost."""

from __future__ import annotations

from ..judges.jury import Panel
from .comparison import signed
from .table import Table, aligned, number, span

HEAD = ("metric", "judge", "alone", "influence", "agrees", "interval", "calls", "tokens", "cost")
FOOT = (
    "influence: the jury's mean with this judge minus without it; agrees: its verdict is that of most others;"
    " calls, tokens and cost are of all metrics"
)


def table(panel: Panel) -> Table:
    """One row per metric and judge."""
    rows: list[tuple[str, ...]] = []
    for label in panel.alpha:
        for seat in panel.seats:
            agrees, usage = seat.agrees[label], seat.usage
            rows.append(
                (
                    label,
                    seat.judge,
                    number(seat.values[label]),
                    signed(seat.influence[label]),
                    number(agrees.value, digits=3),
                    span(agrees.low, agrees.high, digits=3),
                    str(usage.calls),
                    str(usage.prompt_tokens + usage.completion_tokens),
                    usage.cost_text or number(None),
                )
            )
    return Table(HEAD, rows, frozenset(range(2, len(HEAD))))


def text(panel: Panel) -> str:
    """The table, and the agreement of all judges by metric."""
    lines = [f"jury of {len(panel.seats)}, by {panel.rule}", "", *aligned(table(panel)), FOOT]
    for label, found in panel.alpha.items():
        interval = span(found.low, found.high, digits=3)
        lines.append(f"{label}: Krippendorff's alpha {number(found.value, digits=3)} ({interval}), n {found.n}")
    return "\n".join(lines)
