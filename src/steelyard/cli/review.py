"""``steelyard review``: a person accepts, edits or rejects the questions of a set."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .app import app
from .options import Encoding, Overwrite, check_apart, check_free


@app.command("review")
def review(
    path: Annotated[Path, typer.Argument(help="Question set: a folder written by synth, or a file of samples.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="File for the accepted items (default: reviewed.jsonl beside the set).")
    ] = None,
    overwrite: Overwrite = False,
    encoding: Encoding = "utf-8",
) -> int:
    """Look at every item with its source in view: accept, edit or reject. Goes on where it was left.

    Exit codes: 0 all were looked at, 3 some are left.
    """
    from ..synthesis.review import Review

    check_apart(out, [path, path / "samples.jsonl"])
    begun = Review(path, out=out, encoding=encoding)
    if not begun.decisions:
        check_free(begun.out, overwrite=overwrite)
    with begun as reviewing:
        left = reviewing.walk(read=_asked, write=print)
    print(reviewing)
    return 3 if left else 0


def _asked(prompt: str) -> str | None:
    """A line from the terminal; None at its end."""
    print(prompt, end="", flush=True)
    line = sys.stdin.readline()
    return line.rstrip("\n") if line else None
