"""``steelyard merge``: one report from the parts of a job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .app import app
from .output import check_format, print_outcome

FORMATS = ("table", "json", "md", "latex", "csv")


@app.command("merge")
def merge(
    job: Annotated[str, typer.Argument(help="The folder or URL of a job.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of the outputs (default: the one of the configuration).")
    ] = None,
    output_format: Annotated[str, typer.Option("--format", help="table, json, md, latex or csv.")] = "table",
    scale: Annotated[float, typer.Option(help="Show values on a scale from 0 to this.")] = 1.0,
) -> int:
    """Merge the parts of a job into the report that one process would have made.

    Exit codes: 0 success, 1 parts are missing, 2 threshold missed, 3 too many failures.
    """
    from ..io.storage import folder_at
    from ..runs.job import merge as merge_parts
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
        apply_gates(merge_parts(folder), config, out or base / config.outputs.dir), output_format, scale=scale
    )
