"""Scores of one metric over a batch given as columns (``Metric.calculate_metric_scores``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from ..core.errors import InputError
from ..core.records import Sample, Value
from ..core.requests import outcome

if TYPE_CHECKING:
    from .registry import Metric

COLUMNS = {
    "gold_answers": "reference",
    "predicted_answers": "response",
    "questions": "user_input",
    "retrieved_contexts": "retrieved_contexts",
    "question_types": "tags",
}
"""The names of a batch's columns, and the sample field that each column fills."""

Pooled = dict[str, float | None]
Row = dict[str, float | str | None]


def samples_of(columns: Mapping[str, Sequence[object]]) -> list[Sample]:
    """Turn the columns of a batch into samples; columns of unequal length are an error."""
    if unknown := set(columns) - set(COLUMNS):
        raise InputError(f"unknown column {min(unknown)!r} (expected {', '.join(COLUMNS)})")
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"columns of unequal length: {', '.join(f'{n} {c}' for n, c in lengths.items())}")
    samples = []
    for number, row in enumerate(zip(*columns.values(), strict=True)):
        fields: dict[str, object] = {COLUMNS[name]: value for name, value in zip(columns, row, strict=True)}
        if "tags" in fields:
            fields["tags"] = {"question_type": str(fields["tags"])}
        samples.append(Sample(id=str(number), **fields))  # type: ignore[arg-type]
    return samples


def score_columns(
    metric: Metric, columns: Mapping[str, Sequence[object]], aggregate: Callable[[Sequence[float]], float]
) -> tuple[Pooled, list[Row]]:
    """Score a batch with one metric: pooled values and one row per sample; see ``Metric.calculate_metric_scores``."""
    if metric.kind == "batch":
        result: tuple[Pooled, list[Row]] = metric.rule(**columns)  # type: ignore[assignment]
        return result
    if metric.kind != "sample":
        raise InputError(f"{metric.name} [{metric.way}] cannot score columns (only metrics of one sample can)")
    samples = samples_of(columns)
    values = [_best(metric, sample, aggregate) for sample in samples]
    typed = "question_types" in columns and metric.name == "typed_accuracy"
    if typed:
        return _by_type(samples, values)
    return {metric.batch_key: _mean(values)}, [{metric.batch_key: value} for value in values]


def _best(metric: Metric, sample: Sample, aggregate: Callable[[Sequence[float]], float]) -> float | None:
    """Score a sample against each reference and reduce the values; None if no value is defined."""
    if any(getattr(sample, need) is None for need in metric.needs):
        return None
    per_reference = [structs.replace(sample, reference=one) for one in sample.references] or [sample]
    results = [outcome(metric.rule(one, **metric.params)) for one in per_reference]
    values = [one.value for one in results if isinstance(one, Value)]
    return float(aggregate(values)) if values else None


def _mean(values: Sequence[float | None]) -> float | None:
    scored = [value for value in values if value is not None]
    return sum(scored) / len(scored) if scored else None


def _by_type(samples: Sequence[Sample], values: Sequence[float | None]) -> tuple[Pooled, list[Row]]:
    types = [sample.tags.get("question_type", "") for sample in samples]
    pooled = {
        f"Accuracy_{kind}": _mean([value for value, one in zip(values, types, strict=True) if one == kind])
        for kind in sorted(set(types))
    }
    rows: list[Row] = [{"Accuracy": value, "QuestionType": kind} for value, kind in zip(values, types, strict=True)]
    return {**pooled, "Accuracy_Overall": _mean(values)}, rows
