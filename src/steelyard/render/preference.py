"""Pairwise comparisons of systems as text, Markdown and JSON: win rates, intervals and position bias."""

from __future__ import annotations

import msgspec

from ..core.wording import pluralize
from ..judges.calibration import Share
from ..judges.pairwise import PairComparison, Preference
from .comparison import signed
from .markdown import escape, markdown_table
from .table import Table, aligned, number, span

HEAD = ("pair", "win/tie/loss", "n", "win rate", "interval", "position bias", "interval", "orders agree", "verdict")
FOOT = (
    "win rate: of the first over decided pairs; ties: orders that disagree, or a tie; position bias: how much more"
    " often the first place was chosen than the second"
)


def duels(found: Preference) -> Table:
    """One row per pair of systems, and one for each of its slices."""
    rows = []
    for one in found.duels:
        rows.append(_row(f"{one.a} – {one.b}", one))
        rows += [_row(f"  {name}", part) for name, part in one.slices.items()]
    return Table(HEAD, rows, frozenset(range(1, 8)))


def _row(name: str, one: PairComparison) -> tuple[str, ...]:
    return (
        name,
        f"{one.win}/{one.tie}/{one.loss}",
        str(one.n),
        number(one.win_rate.value, digits=3),
        _span(one.win_rate),
        "–" if one.position_bias.value is None else f"{one.position_bias.value:+.3f}",
        _span(one.position_bias),
        number(one.consistent.value, digits=3),
        one.words(),
    )


def _span(one: Share) -> str:
    return span(one.low, one.high, digits=3)


def strengths(found: Preference) -> Table:
    """Bradley and Terry's strengths, strongest first."""
    rows: list[tuple[str, ...]] = [
        (one.system, signed(one.value), span(one.low, one.high), number(one.beats, digits=3)) for one in found.strengths
    ]
    return Table(("system", "strength", "interval", "beats another"), rows, frozenset(range(1, 4)))


def _notes(found: Preference) -> list[str]:
    lines = []
    for one in found.duels:
        pair = f"{one.a} – {one.b}"
        if one.undefined or one.failed:
            lines.append(f"{pair}: {one.undefined} undefined, {one.failed} failed")
        lines += [f"{pair}: failed: {reason}" for reason in one.reasons]
        ahead, behind = one.one_order
        if ahead is not None and behind is not None:
            lines.append(
                f"{pair}: in a single order, {one.a} would win {ahead:.1%} when shown first and"
                f" {behind:.1%} when shown second"
            )
    return [*lines, *(f"note: {warning}" for warning in found.warnings)]


def text(found: Preference) -> str:
    """For the terminal."""
    lines = [f"{' · '.join(found.systems)}, judged by {found.judge}", "", *aligned(duels(found)), FOOT]
    if found.strengths:
        lines += ["", *aligned(strengths(found))]
    return "\n".join([*lines, *_notes(found), _usage(found)])


def markdown(found: Preference) -> str:
    """As Markdown."""
    lines = [f"# {escape(' · '.join(found.systems))}, judged by {escape(found.judge)}", ""]
    lines += [*markdown_table(duels(found)), "", f"{FOOT}."]
    if found.strengths:
        lines += ["", *markdown_table(strengths(found))]
    return "\n".join([*lines, "", *(f"- {escape(line)}" for line in (*_notes(found), _usage(found)))]) + "\n"


def _usage(found: Preference) -> str:
    use = found.usage
    cost = "" if use.cost_text is None else f", cost {use.cost_text}"
    tokens = pluralize(use.prompt_tokens + use.completion_tokens, "token")
    return f"{pluralize(use.calls, 'call')}, {use.cached} cached, {tokens}{cost}"


def as_json(found: Preference) -> str:
    """Everything, sample by sample, as strict JSON."""
    return msgspec.json.format(msgspec.json.encode(found), indent=2).decode()
