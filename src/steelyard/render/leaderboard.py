"""A leaderboard of several systems as one table."""

from __future__ import annotations

from collections.abc import Sequence

from ..reports.leaderboard import Standing
from .comparison import TEST, signed
from .table import Table, number, span, with_kind

HEAD = ("metric", "system", "value", "interval", "n", "undefined", "failed", "delta", "p", "win/tie/loss", "group")
FOOT = (
    f"delta: against the first system, negative is worse; p: {TEST}, Holm-adjusted over metrics and systems;"
    " systems that share a letter do not differ significantly"
)


def table(places: Sequence[Standing]) -> Table:
    """Return one row per metric and system."""
    return Table(HEAD, [_row(place) for place in places], frozenset(range(2, 10)))


def _row(place: Standing) -> tuple[str, ...]:
    one, delta = place.estimate, place.delta
    digits = 0 if one.pool == "total" else 4
    return (
        with_kind(place.metric, one.way),
        place.system,
        number(one.value, digits=digits),
        span(one.low, one.high, digits=digits),
        str(one.n),
        str(one.undefined),
        str(one.failed),
        "" if delta is None else signed(delta.delta),
        "" if delta is None or delta.p_adjusted is None else f"{delta.p_adjusted:.4f}",
        "" if delta is None else f"{delta.win}/{delta.tie}/{delta.loss}",
        place.letters,
    )
