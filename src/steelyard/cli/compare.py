"""``steelyard compare``: the gate."""

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
        float, typer.Option(help="A drop larger than this is a regression, even if not significant.")
    ] = 0.01,
    per_metric: Annotated[
        list[str] | None, typer.Option("--metric-tolerance", help="METRIC=VALUE; repeatable.")
    ] = None,
    metric: Annotated[list[str] | None, typer.Option("--metric", "-m", help="Compare only these metrics.")] = None,
    significant: Annotated[
        bool, typer.Option("--significant", help="A regression must exceed the tolerance and be significant.")
    ] = False,
    alpha: Annotated[float, typer.Option(help="Significance level after Holm's correction.")] = 0.05,
    by: By = None,
    cluster: Annotated[str | None, typer.Option(help="Keep rows that share this tag together when resampling.")] = None,
    max_failed: Annotated[float, typer.Option(help="Share of samples that may fail, for each metric.")] = 0.0,
    output_format: Annotated[str, typer.Option("--format", help="table, md, json, junit, github or html.")] = "table",
    out: Annotated[
        Path | None, typer.Option("--out", help="Also write the output to this file; HTML is written only there.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option("--store", help="Store for latest:TAG and for the trend on the page.")
    ] = None,
    link: Annotated[str | None, typer.Option(help="With --format md: link to the full comparison.")] = None,
    seed: Seed = 0,
) -> int:
    """Compare two saved reports. Exit codes: 0 no regression, 2 a regression, 3 not comparable."""
    from msgspec.structs import replace

    from ..reports.compare import compare as weigh
    from ..reports.store import DEFAULT, report_at

    check_format(output_format, FORMATS)
    inputs = [Path(one).resolve() for one in (baseline, current)]
    if out is not None and any(out.resolve() in (one, one / "report.json") for one in inputs):
        raise InputError("--out is one of the compared reports: name another file", path=out)
    after, before = (report_at(one, store=store or DEFAULT) for one in (current, baseline))
    found = weigh(
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
    made = rendered(found, after, before, output_format, store=store, link=link).rstrip("\n")
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(f"{made}\n", encoding="utf-8")
    if out is not None and output_format == "html":
        from ..render.comparison import headline

        made = f"{headline(found)}\nwrote {out}"
    print(made)
    return found.exit_code


def rendered(
    found: Comparison, after: Report, before: Report, output_format: str, *, store: Path | None, link: str | None
) -> str:
    """A comparison in one of its formats; the page shows the trend of the runs that are kept, if any are."""
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
