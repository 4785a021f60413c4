"""``steelyard show`` and ``steelyard metrics``: a report, and the shelf."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .app import app
from .options import check_apart
from .output import check_format, print_judge_details

FORMATS = ("table", "json", "md", "latex", "csv", "html")


@app.command("show")
def show(
    report: Annotated[str, typer.Argument(help="Saved report: a file, a folder or latest:TAG.")],
    output_format: Annotated[str, typer.Option("--format", help="table, json, md, latex, csv or html.")] = "table",
    per_sample: Annotated[
        bool, typer.Option("--per-sample", "--per-query", help="One row per sample, as CSV.")
    ] = False,
    why: Annotated[
        tuple[str, str] | None, typer.Option("--why", help="SAMPLE METRIC: print the evidence for one score.")
    ] = None,
    ledger: Annotated[Path | None, typer.Option(help="Cache of replies, for --why.")] = None,
    plot: Annotated[
        str | None, typer.Option("--plot", help="METRIC: write a chart of its distribution to --out.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Output file; .svg, .png or .pdf with --plot.")] = None,
    scale: Annotated[float, typer.Option(help="Show values on a scale from 0 to this.")] = 1.0,
    store: Annotated[Path | None, typer.Option("--store", help="Store for latest:TAG.")] = None,
) -> None:
    """Print a saved report, or everything behind one of its scores."""
    from ..render.formats import printed, scores_csv
    from ..render.score_details import why as explain
    from ..reports.store import DEFAULT, report_at

    check_format(output_format, FORMATS)
    check_apart(out, [report])
    loaded = report_at(report, store=store or DEFAULT)
    if plot is not None:
        from ..render.charts import plot as draw

        print(f"wrote {draw(loaded, plot, out or Path(f'{plot}.svg'))}")
        return
    if why is not None:
        made = explain(loaded, *why, ledger=ledger)
    elif per_sample:
        made = scores_csv(loaded)
    else:
        made = loaded.html() if output_format == "html" else printed(loaded, output_format, scale=scale)
    made = made.rstrip("\n")
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(f"{made}\n", encoding="utf-8")
        print(f"wrote {out}")
        return
    print(made)
    if output_format == "table" and why is None and not per_sample:
        print_judge_details(loaded)
