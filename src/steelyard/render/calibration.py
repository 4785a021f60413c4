"""Calibration of a judge as text, Markdown and JSON."""

from __future__ import annotations

import msgspec

from ..core.wording import pluralize
from ..judges.calibration import Calibration, ChosenThreshold, HumanCeiling, MetricCalibration, Share
from ..stats.agreement import Agreement
from ..stats.ppi import Corrected
from .comparison import signed
from .markdown import escape, markdown_table
from .table import Table, aligned, number, span

AGREEMENT = ("agreement with people", "value", "interval", "n", "left out", "")
CORRECTED = ("of all", "judge says", "labels alone", "corrected", "interval", "labels", "worth")


def text(found: Calibration) -> str:
    """Warnings, then for each metric agreement, what people and judge say, and the corrected estimates."""
    lines = [_title(found), *(f"warning: {warning}" for warning in found.warnings)]
    for name, one in found.metrics.items():
        lines += ["", f"── {name}{_way(one)}: {_counts(one)}", "", *aligned(agreement(one))]
        lines += ["", *_words(one), "", *aligned(corrected(one, found))]
    return "\n".join([*lines, "", FOOT])


FOOT = "worth: the number of labels that would give an equally narrow interval without the judge"


def markdown(found: Calibration) -> str:
    """The same as Markdown."""
    lines = [f"# {escape(_title(found))}", *(f"\n> **Warning:** {escape(warning)}" for warning in found.warnings)]
    for name, one in found.metrics.items():
        lines += ["", f"## {escape(name + _way(one))}", "", f"{escape(_counts(one))}.", ""]
        lines += markdown_table(agreement(one))
        lines += ["", *(f"- {escape(line)}" for line in _words(one)), "", *markdown_table(corrected(one, found))]
    return "\n".join([*lines, "", f"{FOOT}."]) + "\n"


def as_json(found: Calibration) -> str:
    """Everything, as strict JSON."""
    return msgspec.json.format(msgspec.json.encode(found), indent=2).decode()


def _title(found: Calibration) -> str:
    who = found.judge or "the metrics"
    of = f" on {found.system}" if found.system else ""
    return f"{who}{of}, compared with people"


def _way(one: MetricCalibration) -> str:
    return f" [{one.way}]" if one.way and one.way not in {"ranking", "custom"} else ""


def _counts(one: MetricCalibration) -> str:
    people = f" by {one.annotators} people" if one.annotators > 1 else ""
    return f"{one.n} of {pluralize(one.total, one.unit)} labelled{people}"


def agreement(one: MetricCalibration) -> Table:
    """One row per measure of agreement."""
    rows = [_measure(name, found, one) for name, found in one.agreement.items()]
    return Table(AGREEMENT, rows, frozenset({1, 2, 3, 4}))


def _measure(name: str, found: Agreement, one: MetricCalibration) -> tuple[str, ...]:
    remark = (found.reason or "").replace("the first rater's", "people's").replace("the second rater's", "the judge's")
    if name == "kappa" and one.kappa_maximum is not None and found.value is not None:
        remark = f"at most {one.kappa_maximum:.3f} with these base rates"
    interval = span(found.low, found.high, digits=3)
    return (name, number(found.value, digits=3), interval, str(found.n), str(found.excluded), remark)


def _words(one: MetricCalibration) -> list[str]:
    """Base rates, confusion, bias, ceiling, threshold, notes: a line each."""
    lines = []
    if one.people_rate is not None and one.judge_rate is not None and one.threshold is not None:
        lines.append(
            f"verdicts (threshold {one.threshold:g}): people pass {_share(one.people_rate)},"
            f" the judge {_share(one.judge_rate)}"
        )
    if one.confusion is not None and one.confusion.labels == (0.0, 1.0):
        (both_fail, lenient), (strict, both_pass) = one.confusion.counts
        lines.append(
            f"both fail {both_fail}, both pass {both_pass}, only the judge passes {lenient}, only people pass {strict}"
        )
    if one.bias is not None:
        lines.append(f"bias (judge minus people): {_gap(one.bias)}")
    lines += [f"  {name}: {_gap(gap)}, n {gap.n}" for name, gap in one.bias_by.items()]
    if one.ceiling is not None:
        lines.append(_ceiling(one.ceiling))
    if one.chosen is not None:
        lines.append(_threshold(one.chosen, one.threshold))
    return [*lines, *(f"note: {note}" for note in one.notes)]


def _share(one: Share) -> str:
    return f"{number(one.value, digits=3)} ({span(one.low, one.high, digits=3)})"


def _gap(one: Share) -> str:
    return f"{signed(one.value)} ({span(one.low, one.high)})"


def _ceiling(one: HumanCeiling) -> str:
    alpha = number(one.alpha.value, digits=3)
    return (
        f"ceiling: {one.annotators} people agree with each other on {_share(one.people)} of verdicts (alpha {alpha},"
        f" {one.units} labelled by two or more); the judge agrees with them on {_share(one.judge)}"
    )


def _threshold(one: ChosenThreshold, before: float | None) -> str:
    return (
        f"threshold {one.threshold:.3g}, chosen on {pluralize(one.chosen_on, 'label')}: balanced accuracy"
        f" {number(one.balanced_accuracy.value, digits=3)}"
        f" ({span(one.balanced_accuracy.low, one.balanced_accuracy.high, digits=3)}) on the other {one.measured_on},"
        f" where {before:g} has {number(one.before.value, digits=3)}"
    )


def corrected(one: MetricCalibration, found: Calibration) -> Table:
    """What people would say of all samples: one row per estimate."""
    named: list[tuple[str, Corrected | None]] = [
        ("mean", one.mean),
        ("pass rate", one.pass_rate),
        (f"mean minus {found.baseline}'s", one.difference),
        (f"pass rate minus {found.baseline}'s", one.pass_difference),
    ]
    rows = [_estimate(name, estimate) for name, estimate in named if estimate is not None]
    head = list(CORRECTED)
    head[4] = f"{found.confidence * 100:g} % {head[4]}"
    return Table(tuple(head), rows, frozenset(range(1, 7)))


def _estimate(name: str, one: Corrected) -> tuple[str, ...]:
    worth = "–" if one.effective is None else f"{one.effective:.0f}"
    alone = "–" if one.alone is None else f"{one.alone:.4f} ({span(one.alone_low, one.alone_high)})"
    interval = span(one.low, one.high)
    return (name, number(one.uncorrected), alone, number(one.value), interval, str(one.n), worth)
