"""Evaluate a system: call it with every question of a dataset and score its rankings and answers.

``score_system`` is the one path from a system to the scores of its outputs; ``BenchmarkSuite`` uses it too.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..core.errors import InputError
from ..core.progress import PartProgress
from ..core.records import Json, Sample, Span, Usage
from ..datasets.dataset import Dataset, digest_of
from ..io.ir_datasets import collection_name
from ..io.samples import read_samples
from ..metrics.registry import Metric
from ..models.budget import SharedBudget
from ..models.ledger import Ledger
from ..models.run_options import RunOptions
from ..reports.provenance import DatasetNote, stamp
from ..reports.report import Report
from ..stats.pooling import Column
from ..systems.adapters import find_method, name_of
from ..systems.call_pool import CallPolicy
from ..systems.collect import CollectedOutputs, Stage, collect
from ..systems.llm_answerer import LLMAnswerer
from ..systems.output_cache import OutputCache
from .scorer import Scorer

if TYPE_CHECKING:
    from ..models.embedder import Embedder
    from ..models.engine import Progress
    from ..models.judge import LLMJudge

MEASURED = frozenset({"seconds", "latency", "tokens", "cost"})
"""Metrics of the time and cost of an answer: they need samples with seconds and usage."""


class QuestionSet(NamedTuple):
    """The questions for a system: samples, with the name, version and document texts of their dataset."""

    samples: list[Sample]
    note: DatasetNote
    corpus: Mapping[str, str] | None = None


def evaluate_system(
    system: object,
    dataset: object,
    metrics: Iterable[str | Metric | object] | None = None,
    *,
    answerer: object = None,
    k: int = 10,
    judge: LLMJudge | str | None = None,
    embedder: Embedder | str | None = None,
    fields: Mapping[str, str] | None = None,
    thresholds: Mapping[str, float] | None = None,
    by: str | Sequence[str] | None = None,
    cluster: str | None = None,
    workers: int = 1,
    deadline: float | None = None,
    retries: int = 0,
    ledger: str | Path | None = None,
    identity: str | None = None,
    places: Mapping[str, Span] | None = None,
    concurrency: int = 16,
    repeats: int = 1,
    budget: float | None = None,
    max_calls: int | None = None,
    offline: bool = False,
    confidence: float = 0.95,
    seed: int = 0,
    name: str = "",
    progress: Progress | None = None,
    allowance: SharedBudget | None = None,
) -> Report:
    """Call a system with every question of a dataset and score its rankings and answers in one report.

    ``system`` is a retriever or a whole system in any of the shapes that ``systems.adapters`` lists; ``answerer``
    answers from the retrieved contexts. ``dataset`` is a ``Dataset``, a path, samples, or columns by name
    (``queries``, ``gold_answers``, ``gold_docs``). The outputs are in ``report.samples``, the pooled results in
    ``report.metrics``. The default ``metrics`` are ``ndcg``, ``recall``, ``precision`` at k and ``mrr``, and token F1
    if there are answers and references. ``report.run["stages"]`` has the calls, seconds and tokens of each stage.

    A question is a failed sample, with the reason, if the system raises an exception or gives no result within
    ``deadline`` seconds after ``retries`` retries. ``budget`` and ``max_calls`` limit answers of a model and judge
    calls together (``allowance``: a limit for several systems). ``workers`` is the number of parallel calls of the
    system. With ``identity``, which should change whenever the system does, outputs are cached in the ledger, and a
    killed run resumes.

    >>> report = evaluate_system(
    ...     lambda query, k: {"answer": "In 1811.", "contexts": ["Lit in 1811."], "ids": ["d1"]},
    ...     {"question": ["When was it lit?"], "ground_truth": ["in 1811"], "relevant_ids": [["d1"]]},
    ...     ["exact_match", "mrr"],
    ... )
    >>> report.metrics, report.samples[0].response
    ({'exact_match': 1.0, 'mrr': 1.0}, 'In 1811.')
    """
    started = time.time()
    questions = read_set(dataset, fields=fields)
    if answerer is None and find_method(system, "answer") is not None:
        answerer = system
    names = (
        default_metrics(questions.samples, k, answers=answerer is not None)
        if metrics is None
        else list(_listed(metrics))
    )
    allowance = SharedBudget(budget, max_calls) if allowance is None else allowance
    part_progress = PartProgress(progress)
    scorer = Scorer(
        names,
        judge=judge,
        embedder=embedder,
        thresholds=thresholds,
        by=by,
        cluster=cluster,
        options=RunOptions(
            concurrency=concurrency,
            repeats=repeats,
            budget=allowance.budget,
            max_calls=allowance.max_calls,
            ledger=ledger,
            offline=offline,
            confidence=confidence,
            seed=seed,
            progress=part_progress,
        ),
    )
    calls = SystemCalls(
        k,
        CallPolicy(workers, deadline, retries),
        ledger=ledger,
        identity=identity,
        offline=offline,
        places=places,
        measured=any(str(one) in MEASURED for one in names),
    )
    report, collected, seconds = score_system(
        system, questions, scorer, calls, answerer=answerer, allowance=allowance, progress=part_progress
    )
    report.warnings += _missing_relevant_ids(report)
    report.system = name or name_of(system)
    report.policy = {**report.policy, "k": k}
    scoring: dict[str, Json] = {
        "calls": report.usage.calls,
        "seconds": round(seconds, 4),
        "prompt_tokens": report.usage.prompt_tokens,
        "completion_tokens": report.usage.completion_tokens,
    }
    finish_report(report, scorer, collected.stages, started)
    report.run["stages"] = {**_stage_blocks(collected.stages), "score": scoring}
    return report


class SystemCalls(NamedTuple):
    """How a system is called: results for each question, call policy, and the cache of its outputs (with ``identity``).

    ``places`` maps ids of chunks to spans of their sources; ``need_ids`` fails outputs that are no ranking of ids;
    ``measured`` stores seconds and usage in the samples.
    """

    k: int
    policy: CallPolicy
    ledger: str | Path | None = None
    identity: str | None = None
    offline: bool = False
    places: Mapping[str, Span] | None = None
    need_ids: bool = False
    measured: bool = False


class ScoredSystem(NamedTuple):
    """The report of a system, not pooled, with the outputs that it scores and the seconds of scoring."""

    report: Report
    collected: CollectedOutputs
    seconds: float


def score_system(
    system: object,
    questions: QuestionSet,
    scorer: Scorer,
    calls: SystemCalls,
    *,
    answerer: object = None,
    allowance: SharedBudget | None = None,
    progress: PartProgress | None = None,
) -> ScoredSystem:
    """Call a system with every question and score its outputs. The metrics are checked before the first call.

    ``allowance`` is the budget of answers and scores together. The usage of the report is that of scoring.
    """
    scorer.check()
    ledger = Ledger(calls.ledger) if calls.identity is not None else None
    cache = (
        None if ledger is None or calls.identity is None else OutputCache(ledger, calls.identity, offline=calls.offline)
    )
    try:
        collected = collect(
            system,
            questions.samples,
            answerer=answerer,
            k=calls.k,
            policy=calls.policy,
            cache=cache,
            texts=questions.corpus,
            places=calls.places,
            need_ids=calls.need_ids,
            measured=calls.measured,
            progress=progress,
        )
    finally:
        if ledger is not None:
            ledger.close()
    if progress is not None:
        progress.next_part()
    if allowance is not None:
        allowance.spend(_paid_by_us(collected, system, answerer))
    started = time.time()
    report = score_collected(collected, scorer, allowance)
    seconds = time.time() - started
    if allowance is not None:
        allowance.spend(report.usage)
    report.dataset = questions.note
    return ScoredSystem(report, collected, seconds)


def finish_report(report: Report, scorer: Scorer, stages: Mapping[str, Stage], started: float) -> None:
    """Pool the scores of a report, and add the calls, seconds and usage of the stages."""
    scorer.pool(report)
    report.run = {**stamp(started), "stages": _stage_blocks(stages)}
    for stage in stages.values():
        report.usage += stage.usage


def _stage_blocks(stages: Mapping[str, Stage]) -> dict[str, Json]:
    return {name: stage.plain() for name, stage in stages.items()}


def _paid_by_us(collected: CollectedOutputs, system: object, answerer: object) -> Usage:
    """The usage of calls made here: embeddings of built-in retrievers and answers of ``LLMAnswerer``. The usage that a
    system reports for itself is not paid from the budget."""
    own = {"index"}
    if find_method(system, "take_usage") is not None:
        own.add("retrieve")
    if isinstance(answerer, LLMAnswerer):
        own.add("answer")
    return sum((one.usage for stage, one in collected.stages.items() if stage in own), Usage())


def _missing_relevant_ids(report: Report) -> list[str]:
    """A warning if the dataset gives the relevant documents as texts, which ranking metrics cannot use."""
    rankings = [label for label, note in report.notes.items() if note.way == "ranking"]
    texts = any(sample.reference_contexts for sample in report.samples)
    if not rankings or not texts or any(sample.relevance is not None for sample in report.samples):
        return []
    why = "no sample has ids of relevant documents, and reference_contexts (gold_docs) are texts: give relevant_ids"
    return [f"{', '.join(rankings)}: {why}"]


def aevaluate_system(system: object, dataset: object, **options: object) -> Awaitable[Report]:
    """``evaluate_system`` for callers with an event loop."""
    return asyncio.to_thread(evaluate_system, system, dataset, **options)  # type: ignore[arg-type]


def score_collected(collected: CollectedOutputs, scorer: Scorer, allowance: SharedBudget | None = None) -> Report:
    """Score the samples on which the system did not fail; the others are failed in every column. It is not pooled."""
    good = [row for row in range(len(collected.samples)) if row not in collected.failed]
    rows = good or list(range(len(collected.samples)))
    report = scorer.score([collected.samples[row] for row in rows], allowance=allowance)
    where = {row: at for at, row in enumerate(rows)}
    report.ids = [sample.id for sample in collected.samples]
    report.samples = list(collected.samples)
    report.columns = {
        label: _widened(column, where, collected.failed, len(report.ids)) for label, column in report.columns.items()
    }
    if collected.failed:
        report.estimates = {}
    report.warnings = [*collected.notes, *report.warnings]
    return report


def _widened(column: Column, where: Mapping[int, int], failed: Mapping[int, str], count: int) -> Column:
    """A column over all rows, from a column over the rows that did not fail."""
    wide = Column(np.full(count, math.nan))
    for row in range(count):
        if row in failed:
            wide.failed[row] = failed[row]
            continue
        at = where[row]
        wide.values[row] = column.values[at]
        for name in ("failed", "undefined", "evidence", "parts", "usage", "requests", "draws"):
            cells = getattr(column, name)
            if at in cells:
                getattr(wide, name)[row] = cells[at]
    return wide


_COLUMN_ALIASES = {
    "queries": "user_input",
    "questions": "user_input",
    "gold_docs": "reference_contexts",
    "gold_documents": "reference_contexts",
}


def read_set(dataset: object, *, fields: Mapping[str, str] | None = None, encoding: str = "utf-8") -> QuestionSet:
    """Read a dataset in any of its forms: a ``Dataset``, a path (a BEIR folder, a dataset's JSON, a file or folder of
    samples, ``ir_datasets:NAME``), samples, or columns by name."""
    if isinstance(dataset, QuestionSet):
        return dataset
    if isinstance(dataset, str | PathLike):
        return _read_path(Path(dataset), fields, encoding)
    if isinstance(dataset, Dataset):
        samples = dataset.samples()
        return QuestionSet(samples, DatasetNote(dataset.name, dataset.version, digest_of(samples)), dataset.corpus)
    if isinstance(dataset, Mapping):
        fields = {_COLUMN_ALIASES[name]: name for name in dataset if name in _COLUMN_ALIASES} | dict(fields or {})
    samples = read_samples(dataset, fields=fields, encoding=encoding)
    if not samples:
        raise InputError("no samples: the dataset is empty")
    return QuestionSet(samples, DatasetNote(digest=digest_of(samples)))


def _read_path(path: Path, fields: Mapping[str, str] | None, encoding: str) -> QuestionSet:
    corpus = None
    if path.is_dir() and (path / "samples.jsonl").is_file():
        samples, name = read_samples(path / "samples.jsonl", fields=fields, encoding=encoding), path.name
    elif path.is_dir() or path.suffix == ".json" or collection_name(path) is not None:
        loaded = Dataset.load(path, fields=fields, encoding=encoding)
        samples, corpus = loaded.samples(), loaded.corpus
        return QuestionSet(samples, DatasetNote(loaded.name, loaded.version, digest_of(samples)), corpus)
    else:
        samples, name = read_samples(path, fields=fields, encoding=encoding), path.name
    if not samples:
        raise InputError("no samples: the file is empty", path=path)
    return QuestionSet(samples, DatasetNote(name, digest=digest_of(samples)), corpus)


def default_metrics(samples: Sequence[Sample], k: int, *, answers: bool) -> list[str]:
    """The metrics that the labels of a dataset allow. InputError if it has no labels."""
    names: list[str] = []
    if any(sample.relevance for sample in samples):
        names += [f"ndcg@{k}", f"recall@{k}", f"precision@{k}", "mrr"]
    if any(sample.relevant_spans for sample in samples):
        names += [f"span_recall@{k}"]
    if any(sample.references for sample in samples):
        names += ["context_recall", *(["token_f1", "contains"] if answers else [])]
    if not names:
        raise InputError("these samples have no relevance, spans or references: choose the metrics")
    return names


def _listed(metrics: Iterable[object] | str) -> Iterable[object]:
    return [metrics] if isinstance(metrics, str) else metrics
