"""``steelyard drift``: detection of a changed judge."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import InputError, check_range
from .app import app
from .options import Seed, StoreAt, check_apart, scale_of
from .output import check_format, priced, print_plan
from .progress import Progress


@app.command("drift")
def drift(
    anchor: Annotated[str, typer.Argument(help="Reference report: the earlier scores of the judge, with the samples.")],
    current: Annotated[
        str | None, typer.Argument(help="Report with new scores of the same samples; or give --judge.")
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Judge the samples of the first report with this judge.")] = None,
    labels: Annotated[
        list[Path] | None, typer.Option("--labels", help="File of human labels of some samples; repeatable.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", help="Metric of the labels that do not name one.")
    ] = None,
    scale: Annotated[str | None, typer.Option(help="Range of the human ratings, such as 1-5.")] = None,
    tolerance: Annotated[float, typer.Option(help="A change of up to this is not drift.")] = 0.0,
    alpha: Annotated[float, typer.Option(help="Significance level, after Holm's adjustment.")] = 0.05,
    output_format: Annotated[str, typer.Option("--format", help="Output: table or json.")] = "table",
    out: Annotated[Path | None, typer.Option("--out", help="Write the new report to this folder.")] = None,
    concurrency: Annotated[int, typer.Option(help="Maximum number of parallel calls.")] = 16,
    budget: Annotated[float | None, typer.Option(help="Stop before the cost exceeds this.")] = None,
    max_calls: Annotated[int | None, typer.Option(help="Stop after this many calls.")] = None,
    ledger: Annotated[Path | None, typer.Option(help="File of cached replies.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Make no calls; use cached replies only.")] = False,
    price: Annotated[str | None, typer.Option(help="IN,OUT: price per million tokens.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and its cost, and stop.")] = False,
    store: StoreAt = None,
    seed: Seed = 0,
) -> int:
    """Detect whether a judge has changed, from two sets of scores of the same samples.

    The new scores come from another report or from `--judge` (another model, or a new revision of a prompt).
    Exit codes: 0 no drift detected, 1 error, 2 a metric drifted, 3 incomplete.
    """
    from ..judges.annotations import read_labels
    from ..judges.drift import check_labels, drift as detect_drift, plan_rejudge, rejudge
    from ..render import drift as render
    from ..render.files import write
    from ..reports.store import DEFAULT, report_at

    check_format(output_format, ("table", "json"))
    if (current is None) == (judge is None):
        raise InputError("give either a second report or --judge")
    if dry_run and judge is None:
        raise InputError("--dry-run needs --judge: without a judge there are no calls to plan")
    check_apart(out, [anchor, *([] if current is None else [current])])
    check_range("tolerance", tolerance, 0)
    check_range("alpha", alpha, 0, 1)
    first = report_at(anchor, store=store or DEFAULT)
    given = read_labels(labels, scale=scale_of(scale)) if labels else None
    if judge is not None:
        check_labels(first, given or [], metric)
        priced_judge = priced(judge, price)
        if dry_run:
            print_plan(plan_rejudge(first, priced_judge, ledger=ledger))
            return 0
        with Progress() as progress:
            second = rejudge(
                first,
                priced_judge,
                concurrency=concurrency,
                budget=budget,
                max_calls=max_calls,
                ledger=ledger,
                offline=offline,
                progress=progress,
            )
    else:
        second = report_at(current or "", store=store or DEFAULT)
    if out is not None:
        write(second, out)
    found = detect_drift(first, second, labels=given, metric=metric, tolerance=tolerance, alpha=alpha, seed=seed)
    print({"table": render.text, "json": render.as_json}[output_format](found))
    if judge is not None and not offline and not second.usage.calls and not found.moved:
        problem = "every reply was in the ledger, so the judge was not called: name a new file with --ledger"
        print(f"steelyard: {problem}", file=sys.stderr)
        return 3
    if any(share > 0 for label, share in second.failed_share.items() if label in found.metrics):
        return 3
    return 2 if found.moved else 0
