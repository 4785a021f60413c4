"""Score RAG answers: samples in, a report out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ..core.records import Sample, Score
from ..io.samples import read_samples
from ..metrics.registry import Metric
from ..models.run_options import DEFAULT_OPTIONS, RunOptions
from ..reports.report import Report
from .plan import Plan
from .scorer import Scorer, check_samples

if TYPE_CHECKING:
    from ..core.progress import Progress
    from ..models.embedder import Embedder
    from ..models.judge import LLMJudge
    from .jury import JuryScorer

    Judges: TypeAlias = LLMJudge | str | Sequence[LLMJudge | str] | None

DEFAULT_METRICS = ("exact_match", "token_f1", "context_recall", "context_precision", "non_empty_rate")


def evaluate_rag(
    samples: object,
    *,
    metrics: Iterable[str | Metric | object] = DEFAULT_METRICS,
    judge: Judges = None,
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
    ``calculate_metric_scores``. A metric that has a lexical and a judged form is judged if there is a ``judge`` and
    lexical if not. Several judges are a jury: the report holds the mean of their scores (``evaluate_by_jury`` combines
    them by other rules). ``by`` slices by tags, ``cluster`` resamples whole groups of a tag, ``repeats`` calls a judge
    several times for each score. ``rates`` are calls a second, at most, by the address of an endpoint.

    Raises InputError (a ValueError) for an unknown metric, bad input or no samples. A rule that fails leaves one failed
    cell with its reason; with ``strict`` its error is raised.

    >>> report = evaluate_rag(
    ...     [{"question": "Capital?", "answer": "Paris!", "ground_truth": "paris", "contexts": ["It is Paris."]}],
    ...     metrics=["exact_match", "context_recall"],
    ... )
    >>> report.metrics
    {'exact_match': 1.0, 'context_recall': 1.0}
    """
    rows = check_samples(read_samples(samples, fields=fields, encoding=encoding))
    scorer = scorer_of(
        metrics,
        judge=judge,
        embedder=embedder,
        thresholds=thresholds,
        by=by,
        cluster=cluster,
        options=RunOptions(
            concurrency=concurrency,
            repeats=repeats,
            budget=budget,
            max_calls=max_calls,
            ledger=ledger,
            offline=offline,
            strict=strict,
            rates=rates or {},
            confidence=confidence,
            seed=seed,
            progress=progress,
        ),
    )
    return scorer.run(rows, name=name, dataset=dataset or _name_of(samples))


def plan_rag(
    samples: object,
    *,
    metrics: Iterable[str | Metric | object] = DEFAULT_METRICS,
    judge: Judges = None,
    embedder: Embedder | str | None = None,
    fields: Mapping[str, str] | None = None,
    ledger: str | Path | None = None,
    repeats: int = 1,
) -> Plan:
    """The plan of ``evaluate_rag``: rows by metric, skipped rows with reasons, calls, tokens and cost. No call is
    made."""
    rows = read_samples(samples, fields=fields)
    return scorer_of(metrics, judge=judge, embedder=embedder, options=RunOptions(ledger=ledger, repeats=repeats)).plan(
        rows
    )


def scorer_of(
    metrics: Iterable[str | Metric | object],
    *,
    judge: Judges = None,
    aggregate: str = "mean",
    embedder: Embedder | str | None = None,
    thresholds: Mapping[str, float] | None = None,
    pass_rates: Mapping[str, float] | None = None,
    by: str | Sequence[str] | None = None,
    cluster: str | None = None,
    options: RunOptions = DEFAULT_OPTIONS,
) -> Scorer | JuryScorer:
    """A ``Scorer`` with at most one judge, or a ``JuryScorer`` with several, whose scores ``aggregate`` combines."""
    judges = [judge] if not isinstance(judge, Sequence) or isinstance(judge, str) else judge
    if len(judges) < 2:
        return Scorer(
            metrics,
            judge=judges[0] if judges else None,
            embedder=embedder,
            thresholds=thresholds,
            pass_rates=pass_rates,
            by=by,
            cluster=cluster,
            options=options,
        )
    from .jury import JuryScorer

    return JuryScorer(
        metrics,
        [one for one in judges if one is not None],
        rule=aggregate,
        embedder=embedder,
        thresholds=thresholds,
        pass_rates=pass_rates,
        by=by,
        cluster=cluster,
        options=options,
    )


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
    """Score one sample with one metric: value, status, reason, evidence.

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
