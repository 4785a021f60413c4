"""``steelyard prefer``: pairs of answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import InputError, check_range
from .app import app
from .options import By, Confidence, Encoding, Fields, Seed, check_apart, listed, pairs
from .output import check_format, priced, print_plan
from .progress import Progress

if TYPE_CHECKING:
    from ..core.records import Sample

FORMATS = ("table", "md", "json")


@app.command("prefer")
def prefer(
    systems: Annotated[
        list[Path], typer.Argument(help="Two or more systems: samples, or reports with their samples; paired by id.")
    ],
    judge: Annotated[str, typer.Option(help="openai:MODEL or http://host/v1#model.")],
    field: Fields = None,
    by: By = None,
    limit: Annotated[int | None, typer.Option(help="Use only this many samples.")] = None,
    max_failed: Annotated[float, typer.Option(help="Share of pairs that may fail.")] = 0.0,
    output_format: Annotated[str, typer.Option("--format", help="table, md or json.")] = "table",
    out: Annotated[Path | None, typer.Option("--out", help="Also write the full result to this file as JSON.")] = None,
    concurrency: Annotated[int, typer.Option(help="Maximum number of parallel calls.")] = 16,
    budget: Annotated[float | None, typer.Option(help="Stop before the cost exceeds this amount.")] = None,
    max_calls: Annotated[int | None, typer.Option(help="Maximum number of calls.")] = None,
    ledger: Annotated[Path | None, typer.Option(help="Cache of replies (default: .steelyard/ledger.sqlite).")] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Use cached replies only; a missing reply is an error.")
    ] = False,
    price: Annotated[str | None, typer.Option(help="IN,OUT: price per million prompt and completion tokens.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan with its cost and exit.")] = False,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    encoding: Encoding = "utf-8",
) -> int:
    """Which system answers better? A judge is asked about every pair in both orders.

    Exit codes: 0 good, 1 could not run, 3 too much failed.
    """
    from ..judges.pairwise import plan_prefer
    from ..judges.pairwise import prefer as weigh
    from ..render import preference as render

    check_format(output_format, FORMATS)
    check_range("max_failed", max_failed, 0, 1)
    check_apart(out, systems)
    read, who = named(systems, pairs(field, "--field"), encoding), priced(judge, price)
    if dry_run:
        for (a, b), plan in plan_prefer(read, who, by=listed(by), limit=limit, ledger=ledger).items():
            print(f"{a}, {b}:")
            print_plan(plan)
        return 0
    with Progress() as progress:
        found = weigh(
            read,
            who,
            by=listed(by),
            limit=limit,
            concurrency=concurrency,
            budget=budget,
            max_calls=max_calls,
            ledger=ledger,
            offline=offline,
            confidence=confidence,
            seed=seed,
            progress=progress,
        )
    print({"table": render.text, "md": render.markdown, "json": render.as_json}[output_format](found).rstrip("\n"))
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(render.as_json(found) + "\n", encoding="utf-8")
    return 3 if found.failed_share > max_failed else 0


def named(paths: list[Path], fields: dict[str, str], encoding: str) -> dict[str, list[Sample]]:
    """The samples of each path under the name of its system, or of its file or folder."""
    from ..io.samples import read_samples
    from ..reports.report import Report

    found: dict[str, list[Sample]] = {}
    for path in paths:
        if path.is_dir() or is_report(path):
            report = Report.load(path / "report.json" if path.is_dir() else path)
            if not report.samples:
                raise InputError("the report holds no samples", path=path)
            name, samples = report.system or path.stem, report.samples
        else:
            name, samples = path.stem, read_samples(path, fields=fields or None, encoding=encoding)
        if name in found:
            name = str(path)
        found[name] = samples
    return found


def is_report(path: Path) -> bool:
    """Whether a file begins as a report of ours does."""
    from ..io.text_files import peek

    return path.suffix == ".json" and b"steelyard-report/" in peek(path, 200)
