"""``steelyard history``: trend of one metric over the stored reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import InputError, UnknownName
from .app import app


@app.command("history")
def history(
<<<<<<< HEAD
    metric: Annotated[str, typer.Argument(help="Name of the metric in the reports.")],
    store: Annotated[Path, typer.Option(help="Folder of the stored reports.")] = Path(".steelyard/runs"),
    tag: Annotated[str, typer.Option(help="Only reports with this tag.")] = "",
    plot: Annotated[Path | None, typer.Option(help="Write a chart of the trend to this .svg or .png.")] = None,
=======
    metric: Annotated[str, typer.Argument(help="Metric, as named in the reports.")],
    store: Annotated[Path, typer.Option(help="Folder of stored reports.")] = Path(".steelyard/runs"),
    tag: Annotated[str, typer.Option(help="Only reports with this tag.")] = "",
    plot: Annotated[Path | None, typer.Option(help="Draw the trend to this .svg, .png or .pdf file.")] = None,
>>>>>>> 9c406d8 (Help of the commands in plain English; --interactive and --old-corpus name their options)
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
<<<<<<< HEAD
        raise InputError(f"no report is stored in {store}" + (f" with the tag {tag!r}" if tag else ""))
    known = {label for line in lines for label in line.estimates}
    if metric not in known:
        raise UnknownName(f"no stored report has {metric!r}: {did_you_mean(metric, known)}")
    kept = [line for line in lines if metric in line.estimates]
=======
        raise InputError(f"no stored report in {store}" + (f" with the tag {tag!r}" if tag else ""))
    known = {label for line in lines for label in line.estimates}
    if metric not in known:
        raise UnknownName(f"no stored report has {metric!r}: {did_you_mean(metric, known)}")
    stored = [line for line in lines if metric in line.estimates]
>>>>>>> 9c406d8 (Help of the commands in plain English; --interactive and --old-corpus name their options)
    rows = []
    for line in stored:
        one = line.estimates[metric]
        counts = (str(one.n), str(one.undefined), str(one.failed))
        rows.append(
            (line.started, line.system, line.tag, number(one.value), span(one.low, one.high), *counts, line.digest)
        )
    head = ("started", "system", "tag", "value", "interval", "n", "undefined", "failed", "report")
    print("\n".join(aligned(Table(head, rows, frozenset(range(3, 8))))))
<<<<<<< HEAD
    if len({line.dataset for line in kept}) > 1:
        print("\nnote: these reports were made from different data")
    if len(ways := sorted({line.estimates[metric].way for line in kept})) > 1:
        print(f"\nnote: these reports measure it in different ways: {', '.join(ways)}")
=======
    if len({line.dataset for line in stored}) > 1:
        print("\nnote: these reports evaluated different data")
    if len(kinds := sorted({line.estimates[metric].way for line in stored})) > 1:
        print(f"\nnote: these reports computed the metric in different ways: {', '.join(kinds)}")
>>>>>>> 9c406d8 (Help of the commands in plain English; --interactive and --old-corpus name their options)
    if plot is not None:
        from ..render.charts import trend

        trend(stored, metric, plot)
        print(f"\nwrote {plot}")
