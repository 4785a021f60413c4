"""``steelyard prefer``: pairwise comparison of answers by a judge."""

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
        list[Path], typer.Argument(help="Samples or reports of two or more systems; samples are paired by id.")
    ],
    judge: Annotated[str, typer.Option(help="Judge: openai:MODEL or http://host/v1#model.")],
    field: Fields = None,
    by: By = None,
    limit: Annotated[int | None, typer.Option(help="Use only the first LIMIT samples.")] = None,
    max_failed: Annotated[float, typer.Option(help="Maximum share of failed pairs.")] = 0.0,
    output_format: Annotated[str, typer.Option("--format", help="Output: table, md or json.")] = "table",
    out: Annotated[Path | None, typer.Option("--out", help="Write all results to this JSON file too.")] = None,
    concurrency: Annotated[int, typer.Option(help="Maximum number of parallel calls.")] = 16,
    budget: Annotated[float | None, typer.Option(help="Stop before the cost exceeds this.")] = None,
    max_calls: Annotated[int | None, typer.Option(help="Stop after this many calls.")] = None,
    ledger: Annotated[Path | None, typer.Option(help="File of cached replies.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Make no calls; use cached replies only.")] = False,
    price: Annotated[str | None, typer.Option(help="IN,OUT: price per million tokens.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and its cost, and stop.")] = False,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    encoding: Encoding = "utf-8",
) -> int:
    """Compare the answers of systems pairwise with a judge.

    The judge sees each pair of answers in both orders.
    Exit codes: 0 success, 1 error, 3 too many pairs failed.
    """
    from ..judges.pairwise import plan_prefer, prefer as compare_answers
    from ..render import preference as render

    check_format(output_format, FORMATS)
    check_range("max_failed", max_failed, 0, 1)
    check_apart(out, systems)
    samples, priced_judge = named(systems, pairs(field, "--field"), encoding), priced(judge, price)
    if dry_run:
        for (a, b), plan in plan_prefer(samples, priced_judge, by=listed(by), limit=limit, ledger=ledger).items():
            print(f"{a}, {b}:")
            print_plan(plan)
        return 0
    with Progress() as progress:
        found = compare_answers(
            samples,
            priced_judge,
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
    """Read the samples of each path; the key is the name of the system, or of the file or folder."""
    from ..io.samples import read_samples
    from ..reports.report import Report

    found: dict[str, list[Sample]] = {}
    for path in paths:
        if path.is_dir() or is_report(path):
            report = Report.load(path / "report.json" if path.is_dir() else path)
            if not report.samples:
                raise InputError("the report contains no samples", path=path)
            name, samples = report.system or path.stem, report.samples
        else:
            name, samples = path.stem, read_samples(path, fields=fields or None, encoding=encoding)
        if name in found:
            name = str(path)
        found[name] = samples
    return found


def is_report(path: Path) -> bool:
    """Return whether a file starts like a Steelyard report."""
    from ..io.text_files import peek

    return path.suffix == ".json" and b"steelyard-report/" in peek(path, 200)
