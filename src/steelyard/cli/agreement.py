"""``steelyard agreement``: metrics beside the labels of people."""

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
    packs: Annotated[list[Path], typer.Argument(help="Samples with human labels in the field human.")],
    metrics: Metrics = None,
    label: Annotated[str | None, typer.Option(help="Label to compare with (default: all labels of the pack).")] = None,
    by: Annotated[
        list[str] | None, typer.Option("--by", help="Field to slice by, such as split or meta.model.")
    ] = None,
    threshold: Annotated[float, typer.Option(help="Values at or above this count as good.")] = 0.5,
    embedder: Annotated[str | None, typer.Option(help="local, openai:MODEL or http://host/v1#model.")] = None,
    output_format: Annotated[str, typer.Option("--format", help="table, md or json.")] = "table",
    confidence: Confidence = 0.95,
    seed: Seed = 0,
) -> None:
    """How far metrics agree with people, on answers that people have labelled.

    Prints the area under the ROC curve, balanced accuracy at the threshold and the rank correlation, with intervals.
    """
    import msgspec

    from ..judges.metric_agreement import agree

    check_format(output_format, FORMATS)
    found = [
        row
        for pack in packs
        for row in agree(
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
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        print(shown(found, markdown=output_format == "md"))


def shown(found: list[PackAgreement], *, markdown: bool = False) -> str:
    """The figures as a table, in columns or in Markdown."""
    from ..render.table import number, with_way

    def measure(one: object) -> str:
        value, low, high = (getattr(one, name) for name in ("value", "low", "high"))
        interval = "" if low is None else f" ({number(low, digits=3)} – {number(high, digits=3)})"
        return number(value, digits=3) + interval

    rows = [
        (
            one.pack,
            one.slice,
            one.label,
            with_way(one.metric.removeprefix(f"{one.way}."), one.way),
            str(one.n),
            str(one.good),
            measure(one.auc),
            measure(one.balanced),
            measure(one.rank),
        )
        for one in found
    ]
    if markdown:
        lines = [HEAD, tuple("---" for _ in HEAD), *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
    widths = [max(len(row[at]) for row in [HEAD, *rows]) for at in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [HEAD, *rows]
    )
