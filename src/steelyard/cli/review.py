"""``steelyard review``: manual review of a question set."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .app import app
from .options import Encoding, Overwrite, check_apart, check_free


@app.command("review")
def review(
    path: Annotated[Path, typer.Argument(help="Question set: a folder that synth wrote, or a file of samples.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="File for accepted items (default: reviewed.jsonl next to the set).")
    ] = None,
    overwrite: Overwrite = False,
    encoding: Encoding = "utf-8",
) -> int:
    """Review a question set in the terminal.

    The reviewer accepts, edits or rejects each item, shown next to its source. The same command resumes an
    unfinished review. Exit codes: 0 all items reviewed, 1 error, 3 some items are left.
    """
    from ..synthesis.review import Review

    check_apart(out, [path, path / "samples.jsonl"])
    session = Review(path, out=out, encoding=encoding)
    if not session.decisions:
        check_free(session.out, overwrite=overwrite)
    with session:
        left = session.walk(read=_read_line, write=print)
    print(session)
    return 3 if left else 0


def _read_line(prompt: str) -> str | None:
    """Read a line from the terminal; None at the end of the input."""
    print(prompt, end="", flush=True)
    line = sys.stdin.readline()
    return line.rstrip("\n") if line else None
