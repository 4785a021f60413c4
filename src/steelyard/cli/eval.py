"""``steelyard eval``: weigh answers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import InputError, check_range
from .app import app
from .options import (
    By,
    Confidence,
    Encoding,
    Fields,
    Keep,
    Metrics,
    Out,
    Seed,
    StoreAt,
    Tag,
    check_apart,
    keep,
    listed,
    numbers,
    pairs,
)
from .output import check_format, finish, priced, prices, print_unknown_cost
from .progress import Progress

if TYPE_CHECKING:
    pass

FORMATS = ("table", "json", "md", "latex", "csv")


@app.command("eval")
def evaluate(
    data: Annotated[list[Path], typer.Argument(help="Samples: JSONL, JSON, CSV or Parquet; several are joined.")],
    metrics: Metrics = None,
    judge: Annotated[
        list[str] | None, typer.Option(help="openai:MODEL or http://host/v1#model; several are a jury.")
    ] = None,
    jury: Annotated[str, typer.Option(help="What several judges find: mean, majority or unanimous.")] = "mean",
    embedder: Annotated[str | None, typer.Option(help="local, openai:MODEL or http://host/v1#model.")] = None,
    field: Fields = None,
    threshold: Annotated[
        list[str] | None, typer.Option("--threshold", help="METRIC=VALUE the pooled value must reach; gates.")
    ] = None,
    pass_rate: Annotated[
        list[str] | None, typer.Option("--pass-rate", help="METRIC=SHARE of samples that must pass; gates.")
    ] = None,
    max_failed: Annotated[float, typer.Option(help="Share of samples that may fail, per metric.")] = 0.0,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", help="Compare with this report (a file, a folder or latest:TAG), as compare does."),
    ] = None,
    tolerance: Annotated[float, typer.Option(help="With --baseline: a drop of more than this is a regression.")] = 0.01,
    significant: Annotated[
        bool, typer.Option("--significant", help="With --baseline: a drop must also be significant.")
    ] = False,
    by: By = None,
    cluster: Annotated[str | None, typer.Option(help="Resample whole groups of this tag.")] = None,
    out: Out = None,
    output_format: Annotated[str, typer.Option("--format", help="table, json, md, latex or csv.")] = "table",
    scale: Annotated[float, typer.Option(help="Show values from 0 to this.")] = 1.0,
    concurrency: Annotated[int, typer.Option("--concurrency", "--workers", help="Calls at once, at most.")] = 16,
    repeats: Annotated[int, typer.Option(help="Ask the judge this many times.")] = 1,
    budget: Annotated[float | None, typer.Option(help="Stop before the cost exceeds this.")] = None,
    max_calls: Annotated[int | None, typer.Option(help="Stop after this many calls.")] = None,
    price: Annotated[str | None, typer.Option(help="IN,OUT: price of a million tokens.")] = None,
    ledger: Annotated[Path | None, typer.Option(help="Where replies are kept.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Answer from the ledger alone.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and its cost, and stop.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first failure.")] = False,
    name: Annotated[str, typer.Option(help="What the system is called in the report.")] = "",
    keep_it: Keep = False,
    store: StoreAt = None,
    tag: Tag = "",
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    encoding: Encoding = "utf-8",
) -> int:
    """Weigh answers: lexical metrics without a model, or any judge.

    Prints a plan before asking a judge. Exit codes: 0 good, 1 could not run, 2 a threshold was missed or the baseline
    was better, 3 too much failed or the baseline is not comparable.
    """
    from ..evaluate.evaluate_samples import DEFAULT_METRICS, evaluate_rag, plan_rag
    from ..evaluate.scorer import Scorer
    from ..io.samples import read_samples
    from ..reports.gate import exit_code, rules

    check_format(output_format, FORMATS)
    _check(
        jury,
        price,
        shares={"max_failed": max_failed},
        amounts={"tolerance": tolerance, "budget": budget, "max_calls": max_calls},
        counts={"concurrency": concurrency, "repeats": repeats},
    )
    if out is not None and out.exists() and not out.is_dir():
        raise InputError("expected a folder, found a file", path=out)
    check_apart(out, [*data, *([] if baseline is None else [baseline])])
    earlier = None
    if baseline is None and significant:
        raise InputError("--significant needs a --baseline")
    if baseline is not None:
        from ..reports.store import DEFAULT, report_at

        earlier = report_at(baseline, store=store or DEFAULT)
    thresholds, rates = numbers(threshold, "--threshold"), numbers(pass_rate, "--pass-rate")
    wanted = listed(metrics) or list(DEFAULT_METRICS)
    judges = [priced(one, price) for one in judge or ()]
    samples = read_samples(data, fields=pairs(field, "--field") or None, encoding=encoding)
    Scorer(wanted, judge=judges[0] if judges else None, thresholds=thresholds, pass_rates=rates)
    if judges or dry_run:
        for one in tuple(judges) or (None,):
            plan = plan_rag(samples, metrics=wanted, judge=one, embedder=embedder, ledger=ledger, repeats=repeats)
            print(*([one] if len(judges) > 1 else []), plan, sep="\n", file=sys.stdout if dry_run else sys.stderr)
            if dry_run:
                print_unknown_cost(plan)
        if dry_run:
            return 0
    with Progress() as progress:
        weigh = partial(
            evaluate_rag,
            samples,
            metrics=wanted,
            embedder=embedder,
            thresholds=thresholds,
            by=by,
            cluster=cluster,
            concurrency=concurrency,
            repeats=repeats,
            ledger=ledger,
            offline=offline,
            strict=strict,
            confidence=confidence,
            seed=seed,
            name=name,
            dataset=", ".join(path.name for path in data),
        )
        if len(judges) > 1:
            from ..judges.jury import evaluate_by_jury

            report = evaluate_by_jury(
                weigh,
                judges,
                rule=jury,
                budget=budget,
                max_calls=max_calls,
                by=by,
                cluster=cluster,
                confidence=confidence,
                seed=seed,
                progress=progress,
            )
        else:
            report = weigh(judge=judges[0] if judges else None, budget=budget, max_calls=max_calls, progress=progress)
    keep(report, keep_it=keep_it, store=store, tag=tag)
    found = rules(report, thresholds=thresholds, pass_rates=rates, max_failed=max_failed)
    finish(report, found, out=out, output_format=output_format, scale=scale, max_failed=max_failed)
    if earlier is None:
        return exit_code(found)
    from msgspec.structs import replace

    from ..reports.compare import compare

    beside = compare(
        report, earlier, tolerance, significant=significant, by=by, cluster=cluster, max_failed=max_failed, seed=seed
    )
    beside = replace(beside, baseline=earlier.system or baseline or "")
    if out is not None:
        from ..render.html_comparison import comparison_page
        from ..reports.store import DEFAULT, Store

        made = comparison_page(beside, report, earlier, trend=Store(store or DEFAULT).trend(report))
        (out / "comparison.html").write_text(made, encoding="utf-8")
    print(f"\n{beside}", file=sys.stdout if output_format == "table" else sys.stderr)
    return max(exit_code(found), beside.exit_code)


def _check(
    jury: str,
    price: str | None,
    *,
    shares: Mapping[str, float],
    amounts: Mapping[str, float | None],
    counts: Mapping[str, int],
) -> None:
    """What is no setting at all, before any work, whether or not it is needed for this run."""
    from ..judges.jury import RULES

    if jury not in RULES:
        raise InputError(f"--jury {jury}: choose from {', '.join(RULES)}")
    prices(price)
    for name, share in shares.items():
        check_range(name, share, 0, 1)
    for name, amount in amounts.items():
        check_range(name, amount, 0)
    for name, count in counts.items():
        check_range(name, count, 1)
