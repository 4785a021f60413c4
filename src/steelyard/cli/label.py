"""``steelyard label``: choose what people should label next."""

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
    report: Annotated[str, typer.Argument(help="What the judge said: a report, its folder, or latest:TAG.")],
    out: Annotated[Path, typer.Option("--out", help="The sheet: .csv, .tsv or .jsonl.")] = Path("labels.csv"),
    metric: Annotated[str | None, typer.Option("--metric", "-m", help="The metric to be labelled.")] = None,
    n: Annotated[int, typer.Option("-n", help="How many to label.")] = 100,
    bins: Annotated[int, typer.Option(help="Draw within so many strata of the score.")] = 1,
    by: By = None,
    claims: Annotated[bool, typer.Option("--claims", help="Label single claims in place of samples.")] = False,
    walk_it: Annotated[bool, typer.Option("--walk", help="Go through the sheet here, in the terminal.")] = False,
    annotator: Annotated[str, typer.Option(help="Who labels.")] = "",
    scale: Annotated[str | None, typer.Option(help="What the ratings range over, such as 1-5.")] = None,
    store: StoreAt = None,
    seed: Seed = 0,
) -> None:
    """Draw what to label next, at random or within strata, and write a sheet; with --walk, label it here.

    The sheet shows what a person needs and nothing of what the judge said. A sheet that is there already is gone on
    with by --walk and never overwritten.
    """
    from ..core.wording import pluralize
    from ..judges.annotations import Sheet
    from ..judges.label_sampling import draw, sheet_of
    from ..judges.label_terminal import walk
    from ..reports.metric_identity import label_of
    from ..reports.store import DEFAULT, report_at

    loaded = report_at(report, store=store or DEFAULT)
    column = label_of(loaded, metric or "")
    span = scale_of(scale)
    if out.exists() and not walk_it:
        raise InputError("the sheet is there already: --walk goes on with it, --out names another", path=out)
    if out.exists():
        sheet = Sheet.read(out)
    else:
        draws = draw(loaded, column, n, bins=bins, by=listed(by), claims=claims, seed=seed)
        sheet = sheet_of(loaded, column, draws, out, annotator=annotator)
        sheet.save()
        drawn = pluralize(len(draws), "claim" if claims else "sample")
        print(f"wrote {out}: {drawn} to label", file=sys.stderr)
    if walk_it:
        bounds = span or loaded.notes[column].bounds
        given = walk(sheet, {one.id: one for one in loaded.samples}, bounds=bounds, annotator=annotator)
        value = sheet.column("value")
        left = sum(not row.get(value) for row in sheet.rows)
        print(f"{given} labelled, {left} left in {out}")
