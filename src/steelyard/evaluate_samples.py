"""Weigh answers: samples in, a report out."""

from __future__ import annotations

import asyncio
import inspect
import math
import time
import traceback
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .batch import COLUMNS
from .dataset import digest_of
from .errors import InputError, WrongType, reason_of
from .flow import outcome
from .metric import Metric
from .names import Parameter
from .plan import Plan, absent, plan_of
from .pool import Column, estimate
from .pooling import clusters_of, pool_report
from .records import Estimate, Outcome, Sample, Score, Undefined, Value
from .report import DatasetNote, MetricNote, Report, versions
from .samples import read_samples
from .shelf import Asked, ask_for, check_threshold

if TYPE_CHECKING:
    from .embedder import Embedder
    from .engine import Progress
    from .judge import LLMJudge

DEFAULT_METRICS = ("exact_match", "token_f1", "context_recall", "context_precision", "non_empty_rate")
DEFAULT_THRESHOLD = 0.5


def evaluate_rag(
    samples: object,
    *,
    metrics: Iterable[str | Metric | object] = DEFAULT_METRICS,
    judge: LLMJudge | str | None = None,
    embedder: Embedder | str | None = None,
    fields: Mapping[str, str] | None = None,
    thresholds: Mapping[str, float] | None = None,
    by: str | Sequence[str] | None = None,
    cluster: str | None = None,
    concurrency: int = 16,
    repeats: int = 1,
    budget: float | None = None,
    max_calls: int | None = None,
    ledger: str | Path | None = None,
    offline: bool = False,
    strict: bool = False,
    confidence: float = 0.95,
    seed: int = 0,
    encoding: str = "utf-8",
    name: str = "",
    dataset: str = "",
    progress: Progress | None = None,
) -> Report:
    """Score samples on metrics and pool the scores.

    ``samples`` are paths (JSONL, JSON, CSV, Parquet), samples, mappings or a DataFrame; ``fields`` says which column
    fills which field. ``metrics`` are names, ``file.py:name``, metrics, or objects with
    ``calculate_metric_scores``. A quantity that has two ways is judged if there is a ``judge`` and lexical if not.
    ``by`` slices by tags, ``cluster`` resamples whole groups of a tag, ``repeats`` asks a judge several times.

    Raises InputError (a ValueError) for an unknown metric, bad input or no samples. A rule that fails ends as one
    failed cell with its reason, unless ``strict``.

    >>> report = evaluate_rag(
    ...     [{"question": "Capital?", "answer": "Paris!", "ground_truth": "paris", "contexts": ["It is Paris."]}],
    ...     metrics=["exact_match", "context_recall"],
    ... )
    >>> report.metrics
    {'exact_match': 1.0, 'context_recall': 1.0}
    """
    started = time.time()
    _check_judge(judge)
    rows = read_samples(samples, fields=fields, encoding=encoding)
    if not rows:
        raise InputError("no samples: the input is empty")
    named, whole = _sorted_out(metrics)
    asked = ask_for(named, judged=judge is not None)
    if not asked and not whole:
        raise InputError("no metrics asked for")
    report = Report(
        kind="rag",
        system=name,
        ids=[sample.id for sample in rows],
        samples=rows,
        judge=None if judge is None else str(judge),
        embedder=None if embedder is None else str(embedder),
        dataset=DatasetNote(name=dataset or _name_of(samples), digest=digest_of(rows)),
        versions=versions(),
        policy={"repeats": repeats, "confidence": confidence, "seed": seed},
    )
    limits = {label: check_threshold(label, value) for label, value in (thresholds or {}).items()}
    _check_labels(limits, asked)
    judged = [one for one in asked if one.metric.kind == "judged" or one.metric.embeds]
    for one in asked:
        if one.metric.kind == "ranking":
            report.columns[one.label] = _ranking_column(one.metric, rows)
        elif one not in judged:
            report.columns[one.label] = _sample_column(one, rows, strict=strict)
    if judged:
        from .judging import Judging

        run = Judging(
            judge=judge,
            embedder=embedder,
            ledger=ledger,
            concurrency=concurrency,
            repeats=repeats,
            budget=budget,
            max_calls=max_calls,
            offline=offline,
            strict=strict,
            progress=progress,
        )
        report.columns |= run.columns(judged, rows)
        report.usage, report.warnings = run.usage, run.warnings
        report.run["ledger"] = run.ledger
    report.columns = {one.label: report.columns[one.label] for one in asked}
    for one in asked:
        report.notes[one.label] = _note(one, limits)
    for metric in whole:
        _add_batch(report, metric, rows, confidence=confidence, seed=seed)
    pool_report(report, by=by, clusters=clusters_of(report, cluster), confidence=confidence, seed=seed)
    report.run |= {
        "started": datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
        "seconds": round(time.time() - started, 3),
    }
    return report


def plan_rag(
    samples: object,
    *,
    metrics: Iterable[str | Metric | object] = DEFAULT_METRICS,
    judge: LLMJudge | str | None = None,
    embedder: Embedder | str | None = None,
    fields: Mapping[str, str] | None = None,
    ledger: str | Path | None = None,
    repeats: int = 1,
) -> Plan:
    """What ``evaluate_rag`` would do: metric by rows, skips with reasons, calls, tokens and cost. Nothing is asked."""
    rows = read_samples(samples, fields=fields)
    named, _ = _sorted_out(metrics)
    asked = ask_for(named, judged=judge is not None)
    if judge is None and embedder is None:
        return Plan(plan_of(asked, rows))
    from .judging import Judging

    return Judging(judge=judge, embedder=embedder, ledger=ledger, repeats=repeats).plan(asked, rows)


def aevaluate_rag(samples: object, **options: object) -> Awaitable[Report]:
    """``evaluate_rag`` for callers with an event loop: ``report = await aevaluate_rag(…)``."""
    return asyncio.to_thread(evaluate_rag, samples, **options)  # type: ignore[arg-type]


def score(
    sample: Sample | Mapping[str, object],
    metric: str | Metric,
    *,
    judge: LLMJudge | str | None = None,
    embedder: Embedder | str | None = None,
    threshold: float | None = None,
    ledger: str | Path | None = None,
) -> Score:
    """One metric on one sample: value, status, reason, evidence.

    >>> score({"response": "Paris", "reference": "paris"}, "exact_match", threshold=0.5).passed
    True
    """
    label = str(metric)
    thresholds = None if threshold is None else {label: threshold}
    report = evaluate_rag(
        [sample], metrics=[metric], judge=judge, embedder=embedder, thresholds=thresholds, ledger=ledger
    )
    return report.score(0, next(iter(report.columns)))


def _check_judge(judge: object) -> None:
    from .metrics.overlap import OverlapJudge

    if isinstance(judge, OverlapJudge):
        raise WrongType(
            "OverlapJudge answers no prompts: ask for the lexical.* metrics (lexical.faithfulness) without a judge, or "
            "give it to BenchmarkSuite.run_with_answers"
        )


def _check_labels(limits: Mapping[str, float], asked: Sequence[Asked]) -> None:
    labels = [one.label for one in asked]
    for label in limits:
        if label not in labels:
            raise InputError(f"threshold for {label!r}, which is not asked for (asked for: {', '.join(labels)})")


def _sorted_out(metrics: Iterable[object]) -> tuple[list[str | Metric], list[object]]:
    """Names and metrics apart from batch metrics, which score all samples at once."""
    named: list[str | Metric] = []
    whole: list[object] = []
    for one in [metrics] if isinstance(metrics, str) else metrics:
        if isinstance(one, Metric) and one.kind == "batch":
            whole.append(one.rule)
        elif isinstance(one, str | Metric):
            from_name = ask_for([one]) if isinstance(one, str) and ".py:" in one else []
            if from_name and from_name[0].metric.kind == "batch":
                whole.append(from_name[0].metric.rule)
            else:
                named.append(one)
        elif hasattr(one, "calculate_metric_scores"):
            whole.append((one() if isinstance(one, type) else one).calculate_metric_scores)
        elif callable(one) and (registered := _registered(one)) is not None:
            named.append(registered)
        else:
            raise WrongType(f"not a metric: {one!r} (a name, a metric, or an object with calculate_metric_scores)")
    return named, whole


def _registered(rule: Callable[..., object]) -> Metric | None:
    from .metric import registered

    return next((one for one in registered().values() if one.rule is rule), None)


def _note(one: Asked, limits: Mapping[str, float]) -> MetricNote:
    metric = one.metric
    explicit = one.label in limits
    threshold = limits.get(one.label, DEFAULT_THRESHOLD if metric.bounds == (0.0, 1.0) else None)
    return MetricNote(
        name=str(metric),
        way=metric.way,
        revision=metric.revision,
        pool=metric.pool,
        higher_is_better=metric.higher_is_better,
        bounds=metric.bounds,
        threshold=threshold,
        gates=explicit,
        remedy=metric.remedy,
    )


def _name_of(samples: object) -> str:
    if isinstance(samples, str | Path):
        return Path(samples).name
    if isinstance(samples, list | tuple) and samples and all(isinstance(one, str | Path) for one in samples):
        return ", ".join(Path(one).name for one in samples)
    return ""


def apply(metric: Metric, sample: Sample) -> Outcome:
    """A sample rule's answer, checked to be a finite number."""
    result = outcome(metric.rule(sample, **metric.params))
    if isinstance(result, Value) and not math.isfinite(result.value):
        raise ValueError(f"the rule returned {result.value}")
    return result


def _sample_column(one: Asked, rows: Sequence[Sample], *, strict: bool) -> Column:
    column = Column(np.full(len(rows), math.nan))
    for row, sample in enumerate(rows):
        if reason := absent(one, sample):
            column.undefined[row] = reason
            continue
        try:
            fill(column, row, apply(one.metric, sample))
        except Exception as error:
            if strict:
                raise
            column.failed[row] = reason_of(error)
            column.evidence[row] = {"traceback": "".join(traceback.format_exception(error))}
    return column


def fill(column: Column, row: int, result: Outcome) -> None:
    """Put a rule's answer into its column."""
    if result.evidence:
        column.evidence[row] = result.evidence
    if isinstance(result, Undefined):
        column.undefined[row] = result.reason
        return
    column.values[row] = result.value
    if result.parts is not None:
        column.parts[row] = result.parts


def _ranking_column(metric: Metric, rows: Sequence[Sample]) -> Column:
    """A ranking metric over the samples' own ``retrieved_ids`` and ``relevance``."""
    from .trec import load_rankings

    column = Column(np.full(len(rows), math.nan))
    usable: dict[str, int] = {}
    for row, sample in enumerate(rows):
        if sample.retrieved_ids is None or not sample.relevance:
            column.undefined[row] = "no retrieved_ids" if sample.retrieved_ids is None else "no relevance"
        else:
            usable[sample.id] = row
    if not usable:
        return column
    run, qrels = {}, {}
    for one, row in usable.items():
        ids = list(dict.fromkeys(rows[row].retrieved_ids or ()))
        run[one] = {doc: float(len(ids) - at) for at, doc in enumerate(ids)}
        qrels[one] = rows[row].relevance or {}
    rankings = load_rankings(run, qrels, ties="given")
    values = np.asarray(metric.rule(rankings, **metric.params), dtype=np.float64)
    for one, value in zip(rankings.queries, values.tolist(), strict=True):
        column.values[usable[one]] = value
        if math.isnan(value):
            column.undefined[usable[one]] = "nothing relevant is judged for this query"
    return column


def _add_batch(report: Report, rule: object, rows: Sequence[Sample], *, confidence: float, seed: int) -> None:
    """Score all samples with a batch metric; its pooled keys become report keys as they are."""
    columns: dict[str, object] = {
        name: [sample.tags.get("question_type", "") if field == "tags" else getattr(sample, field) for sample in rows]
        for name, field in COLUMNS.items()
    }
    columns["gold_answers"] = [sample.references for sample in rows]
    columns["samples"] = list(rows)
    assert callable(rule)
    takes = inspect.signature(rule).parameters
    every = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in takes.values())
    result = rule(**{name: column for name, column in columns.items() if every or name in takes})
    pooled, per_example = _batch_result(result, len(rows))
    for label, value in pooled.items():
        if label in report.columns:
            raise InputError(f"two metrics report the key {label!r}")
        cells = [row.get(label) for row in per_example] if per_example else [None] * len(rows)
        column = Column.of(
            [float(c) if isinstance(c, int | float) else math.nan for c in cells], "not scored by the metric"
        )
        report.columns[label] = column
        report.notes[label] = MetricNote(name=label, way="custom", bounds=None)
        own = estimate(column, metric=label, way="custom", bounds=None, confidence=confidence, seed=seed)
        if own.value is None or not math.isclose(own.value, value, rel_tol=1e-9, abs_tol=1e-12):
            own = Estimate(metric=label, value=value, n=own.n or len(rows), way="custom", pool="given", method="none")
        report.estimates[label] = own


def _batch_result(result: object, count: int) -> tuple[dict[str, float], list[Mapping[str, Parameter]]]:
    if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], Mapping)):
        raise WrongType("calculate_metric_scores must return (pooled mapping, list of per-example mappings)")
    pooled = {str(key): float(value) for key, value in result[0].items()}
    per_example = list(result[1] or [])
    if per_example and len(per_example) != count:
        raise InputError(f"calculate_metric_scores returned {len(per_example)} rows for {count} samples")
    return pooled, per_example
