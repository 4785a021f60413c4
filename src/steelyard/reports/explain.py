"""Explain the score of one sample in one line: by its evidence, or by response and reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..core.records import Json, Sample
from ..metrics.lookup import recorded_metric
from ..metrics.registry import Explanation
from .failure_analysis import read_documents, relevant_documents
from .report import Report

LONGEST = 90
"""The maximal length of a quotation."""

_TEXTS = ("claim", "statement", "sentence", "nugget", "fact", "text")
_VERDICTS = ("verdict", "supported", "support", "holds", "found", "label")
_AGAINST = ("no", "none", "unsupported", "not supported", "not_support", "false")


def reason_of(report: Report, row: int, label: str) -> str:
    """Explain the score of a row on a metric; empty if the report holds no explanation.

    >>> from steelyard import evaluate_rag
    >>> rows = [{"response": "Rome", "reference": "Paris"}]
    >>> reason_of(evaluate_rag(rows, metrics=["exact_match"]), 0, "exact_match")
    '“Rome” for “Paris”'
    """
    column = report.columns[label]
    if known := column.failed.get(row) or column.undefined.get(row):
        return _cut(known)
    if reason := _from_evidence(column.evidence.get(row, {})):
        return reason
    sample = next((one for one in report.samples[row : row + 1] if one.id == report.ids[row]), None)
    note = report.notes[label]
    metric = recorded_metric(note.name, note.way)
    return "" if sample is None or metric is None else _from_sample(sample, metric.explained_by)


def _from_evidence(evidence: Mapping[str, Json]) -> str:
    """The first unsupported claim and the number of such claims, else the reason in the evidence."""
    for value in evidence.values():
        if isinstance(value, list):
            verdicts = list(_verdicts(value))
            wrong = [claim for claim, holds in verdicts if not holds]
            if wrong:
                return f"{len(wrong)} of {len(verdicts)} not supported: {wrong[0]}"
    reason = evidence.get("reason")
    return _cut(reason) if isinstance(reason, str) else ""


def _verdicts(items: list[Json]) -> Iterator[tuple[str, bool]]:
    """Yield each claim with its reason, and whether it holds; items without a verdict are left out."""
    for item in items:
        if not isinstance(item, dict):
            continue
        text = next((item[key] for key in _TEXTS if isinstance(item.get(key), str)), None)
        verdict = next((item[key] for key in _VERDICTS if key in item), None)
        if isinstance(text, str) and verdict is not None:
            reason = item.get("reason")
            why = f" ({_cut(reason)})" if isinstance(reason, str) and reason else ""
            holds = verdict.casefold() not in _AGAINST if isinstance(verdict, str) else bool(verdict)
            yield f"“{_cut(text)}”{why}", holds


def _from_sample(sample: Sample, explained_by: Explanation) -> str:
    """The response beside its reference, or the relevant documents that were not found."""
    if explained_by == "reference" and sample.response is not None and sample.references:
        return f"“{_cut(sample.response)}” for “{_cut(sample.references[0])}”"
    if explained_by == "missed documents" and (wanted := relevant_documents(sample)):
        found = set(read_documents(sample) or ())
        missed = [doc for doc in wanted if doc not in found]
        if missed:
            return f"not found: {', '.join(missed[:3])}" + (f" and {len(missed) - 3} more" if len(missed) > 3 else "")
    return ""


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
