"""The Typer application in which every command registers itself."""

from __future__ import annotations

import typer

app = typer.Typer(
    name="steelyard",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Evaluate retrieval and RAG systems. Exit codes: 0 success, 1 error, 2 gate failed, 3 incomplete.",
)


@app.callback(invoke_without_command=True)
def version(show_version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """Evaluate retrieval and RAG systems."""
    if show_version:
        from ..core.version import VERSION

        print(f"steelyard {VERSION}")
        raise typer.Exit
