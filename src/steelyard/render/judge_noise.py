"""Noise of a judge: one row per metric with repeated replies, and the samples with inconsistent verdicts."""

from __future__ import annotations

from collections.abc import Mapping

from ..reports.judge_noise import Noise
from .table import Table, aligned, number

HEAD = ("metric", "draws", "n", "within", "share", "noise floor", "moving", "flaky", "pass rate", "majority", "pass^k")
FOOT = (
    "within: standard deviation between draws of a sample; share: of the variance of single draws; noise floor: two"
    " runs of the same system differ by less in 95 %"
)


def table(found: Mapping[str, Noise]) -> Table:
    """Return one row per metric."""
    return Table(HEAD, [_row(one) for one in found.values()], frozenset(range(1, len(HEAD))))


def _row(one: Noise) -> tuple[str, ...]:
    return (
        one.metric,
        str(one.draws),
        str(one.n),
        number(one.within),
        "–" if one.share is None else f"{one.share:.0%}",
        f"± {one.floor:.4f}",
        str(one.moving),
        "–" if one.threshold is None else str(one.flaky),
        number(one.pass_rate, digits=3),
        number(one.majority, digits=3),
        "–" if one.pass_all is None else f"{one.pass_all:.3f} (k {one.draws})",
    )


def flaky(found: Mapping[str, Noise]) -> list[str]:
    """List the samples with both passing and failing draws, most evenly split first."""
    return [
        f"{one.metric} of {sample.sample} passes and fails: {', '.join(f'{draw:.2f}' for draw in sample.draws)}"
        for one in found.values()
        for sample in one.worst
    ]


def text(found: Mapping[str, Noise], *, most: int = 5) -> str:
    """Return the table and the first flaky samples as text."""
    lines = [*aligned(table(found)), FOOT]
    shaky = flaky(found)
    lines += shaky[:most] + ([f"… and {len(shaky) - most} more"] if len(shaky) > most else [])
    return "\n".join(lines)
