"""``steelyard metrics``: the list of metrics, and the definition of one."""

from __future__ import annotations

from typing import Annotated

import typer

from ..core.errors import InputError, UnknownName
from .app import app


@app.command("metrics")
<<<<<<< HEAD
def metrics(
    name: Annotated[str | None, typer.Argument(help="Name of a metric, to print its full definition.")] = None,
) -> None:
    """The shelf: every metric with what it needs, or one metric's definition."""
=======
def metrics(name: Annotated[str | None, typer.Argument(help="Print the definition of this metric.")] = None) -> None:
    """List all metrics, or print the definition of one.

    The list shows the fields that each metric needs.
    Exit codes: 0 success, 1 error.
    """
>>>>>>> 9c406d8 (Help of the commands in plain English; --interactive and --old-corpus name their options)
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
