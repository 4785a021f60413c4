"""``steelyard run``: a whole evaluation from a configuration file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import InputError
from .app import app
from .job_options import Job
from .output import check_format, print_outcome
from .progress import Progress, lasting

if TYPE_CHECKING:
    from ..evaluate.plan import Plan

FORMATS = ("table", "json", "md", "latex", "csv")


@app.command("run")
def run(
    config: Annotated[Path, typer.Argument(help="YAML, TOML or JSON.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and its cost, and stop.")] = False,
    output_format: Annotated[str, typer.Option("--format", help="table, json, md, latex or csv.")] = "table",
    scale: Annotated[float, typer.Option(help="Show values from 0 to this.")] = 1.0,
    concurrency: Annotated[
        int | None, typer.Option(help="Calls at once, at most, of each worker (default: the configuration's workers).")
    ] = None,
    rate: Annotated[
        list[str] | None, typer.Option("--rate", help="ENDPOINT=250/s: calls a second, at most; may be repeated.")
    ] = None,
    job: Annotated[
        str | None, typer.Option(help="Run in parts that are kept here: a folder, or a URL that fsspec knows.")
    ] = None,
    buckets: Annotated[
        int | None, typer.Option(help="Parts of a job (default: one for every 200 samples, at most 1024).")
    ] = None,
    part: Annotated[str | None, typer.Option(help="I/N: do the I-th of N shares of the parts, from 1 on.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="ray (this machine) or ray:ADDRESS (auto, HOST:PORT, ray://HOST:PORT).")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Workers of a cluster (default: one a processor).")] = None,
    plan_only: Annotated[bool, typer.Option("--plan", help="Split the samples into parts, and stop.")] = False,
) -> int:
    """Run what a configuration says, at once or as a job in parts.

    A job goes on where it was left, and tries again what failed for a while. Exit codes: 0 good, 1 could not run, 2 a
    threshold was missed, 3 too much failed.
    """
    from ..models.rate_limits import rates_of
    from ..runs.config import read_config, read_plain
    from ..runs.run_config import duration, endpoints_in, plan, scorer_of
    from ..runs.run_config import run as weigh
    from ..runs.system_config import has_systems

    check_format(output_format, FORMATS)
    job_options = Job(job, buckets=buckets, part=part, cluster=cluster, workers=workers, plan_only=plan_only)
    if has_systems(read_plain(config)):
        if job is not None or rate:
            raise InputError("--job and --rate are for a configuration of samples, not of systems", path=config)
        with _in(config):
            return _run_systems(config, output_format, dry_run=dry_run)
    read = read_config(config)
    with _in(config):
        scorer_of(read)
    base = config.resolve().parent
    rates = rates_of(rate or (), endpoints_in(read) if rate else {})
    if concurrency is not None:
        read.workers = concurrency
    if dry_run or job is None:
        planned = plan(read, base=base, job=job is not None)
        print(planned, file=sys.stdout if dry_run else sys.stderr)
        if rates:
            print(
                f"at these rates {lasting(duration(planned, read, rates))} at least",
                file=sys.stdout if dry_run else sys.stderr,
            )
        if dry_run and job is not None:
            print("for the whole job: replies that its parts hold are not asked for again, equal questions once a part")
        if dry_run:
            _say_unknown(planned)
            return 0
    if job is not None:
        return job_options.run(read, base=base, rates=rates, output_format=output_format, scale=scale)
    with Progress() as progress:
        outcome = weigh(read, base=base, rates=rates, progress=progress)
    return print_outcome(outcome, output_format, scale=scale)


@contextmanager
def _in(config: Path) -> Iterator[None]:
    """Errors about a setting name the file that it stands in."""
    try:
        yield
    except InputError as error:
        if error.path is None and (error.field or "").startswith("$."):
            raise InputError(error.message, path=config, field=error.field) from None
        raise


def _say_unknown(planned: Plan) -> None:
    """Say where a price is missing, and how the configuration names one."""
    if line := planned.unknown("give the judge's price per million tokens, as in judge: {model: …, price: [in, out]}"):
        print(line)


def _run_systems(config: Path, output_format: str, *, dry_run: bool) -> int:
    """Several systems, or one with several settings: a table of all, what each took, and every rule's verdict."""
    from ..render.formats import estimates_csv
    from ..render.systems import side_by_side
    from ..reports.gate import exit_code
    from ..runs.plan_systems import plan_systems
    from ..runs.run_systems import run_systems
    from ..runs.system_config import Bm25, read_systems_config
    from ..systems import bm25

    read = read_systems_config(config)
    base = config.resolve().parent
    if dry_run:
        planned = plan_systems(read, base=base)
        print(planned)
        _say_unknown(planned.total)
    if any(isinstance(one, Bm25) for one in read.systems.values()):
        bm25.library()
    if dry_run:
        return 0
    with Progress() as progress:
        found = run_systems(read, base=base, progress=progress)
    if output_format == "csv":
        print(estimates_csv(found.reports), end="")
    elif output_format == "json":
        print("[" + ",\n".join(report.to_json().decode().rstrip("\n") for report in found.reports) + "]")
    else:
        print(side_by_side(found.reports, found.places, output_format))
    for rule in found.rules:
        print(rule, file=sys.stdout if output_format == "table" else sys.stderr)
    return exit_code(found.rules)
