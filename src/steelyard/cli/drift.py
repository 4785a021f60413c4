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
    anchor: Annotated[str, typer.Argument(help="The report that was judged first; it holds its samples.")],
    current: Annotated[str | None, typer.Argument(help="The same samples judged again; or give --judge.")] = None,
    judge: Annotated[str | None, typer.Option(help="Judge the anchor's samples again with this judge.")] = None,
    labels: Annotated[list[Path] | None, typer.Option("--labels", help="What people say of some of them.")] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", help="The metric that labels without one are about.")
    ] = None,
    scale: Annotated[str | None, typer.Option(help="What people's ratings range over, such as 1-5.")] = None,
    tolerance: Annotated[float, typer.Option(help="A change of no more than this is no drift.")] = 0.0,
    alpha: Annotated[float, typer.Option(help="Level of significance, after Holm's adjustment.")] = 0.05,
    output_format: Annotated[str, typer.Option("--format", help="table or json.")] = "table",
    out: Annotated[Path | None, typer.Option("--out", help="Write the new report into this folder.")] = None,
    concurrency: Annotated[int, typer.Option("--concurrency", "--workers", help="Calls at once, at most.")] = 16,
    budget: Annotated[float | None, typer.Option(help="Stop before the cost exceeds this.")] = None,
    max_calls: Annotated[int | None, typer.Option(help="Stop after this many calls.")] = None,
    ledger: Annotated[Path | None, typer.Option(help="Where replies are kept.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Answer from the ledger alone.")] = False,
    price: Annotated[str | None, typer.Option(help="IN,OUT: price of a million tokens.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and its cost, and stop.")] = False,
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
        raise InputError("--dry-run goes with --judge: without one nothing is asked")
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
        words = "the ledger held every reply, so nobody was asked and nothing is known of today: name a new --ledger"
        print(f"steelyard: {words}", file=sys.stderr)
        return 3
    if any(share > 0 for label, share in again.failed_share.items() if label in found.metrics):
        return 3
    return 2 if found.moved else 0
