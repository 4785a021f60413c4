"""Read and write reports as JSON: in the columnar shape, and in the plain shape of means and per-query metrics.

The plain shape is ``{dataset, k, num_queries, mean_precision, mean_recall, mean_mrr, mean_ndcg, …, per_query}``; its
keys are read without regard to case.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec
import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from ..core.errors import InputError
from ..core.records import Estimate, Json, Sample, Usage
from ..core.validation import validation_problem
from ..stats.pooling import Column, estimate
from .provenance import FORMAT, DatasetNote, MetricNote
from .validate import MOST, check_ids, check_report, saved_note

if TYPE_CHECKING:
    from .report import Report

T = TypeVar("T")
R = TypeVar("R", bound="Report")


class _Column(Struct, omit_defaults=True):
    values: list[float | None]
    undefined: dict[int, str] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    evidence: dict[int, dict[str, Json]] = field(default_factory=dict)
    parts: dict[int, tuple[float, float]] = field(default_factory=dict)
    requests: dict[int, list[str]] = field(default_factory=dict)
    draws: dict[int, list[float | None]] = field(default_factory=dict)


class _Saved(Struct, omit_defaults=True):
    format: str
    kind: str
    system: str
    dataset: DatasetNote
    ids: list[str]
    metrics: dict[str, MetricNote]
    estimates: dict[str, Estimate]
    columns: dict[str, _Column]
    slices: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    judge: str | None = None
    embedder: str | None = None
    policy: dict[str, Json] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    k_values: tuple[int, ...] = ()
    samples: list[Sample] = field(default_factory=list)
    run: dict[str, object] = field(default_factory=dict)


class _SavedUsage(Struct):
    """The usage of a run, in total and by cell."""

    usage: Usage = field(default_factory=Usage)
    cells: dict[str, dict[int, Usage]] = field(default_factory=dict)


def encode(report: Report) -> bytes:
    """Encode a report in the columnar shape. Values that differ between equal runs (usage, seconds, command) are in the
    ``run`` block."""
    run: dict[str, object] = dict(report.run)
    cells = {label: _by_row(column.usage) for label, column in report.columns.items() if column.usage}
    if cells or report.usage != Usage():
        run["used"] = _SavedUsage(
            replace(report.usage, seconds=round(report.usage.seconds, 3)), _without_seconds(cells)
        )
    saved = _Saved(
        format=FORMAT,
        kind=report.kind,
        system=report.system,
        dataset=report.dataset,
        ids=report.ids,
        metrics={
            label: saved_note(note, report.columns.get(label), report.estimates.get(label))
            for label, note in report.notes.items()
        },
        estimates=report.estimates,
        columns={label: _saved(column) for label, column in report.columns.items()},
        slices=report.slices,
        judge=report.judge,
        embedder=report.embedder,
        policy=dict(report.policy),
        warnings=report.warnings,
        versions=report.versions,
        k_values=report.k_values,
        samples=report.samples,
        run=run,
    )
    return msgspec.json.Encoder().encode_lines([saved])  # with its line end, and no copy of a large report


def _by_row(rows: dict[int, T]) -> dict[int, T]:
    places = list(rows)
    return rows if places == sorted(places) else {row: rows[row] for row in sorted(rows)}


def _without_seconds(cells: dict[str, dict[int, Usage]]) -> dict[str, dict[int, Usage]]:
    """The usage of each cell without its seconds, so that many are equal in the file."""
    return {label: {row: replace(one, seconds=0.0) for row, one in rows.items()} for label, rows in cells.items()}


def _saved(column: Column) -> _Column:
    return _Column(
        [None if math.isnan(value) else value for value in column.values.tolist()],
        _by_row(column.undefined),
        _by_row(column.failed),
        _by_row(column.evidence),
        _by_row(column.parts),
        _by_row(column.requests),
        _by_row(column.draws),
    )


def decode(kind: type[R], data: bytes, *, path: str | PathLike[str] | None = None) -> R:
    """Decode a report (of class ``kind``) of either shape from its bytes; InputError describes invalid content."""
    try:
        plain = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not JSON: {error}", path=path) from None
    if not isinstance(plain, dict):
        raise InputError("not a report: expected a JSON object", path=path)
    if "format" not in plain:
        return _from_plain(kind, plain, path)
    if plain["format"] != FORMAT:
        raise InputError(f"written in {plain['format']!r}; this version reads {FORMAT!r}", path=path, field="format")
    saved = _fitted(plain, _Saved, "$", path)
    used = _fitted(saved.run.pop("used", {}), _SavedUsage, "$.run.used", path)
    if odd := used.cells.keys() - saved.columns.keys():
        raise InputError("there is no such column", path=path, field=f"$.run.used.cells.{min(odd)}")
    report = kind(
        ids=saved.ids,
        columns={label: _loaded(column, used.cells.get(label, {})) for label, column in saved.columns.items()},
        notes=saved.metrics,
        estimates=saved.estimates,
        slices=saved.slices,
        kind=saved.kind,
        system=saved.system,
        dataset=saved.dataset,
        judge=saved.judge,
        embedder=saved.embedder,
        policy=saved.policy,
        warnings=saved.warnings,
        usage=used.usage,
        versions=saved.versions,
        run=cast("dict[str, Json]", saved.run),
        samples=saved.samples,
        k_values=saved.k_values,
    )
    check_report(report, path)
    return report


def _fitted(plain: object, kind: type[T], where: str, path: str | PathLike[str] | None) -> T:
    try:
        return msgspec.convert(plain, kind, str_keys=True)
    except msgspec.ValidationError as error:
        wrong = validation_problem(error, plain)
        raise InputError(f"not a complete report: {wrong.words}", path=path, field=wrong.below(where)) from None


def _loaded(saved: _Column, usage: dict[int, Usage]) -> Column:
    return Column(
        np.array([math.nan if value is None else value for value in saved.values], dtype=np.float64),
        saved.undefined,
        saved.failed,
        saved.evidence,
        saved.parts,
        saved.requests,
        usage,
        saved.draws,
    )


_PLAIN = {"precision": "precision@{k}", "recall": "recall@{k}", "mrr": "mrr", "ndcg": "ndcg@{k}"}
_QUALITY = {"faithfulness": "faithfulness", "relevance": "relevance", "correctness": "correctness"}
_MEANS = {**{key: f"mean_{key}" for key in _PLAIN}, "faithfulness": "mean_faithfulness",
          "relevance": "mean_answer_relevance", "correctness": "mean_correctness"}  # fmt: skip


def encode_plain(report: Report) -> bytes:
    """Encode a report in the plain shape: means, and per query the metrics at k, the answer and its quality."""
    k = report.k_values[0] if report.k_values else 10
    labels = {key: _label(report, name.format(k=k)) for key, name in {**_PLAIN, **_QUALITY}.items()}
    by_id = {sample.id: sample for sample in report.samples}
    rows = report.per_sample
    means: dict[str, Json] = {
        mean: report.estimates[label].value for key, mean in _MEANS.items() if (label := labels[key])
    }
    per_query: list[Json] = []
    for one in report.ids:
        values, sample = rows[one], by_id.get(one, Sample(id=one))
        row: dict[str, Json] = {"ID": one, "Query": sample.user_input or "", "Metrics": {
            "Precision": values.get(labels["precision"] or ""), "Recall": values.get(labels["recall"] or ""),
            "MRR": values.get(labels["mrr"] or ""), "NDCG": values.get(labels["ndcg"] or ""),
            "NumRelevant": sum(1 for grade in (sample.relevance or {}).values() if grade > 0),
            "NumRetrieved": len(sample.retrieved_ids or []),
        }}  # fmt: skip
        if sample.response is not None:
            row["Answer"] = sample.response
        if any(labels[key] for key in _QUALITY):
            comment = sample.metadata.get("comment")
            quality: dict[str, Json] = {key.capitalize(): values.get(labels[key] or "") for key in _QUALITY}
            row["Quality"] = {**quality, "Comment": comment if isinstance(comment, str) else ""}
        per_query.append(row)
    answers = any(labels[key] for key in _QUALITY)
    whole: dict[str, Json] = {
        "dataset": report.dataset.name,
        "k": k,
        "num_queries": len(report.ids),
        **means,
        "per_query": per_query,
    }
    if answers:
        whole["has_answer_metrics"] = True
    if generated := report.run.get("finished"):
        whole["generated_at"] = generated
    return msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n"


def _label(report: Report, name: str) -> str | None:
    return next((label for label, note in report.notes.items() if note.name == name), None)


def _from_plain(kind: type[R], plain: Mapping[str, object], path: str | PathLike[str] | None) -> R:
    top = _folded(plain)
    rows = top.get("perquery", [])
    if isinstance(rows, Mapping):
        rows = [{"ID": one, **row} if isinstance(row, Mapping) else row for one, row in rows.items()]
    if not isinstance(rows, list) or not ("numqueries" in top or "perquery" in top):
        raise InputError("not a report: neither 'format' nor 'per_query' is there", path=path)
    k = top.get("k", 10)
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError(f"expected a whole number of at least 1, found {k!r}", path=path, field="k")
    values: dict[str, list[float]] = {key: [] for key in _MEANS}
    samples: list[Sample] = []
    for number, raw in enumerate(rows):
        row = _folded(raw)
        if "id" not in row:
            raise InputError("expected an object with an ID", path=path, field=f"per_query[{number}]")
        cells = {**_folded(row.get("metrics")), **_folded(row.get("quality"))}
        for key, cell in values.items():
            cell.append(_number(cells.get(key), path, f"per_query[{number}].{key}"))
        answer, comment = row.get("answer"), cells.get("comment")
        samples.append(
            Sample(
                id=str(row["id"]),
                user_input=str(row.get("query", "")) or None,
                response=answer if isinstance(answer, str) else None,
                metadata={"comment": comment} if isinstance(comment, str) and comment else {},
            )
        )
    check_ids([sample.id for sample in samples], path, "per_query")
    report = kind(kind="suite", ids=[sample.id for sample in samples], samples=samples, k_values=(k,))
    report.dataset = DatasetNote(name=str(top.get("dataset", "")))
    if isinstance(generated := top.get("generatedat"), str):
        report.run = {"finished": generated}
    for key, name in {**_PLAIN, **_QUALITY}.items():
        label, mean = name.format(k=k), _number(top.get(_MEANS[key].replace("_", "")), path, _MEANS[key])
        column = Column.of(values[key], "not in the file")
        if key in _QUALITY and len(column.undefined) == len(samples) and math.isnan(mean):
            continue
        way = "ranking" if key in _PLAIN else "unknown"
        report.columns[label], report.notes[label] = column, MetricNote(label, way)
        pooled = estimate(column, metric=label, way=way)
        if pooled.value is None and not math.isnan(mean):  # a report of means alone
            pooled = Estimate(metric=label, value=mean, n=_count(top.get("numqueries"), path))
        report.estimates[label] = pooled
    return report


def _number(value: object, path: str | PathLike[str] | None, place: str) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"expected a number, found {value!r}", path=path, field=place)
    try:
        return float(value)
    except OverflowError:
        raise InputError("expected a number, found one with hundreds of digits", path=path, field=place) from None


def _count(value: object, path: str | PathLike[str] | None) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        shown = "one with hundreds of digits" if isinstance(value, int) and value > MOST else repr(value)
        raise InputError(f"expected a whole number of at least 0, found {shown}", path=path, field="num_queries")
    return value


def _folded(mapping: object) -> dict[str, object]:
    """The mapping with keys lower-cased and without underscores: ``num_queries`` and ``NumQueries`` are equal."""
    if not isinstance(mapping, Mapping):
        return {}
    return {str(key).lower().replace("_", ""): value for key, value in mapping.items()}
