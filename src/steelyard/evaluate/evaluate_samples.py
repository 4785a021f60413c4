"""Weigh answers: samples in, a report out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.errors import InputError
from ..core.records import Sample, Score
from ..io.samples import read_samples
from ..metrics.registry import Metric
from ..reports.provenance import stamp
from ..reports.report import Report
from .plan import Plan, plan_of
from .scorer import Scorer

if TYPE_CHECKING:
    from ..models.embedder import Embedder
    from ..models.engine import Progress
    from ..models.judge import LLMJudge

DEFAULT_METRICS = ("exact_match", "token_f1", "context_recall", "context_precision", "non_empty_rate")


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
    rates: Mapping[str, float] | None = None,
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
    ``rates`` are calls a second, at most, by the address of an endpoint.

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
    rows = read_samples(samples, fields=fields, encoding=encoding)
    if not rows:
        raise InputError("no samples: the input is empty")
    weighing = Scorer(
        metrics,
        judge=judge,
        embedder=embedder,
        thresholds=thresholds,
        by=by,
        cluster=cluster,
        repeats=repeats,
        confidence=confidence,
        seed=seed,
    )
    judging = None
    if weighing.judged:
        from ..models.rate_limits import RateLimiter
        from .judged_scorer import JudgedScorer

        judging = JudgedScorer(
            judge=judge,
            embedder=embedder,
            ledger=ledger,
            concurrency=concurrency,
            repeats=repeats,
            budget=budget,
            max_calls=max_calls,
            offline=offline,
            strict=strict,
            paces={url: RateLimiter(rate) for url, rate in (rates or {}).items()},
            progress=progress,
        )
    columns = weighing.columns(rows, judging, strict=strict)
    report = weighing.report(rows, columns, name=name, dataset=dataset or _name_of(samples))
    if judging is not None:
        report.usage, report.warnings = judging.usage, judging.warnings
        report.run["ledger"] = judging.ledger
    report.run |= stamp(started)
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
    asked = Scorer(metrics, judge=judge, embedder=embedder, repeats=repeats).asked
    if judge is None and embedder is None:
        return Plan(plan_of(asked, rows))
    from .judged_scorer import JudgedScorer

    return JudgedScorer(judge=judge, embedder=embedder, ledger=ledger, repeats=repeats).plan(asked, rows)


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


def _name_of(samples: object) -> str:
    if isinstance(samples, str | Path):
        return Path(samples).name
    if isinstance(samples, list | tuple) and samples and all(isinstance(one, str | Path) for one in samples):
        return ", ".join(Path(one).name for one in samples)
    return ""
