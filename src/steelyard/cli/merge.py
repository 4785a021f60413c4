"""A run in parts: what ``steelyard run --job`` does, and ``steelyard merge``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .app import app
from .output import check_format, print_outcome

if TYPE_CHECKING:
    pass

FORMATS = ("table", "json", "md", "latex", "csv")


@app.command("merge")
def merge(
    job: Annotated[str, typer.Argument(help="The folder or URL of a job.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the outputs here (default: where the configuration says).")
    ] = None,
    output_format: Annotated[str, typer.Option("--format", help="table, json, md, latex or csv.")] = "table",
    scale: Annotated[float, typer.Option(help="Show values from 0 to this.")] = 1.0,
) -> int:
    """Make one report of the parts of a job: the same that one process would have made.

    Exit codes: 0 good, 1 parts are missing, 2 a threshold was missed, 3 too much failed.
    """
    from ..io.storage import folder_at
    from ..runs.job import merge as made
    from ..runs.job_parts import Manifest
    from ..runs.run_config import apply_gates

    check_format(output_format, FORMATS)
    folder = folder_at(job)
    manifest = Manifest.at(folder)
    if manifest.ranking is not None:
        from ..runs.ranking_job import merge_rankings
        from .output import print_runs

        print_runs(merge_rankings(folder), output_format, seed=manifest.ranking.seed, out=out)
        return 0
    config = manifest.settings
    base = Path(manifest.base) if Path(manifest.base).is_dir() else Path()
    return print_outcome(
        apply_gates(made(folder), config, out or base / config.outputs.dir), output_format, scale=scale
    )
