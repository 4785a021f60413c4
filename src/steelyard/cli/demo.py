"""``steelyard demo``: a complete evaluation of the bundled corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .app import app


@app.command("demo")
def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for data, runs, samples and reports.")] = Path(
        "steelyard-demo"
    ),
) -> None:
    """Run a complete evaluation on a bundled corpus, offline.

    The demo evaluates two retrievers and their answers on 40 questions about lighthouses. It needs no key and no
    network. Exit codes: 0 success, 1 error.
    """
    from ..render.leaderboard import FOOT, table
    from ..render.table import aligned
    from ..reports.leaderboard import leaderboard
    from ..runs.demo import run
    from ..systems import bm25

    bm25.library()
    print("40 questions on a corpus about lighthouses; two retrievers, one extractive answerer\n")
    evaluated = run(out)
    for heading, reports in (
        ("rankings", [one.rankings for one in evaluated]),
        ("answers, without a model", [one.answers for one in evaluated]),
    ):
        print(f"── {heading}", *aligned(table(leaderboard(reports))), "", sep="\n")
    print(FOOT)
    print(
        f"data, runs, samples and reports are in {out}/: open {out}/bm25/answers/report.html,"
        f" or: steelyard show {out}/bm25/answers"
    )
