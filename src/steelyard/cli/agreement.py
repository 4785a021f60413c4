"""``steelyard agreement``: agreement of metrics with human labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .app import app
from .options import Confidence, Metrics, Seed, listed
from .output import check_format

if TYPE_CHECKING:
    from ..judges.metric_agreement import PackAgreement

FORMATS = ("table", "md", "json")
HEAD = ("pack", "slice", "label", "metric", "n", "good", "AUC", "balanced accuracy", "rank correlation")


@app.command("agreement")
def agreement(
    packs: Annotated[list[Path], typer.Argument(help="Samples with human labels in a field named human.")],
    metrics: Metrics = None,
    label: Annotated[
        str | None, typer.Option(help="Compare with this label (default: every label of the file).")
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option("--by", help="Slice by this tag, such as split or meta.model.")
    ] = None,
    threshold: Annotated[float, typer.Option(help="A value of at least this counts as good.")] = 0.5,
    embedder: Annotated[str | None, typer.Option(help="Embedder: local, openai:MODEL or http://host/v1#model.")] = None,
    output_format: Annotated[str, typer.Option("--format", help="Output: table, md or json.")] = "table",
    confidence: Confidence = 0.95,
    seed: Seed = 0,
) -> None:
    """Measure how well metrics agree with human labels.

    Prints the area under the ROC curve, the balanced accuracy at the threshold and the rank correlation with the
    labels, each with an interval. Exit codes: 0 success, 1 error.
    """
    import msgspec

    from ..judges.metric_agreement import measure_agreement

    check_format(output_format, FORMATS)
    results = [
        row
        for pack in packs
        for row in measure_agreement(
            pack,
            metrics=listed(metrics) or None,
            label=label,
            by=by or ("split",),
            threshold=threshold,
            embedder=embedder,
            confidence=confidence,
            seed=seed,
        )
    ]
    if output_format == "json":
        print(msgspec.json.format(msgspec.json.encode(results), indent=2).decode())
    else:
        print(agreement_table(results, markdown=output_format == "md"))


def agreement_table(results: list[PackAgreement], *, markdown: bool = False) -> str:
    """Format the results as a table in aligned columns or in Markdown."""
    from ..render.table import number, with_kind

    def measure(one: object) -> str:
        value, low, high = (getattr(one, name) for name in ("value", "low", "high"))
        interval = "" if low is None else f" ({number(low, digits=3)} – {number(high, digits=3)})"
        return number(value, digits=3) + interval

    rows = [
        (
            one.pack,
            one.slice,
            one.label,
            with_kind(one.metric.removeprefix(f"{one.way}."), one.way),
            str(one.n),
            str(one.good),
            measure(one.auc),
            measure(one.balanced),
            measure(one.rank),
        )
        for one in results
    ]
    if markdown:
        lines = [HEAD, tuple("---" for _ in HEAD), *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
    widths = [max(len(row[at]) for row in [HEAD, *rows]) for at in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [HEAD, *rows]
    )
