"""``steelyard calibrate``, ``label`` and ``drift``: whether a judge can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .app import app
from .options import By, Confidence, Encoding, Seed, StoreAt, check_apart, scale_of
from .output import check_format

FORMATS = ("table", "md", "json")


@app.command("calibrate")
def calibrate(
    report: Annotated[str, typer.Argument(help="Report with the scores of the judge: a file, a folder or latest:TAG.")],
    labels: Annotated[list[Path], typer.Argument(help="Human labels: CSV, JSONL or Parquet; one file per person.")],
    metric: Annotated[str | None, typer.Option("--metric", "-m", help="Metric that the labels refer to.")] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="Report of a second system; the difference is corrected too.")
    ] = None,
    baseline_labels: Annotated[
        list[Path] | None, typer.Option("--baseline-labels", help="Labels of the second system; repeatable.")
    ] = None,
    threshold: Annotated[float | None, typer.Option(help="Values at or above this pass.")] = None,
    scale: Annotated[str | None, typer.Option(help="Range of the human ratings, such as 1-5.")] = None,
    by: By = None,
    cluster: Annotated[
        str | None, typer.Option(help="Keep samples that share this tag together when resampling.")
    ] = None,
    random: Annotated[bool, typer.Option("--random", help="The labelled samples are a random sample.")] = False,
    output_format: Annotated[str, typer.Option("--format", help="table, md or json.")] = "table",
    out: Annotated[Path | None, typer.Option("--out", help="Also write the output to this file.")] = None,
    store: StoreAt = None,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    encoding: Encoding = "utf-8",
) -> None:
    """How far a judge agrees with people, and what people would say of all samples.

    Labels have a sample, a value and a metric (columns sample or id, value or label, metric), as `steelyard label`
    writes them.
    """
    from ..judges.annotations import read_labels
    from ..judges.calibrate import calibrate as weigh
    from ..render import calibration as render
    from ..reports.store import DEFAULT, report_at

    check_format(output_format, FORMATS)
    check_apart(out, [report, *labels, *([] if baseline is None else [baseline]), *(baseline_labels or ())])
    span = scale_of(scale)
    found = weigh(
        report_at(report, store=store or DEFAULT),
        read_labels(labels, scale=span, encoding=encoding),
        metric=metric,
        baseline=None if baseline is None else report_at(baseline, store=store or DEFAULT),
        baseline_labels=read_labels(baseline_labels, scale=span, encoding=encoding) if baseline_labels else None,
        threshold=threshold,
        by=by,
        cluster=cluster,
        drawn="random" if random else None,
        confidence=confidence,
        seed=seed,
    )
    made = {"table": render.text, "md": render.markdown, "json": render.as_json}[output_format](found)
    print(made.rstrip("\n"))
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(made.rstrip("\n") + "\n", encoding="utf-8")
