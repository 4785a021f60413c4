"""``steelyard rank``: score run files with the metrics of trec_eval and others."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ..core.errors import InputError, check_range
from ..ranking.policy import Compat, Duplicates, Missing, Policy, Ties, Undefined
from .app import app
from .job_options import Job
from .options import Confidence, Encoding, Keep, Metrics, Out, Seed, StoreAt, Tag, keep, listed
from .output import check_format, print_runs

if TYPE_CHECKING:
    from ..reports.report import Report

FORMATS = ("table", "json", "md", "latex", "csv", "trec_eval")


@app.command("rank")
def rank(
    qrels: Annotated[Path, typer.Argument(help="Qrels: TREC qrels, BEIR TSV or a BEIR folder; .gz and .zst too.")],
    runs: Annotated[list[Path], typer.Argument(help="Run files in TREC format; several are shown in one table.")],
    metrics: Metrics = None,
    per_query: Annotated[bool, typer.Option("--per-query", "-q", help="Print the values of every query too.")] = False,
    complete: Annotated[
        bool,
        typer.Option(
            "-c", help="Average over all judged queries; a query missing from the run scores 0 (the default)."
        ),
    ] = False,
    level: Annotated[float | None, typer.Option("-l", "--level", help="Lowest grade that counts as relevant.")] = None,
    judged_only: Annotated[
        bool, typer.Option("-J", "--judged-only", help="Remove unjudged documents from the rankings.")
    ] = False,
    depth: Annotated[
        int | None, typer.Option("-M", "--depth", help="Score only this many documents per query.")
    ] = None,
    compat: Annotated[str, typer.Option(help="Conventions: steelyard or trec_eval (9.0.8).")] = "steelyard",
    missing: Annotated[
        str | None, typer.Option(help="Score of a judged query that is not in the run: zero or skip.")
    ] = None,
    undefined: Annotated[
        str | None, typer.Option(help="Score of a query without relevant documents: skip or zero.")
    ] = None,
    duplicates: Annotated[
        str, typer.Option(help="Handling of a document that occurs twice in a ranking: error or best.")
    ] = "error",
    ties: Annotated[
        str, typer.Option(help="Order of documents with equal scores: docid (descending) or given.")
    ] = "docid",
    drop_self: Annotated[
        bool, typer.Option("--drop-self", help="Remove documents whose id equals the id of the query.")
    ] = False,
    tie_bounds: Annotated[
        bool, typer.Option("--tie-bounds", help="Print the worst and best value over all orders of tied documents.")
    ] = False,
    output_format: Annotated[
        str, typer.Option("--format", help="table, json, md, latex, csv or trec_eval (the output of trec_eval -q).")
    ] = "table",
    precision: Annotated[int, typer.Option(help="Decimals of --format trec_eval.")] = 4,
    out: Out = None,
    keep_it: Keep = False,
    store: StoreAt = None,
    tag: Tag = "",
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    encoding: Encoding = "utf-8",
    threads: Annotated[
        int | None, typer.Option(help="Number of run files, or pieces of one large file, to read in parallel.")
    ] = None,
    job: Annotated[
        str | None, typer.Option(help="Read in parts and store their results in this folder, as a job.")
    ] = None,
    buckets: Annotated[
        int | None, typer.Option(help="Approximate number of parts of a job (default: one for every 256 MB).")
    ] = None,
    part: Annotated[str | None, typer.Option(help="I/N: run share I of N of the parts, counted from 1.")] = None,
    cluster: Annotated[str | None, typer.Option(help="ray (this machine) or ray:ADDRESS.")] = None,
    workers: Annotated[
        int | None, typer.Option(help="Number of workers of a cluster (default: one for each processor).")
    ] = None,
) -> int:
    """Score run files against qrels: every measure of trec_eval, with n and an interval."""
    check_format(output_format, FORMATS)
    check_range("precision", precision, 0, 17)
    check_range("buckets", buckets, 1)
    job_options = Job(job, buckets=buckets, part=part, cluster=cluster, workers=workers, split_only=False)
    as_trec = output_format == "trec_eval"
    if as_trec:
        compat = "trec_eval"
    if tie_bounds and as_trec:
        raise InputError("--tie-bounds does not support --format trec_eval: use table, json, md, latex or csv")
    if complete and missing == "skip":
        raise InputError("-c and --missing skip contradict each other")
    policy: dict[str, Any] = {
        "compat": cast("Compat", compat),
        "missing": cast("Missing | None", "zero" if complete else missing),
        "undefined": cast("Undefined | None", undefined),
        "duplicates": cast("Duplicates", duplicates),
        "ties": cast("Ties", ties),
        "drop_self": drop_self,
        "relevance_level": level,
        "judged_only": judged_only,
        "depth": depth,
        "encoding": encoding,
    }
    if as_trec:
        from ..ranking.trec.files import load_rankings
        from ..render.trec_eval import trec_eval_lines

        for path in runs:
            rankings = load_rankings(path, qrels, **policy)
            wanted = listed(metrics) or ["official"]
            for line in trec_eval_lines(rankings, wanted, per_query=per_query, precision=precision):
                print(line)
        return 0
    from ..evaluate.evaluate_rankings import DEFAULT_METRICS, evaluate_run

    if tie_bounds:
        _print_tie_bounds(
            qrels, runs, listed(metrics) or list(DEFAULT_METRICS), policy, output_format, per_query=per_query
        )
        return 0

    wanted = listed(metrics) or list(DEFAULT_METRICS)
    if job is not None:
        from ..runs.ranking_job import merge_rankings, plan_rankings

        if encoding != "utf-8":
            raise InputError("--encoding is not supported with --job, which reads UTF-8")
        policy.pop("encoding")
        folder = job_options.folder()
        settings = Policy(**policy)
        manifest = plan_rankings(
            folder, runs, qrels, wanted, policy=settings, confidence=confidence, seed=seed, buckets=buckets
        )
        if not job_options.done(folder, manifest):
            return 0
        reports = merge_rankings(folder)
    else:
        score = partial(evaluate_run, qrels=qrels, metrics=wanted, confidence=confidence, seed=seed, **policy)
        reports = evaluate_in_parallel(score, runs, threads)
    for report, path in zip(reports, runs, strict=True):
        report.system = report.system or path.name
        keep(report, keep_it=keep_it, store=store, tag=tag)
    print_runs(reports, output_format, seed=seed, out=out, names=[path.name for path in runs], per_query=per_query)
    return 0


def _print_tie_bounds(
    qrels: Path, runs: list[Path], wanted: list[str], policy: dict[str, Any], output_format: str, *, per_query: bool
) -> None:
    """Print the worst, the expected and the best value of every run over all orders of its tied documents."""
    from ..evaluate.evaluate_rankings import ranking_metrics
    from ..evaluate.tie_bounds import of_rankings
    from ..ranking.trec.files import load_rankings
    from ..render.latex import latex_table
    from ..render.markdown import markdown_table
    from ..render.table import aligned
    from ..render.tie_bounds import FOOT, as_csv, as_json, table

    asked = ranking_metrics(wanted)
    bounds = []
    for path in runs:
        rankings = load_rankings(path, qrels, **policy)
        bounds += of_rankings(rankings, asked, system=rankings.run_id or path.name)
    bounds.sort(key=lambda one: [label for label, _ in asked].index(one.metric))
    if output_format == "json":
        print(as_json(bounds))
    elif output_format == "csv":
        print(as_csv(bounds, per_query=per_query), end="")
    elif output_format == "latex":
        print(latex_table(table(bounds)))
    else:
        print("\n".join([*(markdown_table if output_format == "md" else aligned)(table(bounds)), "", FOOT]))
        if per_query:
            print(f"\n{as_csv(bounds, per_query=True)}", end="")


def evaluate_in_parallel(score: Callable[..., Report], runs: list[Path], threads: int | None) -> list[Report]:
    """The reports of run files, in order: one thread for each of several files, several threads for a single file."""
    if threads is not None and threads < 1:
        raise InputError(f"--threads must be at least 1, not {threads}")
    if len(runs) == 1:
        return [score(runs[0], threads=threads)]
    with ThreadPoolExecutor(min(len(runs), threads or os.cpu_count() or 1)) as pool:
        return list(pool.map(partial(score, threads=1), runs))
