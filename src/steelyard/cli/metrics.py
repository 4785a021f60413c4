"""``steelyard metrics``: the list of metrics, and the definition of one."""

from __future__ import annotations

from typing import Annotated

import typer

from ..core.errors import InputError, UnknownName
from .app import app


@app.command("metrics")
def metrics(name: Annotated[str | None, typer.Argument(help="Print the definition of this metric.")] = None) -> None:
    """List all metrics, or print the definition of one.

    The list shows the fields that each metric needs.
    Exit codes: 0 success, 1 error.
    """
    from ..render.metric_catalogue import definition, listing

    if name is None:
        print(listing())
        return
    try:
        print(definition(name))
    except UnknownName:
        raise
    except InputError as error:
        raise InputError(str(error)) from None
