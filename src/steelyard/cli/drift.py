"""``steelyard drift``: find out whether a judge has changed."""

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
    anchor: Annotated[str, typer.Argument(help="Anchor: the first report of the judge, with its samples.")],
    current: Annotated[
        str | None, typer.Argument(help="A report with the same samples, judged again (or give --judge).")
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Score the samples of the anchor again with this judge.")] = None,
    labels: Annotated[list[Path] | None, typer.Option("--labels", help="Human labels for some of the samples.")] = None,
    metric: Annotated[str | None, typer.Option("--metric", "-m", help="Metric of labels that name none.")] = None,
    scale: Annotated[str | None, typer.Option(help="Range of the human ratings, such as 1-5.")] = None,
    tolerance: Annotated[float, typer.Option(help="Changes up to this do not count as drift.")] = 0.0,
    alpha: Annotated[float, typer.Option(help="Significance level after Holm's correction.")] = 0.05,
    output_format: Annotated[str, typer.Option("--format", help="table or json.")] = "table",
    out: Annotated[Path | None, typer.Option("--out", help="Write the new report to this folder.")] = None,
    concurrency: Annotated[int, typer.Option(help="Maximum number of parallel calls.")] = 16,
    budget: Annotated[float | None, typer.Option(help="Stop before the cost exceeds this amount.")] = None,
    max_calls: Annotated[int | None, typer.Option(help="Maximum number of calls.")] = None,
    ledger: Annotated[Path | None, typer.Option(help="Cache of replies (default: .steelyard/ledger.sqlite).")] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Use cached replies only; a missing reply is an error.")
    ] = False,
    price: Annotated[str | None, typer.Option(help="IN,OUT: price per million prompt and completion tokens.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan with its cost and exit.")] = False,
    store: StoreAt = None,
    seed: Seed = 0,
) -> int:
    """Has the judge moved? The same samples judged twice: by another model, or by a new revision of a prompt.

    Exit codes: 0 no detectable drift, 2 a metric moved, 3 too much failed.
    """
    from ..judges.annotations import read_labels
    from ..judges.drift import check_labels, plan_rejudge, rejudge
    from ..judges.drift import drift as weigh
    from ..render import drift as render
    from ..render.files import write
    from ..reports.store import DEFAULT, report_at

    check_format(output_format, ("table", "json"))
    if (current is None) == (judge is None):
        raise InputError("give either a second report or --judge")
    if dry_run and judge is None:
        raise InputError("--dry-run needs --judge")
    check_apart(out, [anchor, *([] if current is None else [current])])
    check_range("tolerance", tolerance, 0)
    check_range("alpha", alpha, 0, 1)
    first = report_at(anchor, store=store or DEFAULT)
    given = read_labels(labels, scale=scale_of(scale)) if labels else None
    if judge is not None:
        check_labels(first, given or [], metric)
        who = priced(judge, price)
        if dry_run:
            print_plan(plan_rejudge(first, who, ledger=ledger))
            return 0
        with Progress() as progress:
            again = rejudge(
                first,
                who,
                concurrency=concurrency,
                budget=budget,
                max_calls=max_calls,
                ledger=ledger,
                offline=offline,
                progress=progress,
            )
    else:
        again = report_at(current or "", store=store or DEFAULT)
    if out is not None:
        write(again, out)
    found = weigh(first, again, labels=given, metric=metric, tolerance=tolerance, alpha=alpha, seed=seed)
    print({"table": render.text, "json": render.as_json}[output_format](found))
    if judge is not None and not offline and not again.usage.calls and not found.moved:
        words = "every reply came from the ledger: the judge was not called, so drift is unknown; name a new --ledger"
        print(f"steelyard: {words}", file=sys.stderr)
        return 3
    if any(share > 0 for label, share in again.failed_share.items() if label in found.metrics):
        return 3
    return 2 if found.moved else 0
