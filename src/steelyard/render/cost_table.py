"""Cost and timing of an evaluation by stage: retrieval, answering, scoring."""

from __future__ import annotations

from ..core.records import Json
from ..reports.report import Report
from .table import Table

HEAD = ("stage", "calls", "failed", "retries", "cached", "seconds", "median", "p95", "tokens in + out", "cost")


def stage_costs(report: Report) -> Table | None:
    """Return one row per stage, without empty columns; None if the report is not of a system run."""
    measured = report.run.get("stages")
    if not isinstance(measured, dict) or not measured:
        return None
    rows = [(name, *_cells(stage)) for name, stage in measured.items() if isinstance(stage, dict)]
    keep = [at for at in range(len(HEAD)) if at < 3 or any(row[at] != "–" for row in rows)]
    return Table(
        tuple(HEAD[at] for at in keep),
        [tuple(row[at] for at in keep) for row in rows],
        frozenset(at for at, column in enumerate(keep) if column > 0),
    )


def _cells(stage: dict[str, Json]) -> list[str]:
    tokens = [stage.get(f"{kind}_tokens") or 0 for kind in ("prompt", "completion")]
    return [
        str(stage.get("calls", 0)),
        str(stage.get("failed", 0)),
        *(str(stage.get(name) or "–") for name in ("retried", "kept")),
        *(_number(stage.get(name)) for name in ("seconds", "median", "p95")),
        f"{tokens[0]} + {tokens[1]}" if any(tokens) else "–",
        _number(stage.get("cost")),
    ]


def _number(value: Json) -> str:
    return f"{value:.4f}" if isinstance(value, int | float) else "–"
