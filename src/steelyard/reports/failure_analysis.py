"""Failure analysis: retrieval, answer and grounding of every sample, as far as the metrics of the report show.

Each of the three states comes from one measure for the whole report, the one with scores and the highest stage rank,
so that cells never mix units. A sample for which the measure is undefined or failed is ``unknown``, never guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, field

from ..core.records import Sample
from ..metrics.lookup import recorded_metric
from ..metrics.registry import Metric, Stage
from ..stats.intervals import wilson
from ..stats.pooling import passes
from .provenance import MetricNote
from .report import Report

UNKNOWN = "unknown"
RETRIEVAL = ("all", "some", "none", UNKNOWN)
ANSWER = ("right", "wrong", "declined", UNKNOWN)
GROUNDED = ("grounded", "ungrounded", UNKNOWN)

Key: TypeAlias = tuple[str, str, str]
State: TypeAlias = Callable[[int], str]
Records: TypeAlias = Mapping[str, Metric | None]

_SUITE_CORRECTNESS = "correctness"
"""The column of a benchmark suite with the correctness given by a user's own judge, which is no registered metric."""
_ITS_RANK = 125

_THRESHOLD = 0.5

REMEDIES: Mapping[Key, str] = {
    ("all", "right", "grounded"): "No problem found.",
    (
        "all",
        "right",
        "ungrounded",
    ): "The model answers from memory or adds facts: instruct it to answer from the passages.",
    (
        "all",
        "wrong",
        "grounded",
    ): "The passages hold the answer and the model misread them: check passage order, noise and the prompt.",
    ("all", "wrong", "ungrounded"): "The model ignores its passages: try a stricter prompt or another model.",
    ("all", "declined", ""): "The passages hold the answer: relax the instruction to decline.",
    ("some", "right", "grounded"): "Some relevant documents were enough: check whether the others are needed.",
    ("some", "right", "ungrounded"): "The model fills gaps from memory: improve recall before you trust these answers.",
    (
        "some",
        "wrong",
        "grounded",
    ): "Retrieval misses documents: retrieve more passages, split questions that need several facts.",
    (
        "some",
        "wrong",
        "ungrounded",
    ): "Retrieval misses documents and the model fills in: improve recall, then the prompt.",
    ("some", "declined", ""): "Some documents were found: improve recall, or allow partial answers.",
    ("none", "right", "grounded"): "The qrels are likely incomplete: passages that answer are not judged relevant.",
    ("none", "right", "ungrounded"): "The model knew the answer: fix retrieval and test with harder questions.",
    (
        "none",
        "wrong",
        "grounded",
    ): "The model used irrelevant passages: check the query, the chunks and a score cut-off.",
    (
        "none",
        "wrong",
        "ungrounded",
    ): "Wrong and unsupported: fix retrieval first, then ask the model to decline.",
    ("none", "declined", ""): "Declining was right: check retrieval and whether the corpus holds the answer.",
    ("all", "right", ""): "No problem found; add faithfulness to check grounding.",
    (
        "all",
        "wrong",
        "",
    ): "The passages hold the answer and the model misread them: check passage order, noise and the prompt.",
    ("all", "", "ungrounded"): "Relevant passages, unsupported answer: check generation.",
    ("all", "", ""): "Retrieval works; add an answer metric to check the answers.",
    ("some", "right", ""): "Some relevant documents were enough: check whether the others are needed.",
    ("some", "", ""): "Retrieval misses documents: try more passages, better chunks or a second retriever.",
    ("none", "right", ""): "The model knew the answer or the qrels are incomplete; add faithfulness to tell which.",
    ("none", "", ""): "Retrieval finds no relevant document: check the query, the index and their wording.",
    ("", "right", "grounded"): "No problem found.",
    ("", "right", "ungrounded"): "Right but not supported by the passages: instruct the model to answer from them.",
    ("", "wrong", "grounded"): "Supported by its passages but wrong: check retrieval first.",
    ("", "wrong", "ungrounded"): "Wrong and unsupported: check generation, then retrieval.",
    ("", "declined", ""): "Declined: check whether the passages hold the answer.",
    ("", "right", ""): "No problem found; add faithfulness to check grounding.",
    ("", "wrong", ""): "Wrong; add a retrieval or grounding metric to find the cause.",
    ("", "", "grounded"): "Supported by the passages; add an answer metric to check correctness.",
    ("", "", "ungrounded"): "Unsupported by the passages: check generation.",
}
"""The suggested fix of a cell, in one line; an empty word matches any state."""


class FailureGroup(Struct, frozen=True):
    """The samples in one cell: their rows, their share of all samples with its interval, the suggested fix."""

    retrieval: str
    answer: str
    grounded: str
    rows: list[int]
    share: float
    low: float
    high: float
    remedy: str

    @property
    def n(self) -> int:
        """The number of samples."""
        return len(self.rows)

    @property
    def works(self) -> bool:
        """Whether no known state of these samples is a failure."""
        return self.retrieval in {"all", UNKNOWN} and self.answer in {"right", UNKNOWN} and self.grounded in _FINE


_FINE = {"grounded", UNKNOWN}


class FailureAnalysis(Struct, frozen=True):
    """Every sample in one cell. ``by`` describes the measure of each state; it lacks states without a measure."""

    cells: list[FailureGroup] = field(default_factory=list)
    by: dict[str, str] = field(default_factory=dict)
    states: list[Key] = field(default_factory=list)

    @property
    def known(self) -> list[FailureGroup]:
        """The cells with at least one known state."""
        return [cell for cell in self.cells if {cell.retrieval, cell.answer, cell.grounded} != {UNKNOWN}]


def analyse_failures(report: Report) -> FailureAnalysis:
    """Group the samples of a report by retrieval, answer and grounding, with counts, intervals and suggested fixes.

    - retrieval: ``all``, ``some`` or ``none`` of the relevant documents are among those that were read (the first
      ``len(retrieved_contexts)`` ids, or all ids without contexts); else by a recall metric of the report: 1 is all, 0
      is none;
    - answer: ``declined`` if a metric reports that or the response is blank, else ``right`` at or beyond the threshold
      of the metric (0.5 by default);
    - grounded: ``grounded`` or ``ungrounded`` by the threshold of faithfulness.

    Intervals are Wilson intervals of the cell's share of all samples. Larger cells come first, cells without a failure
    last.

    >>> from steelyard import evaluate_rag
    >>> sample = {"response": "Rome", "reference": "Paris", "retrieved_ids": ["d2"], "relevance": {"d1": 1}}
    >>> [cell] = analyse_failures(evaluate_rag([sample], metrics=["contains"])).cells
    >>> cell.retrieval, cell.answer, cell.grounded, cell.n
    ('none', 'wrong', 'unknown', 1)
    >>> cell.remedy
    'Retrieval finds no relevant document: check the query, the index and their wording.'
    """
    by: dict[str, str] = {}
    samples = aligned_samples(report)
    records = {label: recorded_metric(note.name, note.way) for label, note in report.notes.items()}
    retrieval = _retrieval(report, samples, records, by)
    answer = _answer(report, samples, records, by)
    grounded = _grounded(report, records, by)
    states: list[Key] = [(retrieval(row), answer(row), grounded(row)) for row in range(len(report.ids))]
    states = [
        (retrieved, answered, UNKNOWN if answered == "declined" else supported)
        for retrieved, answered, supported in states
    ]
    rows: dict[Key, list[int]] = {}
    for row, state in enumerate(states):
        rows.setdefault(state, []).append(row)
    cells = [_cell(state, members, len(states), _confidence(report)) for state, members in rows.items()]
    cells.sort(key=lambda cell: (cell.works, -cell.n, RETRIEVAL.index(cell.retrieval), ANSWER.index(cell.answer)))
    return FailureAnalysis(cells, by, states)


def aligned_samples(report: Report) -> list[Sample | None]:
    """The sample of each row; None if the report does not contain it."""
    if [sample.id for sample in report.samples] == report.ids:
        return list(report.samples)
    known = {sample.id: sample for sample in report.samples}
    return [known.get(one) for one in report.ids]


def read_documents(sample: Sample) -> list[str] | None:
    """The distinct ids of the documents that the system read for the answer, in order; None if ids are unknown."""
    if sample.retrieved_ids is None:
        return None
    read = len(sample.retrieved_contexts or ())
    ids = list(dict.fromkeys(sample.retrieved_ids))
    return ids[:read] if 0 < read < len(ids) else ids


def relevant_documents(sample: Sample) -> dict[str, float]:
    """The documents judged relevant (grade above 0), with their grades."""
    return {doc: grade for doc, grade in (sample.relevance or {}).items() if grade > 0}


def _cell(state: Key, rows: list[int], total: int, confidence: float) -> FailureGroup:
    low, high = wilson(len(rows), total, confidence=confidence)
    return FailureGroup(*state, rows, len(rows) / total, low, high, _remedy(state))


def _remedy(state: Key) -> str:
    """The suggested fix of a cell, or of its known states."""
    retrieved, answered, supported = ("" if word == UNKNOWN else word for word in state)
    keys: Sequence[Key] = [
        (retrieved, answered, supported),
        (retrieved, "", ""),
        ("", answered, supported),
        ("", answered, ""),
        ("", "", supported),
    ]
    return next((REMEDIES[key] for key in keys if key in REMEDIES), "The metrics of this report do not tell.")


def _confidence(report: Report) -> float:
    return next((one.confidence for one in report.estimates.values()), 0.95)


def _measure(report: Report, records: Records, stage: Stage) -> str | None:
    """The label of the metric that measures a stage best and has scores; of several cut-offs the deepest."""
    ranked = []
    for label, note in report.notes.items():
        metric = records[label]
        if metric is None:
            measured, rank, depth = stage == "answer" and note.name == _SUITE_CORRECTNESS, _ITS_RANK, None
        else:
            measured, rank, depth = metric.measures(stage), metric.stage_rank, metric.params.get("k")
        if measured and report.estimates[label].n:
            ranked.append((-rank, -depth if isinstance(depth, int) else -math.inf, label))
    return min(ranked)[2] if ranked else None


def _retrieval(report: Report, samples: Sequence[Sample | None], records: Records, by: dict[str, str]) -> State:
    if any(one is not None and one.retrieved_ids is not None and relevant_documents(one) for one in samples):
        by["retrieval"] = "relevant documents among the retrieved ones"
        return lambda row: _found(samples[row])
    label = _measure(report, records, "retrieval")
    if label is None:
        return _unknown
    by["retrieval"] = f"{_shown(report, label)}: 1 is all, 0 none"
    values = report.columns[label].values

    def state(row: int) -> str:
        value = float(values[row])
        if math.isnan(value):
            return UNKNOWN
        return "all" if passes(value, 1.0) else "none" if passes(-value, 0.0) else "some"

    return state


def _found(sample: Sample | None) -> str:
    wanted = set() if sample is None else set(relevant_documents(sample))
    read = None if sample is None else read_documents(sample)
    if not wanted or read is None:
        return UNKNOWN
    left = wanted.difference(read)
    return "all" if not left else "none" if left == wanted else "some"


def _answer(report: Report, samples: Sequence[Sample | None], records: Records, by: dict[str, str]) -> State:
    label = _measure(report, records, "answer")
    decided = _by_threshold(report, label, ("right", "wrong"))
    declining = _declining(report, records)
    if label is not None:
        by["answer"] = _at_threshold(report, label)
    if declining:
        by["answer"] = "; ".join(
            [*filter(None, [by.get("answer")]), "declined by " + ", ".join(_shown(report, one) for one in declining)]
        )

    def state(row: int) -> str:
        for one, keys in declining.items():
            evidence = report.columns[one].evidence.get(row, {})
            if any(evidence.get(key) for key in keys):
                return "declined"
        sample = samples[row]
        known = label is not None and sample is not None and sample.response is not None
        return "declined" if known and sample and not (sample.response or "").strip() else decided(row)

    return state


def _declining(report: Report, records: Records) -> dict[str, tuple[str, ...]]:
    """The metrics whose evidence records whether a response declined, with the keys of the evidence."""
    return {
        label: metric.declines
        for label, metric in records.items()
        if metric is not None and metric.declines and report.estimates[label].n
    }


def _grounded(report: Report, records: Records, by: dict[str, str]) -> State:
    label = _measure(report, records, "grounding")
    if label is not None:
        by["grounded"] = _at_threshold(report, label)
    return _by_threshold(report, label, ("grounded", "ungrounded"))


def _by_threshold(report: Report, label: str | None, words: tuple[str, str]) -> State:
    if label is None:
        return _unknown
    values, note = report.columns[label].values, report.notes[label]
    limit = _limit(note)

    def state(row: int) -> str:
        value = float(values[row])
        if math.isnan(value):
            return UNKNOWN
        return words[0] if passes(value, limit, higher_is_better=note.higher_is_better) else words[1]

    return state


def _limit(note: MetricNote) -> float:
    return _THRESHOLD if note.threshold is None else note.threshold


def _at_threshold(report: Report, label: str) -> str:
    note = report.notes[label]
    return f"{_shown(report, label)} {'≥' if note.higher_is_better else '≤'} {_limit(note):g}"


def _shown(report: Report, label: str) -> str:
    way = report.notes[label].way
    return f"{label} [{way}]" if way in {"lexical", "judged"} and not label.startswith(f"{way}.") else label


def _unknown(_: int) -> str:
    return UNKNOWN
