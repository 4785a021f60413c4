"""``steelyard compare``: comparison of two reports, as a gate for a pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import InputError
from .app import app
from .options import By, Seed, numbers
from .output import check_format

if TYPE_CHECKING:
    from ..reports.comparison import Comparison
    from ..reports.report import Report

FORMATS = ("table", "md", "json", "junit", "github", "html")


@app.command("compare")
def compare(
    baseline: Annotated[str, typer.Argument(help="Baseline report: a file, a folder or latest:TAG.")],
    current: Annotated[str, typer.Argument(help="Current report: a file, a folder or latest:TAG.")],
    tolerance: Annotated[
        float, typer.Option(help="A drop of more than this is a regression, even if not significant.")
    ] = 0.01,
    per_metric: Annotated[
        list[str] | None,
        typer.Option("--metric-tolerance", help="METRIC=VALUE: tolerance of one metric; repeatable."),
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", "-m", help="Compare only this metric; repeatable.")
    ] = None,
    significant: Annotated[
        bool, typer.Option("--significant", help="A drop must also be significant to be a regression.")
    ] = False,
    alpha: Annotated[float, typer.Option(help="Significance level, after Holm's adjustment.")] = 0.05,
    by: By = None,
    cluster: Annotated[str | None, typer.Option(help="Keep rows that share this tag together when resampling.")] = None,
    max_failed: Annotated[float, typer.Option(help="Maximum share of failed samples per metric.")] = 0.0,
    output_format: Annotated[
        str, typer.Option("--format", help="Output: table, md, json, junit, github or html.")
    ] = "table",
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the output to this file too (--format html: only to it).")
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option("--store", help="Folder of stored reports, for latest:TAG and the trend chart of the page."),
    ] = None,
    link: Annotated[str | None, typer.Option(help="With --format md: address of the full comparison.")] = None,
    seed: Seed = 0,
) -> int:
    """Compare two reports, and fail on a regression.

    Exit codes: 0 no regression, 1 error, 2 a regression, 3 not comparable.
    """
    from msgspec.structs import replace

    from ..reports.compare import compare as compare_reports
    from ..reports.store import DEFAULT, report_at

    check_format(output_format, FORMATS)
    inputs = [Path(one).resolve() for one in (baseline, current)]
    if out is not None and any(out.resolve() in (one, one / "report.json") for one in inputs):
        raise InputError("--out would overwrite a compared report: name another file", path=out)
    after, before = (report_at(one, store=store or DEFAULT) for one in (current, baseline))
    found = compare_reports(
        after,
        before,
        tolerance,
        alpha=alpha,
        significant=significant,
        metrics=metric,
        tolerances=numbers(per_metric, "--metric-tolerance"),
        by=by,
        cluster=cluster,
        max_failed=max_failed,
        seed=seed,
    )
    found = replace(found, baseline=before.system or baseline, current=after.system or current)
    output = rendered(found, after, before, output_format, store=store, link=link).rstrip("\n")
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(f"{output}\n", encoding="utf-8")
    if out is not None and output_format == "html":
        from ..render.comparison import headline

        output = f"{headline(found)}\nwrote {out}"
    print(output)
    return found.exit_code


def rendered(
    found: Comparison, after: Report, before: Report, output_format: str, *, store: Path | None, link: str | None
) -> str:
    """Format a comparison; the HTML page also shows the trend of the stored reports, if there are any."""
    from ..render import comparison as render

    if output_format == "html":
        from ..render.html_comparison import comparison_page
        from ..reports.store import DEFAULT, Store

        return comparison_page(found, after, before, trend=Store(store or DEFAULT).trend(after))
    if output_format == "md":
        return render.markdown(found, link=link)
    return {
        "table": render.text,
        "json": render.as_json,
        "junit": render.junit,
        "github": render.github,
    }[output_format](found)
