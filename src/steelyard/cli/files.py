"""``steelyard check`` and ``steelyard convert``: files before and between evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import app
from .options import Encoding, Fields, pairs


@app.command("check")
def check(
    paths: Annotated[list[Path], typer.Argument(help="Samples, datasets, qrels, runs, BEIR folders.")],
    field: Fields = None,
    encoding: Encoding = "utf-8",
) -> int:
    """Look for everything that is wrong with files, all at once, each with its line."""
    from ..check import check as look

    wrong = 0
    for path in paths:
        found = look(path, fields=pairs(field, "--field") or None, encoding=encoding)
        for problem in found.problems:
            print(problem)
        for warning in found.warnings:
            print(f"{path}: note: {warning}")
        if found.more:
            print(f"{path}: and {found.more} more problems")
        print(f"{path}: {found.kind}, {found.rows} rows, {found.total} problems")
        wrong += found.total
    return 1 if wrong else 0


@app.command("convert")
def convert(
    source: Annotated[Path, typer.Argument(help="What to read.")],
    target: Annotated[Path, typer.Argument(help="What to write; the suffix says the format.")],
    source_format: Annotated[str | None, typer.Option("--from", help="Format of the source, if not by suffix.")] = None,
    target_format: Annotated[str | None, typer.Option("--to", help="Format of the target, if not by suffix.")] = None,
    field: Fields = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Change the format of a file, without loss, or with a list of what the target cannot hold."""
    from ..convert import convert as change

    lost = change(
        source, target, from_=source_format, to=target_format, fields=pairs(field, "--field") or None, encoding=encoding
    )
    print(f"wrote {target}")
    for line in lost:
        print(f"not kept: {line}")
