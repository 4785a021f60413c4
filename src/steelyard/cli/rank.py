"""``steelyard rank``: weigh rankings, as trec_eval does and beyond."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ..errors import InputError
from ..rankings import Compat, Duplicates, Missing, Ties, Undefined
from . import app
from .evaluate import check_format
from .options import Confidence, Encoding, Keep, Metrics, Out, Seed, StoreAt, Tag, keep, listed

if TYPE_CHECKING:
    from ..report import Report

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
) -> int:
    """Weigh run files against judgements: everything trec_eval measures, with n and an interval."""
    check_format(output_format, FORMATS)
    as_trec = output_format == "trec_eval"
    if as_trec:
        compat = "trec_eval"
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
        from ..trec import load_rankings
        from ..trec_output import trec_eval_lines

        for path in runs:
            rankings = load_rankings(path, qrels, **policy)
            wanted = listed(metrics) or ["official"]
            for line in trec_eval_lines(rankings, wanted, per_query=per_query, precision=precision):
                print(line)
        return 0
    from ..evaluate_rankings import DEFAULT_METRICS, evaluate_run
    from ..render.files import write
    from ..render.plain import estimates_csv, printed, scores_csv

    wanted = listed(metrics) or list(DEFAULT_METRICS)
    reports = [evaluate_run(path, qrels, wanted, confidence=confidence, seed=seed, **policy) for path in runs]
    for report, path in zip(reports, runs, strict=True):
        report.system = report.system or path.name
        if out is not None:
            write(report, out if len(runs) == 1 else out / path.name)
        keep(report, keep_it=keep_it, store=store, tag=tag)
    if output_format == "csv":
        sys.stdout.write(estimates_csv(reports))
    elif len(reports) > 1 and output_format != "json":
        _side_by_side(reports, output_format, seed)
    elif output_format == "json" and len(reports) > 1:
        print("[" + ",\n".join(report.to_json().decode().rstrip("\n") for report in reports) + "]")
    else:
        print(printed(reports[0], output_format))
    if per_query:
        for report in reports:
            sys.stdout.write(scores_csv(report))
    return 0


def _side_by_side(reports: list[Report], output_format: str, seed: int) -> None:
    """One table of all runs, and under it what was met while reading each."""
    from ..line_up import line_up
    from ..render.latex import latex_table
    from ..render.line_up import FOOT, table
    from ..render.markdown import markdown_table
    from ..render.table import aligned

    found = table(line_up(reports, seed=seed))
    if output_format == "latex":
        print(latex_table(found))
        return
    lines = markdown_table(found) if output_format == "md" else aligned(found)
    print("\n".join([*lines, "", FOOT]))
    for report in reports:
        for line in report.warnings:
            print(f"{report.system}: {line}")
