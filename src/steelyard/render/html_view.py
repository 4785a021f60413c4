"""The overview of a page: verdict, one row per metric, slices, worst samples and provenance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..core.records import Estimate, Usage
from ..reports.failure_analysis import aligned_samples
from ..reports.gate import Rule, rules
from ..reports.provenance import MetricNote
from ..reports.report import Report
from ..reports.validate import MOST
from ..stats.pooling import Column
from .cost_table import stage_costs
from .histogram import Histogram, histogram, place
from .html_data import deciding, mean_quality, states, verdicts, worst_first
from .html_failures import quoted, quoted_name
from .table import WIDEST, facts, one_line, shown_name

WORST = 20
LONGEST = 1_500
"""Largest number of characters of a text in the list of worst samples; the page of the sample has the full text."""

SLICED = 600
"""Largest number of slice cells on a page."""

LINE = 132
"""Width of the drawing of an interval, in pixels."""

WORDS = {"p": "pass", "f": "fail", "u": "undefined", "x": "failed", "s": "scored"}


class ReportVerdict(NamedTuple):
    """The verdict at the top of the page: ``kind`` (pass, fail, failed, plain), one sentence, and the rules."""

    kind: str
    sentence: str
    rules: list[Rule]


class IntervalLine(NamedTuple):
    """The drawing of an interval on the range of its metric, in pixels from the left."""

    low: float
    high: float
    at: float
    threshold: float | None


class MetricRow(NamedTuple):
    """One metric, as the table of estimates shows it."""

    label: str
    shown: str
    name: str
    estimate: Estimate
    value: str
    interval: str
    line: IntervalLine | None
    histogram: Histogram | None
    threshold_at: float | None
    if_failed: str
    threshold: str
    passed: int | None
    rate: str
    rate_interval: str
    usage: Usage | None
    better: str


class Slice(NamedTuple):
    """One value of a tag, the filter expression that selects it, and its estimates by metric."""

    value: str
    select: str
    n: int
    cells: list[tuple[str, str, int] | None]


class Slices(NamedTuple):
    """The slices of one tag, with one column per metric."""

    tag: str
    head: list[str]
    rows: list[Slice]
    left_out: int


class WorstSample(NamedTuple):
    """One sample of the list for readers without JavaScript."""

    id: str
    state: str
    scores: list[tuple[str, str, str]]
    question: str
    response: str | None
    references: list[str]
    contexts: list[str]
    tags: Mapping[str, str]


def value_text(value: float | None, pool: str = "mean") -> str:
    """Format a value: three decimals near 1, fewer for large numbers.

    >>> value_text(0.12345), value_text(12345.6), value_text(7.0, "total"), value_text(None), value_text(23.456)
    ('0.123', '12,346', '7', '–', '23.5')
    """
    if value is None or math.isnan(value):
        return "–"
    size = abs(value)
    digits = 0 if pool == "total" or size >= 1000 else 1 if size >= 10 else 3
    return f"{value:,.{digits}f}"


def interval_text(low: float | None, high: float | None, pool: str = "mean") -> str:
    """Format an interval.

    >>> interval_text(0.25, 0.5), interval_text(None, None)
    ('0.250 – 0.500', '–')
    """
    return "–" if low is None or high is None else f"{value_text(low, pool)} – {value_text(high, pool)}"


def percent(share: float | None) -> str:
    """Format a share in percent; a share inside (0, 1) is never rounded to 0 or 100 %.

    >>> percent(0.5), percent(0.9996), percent(1.0), percent(0.0004)
    ('50 %', '99.9 %', '100 %', '0.1 %')
    """
    if share is None:
        return "–"
    if share in {0.0, 1.0}:
        return f"{share:.0%}".replace("%", " %")
    shown = min(99.9, max(0.1, 100 * share))
    return f"{shown:.1f} %" if shown < 1 or shown > 99 else f"{shown:.0f} %"


def title(report: Report) -> str:
    """Return the title of a report: system and dataset."""
    name = " on ".join(filter(None, [report.system, report.dataset.name]))
    return name or ("Rankings" if report.kind == "ranking" else "Answers")


def what(report: Report, count: int = 0) -> str:
    """Return the noun for ``count`` samples of the report: sample(s) or query (queries)."""
    one, many = ("query", "queries") if report.kind == "ranking" else ("sample", "samples")
    return one if count == 1 else many


def verdict(report: Report, found: Sequence[Rule] | None = None, *, max_failed: float = 0.0) -> ReportVerdict:
    """The verdict in words. Without ``found`` the rules are the thresholds of the metrics that gate."""
    if found is None:
        gates = {label: note.threshold for label, note in report.notes.items() if note.gates}
        limits = {label: limit for label, limit in gates.items() if limit is not None}
        found = rules(report, thresholds=limits, max_failed=max_failed)
    missed = [rule for rule in found if not rule.passed]
    if any(rule.kind == "failed" for rule in missed):
        return ReportVerdict("failed", _incomplete(report, max_failed), list(found))
    if missed:
        return ReportVerdict("fail", f"Does not pass: {_joined(missed)}.", list(found))
    if found:
        held = "the rule holds" if len(found) == 1 else f"all {len(found)} rules hold"
        return ReportVerdict("pass", f"Passes: {held}.", list(found))
    return ReportVerdict("plain", _plainly(report), [])


def _incomplete(report: Report, max_failed: float) -> str:
    """Which metric failed most often, and how many others failed beyond the limit."""
    shares = report.failed_share
    label = max(shares, key=lambda one: shares[one])
    one = report.estimates[label]
    rest = sum(share > max_failed for share in shares.values()) - 1
    others = f", and {rest} more {'metric' if rest == 1 else 'metrics'} too often" if rest > 0 else ""
    tried = one.n + one.failed
    return f"Incomplete: {label} failed on {one.failed:,} of {tried:,} {what(report, tried)}{others}."


def _joined(missed: Sequence[Rule]) -> str:
    first, rest = missed[0], len(missed) - 1
    return f"{first.text}, found {first.found}" + (
        f", and {rest} more {'rule is' if rest == 1 else 'rules are'} missed" if rest else ""
    )


def _plainly(report: Report) -> str:
    """Without rules: the lowest and the highest of the metrics whose values can be set side by side."""
    sides = [
        (one.value, label)
        for label, one in report.estimates.items()
        if one.value is not None and report.notes[label].bounds == (0.0, 1.0) and report.notes[label].higher_is_better
    ]
    scored = f"{report.n_queries:,} of {report.n_samples:,} {what(report, report.n_samples)} scored"
    if not sides:
        return f"{scored}."
    (low, lowest), (high, highest) = min(sides), max(sides)
    if lowest == highest:
        return f"{scored}; {lowest} is {value_text(low)}."
    return f"{scored}; {lowest} is lowest at {value_text(low)}, {highest} highest at {value_text(high)}."


def metric_rows(report: Report) -> list[MetricRow]:
    """The table of estimates, one row per metric, in the order of the report."""
    return [_row(label, one, report.notes[label], report.columns[label]) for label, one in report.estimates.items()]


def _row(label: str, one: Estimate, note: MetricNote, column: Column) -> MetricRow:
    bars = histogram(column.values, note.bounds)
    line = threshold_at = None
    if bars is not None and one.value is not None and one.pool != "total":
        ends = (one.low if one.low is not None else one.value, one.high if one.high is not None else one.value)
        low, high, at = (place(value, bars.low, bars.high, LINE) for value in (*ends, one.value))
        limit = None if one.threshold is None else place(one.threshold, bars.low, bars.high, LINE)
        line = IntervalLine(low, max(high, low + 1), at, limit)
    if bars is not None and one.threshold is not None:
        threshold_at = place(one.threshold, bars.low, bars.high)
    usage = sum(column.usage.values(), Usage()) if column.usage else None
    return MetricRow(
        label=label,
        shown=shown_name(label, note),
        name="" if note.name == label else note.name,
        estimate=one,
        value=value_text(one.value, one.pool),
        interval=interval_text(one.low, one.high, one.pool),
        line=line,
        histogram=bars,
        threshold_at=threshold_at,
        if_failed=interval_text(one.if_failed_zero, one.if_failed_one, one.pool) if one.failed else "",
        threshold="" if one.threshold is None else f"{'≥' if note.higher_is_better else '≤'} {one.threshold:g}",
        passed=None if one.pass_rate is None else round(one.pass_rate * one.n),
        rate=percent(one.pass_rate),
        rate_interval="" if one.pass_low is None else f"{percent(one.pass_low)} – {percent(one.pass_high)}",
        usage=usage if usage is not None and (usage.calls or usage.cached or usage.embedded) else None,
        better="" if note.higher_is_better else "lower is better",
    )


def banner(report: Report, max_failed: float) -> list[MetricRow]:
    """Return the metrics with a larger share of failures than allowed."""
    shares = report.failed_share
    return [row for row in metric_rows(report) if shares[row.label] > max_failed]


def totals(report: Report) -> list[tuple[str, str]]:
    """Return totals as (number, name): samples, metrics, calls, cached replies, tokens, cost, time."""
    usage, run = report.usage, report.run
    found = [(f"{report.n_samples:,}", what(report)), (f"{len(report.estimates):,}", "metrics")]
    if usage.calls or usage.cached:
        found += [(f"{usage.calls:,}", "calls"), (f"{usage.cached:,}", "cached")]
        found.append((f"{usage.prompt_tokens:,} + {usage.completion_tokens:,}", "tokens in + out"))
    if usage.embedded:
        found.append((f"{usage.embedded:,}", "texts embedded"))
    if usage.cost_text is not None:
        found.append((usage.cost_text, "cost"))
    seconds = run.get("seconds")
    if isinstance(seconds, int | float) and 0 <= seconds < MOST:
        found.append((f"{seconds:,.1f} s" if seconds < 100 else f"{seconds:,.0f} s", "taken"))
    return found


def provenance(report: Report) -> list[tuple[str, str]]:
    """Return all facts that are needed to verify or to reproduce the numbers."""
    shown = {"seconds", "stages"}
    run = [(key.replace("_", " "), str(value)) for key, value in report.run.items() if key not in shown]
    costs = stage_costs(report)
    stage_facts = [] if costs is None else [(row[0], _row_in_words(costs.head, row)) for row in costs.rows]
    return [*facts(report), *run, *stage_facts]


def _row_in_words(head: Sequence[str], row: Sequence[str]) -> str:
    return ", ".join(
        f"{name} {value}" for name, value in zip(head[1:], row[1:], strict=True) if value not in {"–", "0"}
    )


def all_slices(report: Report) -> list[Slices]:
    """Return one table per tag; slices beyond SLICED cells are counted but not shown."""
    by_tag: dict[str, list[tuple[str, str, Mapping[str, Estimate]]]] = {}
    for name, estimates in report.slices.items():
        tag, _, value = name.partition("=")
        by_tag.setdefault(tag, []).append((name, value, estimates))
    found, room = [], SLICED
    labels = list(report.estimates)
    for tag, parts in by_tag.items():
        fit = max(0, room // max(1, len(labels)))
        rows = [_slice(tag, value, estimates, labels) for _, value, estimates in parts[:fit]]
        room -= len(rows) * len(labels)
        found.append(Slices(tag, labels, rows, len(parts) - len(rows)))
    return found


def _slice(tag: str, value: str, estimates: Mapping[str, Estimate], labels: Sequence[str]) -> Slice:
    most = max((one.total for one in estimates.values()), default=0)
    cells: list[tuple[str, str, int] | None] = []
    for label in labels:
        one = estimates.get(label)
        known = one is not None and one.value is not None
        cells.append(
            (value_text(one.value, one.pool), interval_text(one.low, one.high, one.pool), one.n)
            if one and known
            else None
        )
    select = f"not {quoted_name(tag)}" if value == "(none)" else f"{quoted_name(tag)} == {quoted(value)}"
    return Slice(one_line(value, WIDEST), select, most, cells)


def worst(report: Report, most: int = WORST) -> list[WorstSample]:
    """Return the samples with the lowest mean score, for readers without JavaScript and for print."""
    merits = mean_quality(report)
    order = [row for row in worst_first(merits) if not math.isnan(merits[row])][:most]
    if not order:
        return []
    samples, decided = aligned_samples(report), verdicts(report)
    letters = {label: states(report, label) for label in report.columns}
    found = []
    for row in order:
        one = samples[row]
        scores = [
            (label, value_text(float(column.values[row])), WORDS[letters[label][row]])
            for label, column in report.columns.items()
        ]
        found.append(
            WorstSample(
                id=report.ids[row],
                state=WORDS[decided[row]],
                scores=scores,
                question="" if one is None else _cut(one.user_input or ""),
                response=None if one is None or one.response is None else _cut(one.response),
                references=[] if one is None else [_cut(text) for text in one.references],
                contexts=[] if one is None else [_cut(text) for text in (one.retrieved_contexts or [])[:10]],
                tags={} if one is None else one.tags,
            )
        )
    return found


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"


def decided_by(report: Report) -> str:
    """Describe the rule by which a sample passes."""
    labels = deciding(report)
    if any(report.notes[label].gates for label in labels):
        return "a sample passes if it reaches every threshold that gates: " + ", ".join(labels)
    if all(report.notes[label].threshold is None for label in labels):
        return "no metric has a threshold, so samples are scored and neither pass nor fail"
    return "a sample passes if it reaches the threshold of every metric that scored it"
