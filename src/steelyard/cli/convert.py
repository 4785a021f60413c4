"""``steelyard convert``: one file format into another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .app import app
from .options import Encoding, Fields, Overwrite, check_free, pairs

if TYPE_CHECKING:
    pass


@app.command("convert")
def convert(
    source: Annotated[Path, typer.Argument(help="Source file or folder.")],
    target: Annotated[Path, typer.Argument(help="Target; its suffix determines the format.")],
    source_format: Annotated[
        str | None, typer.Option("--from", help="Format of the source (default: from its suffix).")
    ] = None,
    target_format: Annotated[
        str | None, typer.Option("--to", help="Format of the target (default: from its suffix).")
    ] = None,
    overwrite: Overwrite = False,
    field: Fields = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Change the format of a file, without loss, or with a list of what the target cannot hold."""
    from ..datasets.convert import convert as change

    check_free(target, overwrite=overwrite)
    lost = change(
        source, target, from_=source_format, to=target_format, fields=pairs(field, "--field") or None, encoding=encoding
    )
    print(f"wrote {target}")
    for line in lost:
        print(f"not written: {line}")
