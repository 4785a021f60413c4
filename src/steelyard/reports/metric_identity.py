"""Metrics with several names: find the column of a name, and rename the metrics of one report as in another.

The keys of a report are the requested names (``P@5``); the metric's note holds its canonical name (``precision@5``) and
its way. Metrics are matched by the note, not by the key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ..core.errors import InputError, UnknownName
from ..core.wording import did_you_mean
from ..metrics.lookup import WAYS, get_metric
from ..metrics.registry import Metric
from .provenance import MetricNote
from .report import Report

T = TypeVar("T")


def label_of(report: Report, metric: str) -> str:
    """Find the column of a name: its key in the report, or another name of the same metric, with or without its way.

    A name with a lexical and a judged column means the judged one. An empty name means the only column.

    >>> from steelyard import evaluate_rag
    >>> report = evaluate_rag([{"response": "a", "reference": "a"}], metrics=["qa_f1"])
    >>> label_of(report, ""), label_of(report, "lexical.token_f1"), label_of(report, "token_f1")
    ('qa_f1', 'qa_f1', 'qa_f1')
    """
    known = list(report.columns)
    if not metric:
        if len(known) == 1:
            return known[0]
        raise InputError(f"name the metric that the labels refer to: one of {', '.join(known)} (--metric)")
    label = find_label(report.notes, metric)
    if label is None:
        raise UnknownName(f"no metric {metric!r} in the report: {did_you_mean(metric, known)}")
    return label


def find_label(notes: Mapping[str, MetricNote], metric: str) -> str | None:
    """Find the key of a name; None if no metric has it."""
    if metric in notes:
        return metric
    judged_first = sorted(notes, key=lambda label: notes[label].way != "judged")
    folder, in_file, rest = metric.partition(".py:")
    base = f"{Path(folder).name}.py:{rest}" if in_file else metric
    for label in judged_first:
        note = notes[label]
        if base in {note.name, f"{note.way}.{note.name}", label.partition(".")[2]}:
            return label
    candidates = [] if in_file else _metrics_named(metric)
    matches = [label for one in candidates for label in judged_first if identity(notes[label]) == (str(one), one.way)]
    if not matches and metric.partition(".")[0] not in WAYS:  # the way may be unknown here, as with a suite's judge
        matches = [label for one in candidates for label in judged_first if notes[label].name == str(one)]
    return matches[0] if matches else None


def _metrics_named(text: str) -> list[Metric]:
    """The registered metrics of a name: the judged one, and the default one."""
    found = []
    for way in ("judged", None):
        try:
            found.append(get_metric(text, way=way))
        except InputError:
            continue
    return found


def identity(note: MetricNote) -> tuple[str, str]:
    """The identity of a metric: its canonical name with parameters, and its way."""
    return note.name, note.way


def under_names_of(report: Report, other: Report) -> Report:
    """Rename the metrics of ``other`` as in ``report``; a metric that ``report`` lacks keeps its name.

    >>> from steelyard import evaluate_rag
    >>> one, other = (evaluate_rag([{"response": "a", "reference": "a"}], metrics=[name]) for name in ("em", "qa_em"))
    >>> list(under_names_of(one, other).columns)
    ['em']
    """
    names = _new_names(report.notes, other.notes)
    if all(old == new for old, new in names.items()):
        return other

    def renamed(values: Mapping[str, T]) -> dict[str, T]:
        return {names[label]: value for label, value in values.items()}

    return replace(
        other,
        columns=renamed(other.columns),
        notes=renamed(other.notes),
        estimates=renamed(other.estimates),
        slices={part: renamed(values) for part, values in other.slices.items()},
    )


def _new_names(wanted: Mapping[str, MetricNote], notes: Mapping[str, MetricNote]) -> dict[str, str]:
    """The new key of every old key: first keys that name the same metric in both reports, then other names of it."""
    names = {old: old for old, note in notes.items() if old in wanted and identity(wanted[old]) == identity(note)}
    for old, note in notes.items():
        if old not in names:
            free = (new for new in wanted if new not in names.values() and identity(wanted[new]) == identity(note))
            if (new := next(free, None)) is not None:
                names[old] = new
    for old, note in notes.items():
        if old not in names:  # in the first report, the key belongs to another metric or to none
            new = old if old not in names.values() else f"{note.way}.{note.name}"
            while new in names.values():
                new += " (before)"
            names[old] = new
    return {old: names[old] for old in notes}
