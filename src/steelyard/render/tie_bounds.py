"""The bounds of metrics over all orders of tied documents, as a table, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

import msgspec

from ..evaluate.tie_bounds import TieBounds, TiedOrders
from .formats import cell
from .table import Table, number

HEAD = ("metric", "system", "worst", "expected", "value", "best", "n", "queries affected")
FOOT = (
    "worst, best: over all orders of documents with equal scores; expected: mean over random orders;"
    " value: with the ties as broken here; –: not available for the metric"
)


def table(bounds: Iterable[TiedOrders]) -> Table:
    """One row per metric and run."""
    rows = [
        (
            one.metric,
            one.system,
            *(number(end) for end in (one.pooled.worst, one.pooled.expected, one.pooled.value, one.pooled.best)),
            str(one.n),
            "–" if one.pooled.worst is None else str(len(one.moving)),
        )
        for one in bounds
    ]
    return Table(HEAD, rows, frozenset(range(2, 8)))


def as_csv(bounds: Sequence[TiedOrders], *, per_query: bool = False) -> str:
    """One row per run and metric; with ``per_query`` also one per query whose value depends on the order."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(["system", "metric", "query", "worst", "expected", "value", "best"])
    for one in bounds:
        spans: dict[str, TieBounds] = {"": one.pooled, **(one.moving if per_query else {})}
        for query, span in spans.items():
            ends = (span.worst, span.expected, span.value, span.best)
            numbers = ["" if end is None else repr(end) for end in ends]
            writer.writerow([cell(one.system), cell(one.metric), cell(query), *numbers])
    return target.getvalue()


def as_json(bounds: Sequence[TiedOrders]) -> str:
    """All bounds as JSON, with each query whose value depends on the order."""
    return msgspec.json.format(msgspec.json.encode(bounds), indent=2).decode()
