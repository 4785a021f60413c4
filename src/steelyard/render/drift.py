"""Result of a drift analysis as text and JSON."""

from __future__ import annotations

import msgspec

from ..core.wording import pluralize
from ..judges.drift import Drift, MetricDrift
from .comparison import TEST, signed
from .table import Table, aligned, number, span

HEAD = ("metric", "anchor", "now", "change", "interval", "p", "n", "same verdict", "rank correlation", "")


def table(found: Drift) -> Table:
    """One row per metric."""
    return Table(HEAD, [_row(one) for one in found.metrics.values()], frozenset(range(1, 9)))


def _row(one: MetricDrift) -> tuple[str, ...]:
    delta = one.delta
    sign = 1.0 if delta.higher_is_better else -1.0
    ends = [None if end is None else sign * end for end in (delta.low, delta.high)]
    low, high = ends if sign > 0 else reversed(ends)
    return (
        one.metric,
        number(delta.baseline),
        number(delta.current),
        signed(None if delta.delta is None else sign * delta.delta),
        span(low, high),
        "–" if delta.p_adjusted is None else f"{delta.p_adjusted:.4f}",
        str(delta.n),
        "–" if one.same is None else number(one.same.value, digits=3),
        number(one.ranks.value, digits=3),
        one.words(),
    )


def text(found: Drift) -> str:
    """For the terminal: what changed, the table, flips, the samples that moved, the judges beside people."""
    moved = ", ".join(found.moved)
    judged = pluralize(found.n_samples, "sample")
    lines = [f"{judged} judged twice: {f'moved: {moved}' if moved else 'no detectable drift'}"]
    lines += [f"  {line}" for line in found.changed] or ["  no known change"]
    lines += ["", *aligned(table(found)), f"p: {TEST}, Holm-adjusted"]
    for name, one in found.metrics.items():
        flips = (one.delta.to_fail, one.delta.to_pass)
        if any(flips):
            lines.append(f"{name}: {flips[0]} went from pass to fail, {flips[1]} from fail to pass")
        if one.delta.noise is not None:
            lines.append(f"{name}: the judge's randomness alone causes changes of up to ± {one.delta.noise:.4f}")
        if one.people is not None:
            beside = one.people
            p = "–" if beside.p is None else f"{beside.p:.4f}"
            lines.append(
                f"{name}: verdicts match people's on {beside.before:.3f} before, on {beside.after:.3f} now"
                f" (n {beside.n}, p {p})"
            )
        if one.moved:
            lines += [
                f"  {change.sample}: {change.baseline:.4f} → {change.current:.4f}" for change in one.delta.worst[:5]
            ]
    return "\n".join(lines)


def as_json(found: Drift) -> str:
    """Everything, as strict JSON."""
    plain = {**msgspec.to_builtins(found), "moved": found.moved}
    return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode()
