"""``steelyard calibrate``, ``label`` and ``drift``: whether a judge can be trusted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import InputError, within
from . import app
from .evaluate import check_format, priced, told
from .options import By, Confidence, Encoding, Seed, StoreAt, check_apart, listed
from .progress import Progress

FORMATS = ("table", "md", "json")


@app.command("calibrate")
def calibrate(
    report: Annotated[str, typer.Argument(help="What the judge said: a report, its folder, or latest:TAG.")],
    labels: Annotated[list[Path], typer.Argument(help="What people say: CSV, JSONL, Parquet; one file per person.")],
    metric: Annotated[str | None, typer.Option("--metric", "-m", help="The metric that the labels are about.")] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="Report of a second system: correct the difference too.")
    ] = None,
    baseline_labels: Annotated[
        list[Path] | None, typer.Option("--baseline-labels", help="Labels of the second system; may be repeated.")
    ] = None,
    threshold: Annotated[float | None, typer.Option(help="A value from here on is a pass.")] = None,
    scale: Annotated[str | None, typer.Option(help="What people's ratings range over, such as 1-5.")] = None,
    by: By = None,
    cluster: Annotated[str | None, typer.Option(help="Samples with the same value of this tag count as one.")] = None,
    random: Annotated[bool, typer.Option("--random", help="The labelled samples were chosen at random.")] = False,
    output_format: Annotated[str, typer.Option("--format", help="table, md or json.")] = "table",
    out: Annotated[Path | None, typer.Option("--out", help="Write the output there too.")] = None,
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


def scale_of(text: str | None) -> tuple[float, float] | None:
    """``1-5`` as the lowest and the highest rating.

    >>> scale_of("1-5")
    (1.0, 5.0)
    """
    if text is None:
        return None
    low, _, high = text.rpartition("-")
    try:
        return float(low), float(high)
    except ValueError:
        raise InputError(f"--scale {text}: expected the lowest and the highest rating, such as 1-5") from None


@app.command("label")
def label(
    report: Annotated[str, typer.Argument(help="What the judge said: a report, its folder, or latest:TAG.")],
    out: Annotated[Path, typer.Option("--out", help="The sheet: .csv, .tsv or .jsonl.")] = Path("labels.csv"),
    metric: Annotated[str | None, typer.Option("--metric", "-m", help="The metric to be labelled.")] = None,
    n: Annotated[int, typer.Option("-n", help="How many to label.")] = 100,
    bins: Annotated[int, typer.Option(help="Draw within so many strata of the score.")] = 1,
    by: By = None,
    claims: Annotated[bool, typer.Option("--claims", help="Label single claims in place of samples.")] = False,
    walk_it: Annotated[bool, typer.Option("--walk", help="Go through the sheet here, in the terminal.")] = False,
    annotator: Annotated[str, typer.Option(help="Who labels.")] = "",
    scale: Annotated[str | None, typer.Option(help="What the ratings range over, such as 1-5.")] = None,
    store: StoreAt = None,
    seed: Seed = 0,
) -> None:
    """Draw what to label next, at random or within strata, and write a sheet; with --walk, label it here.

    The sheet shows what a person needs and nothing of what the judge said. A sheet that is there already is gone on
    with by --walk and never overwritten.
    """
    from ..core.wording import pluralize
    from ..judges.annotations import Sheet
    from ..judges.label_sampling import draw, sheet_of
    from ..judges.label_terminal import walk
    from ..reports.metric_identity import label_of
    from ..reports.store import DEFAULT, report_at

    loaded = report_at(report, store=store or DEFAULT)
    column = label_of(loaded, metric or "")
    span = scale_of(scale)
    if out.exists() and not walk_it:
        raise InputError("the sheet is there already: --walk goes on with it, --out names another", path=out)
    if out.exists():
        sheet = Sheet.read(out)
    else:
        draws = draw(loaded, column, n, bins=bins, by=listed(by), claims=claims, seed=seed)
        sheet = sheet_of(loaded, column, draws, out, annotator=annotator)
        sheet.save()
        drawn = pluralize(len(draws), "claim" if claims else "sample")
        print(f"wrote {out}: {drawn} to label", file=sys.stderr)
    if walk_it:
        bounds = span or loaded.notes[column].bounds
        given = walk(sheet, {one.id: one for one in loaded.samples}, bounds=bounds, annotator=annotator)
        value = sheet.column("value")
        left = sum(not row.get(value) for row in sheet.rows)
        print(f"{given} labelled, {left} left in {out}")


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
    within("tolerance", tolerance, 0)
    within("alpha", alpha, 0, 1)
    first = report_at(anchor, store=store or DEFAULT)
    given = read_labels(labels, scale=scale_of(scale)) if labels else None
    if judge is not None:
        check_labels(first, given or [], metric)
        who = priced(judge, price)
        if dry_run:
            told(plan_rejudge(first, who, ledger=ledger))
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
