"""``steelyard show``: a saved report, or the details of one score."""

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
    report: Annotated[str, typer.Argument(help="Saved report: a file, its folder or latest:TAG.")],
    output_format: Annotated[
        str, typer.Option("--format", help="Output: table, json, md, latex, csv or html.")
    ] = "table",
    per_sample: Annotated[
        bool, typer.Option("--per-sample", "--per-query", help="Print one row per sample, as CSV.")
    ] = False,
    why: Annotated[
        tuple[str, str] | None,
        typer.Option("--why", help="SAMPLE METRIC: print the evidence, prompts and replies of one score."),
    ] = None,
    ledger: Annotated[Path | None, typer.Option(help="File of cached replies, for --why.")] = None,
    plot: Annotated[str | None, typer.Option("--plot", help="METRIC: draw its distribution to --out.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the output to this file (with --plot: .svg, .png or .pdf).")
    ] = None,
    scale: Annotated[float, typer.Option(help="Show values from 0 to this.")] = 1.0,
    store: Annotated[Path | None, typer.Option("--store", help="Folder of stored reports, for latest:TAG.")] = None,
) -> None:
    """Print a saved report, or the details of one score.

    Exit codes: 0 success, 1 error.
    """
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
        output = explain(loaded, *why, ledger=ledger)
    elif per_sample:
        output = scores_csv(loaded)
    else:
        output = loaded.html() if output_format == "html" else printed(loaded, output_format, scale=scale)
    output = output.rstrip("\n")
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(f"{output}\n", encoding="utf-8")
        print(f"wrote {out}")
        return
    print(output)
    if output_format == "table" and why is None and not per_sample:
        print_judge_details(loaded)
