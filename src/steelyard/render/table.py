"""Tables of a report that all text formats share, and formats of numbers."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..core.records import Estimate
from ..core.wording import pluralize
from ..reports.provenance import MetricNote
from ..reports.report import Report

HEAD = ("metric", "value", "95 % interval", "n", "undefined", "failed", "if failures are 0 – 1", "pass rate")


WIDEST = 60
"""Characters of a slice's name."""


class Table(NamedTuple):
    """A head and rows of text; ``right`` are the columns whose cells align right."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    right: frozenset[int] = frozenset()


def number(value: float | None, *, digits: int = 4) -> str:
    """Format a value: ``–`` if it is missing, counts without decimals.

    >>> number(0.5), number(None), number(1234.0, digits=0)
    ('0.5000', '–', '1234')
    """
    return "–" if value is None else f"{value:.{digits}f}"


def span(low: float | None, high: float | None, *, digits: int = 4) -> str:
    """An interval: ``0.41 – 0.52``."""
    return "–" if low is None or high is None else f"{low:.{digits}f} – {high:.{digits}f}"


def shown_name(label: str, note: MetricNote) -> str:
    """The metric with its way where it has one: ``faithfulness [lexical]``."""
    return with_kind(label, note.way)


def with_kind(label: str, way: str) -> str:
    """A label and its way, unless the label says it or there is but one."""
    return label if way in {"", "ranking", "custom"} or label.startswith(f"{way}.") else f"{label} [{way}]"


def estimates(report: Report, part: Mapping[str, Estimate] | None = None, *, scale: float = 1.0) -> Table:
    """One row per metric. Columns that say nothing (no failures, no thresholds) are left out."""
    chosen = part if part is not None else report.estimates
    rows = [_row(label, one, report.notes[label], scale) for label, one in chosen.items()]
    levels = {one.confidence for one in chosen.values()} or {0.95}
    head = list(HEAD)
    head[2] = f"{min(levels) * 100:g} % interval"
    keep = [at for at in range(len(head)) if at < 6 or any(row[at] != "–" for row in rows)]
    return Table(
        tuple(head[at] for at in keep),
        [tuple(row[at] for at in keep) for row in rows],
        frozenset(at for at, column in enumerate(keep) if column > 0),
    )


def _row(label: str, one: Estimate, note: MetricNote, scale: float) -> tuple[str, ...]:
    digits = 0 if one.pool == "total" else 4
    factor = scale if note.bounds == (0.0, 1.0) else 1.0

    def times(value: float | None) -> float | None:
        return None if value is None else value * factor

    rate = "–"
    if one.pass_rate is not None:
        sign = "≥" if note.higher_is_better else "≤"
        passed = round(one.pass_rate * one.n)
        rate = f"{passed}/{one.n} {sign} {one.threshold:g} ({span(one.pass_low, one.pass_high, digits=2)})"
    failures = "–"
    if one.failed:
        failures = span(times(one.if_failed_zero), times(one.if_failed_one))
    return (
        shown_name(label, note),
        number(times(one.value), digits=digits),
        span(times(one.low), times(one.high), digits=digits),
        str(one.n),
        str(one.undefined),
        str(one.failed),
        failures,
        rate,
    )


def slices(report: Report) -> list[tuple[str, Table]]:
    """A table per slice, in order."""
    return [(one_line(name, WIDEST), estimates(report, part)) for name, part in report.slices.items()]


def facts(report: Report) -> list[tuple[str, str]]:
    """Return the provenance as pairs: system, dataset, judge, embedder, policy, intervals, versions, usage."""
    pairs = [
        ("system", report.system),
        ("dataset", " ".join(filter(None, [report.dataset.name, report.dataset.version or ""]))),
        ("digest", report.dataset.digest),
        ("judge", report.judge or ""),
        ("embedder", report.embedder or ""),
        ("policy", ", ".join(f"{key}={_plain(value)}" for key, value in report.policy.items())),
        ("intervals", ", ".join(sorted({one.method for one in report.estimates.values() if one.method}))),
        ("versions", ", ".join(f"{key} {value}" for key, value in report.versions.items())),
    ]
    usage = report.usage
    if usage.calls or usage.cached or usage.embedded:
        cost = "" if usage.cost_text is None else f", cost {usage.cost_text}"
        guessed = f", usage estimated for {pluralize(usage.estimated, 'call')}" if usage.estimated else ""
        tokens = f"{usage.prompt_tokens} + {usage.completion_tokens} tokens"
        pairs.append(("usage", f"{pluralize(usage.calls, 'call')}, {usage.cached} cached, {tokens}{cost}{guessed}"))
    return [(key, value) for key, value in pairs if value]


def _plain(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def suggested_fixes(report: Report, *, below: float = 0.5) -> list[str]:
    """Return the suggested fixes for metrics with a low pooled value."""
    return [
        f"{label} is {number(one.value, digits=2)}: {note.remedy}"
        for label, one in report.estimates.items()
        for note in [report.notes[label]]
        if note.remedy and one.value is not None and (one.value < below) == note.higher_is_better
    ]


def failures(report: Report, *, most: int = 5) -> list[str]:
    """Return the reasons of failed scores, most frequent first, each with its first sample."""
    return _reasons(report, "failed", {label: one.failed for label, one in report.columns.items()}, most)


def undefined(report: Report, *, most: int = 5) -> list[str]:
    """Return the reasons of undefined scores, as for failures."""
    return _reasons(report, "undefined", {label: one.undefined for label, one in report.columns.items()}, most)


def _reasons(report: Report, what: str, columns: Mapping[str, Mapping[int, str]], most: int) -> list[str]:
    seen: dict[tuple[str, str], list[int]] = {}
    for label, cells in columns.items():
        for row, reason in cells.items():
            seen.setdefault((label, reason), []).append(row)
    ranked = sorted(seen.items(), key=lambda item: -len(item[1]))
    lines = [
        f"{label}: {len(rows)} {what}: {reason} (first: {report.ids[min(rows)]})"
        for (label, reason), rows in ranked[:most]
    ]
    return lines + ([f"… and {pluralize(len(ranked) - most, 'more reason')}"] if len(ranked) > most else [])


def width(text: str) -> int:
    """Return the width of a text in terminal columns: two for wide characters, none for combining marks."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def one_line(text: str, most: int | None = None) -> str:
    r"""Make a text safe for one line of a terminal: control characters are escaped, and a text beyond ``most`` is cut.

    >>> print(one_line("a\nb\x1b[2J"), one_line("abcdef", 4))
    a\nb\x1b[2J abc…
    """
    shown = text if text.isprintable() else "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    return shown if most is None or len(shown) <= most else shown[: most - 1] + "…"


def aligned(table: Table) -> list[str]:
    """Format a table as aligned lines of text with a rule below the head."""
    lines: Sequence[tuple[str, ...]] = [table.head, *(tuple(map(one_line, row)) for row in table.rows)]
    widths = [max(width(line[at]) for line in lines) for at in range(len(table.head))]

    def line(cells: tuple[str, ...]) -> str:
        padded = [
            " " * (widths[at] - width(cell)) + cell if at in table.right else cell + " " * (widths[at] - width(cell))
            for at, cell in enumerate(cells)
        ]
        return "  ".join(padded).rstrip()

    return [line(table.head), "  ".join("─" * one for one in widths), *map(line, lines[1:])]
