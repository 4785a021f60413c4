"""``steelyard run``: a whole evaluation from a configuration file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from . import app
from .evaluate import check_format
from .progress import Progress

FORMATS = ("table", "json", "md", "latex", "csv")


@app.command("run")
def run(
    config: Annotated[Path, typer.Argument(help="YAML, TOML or JSON.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and its cost, and stop.")] = False,
    output_format: Annotated[str, typer.Option("--format", help="table, json, md, latex or csv.")] = "table",
    scale: Annotated[float, typer.Option(help="Show values from 0 to this.")] = 1.0,
) -> int:
    """Run what a configuration says.

    Exit codes: 0 good, 1 could not run, 2 a threshold was missed, 3 too much failed.
    """
    from ..config import read_config, read_plain
    from ..gate import exit_code
    from ..render.plain import printed
    from ..run_config import plan
    from ..run_config import run as weigh
    from ..system_config import has_systems

    check_format(output_format, FORMATS)
    if has_systems(read_plain(config)):
        return _run_systems(config, output_format, dry_run=dry_run)
    read = read_config(config)
    base = config.resolve().parent
    planned = plan(read, base=base)
    print(planned, file=sys.stdout if dry_run else sys.stderr)
    if dry_run:
        return 0
    with Progress() as progress:
        report, found = weigh(read, base=base, progress=progress)
    print(printed(report, output_format, scale=scale))
    for rule in found:
        print(rule, file=sys.stdout if output_format == "table" else sys.stderr)
    return exit_code(found)


def _run_systems(config: Path, output_format: str, *, dry_run: bool) -> int:
    """Several systems, or one with several settings: a table of all, what each took, and every rule's verdict."""
    from ..gate import exit_code
    from ..render.plain import estimates_csv
    from ..render.systems import side_by_side
    from ..run_systems import plan_systems, run_systems
    from ..system_config import read_systems_config

    read = read_systems_config(config)
    base = config.resolve().parent
    if dry_run:
        lines, planned = plan_systems(read, base=base)
        print("\n".join([*lines, "for each of them about:", str(planned)]))
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
