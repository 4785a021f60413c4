"""``steelyard history``: trend of one metric over the stored reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import InputError, UnknownName
from .app import app


@app.command("history")
def history(
    metric: Annotated[str, typer.Argument(help="Metric, as named in the reports.")],
    store: Annotated[Path, typer.Option(help="Folder of stored reports.")] = Path(".steelyard/runs"),
    tag: Annotated[str, typer.Option(help="Only reports with this tag.")] = "",
    plot: Annotated[Path | None, typer.Option(help="Draw the trend to this .svg, .png or .pdf file.")] = None,
) -> None:
    """Print the trend of a metric over stored reports.

    `eval --keep` and `rank --keep` store reports.
    Exit codes: 0 success, 1 error.
    """
    from ..core.wording import did_you_mean
    from ..render.table import Table, aligned, number, span
    from ..reports.store import Store

    lines = [line for line in Store(store).lines() if not tag or line.tag == tag]
    if not lines:
        raise InputError(f"no stored report in {store}" + (f" with the tag {tag!r}" if tag else ""))
    known = {label for line in lines for label in line.estimates}
    if metric not in known:
        raise UnknownName(f"no stored report has {metric!r}: {did_you_mean(metric, known)}")
    stored = [line for line in lines if metric in line.estimates]
    rows = []
    for line in stored:
        one = line.estimates[metric]
        counts = (str(one.n), str(one.undefined), str(one.failed))
        rows.append(
            (line.started, line.system, line.tag, number(one.value), span(one.low, one.high), *counts, line.digest)
        )
    head = ("started", "system", "tag", "value", "interval", "n", "undefined", "failed", "report")
    print("\n".join(aligned(Table(head, rows, frozenset(range(3, 8))))))
    if len({line.dataset for line in stored}) > 1:
        print("\nnote: these reports evaluated different data")
    if len(kinds := sorted({line.estimates[metric].way for line in stored})) > 1:
        print(f"\nnote: these reports computed the metric in different ways: {', '.join(kinds)}")
    if plot is not None:
        from ..render.charts import trend

        trend(stored, metric, plot)
        print(f"\nwrote {plot}")
