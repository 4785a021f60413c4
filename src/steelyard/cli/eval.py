"""``steelyard eval``: score RAG answers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

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

FORMATS = ("table", "json", "md", "latex", "csv")


@app.command("eval")
def evaluate(
    data: Annotated[list[Path], typer.Argument(help="Samples: JSONL, JSON, CSV or Parquet; several are joined.")],
    metrics: Metrics = None,
    judge: Annotated[
        list[str] | None, typer.Option(help="openai:MODEL or http://host/v1#model; several are a jury.")
    ] = None,
    aggregate: Annotated[
        str, typer.Option(help="How to combine several judges: mean, majority or unanimous.")
    ] = "mean",
    embedder: Annotated[str | None, typer.Option(help="local, openai:MODEL or http://host/v1#model.")] = None,
    field: Fields = None,
    threshold: Annotated[
        list[str] | None, typer.Option("--threshold", help="METRIC=VALUE: gate on the pooled value.")
    ] = None,
    pass_rate: Annotated[
        list[str] | None, typer.Option("--pass-rate", help="METRIC=SHARE: gate on the share of samples that pass.")
    ] = None,
    max_failed: Annotated[float, typer.Option(help="Maximum share of failed samples per metric.")] = 0.0,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", help="Baseline report (a file, a folder or latest:TAG) to compare with."),
    ] = None,
    tolerance: Annotated[float, typer.Option(help="With --baseline: a drop of more than this is a regression.")] = 0.01,
    significant: Annotated[
        bool, typer.Option("--significant", help="With --baseline: a drop must also be significant.")
    ] = False,
    by: By = None,
    cluster: Annotated[
        str | None, typer.Option(help="Keep samples that share this tag together when resampling.")
    ] = None,
    out: Out = None,
    output_format: Annotated[str, typer.Option("--format", help="table, json, md, latex or csv.")] = "table",
    scale: Annotated[float, typer.Option(help="Show values on a scale from 0 to this.")] = 1.0,
    concurrency: Annotated[int, typer.Option(help="Maximum number of parallel calls.")] = 16,
    repeats: Annotated[int, typer.Option(help="Number of judge replies per score.")] = 1,
    budget: Annotated[float | None, typer.Option(help="Stop before the cost exceeds this.")] = None,
    max_calls: Annotated[int | None, typer.Option(help="Stop after this many calls.")] = None,
    price: Annotated[str | None, typer.Option(help="IN,OUT: price per million tokens.")] = None,
    ledger: Annotated[Path | None, typer.Option(help="File of cached replies.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Make no calls; use cached replies only.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and its cost, and stop.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first failure.")] = False,
    name: Annotated[str, typer.Option(help="Name of the system in the report.")] = "",
    keep_it: Keep = False,
    store: StoreAt = None,
    tag: Tag = "",
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    encoding: Encoding = "utf-8",
) -> int:
    """Score RAG answers with lexical metrics or an LLM judge.

    Prints a plan before the first call of a judge. Exit codes: 0 success, 1 error, 2 threshold missed or
    regression against the baseline, 3 too many failures or baseline not comparable.
    """
    from ..evaluate.evaluate_samples import DEFAULT_METRICS, scorer_of
    from ..io.samples import read_samples
    from ..models.run_options import RunOptions
    from ..reports.gate import exit_code, rules

    check_format(output_format, FORMATS)
    _check(
        aggregate,
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
    progress = Progress()
    scorer = scorer_of(
        wanted,
        judge=judges,
        aggregate=aggregate,
        embedder=embedder,
        thresholds=thresholds,
        pass_rates=rates,
        by=by,
        cluster=cluster,
        options=RunOptions(
            concurrency=concurrency,
            repeats=repeats,
            budget=budget,
            max_calls=max_calls,
            ledger=ledger,
            offline=offline,
            strict=strict,
            confidence=confidence,
            seed=seed,
            progress=progress,
        ),
    )
    if judges or dry_run:
        plans = scorer.plans(samples)
        for judged_by, plan in plans.items():
            print(*([judged_by] if len(plans) > 1 else []), plan, sep="\n", file=sys.stdout if dry_run else sys.stderr)
            if dry_run:
                print_unknown_cost(plan)
        if dry_run:
            return 0
    with progress:
        report = scorer.run(samples, name=name, dataset=", ".join(path.name for path in data))
    keep(report, keep_it=keep_it, store=store, tag=tag)
    gates = rules(report, thresholds=thresholds, pass_rates=rates, max_failed=max_failed)
    finish(report, gates, out=out, output_format=output_format, scale=scale, max_failed=max_failed)
    if earlier is None:
        return exit_code(gates)
    from msgspec.structs import replace

    from ..reports.compare import compare

    comparison = compare(
        report, earlier, tolerance, significant=significant, by=by, cluster=cluster, max_failed=max_failed, seed=seed
    )
    comparison = replace(comparison, baseline=earlier.system or baseline or "")
    if out is not None:
        from ..render.html_comparison import comparison_page
        from ..reports.store import DEFAULT, Store

        page = comparison_page(comparison, report, earlier, trend=Store(store or DEFAULT).trend(report))
        (out / "comparison.html").write_text(page, encoding="utf-8")
    print(f"\n{comparison}", file=sys.stdout if output_format == "table" else sys.stderr)
    return max(exit_code(gates), comparison.exit_code)


def _check(
    aggregate: str,
    price: str | None,
    *,
    shares: Mapping[str, float],
    amounts: Mapping[str, float | None],
    counts: Mapping[str, int],
) -> None:
    """InputError for an invalid setting before any work, even if this run does not need the setting."""
    from ..evaluate.jury import RULES

    if aggregate not in RULES:
        raise InputError(f"--aggregate {aggregate}: choose from {', '.join(RULES)}")
    prices(price)
    for name, share in shares.items():
        check_range(name, share, 0, 1)
    for name, amount in amounts.items():
        check_range(name, amount, 0)
    for name, count in counts.items():
        check_range(name, count, 1)
