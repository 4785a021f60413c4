"""``steelyard convert``: conversion between file formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .app import app
from .options import Encoding, Fields, Overwrite, check_free, pairs


@app.command("convert")
def convert(
    source: Annotated[Path, typer.Argument(help="File or folder to read.")],
    target: Annotated[Path, typer.Argument(help="File or folder to write; its suffix selects the format.")],
    source_format: Annotated[
        str | None, typer.Option("--from", help="Format of the source (default: by its suffix and content).")
    ] = None,
    target_format: Annotated[
        str | None, typer.Option("--to", help="Format of the target (default: by its suffix).")
    ] = None,
    overwrite: Overwrite = False,
    field: Fields = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Convert a file to another format.

    The command lists the fields that the target format cannot hold.
    Exit codes: 0 success, 1 error.
    """
    from ..datasets.convert import convert as convert_file

    check_free(target, overwrite=overwrite)
    lost = convert_file(
        source, target, from_=source_format, to=target_format, fields=pairs(field, "--field") or None, encoding=encoding
    )
    print(f"wrote {target}")
    for line in lost:
        print(f"not converted: {line}")
