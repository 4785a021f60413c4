"""``steelyard run``: a whole evaluation from a configuration file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import InputError
from .app import app
from .job_options import Job
from .output import PRICE_SETTING, check_format, print_outcome, print_unknown_cost
from .progress import Progress, lasting

FORMATS = ("table", "json", "md", "latex", "csv")


@app.command("run")
def run(
    config: Annotated[Path, typer.Argument(help="YAML, TOML or JSON.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan with its cost and exit.")] = False,
    output_format: Annotated[str, typer.Option("--format", help="table, json, md, latex or csv.")] = "table",
    scale: Annotated[float, typer.Option(help="Show values on a scale from 0 to this.")] = 1.0,
    concurrency: Annotated[
        int | None,
        typer.Option(help="Maximum number of parallel calls of each worker (default: from the configuration)."),
    ] = None,
    rate: Annotated[
        list[str] | None, typer.Option("--rate", help="ENDPOINT=250/s: maximum calls per second; repeatable.")
    ] = None,
    job: Annotated[
        str | None, typer.Option(help="Run as a job in parts, stored in this folder or at this fsspec URL (s3://…).")
    ] = None,
    buckets: Annotated[
        int | None, typer.Option(help="Number of parts of a job (default: one per 200 samples, at most 1024).")
    ] = None,
    part: Annotated[str | None, typer.Option(help="I/N: run share I of N of the parts, counted from 1.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="ray (this machine) or ray:ADDRESS (auto, HOST:PORT, ray://HOST:PORT).")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Workers of a cluster (default: one per processor).")] = None,
    split_only: Annotated[bool, typer.Option("--split-only", help="Split the samples into parts, and stop.")] = False,
) -> int:
    """Run a configuration, at once or as a job in parts.

    The same command resumes a job and retries its temporary failures. Exit codes: 0 success, 1 error, 2
    threshold missed, 3 too many failures.
    """
    from ..models.rate_limits import rates_of
    from ..runs.config import read_config, read_plain
    from ..runs.run_config import ConfiguredRun, duration, endpoints_in
    from ..runs.system_config import has_systems

    check_format(output_format, FORMATS)
    job_options = Job(job, buckets=buckets, part=part, cluster=cluster, workers=workers, split_only=split_only)
    if has_systems(read_plain(config)):
        if job is not None or rate:
            raise InputError("--job and --rate are for a configuration of samples, not of systems", path=config)
        with _in(config):
            return _run_systems(config, output_format, dry_run=dry_run)
    read = read_config(config)
    if concurrency is not None:
        read.concurrency = concurrency
    base = config.resolve().parent
    with _in(config):
        rates = rates_of(rate or (), endpoints_in(read) if rate else {})
        if job is not None and not dry_run:
            return job_options.run(read, base=base, rates=rates, output_format=output_format, scale=scale)
        progress = Progress()
        configured = ConfiguredRun(read, base=base, rates=rates, progress=progress, job=job is not None)
    plan = configured.plan()
    channel = sys.stdout if dry_run else sys.stderr
    print(plan, file=channel)
    if rates:
        print(f"at these rates {lasting(duration(plan, read, rates))} at least", file=channel)
    if dry_run:
        if job is not None:
            print("for the whole job: replies in its ledgers are not requested again, equal requests once per part")
        print_unknown_cost(plan, PRICE_SETTING)
        return 0
    with progress:
        outcome = configured.run()
    return print_outcome(outcome, output_format, scale=scale)


@contextmanager
def _in(config: Path) -> Iterator[None]:
    """Add the path of the configuration to errors about a setting."""
    try:
        yield
    except InputError as error:
        if error.path is None and (error.field or "").startswith("$."):
            raise InputError(error.message, path=config, field=error.field) from None
        raise


def _run_systems(config: Path, output_format: str, *, dry_run: bool) -> int:
    """Run several systems, or one with several settings: a table of all, their usage, and every rule's verdict."""
    from ..render.formats import estimates_csv
    from ..render.system_tables import side_by_side
    from ..reports.gate import exit_code
    from ..runs.plan_systems import plan_systems
    from ..runs.run_systems import run_systems
    from ..runs.system_config import Bm25, read_systems_config
    from ..systems import bm25

    read = read_systems_config(config)
    base = config.resolve().parent
    if dry_run:
        plan = plan_systems(read, base=base)
        print(plan)
        print_unknown_cost(plan.total, PRICE_SETTING)
    if any(isinstance(one, Bm25) for one in read.systems.values()):
        bm25.library()
    if dry_run:
        return 0
    with Progress() as progress:
        outcome = run_systems(read, base=base, progress=progress)
    if output_format == "csv":
        print(estimates_csv(outcome.reports), end="")
    elif output_format == "json":
        print("[" + ",\n".join(report.to_json().decode().rstrip("\n") for report in outcome.reports) + "]")
    else:
        print(side_by_side(outcome.reports, outcome.places, output_format))
    for rule in outcome.rules:
        print(rule, file=sys.stdout if output_format == "table" else sys.stderr)
    return exit_code(outcome.rules)
