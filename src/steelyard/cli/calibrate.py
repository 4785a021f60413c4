"""``steelyard calibrate``: agreement of a judge with human labels, and corrected estimates."""

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
    report: Annotated[str, typer.Argument(help="Report with the judge's scores: a file, its folder or latest:TAG.")],
    labels: Annotated[
        list[Path], typer.Argument(help="Files of human labels (CSV, JSONL, Parquet), one per annotator.")
    ],
    metric: Annotated[str | None, typer.Option("--metric", "-m", help="The metric that was labelled.")] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="Report of a second system, to correct the difference too.")
    ] = None,
    baseline_labels: Annotated[
        list[Path] | None, typer.Option("--baseline-labels", help="Labels of the second system; repeatable.")
    ] = None,
    threshold: Annotated[float | None, typer.Option(help="A value of at least this passes.")] = None,
    scale: Annotated[str | None, typer.Option(help="Range of the human ratings, such as 1-5.")] = None,
    by: By = None,
    cluster: Annotated[
        str | None, typer.Option(help="Keep samples that share this tag together when resampling.")
    ] = None,
    random: Annotated[bool, typer.Option("--random", help="The labelled samples are a random sample of all.")] = False,
    output_format: Annotated[str, typer.Option("--format", help="Output: table, md or json.")] = "table",
    out: Annotated[Path | None, typer.Option("--out", help="Write the output to this file too.")] = None,
    store: StoreAt = None,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    encoding: Encoding = "utf-8",
) -> None:
    """Compare a judge with human labels.

    The command measures their agreement and corrects the judge's estimates for all samples.
    Each label has a sample, a value and a metric (columns sample or id, value or label, metric), as `steelyard label`
    writes them. Exit codes: 0 success, 1 error.
    """
    from ..judges.annotations import read_labels
    from ..judges.calibrate import calibrate as calibrate_report
    from ..render import calibration as render
    from ..reports.store import DEFAULT, report_at

    check_format(output_format, FORMATS)
    check_apart(out, [report, *labels, *([] if baseline is None else [baseline]), *(baseline_labels or ())])
    rating_range = scale_of(scale)
    calibration = calibrate_report(
        report_at(report, store=store or DEFAULT),
        read_labels(labels, scale=rating_range, encoding=encoding),
        metric=metric,
        baseline=None if baseline is None else report_at(baseline, store=store or DEFAULT),
        baseline_labels=read_labels(baseline_labels, scale=rating_range, encoding=encoding)
        if baseline_labels
        else None,
        threshold=threshold,
        by=by,
        cluster=cluster,
        drawn="random" if random else None,
        confidence=confidence,
        seed=seed,
    )
    output = {"table": render.text, "md": render.markdown, "json": render.as_json}[output_format](calibration)
    print(output.rstrip("\n"))
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(output.rstrip("\n") + "\n", encoding="utf-8")
