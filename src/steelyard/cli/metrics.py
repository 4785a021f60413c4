"""``steelyard metrics``: the metrics, and the definition of one."""

from __future__ import annotations

from typing import Annotated

import typer

from ..core.errors import InputError, UnknownName
from .app import app


@app.command("metrics")
def metrics(
    name: Annotated[str | None, typer.Argument(help="Name of a metric, to print its full definition.")] = None,
) -> None:
    """The shelf: every metric with what it needs, or one metric's definition."""
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
