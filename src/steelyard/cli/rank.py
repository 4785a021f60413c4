"""``steelyard rank``: weigh rankings, as trec_eval does and beyond."""

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
    qrels: Annotated[Path, typer.Argument(help="Judgements: TREC qrels, BEIR TSV or a BEIR folder; .gz and .zst too.")],
    runs: Annotated[list[Path], typer.Argument(help="Run files in TREC format; several make one table.")],
    metrics: Metrics = None,
    per_query: Annotated[bool, typer.Option("--per-query", "-q", help="Print every query too.")] = False,
    complete: Annotated[
        bool, typer.Option("-c", help="Average over all judged queries; a missing one scores 0 (the default here).")
    ] = False,
    level: Annotated[
        float | None, typer.Option("-l", "--level", help="Relevant means a grade of at least this.")
    ] = None,
    judged_only: Annotated[bool, typer.Option("-J", "--judged-only", help="Leave unjudged documents out.")] = False,
    depth: Annotated[int | None, typer.Option("-M", "--depth", help="Look at this many documents per query.")] = None,
    compat: Annotated[str, typer.Option(help="steelyard or trec_eval (9.0.8).")] = "steelyard",
    missing: Annotated[str | None, typer.Option(help="A judged query absent from the run: zero or skip.")] = None,
    undefined: Annotated[str | None, typer.Option(help="A query with nothing relevant: skip or zero.")] = None,
    duplicates: Annotated[str, typer.Option(help="A document twice in a ranking: error or best.")] = "error",
    ties: Annotated[str, typer.Option(help="Order of equal scores: docid (descending) or given.")] = "docid",
    drop_self: Annotated[bool, typer.Option("--drop-self", help="Drop hits whose id is the query's.")] = False,
    tied: Annotated[
        bool, typer.Option("--tied-orders", help="How low and how high values would be with ties in other orders.")
    ] = False,
    output_format: Annotated[
        str, typer.Option("--format", help="table, json, md, latex, csv or trec_eval (as trec_eval -q prints).")
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
        int | None, typer.Option(help="Read this many run files, or pieces of a large one, at once.")
    ] = None,
    job: Annotated[str | None, typer.Option(help="Read in parts, whose results are kept in this folder.")] = None,
    buckets: Annotated[int | None, typer.Option(help="Parts of a job, about (default: one for 256 MB).")] = None,
    part: Annotated[str | None, typer.Option(help="I/N: do the I-th of N shares of the parts, from 1 on.")] = None,
    cluster: Annotated[str | None, typer.Option(help="ray (this machine) or ray:ADDRESS.")] = None,
    workers: Annotated[int | None, typer.Option(help="Workers of a cluster (default: one a processor).")] = None,
) -> int:
    """Weigh run files against judgements: everything trec_eval measures, with n and an interval."""
    check_format(output_format, FORMATS)
    check_range("precision", precision, 0, 17)
    check_range("buckets", buckets, 1)
    job_options = Job(job, buckets=buckets, part=part, cluster=cluster, workers=workers, split_only=False)
    as_trec = output_format == "trec_eval"
    if as_trec:
        compat = "trec_eval"
    if tied and as_trec:
        raise InputError("--tied-orders has no form in --format trec_eval: choose table, json, md, latex or csv")
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

    if tied:
        _tied_orders(qrels, runs, listed(metrics) or list(DEFAULT_METRICS), policy, output_format, per_query=per_query)
        return 0

    wanted = listed(metrics) or list(DEFAULT_METRICS)
    if job is not None:
        from ..runs.ranking_job import merge_rankings, plan_rankings

        if encoding != "utf-8":
            raise InputError("--encoding: the parts of a job are read as UTF-8")
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
        weigh = partial(evaluate_run, qrels=qrels, metrics=wanted, confidence=confidence, seed=seed, **policy)
        reports = at_once(weigh, runs, threads)
    for report, path in zip(reports, runs, strict=True):
        report.system = report.system or path.name
        keep(report, keep_it=keep_it, store=store, tag=tag)
    print_runs(reports, output_format, seed=seed, out=out, names=[path.name for path in runs], per_query=per_query)
    return 0


def _tied_orders(
    qrels: Path, runs: list[Path], wanted: list[str], policy: dict[str, Any], output_format: str, *, per_query: bool
) -> None:
    """The worst, the expected and the best value of every run over all orders of its ties."""
    from ..evaluate.evaluate_rankings import ranking_metrics
    from ..evaluate.tie_bounds import of_rankings
    from ..ranking.trec.files import load_rankings
    from ..render.latex import latex_table
    from ..render.markdown import markdown_table
    from ..render.table import aligned
    from ..render.tie_bounds import FOOT, as_csv, as_json, table

    asked = ranking_metrics(wanted)
    found = []
    for path in runs:
        rankings = load_rankings(path, qrels, **policy)
        found += of_rankings(rankings, asked, system=rankings.run_id or path.name)
    found.sort(key=lambda one: [label for label, _ in asked].index(one.metric))
    if output_format == "json":
        print(as_json(found))
    elif output_format == "csv":
        print(as_csv(found, per_query=per_query), end="")
    elif output_format == "latex":
        print(latex_table(table(found)))
    else:
        print("\n".join([*(markdown_table if output_format == "md" else aligned)(table(found)), "", FOOT]))
        if per_query:
            print(f"\n{as_csv(found, per_query=True)}", end="")


def at_once(weigh: Callable[..., Report], runs: list[Path], threads: int | None) -> list[Report]:
    """The reports of run files, in their order: several files by threads of their own, one by threads within."""
    if threads is not None and threads < 1:
        raise InputError(f"--threads must be at least 1, not {threads}")
    if len(runs) == 1:
        return [weigh(runs[0], threads=threads)]
    with ThreadPoolExecutor(min(len(runs), threads or os.cpu_count() or 1)) as pool:
        return list(pool.map(partial(weigh, threads=1), runs))
