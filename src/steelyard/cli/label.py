"""``steelyard label``: a sheet of samples for human labels, and labelling in the terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import InputError
from .app import app
from .options import By, Seed, StoreAt, listed, scale_of


@app.command("label")
def label(
    report: Annotated[str, typer.Argument(help="Report with the judge's scores: a file, its folder or latest:TAG.")],
    out: Annotated[Path, typer.Option("--out", help="Sheet to write: .csv, .tsv or .jsonl.")] = Path("labels.csv"),
    metric: Annotated[str | None, typer.Option("--metric", "-m", help="Metric to label.")] = None,
    n: Annotated[int, typer.Option("-n", help="Number of samples to label.")] = 100,
    bins: Annotated[int, typer.Option(help="Number of strata of the score to draw from.")] = 1,
    by: By = None,
    claims: Annotated[bool, typer.Option("--claims", help="Label single claims instead of whole samples.")] = False,
    interactive: Annotated[
        bool, typer.Option("--interactive", help="Label the sheet in this terminal, sample by sample.")
    ] = False,
    annotator: Annotated[str, typer.Option(help="Name of the annotator.")] = "",
    scale: Annotated[str | None, typer.Option(help="Range of the ratings, such as 1-5.")] = None,
    store: StoreAt = None,
    seed: Seed = 0,
) -> None:
    """Draw samples for human labels, and write a sheet to fill in.

    Samples are drawn at random or within strata. The sheet does not show the judge's scores. `--interactive` asks
    for the labels in the terminal and resumes an existing sheet; an existing sheet is never overwritten. Exit
    codes: 0 success, 1 error.
    """
    from ..core.wording import pluralize
    from ..judges.annotations import Sheet
    from ..judges.label_sampling import label as draw_samples, sheet_of
    from ..judges.label_terminal import label_in_terminal
    from ..reports.metric_identity import label_of
    from ..reports.store import DEFAULT, report_at

    loaded = report_at(report, store=store or DEFAULT)
    column = label_of(loaded, metric or "")
    rating_range = scale_of(scale)
    if out.exists() and not interactive:
        raise InputError("the sheet exists: resume it with --interactive, or name another with --out", path=out)
    if out.exists():
        sheet = Sheet.read(out)
    else:
        draws = draw_samples(loaded, column, n, bins=bins, by=listed(by), claims=claims, seed=seed)
        sheet = sheet_of(loaded, column, draws, out, annotator=annotator)
        sheet.save()
        drawn = pluralize(len(draws), "claim" if claims else "sample")
        print(f"wrote {out}: {drawn} to label", file=sys.stderr)
    if interactive:
        bounds = rating_range or loaded.notes[column].bounds
        given = label_in_terminal(sheet, {one.id: one for one in loaded.samples}, bounds=bounds, annotator=annotator)
        value = sheet.column("value")
        left = sum(not row.get(value) for row in sheet.rows)
        print(f"{given} labelled, {left} left in {out}")
