"""``steelyard demo``: the whole path on the corpus that ships."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import app


@app.command("demo")
def demo(
    out: Annotated[Path, typer.Option("--out", help="Where runs, samples and reports are written.")] = Path(
        "steelyard-demo"
    ),
) -> None:
    """Weigh two retrievers and their answers on 40 questions about lighthouses. No key, no network."""
    from ..demo import run
    from ..render.table import aligned, estimates

    print("40 questions on a corpus about lighthouses; two retrievers, one extractive answerer\n")
    for system, rankings, answers in run(out):
        print(f"── {system}: rankings", *aligned(estimates(rankings)), "", sep="\n")
        print(f"── {system}: answers", *aligned(estimates(answers)), "", sep="\n")
    print(f"runs, samples and reports are in {out}/; look at one with: steelyard show {out}/bm25/answers")
