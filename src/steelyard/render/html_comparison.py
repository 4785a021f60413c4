"""A comparison of two reports as one HTML page: blockers, deltas, and all pairs of answers, flips first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..core.records import Estimate, Json, Sample
from ..core.wording import pluralize
from ..metrics.lookup import recorded_metric
from ..reports.comparison import Comparison, MetricDelta
from ..reports.failure_analysis import aligned_samples
from ..reports.metric_identity import under_names_of
from ..reports.report import Report
from .comparison import TEST, headline, no_room, rule
from .html import SCRIPTS, level, rendered
from .html_data import PageData, UniqueTexts, detail, pack_blocks, packed, previews, rounded, states, tags_of
from .html_failures import quoted, quoted_name
from .html_view import LONGEST, WORDS, interval_text, provenance, value_text
from .table import WIDEST, one_line

WORST = 20
LINE = 150
"""Width of the drawing of a delta, in pixels."""


class DeltaBar(NamedTuple):
    """An interval of a delta on a line that has 0 in its middle: pixels from the left."""

    low: float
    high: float
    at: float


class OutcomeShares(NamedTuple):
    """Wins, ties and losses as widths that add up to LINE."""

    win: float
    tie: float
    loss: float


class DeltaRow(NamedTuple):
    """One metric, or one metric on one slice, before and after."""

    delta: MetricDelta
    before: str
    after: str
    change: str
    interval: str
    bar: DeltaBar | None
    shares: OutcomeShares | None
    p: str
    detectable: str
    noise: str
    verdict: str


class SamplePair(NamedTuple):
    """One pair of the list for readers without JavaScript."""

    id: str
    moved: str
    scores: list[tuple[str, str, str]]
    question: str
    before: str | None
    after: str | None


class TrendPoint(NamedTuple):
    """One stored run in a trend."""

    name: str
    value: str
    interval: str
    n: int


Trend = Mapping[str, Sequence[tuple[str, Estimate]]]


def comparison_page(comparison: Comparison, current: Report, baseline: Report, *, trend: Trend | None = None) -> str:
    """The comparison of two reports as one self-contained page.

    ``current`` and ``baseline`` are the reports that were compared: the page shows their samples in pairs. ``trend``
    holds, per metric, the estimates of stored runs, oldest first.
    """
    baseline = under_names_of(current, baseline)
    pairs = _pairs(current, baseline)
    whole = [one for one in comparison.deltas if not one.slice]
    largest = max((abs(end) for one in whole for end in (one.low, one.high, one.delta) if end is not None), default=0.0)
    rows = [_row(one, largest or 1.0, comparison.alpha) for one in whole]
    parts: dict[str, list[DeltaRow]] = {}
    for one in comparison.deltas:
        if one.slice:
            parts.setdefault(one.slice, []).append(_row(one, largest or 1.0, comparison.alpha))
    return rendered(
        "comparison.html.j2",
        (*SCRIPTS, "difference", "comparison"),
        title=f"{comparison.baseline} → {comparison.current}",
        kind="failed" if comparison.blockers else "pass" if comparison.passed else "fail",
        sentence=sentence(comparison),
        headline=headline(comparison),
        comparison=comparison,
        level=f"{comparison.confidence * 100:g} %" if comparison.deltas else level(current),
        rows=rows,
        test=TEST,
        rule=rule(comparison),
        noisy=any(one.noise is not None for one in whole),
        slices=[(name, *_selected(name), found) for name, found in parts.items()],
        worst=_worst(comparison, current, baseline, pairs),
        trends=[(label, [_point(*run) for run in runs]) for label, runs in (trend or {}).items() if runs],
        facts=_facts(current, baseline),
        total=len(pairs),
        data=_data(comparison, current, baseline, pairs),
    )


def sentence(comparison: Comparison) -> str:
    """The verdict in words."""
    if comparison.blockers:
        count = len(comparison.blockers)
        return f"Not comparable: {comparison.blockers[0]}" + (f", and {count - 1} more." if count > 1 else ".")
    if comparison.regressions:
        return f"Does not pass: {_moved(comparison.regressions, comparison.alpha)}."
    if comparison.improvements:
        return f"Passes: {_moved(comparison.improvements, comparison.alpha)}; no regression beyond the tolerance."
    return "Passes: no change beyond the tolerance."


def _moved(moved: Sequence[MetricDelta], alpha: float) -> str:
    """The first of several deltas in words, and how many other metrics and slices moved the same way."""
    first = moved[0]
    metrics = len({one.metric for one in moved}) - 1
    parts = len([one for one in moved if one.slice])
    others = [
        pluralize(metrics, "more metric") if metrics else "",
        pluralize(parts, "slice") if parts else "",
    ]
    told = " and ".join(filter(None, others))
    more = f"; so {'do' if metrics + parts > 1 else 'does'} {told}" if told else ""
    where = f" ({first.slice})" if first.slice else ""
    known = first.words(alpha)
    if first.delta is None:
        return f"{first.metric}{where} {known}{more}"
    way = "falls" if (first.current or 0.0) < (first.baseline or 0.0) else "rises"
    doubt = known.removeprefix(first.verdict).lstrip(", ")
    doubt = f" ({doubt})" if doubt else ""
    return f"{first.metric}{where} {way} from {value_text(first.baseline)} to {value_text(first.current)}{doubt}{more}"


def _pairs(current: Report, baseline: Report) -> list[tuple[int, int]]:
    """Rows of current and baseline with the same id."""
    where = {one: row for row, one in enumerate(baseline.ids)}
    return [(row, where[one]) for row, one in enumerate(current.ids) if one in where]


def _row(one: MetricDelta, largest: float, alpha: float) -> DeltaRow:
    bar = shares = None
    if one.delta is not None:
        ends = (one.delta if one.low is None else one.low, one.delta if one.high is None else one.high, one.delta)
        low, high, at = (round(LINE / 2 * (1 + max(-1.0, min(1.0, end / largest))), 2) for end in ends)
        bar = DeltaBar(low, max(high, low + 1), at)
    counted = one.win + one.tie + one.loss
    if counted:
        shares = OutcomeShares(*(round(LINE * part / counted, 2) for part in (one.win, one.tie, one.loss)))
    words = one.words(alpha)
    return DeltaRow(
        delta=one,
        before=value_text(one.baseline),
        after=value_text(one.current),
        change=signed(one.delta),
        interval="–" if one.low is None or one.high is None else f"{signed(one.low)} to {signed(one.high)}",
        bar=bar,
        shares=shares,
        p="–" if one.p_adjusted is None else "< 0.001" if one.p_adjusted < 0.001 else f"{one.p_adjusted:.3f}",
        detectable="none" if no_room(one) else value_text(one.detectable or None),
        noise="–" if one.noise is None else f"± {value_text(one.noise)}",
        verdict=words,
    )


def signed(value: float | None) -> str:
    """A delta with its sign.

    >>> signed(0.0125), signed(-0.3), signed(0.0), signed(None)
    ('+0.013', '−0.300', '0.000', '–')
    """
    if value is None:
        return "–"
    shown = value_text(abs(value))
    sign = "" if float(shown.replace(",", "")) == 0 else "+" if value > 0 else "−"
    return sign + shown


def _selected(part: str) -> tuple[str, str, str]:
    tag, _, value = part.partition("=")
    name = quoted_name(tag)
    return tag, one_line(value, WIDEST), f"not {name}" if value == "(none)" else f"{name} == {quoted(value)}"


def _point(name: str, one: Estimate) -> TrendPoint:
    return TrendPoint(name, value_text(one.value, one.pool), interval_text(one.low, one.high, one.pool), one.n)


def _facts(current: Report, baseline: Report) -> list[tuple[str, str, str]]:
    """Provenance of both, the facts in which they differ first."""
    before, after = dict(provenance(baseline)), dict(provenance(current))
    keys = list(dict.fromkeys([*before, *after]))
    found = [(key, before.get(key, "–"), after.get(key, "–")) for key in keys]
    return sorted(found, key=lambda fact: fact[1] == fact[2])


def _labels(comparison: Comparison, current: Report, baseline: Report) -> list[str]:
    """The metrics that both reports hold, as they were compared; all they share if nothing was."""
    compared = [one.metric for one in comparison.deltas if not one.slice] or list(current.columns)
    return [label for label in compared if label in current.columns and label in baseline.columns]


def _worst(
    comparison: Comparison, current: Report, baseline: Report, pairs: Sequence[tuple[int, int]]
) -> list[SamplePair]:
    """Return the pairs with the largest losses over all metrics, flips from pass to fail first."""
    labels = _labels(comparison, current, baseline)
    after = {label: states(current, label) for label in labels}
    before = {label: states(baseline, label) for label in labels}
    ranked = []
    for new, old in pairs:
        flips = sum(before[label][old] == "p" and after[label][new] in "fx" for label in labels)
        losses = [
            change
            for label in labels
            for sign in [1.0 if current.notes[label].higher_is_better else -1.0]
            for change in [sign * float(current.columns[label].values[new] - baseline.columns[label].values[old])]
            if not math.isnan(change)
        ]
        if flips or (losses and min(losses) < 0):
            ranked.append((-flips, min(losses, default=0.0), new, old))
    samples, earlier = aligned_samples(current), aligned_samples(baseline)
    found = []
    for flips, loss, new, old in sorted(ranked)[:WORST]:
        scores = [
            (
                label,
                f"{_cell(baseline, label, old, before[label])} → {_cell(current, label, new, after[label])}",
                "fail" if before[label][old] == "p" and after[label][new] in "fx" else "",
            )
            for label in labels
        ]
        moved = f"{-flips} from pass to fail" if flips else f"largest loss {signed(loss)}"
        one, was = samples[new], earlier[old]
        found.append(
            SamplePair(current.ids[new], moved, scores, _cut_text(one, "user_input") or "", _cut_text(was, "response"),
                 _cut_text(one, "response"))
        )  # fmt: skip
    return found


def _cell(report: Report, label: str, row: int, letters: str) -> str:
    value = float(report.columns[label].values[row])
    return WORDS[letters[row]] if math.isnan(value) else value_text(value)


def _cut_text(sample: Sample | None, name: str) -> str | None:
    text = None if sample is None else getattr(sample, name)
    if not isinstance(text, str):
        return None
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"


def _data(comparison: Comparison, current: Report, baseline: Report, pairs: Sequence[tuple[int, int]]) -> PageData:
    """What the page's scripts show: values of both by pair, and their texts and details in blocks."""
    unique = UniqueTexts()
    samples, earlier = aligned_samples(current), aligned_samples(baseline)
    labels = _labels(comparison, current, baseline)
    sides = {"a": (baseline, earlier, [old for _, old in pairs]), "b": (current, samples, [new for new, _ in pairs])}
    details = []
    records = {
        name: [recorded_metric(note.name, note.way) for note in side[0].notes.values()] for name, side in sides.items()
    }
    told = [samples[new] for new, _ in pairs]
    for at in range(len(pairs)):
        both = {
            name: _compared(detail(report, rows[at], known[rows[at]], unique, {}, records[name]), report, labels)
            for name, (report, known, rows) in sides.items()
        }
        details.append(both)
    texts = pack_blocks(_texts(samples[new], earlier[old]) for new, old in pairs)
    packed_details, contexts = pack_blocks(details), pack_blocks(unique.texts)
    core = {
        "ids": [current.ids[new] for new, _ in pairs],
        "sides": [comparison.baseline, comparison.current],
        "metrics": [
            {
                "label": label,
                "shown": label,
                "up": current.notes[label].higher_is_better,
                "threshold": current.notes[label].threshold,
                "bounds": current.notes[label].bounds,
            }
            for label in labels
        ],
        **{
            name: {
                "values": [[rounded(float(report.columns[label].values[row])) for row in rows] for label in labels],
                "states": [_picked(states(report, label), rows) for label in labels],
                "response": previews([None if one is None else one.response for row in rows for one in [known[row]]]),
            }
            for name, (report, known, rows) in sides.items()
        },
        "question": previews([None if one is None else one.user_input for one in told]),
        "tags": tags_of(told),
        "first": next((one.metric for one in comparison.regressions if one.metric in labels), [*labels, ""][0]),
        "starts": {
            "texts": texts.starts,
            "details": packed_details.starts,
            "contexts": contexts.starts,
            "exchanges": [],
        },
    }
    return PageData(packed(core), texts.lines, contexts.lines, packed_details.lines, "")


def _picked(letters: str, rows: Sequence[int]) -> str:
    return "".join(letters[row] for row in rows)


def _compared(found: dict[str, Json], report: Report, labels: Sequence[str]) -> dict[str, Json]:
    """Evidence by the numbers of the metrics that are compared."""
    cells = found.pop("metrics", None)
    if isinstance(cells, dict):
        order = list(report.columns)
        kept = {str(at): cells[key] for at, label in enumerate(labels) if (key := str(order.index(label))) in cells}
        found["metrics"] = {**kept}
    return found


def _texts(now: Sample | None, before: Sample | None) -> list[Json]:
    """Question, response before, response now, references."""
    return [
        now.user_input if now else None,
        before.response if before else None,
        now.response if now else None,
        [*now.references] if now else [],
    ]
