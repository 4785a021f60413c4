"""Weigh a system: ask it every question of a dataset, and score what it retrieved and answered."""

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
from ..core.records import Sample, Span, Usage
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
from ..systems.collect import CollectedOutputs, collect
from ..systems.llm_answerer import LLMAnswerer
from ..systems.output_cache import OutputCache
from .scorer import Scorer

if TYPE_CHECKING:
    from ..models.embedder import Embedder
    from ..models.engine import Progress
    from ..models.judge import LLMJudge

TAKEN = frozenset({"seconds", "latency", "tokens", "cost"})
"""Metrics of what an answer took, for which samples are measured."""


class QuestionSet(NamedTuple):
    """What a system is asked: samples, with the name, version and texts of where they come from."""

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
    """Ask a system every question of a dataset and score its rankings and answers in one report.

    ``system`` is a retriever or a whole system in any of the shapes that ``systems.calling`` lists; ``answerer``
    answers from what was retrieved. ``dataset`` is a ``Dataset``, a path, samples, or columns by name (``queries``,
    ``gold_answers``, ``gold_docs``). The solutions are ``report.samples``, the pooled results ``report.metrics``;
    without ``metrics`` they are ``ndcg``, ``recall``, ``precision`` at k and ``mrr``, and token F1 where there are
    answers and references. What the stages took stands in ``report.run["stages"]``.

    A question that the system fails on, or does not answer within ``deadline`` seconds after ``retries`` more attempts,
    is a failed sample with the reason. ``budget`` and ``max_calls`` are for answers of a model and judgements
    together (``allowance``: those of several systems). ``workers`` questions are asked at once. With ``identity``,
    which should change whenever the system does, outputs are kept in the ledger, and a run that was killed goes on.

    >>> report = evaluate_system(
    ...     lambda query, k: {"answer": "In 1811.", "contexts": ["Lit in 1811."], "ids": ["d1"]},
    ...     {"question": ["When was it lit?"], "ground_truth": ["in 1811"], "relevant_ids": [["d1"]]},
    ...     ["exact_match", "mrr"],
    ... )
    >>> report.metrics, report.samples[0].response
    ({'exact_match': 1.0, 'mrr': 1.0}, 'In 1811.')
    """
    started = time.time()
    asked_of = read_set(dataset, fields=fields)
    if answerer is None and find_method(system, "answer") is not None:
        answerer = system
    wanted = (
        default_metrics(asked_of.samples, k, answers=answerer is not None)
        if metrics is None
        else list(_listed(metrics))
    )
    allowance = SharedBudget(budget, max_calls) if allowance is None else allowance
    tally = PartProgress(progress)
    scorer = Scorer(
        wanted,
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
            progress=tally,
        ),
    )
    scorer.check()
    own_ledger = Ledger(ledger) if identity is not None else None
    keeping = None if own_ledger is None or identity is None else OutputCache(own_ledger, identity, offline=offline)
    try:
        collected = collect(
            system,
            asked_of.samples,
            answerer=answerer,
            k=k,
            policy=CallPolicy(workers, deadline, retries),
            cache=keeping,
            texts=asked_of.corpus,
            places=places,
            measured=any(str(one) in TAKEN for one in wanted),
            progress=tally,
        )
    finally:
        if own_ledger is not None:
            own_ledger.close()
    tally.next_part()
    allowance.spend(_paid(collected, system, answerer))
    scoring = time.time()
    report = score_collected(collected, scorer, allowance)
    seconds = time.time() - scoring
    allowance.spend(report.usage)
    report.warnings += _without_ids(report)
    report.system, report.dataset = name or name_of(system), asked_of.note
    report.policy = {**report.policy, "k": k}
    scorer.pool(report)
    stages = {stage: one.plain() for stage, one in collected.stages.items()}
    stages["score"] = {
        "calls": report.usage.calls,
        "seconds": round(seconds, 4),
        "prompt_tokens": report.usage.prompt_tokens,
        "completion_tokens": report.usage.completion_tokens,
    }
    report.run = {**stamp(started), "stages": stages}  # type: ignore[dict-item]
    for one in collected.stages.values():
        report.usage += one.usage
    return report


def _paid(collected: CollectedOutputs, system: object, answerer: object) -> Usage:
    """What calls of ours took: embeddings of our retrievers, answers of our answerer; others tell what theirs took."""
    own = {"index"}
    if find_method(system, "take_usage") is not None:
        own.add("retrieve")
    if isinstance(answerer, LLMAnswerer):
        own.add("answer")
    return sum((one.usage for stage, one in collected.stages.items() if stage in own), Usage())


def _without_ids(report: Report) -> list[str]:
    """Why rankings cannot be measured where the documents that should be found are given as texts."""
    rankings = [label for label, note in report.notes.items() if note.way == "ranking"]
    texts = any(sample.reference_contexts for sample in report.samples)
    if not rankings or not texts or any(sample.relevance is not None for sample in report.samples):
        return []
    why = "no sample says by id what is relevant, and reference_contexts (gold_docs) are texts: give relevant_ids"
    return [f"{', '.join(rankings)}: {why}"]


def aevaluate_system(system: object, dataset: object, **options: object) -> Awaitable[Report]:
    """``evaluate_system`` for callers with an event loop."""
    return asyncio.to_thread(evaluate_system, system, dataset, **options)  # type: ignore[arg-type]


def score_collected(collected: CollectedOutputs, scorer: Scorer, allowance: SharedBudget | None = None) -> Report:
    """Score the samples that a system did not fail on; the others are failed in every column. It is not pooled."""
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
    """A column over all rows, from one over those that did not fail."""
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


_PLURALS = {
    "queries": "user_input",
    "questions": "user_input",
    "gold_docs": "reference_contexts",
    "gold_documents": "reference_contexts",
}


def read_set(dataset: object, *, fields: Mapping[str, str] | None = None, encoding: str = "utf-8") -> QuestionSet:
    """A dataset in any of its forms: a ``Dataset``, a path (a BEIR folder, a dataset's JSON, a file or folder of
    samples, ``ir_datasets:NAME``), samples, or columns by name."""
    if isinstance(dataset, QuestionSet):
        return dataset
    if isinstance(dataset, str | PathLike):
        return _read_path(Path(dataset), fields, encoding)
    if isinstance(dataset, Dataset):
        samples = dataset.samples()
        return QuestionSet(samples, DatasetNote(dataset.name, dataset.version, digest_of(samples)), dataset.corpus)
    if isinstance(dataset, Mapping):
        fields = {_PLURALS[name]: name for name in dataset if name in _PLURALS} | dict(fields or {})
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
    """What can be measured with what is known of a dataset."""
    found: list[str] = []
    if any(sample.relevance for sample in samples):
        found += [f"ndcg@{k}", f"recall@{k}", f"precision@{k}", "mrr"]
    if any(sample.relevant_spans for sample in samples):
        found += [f"span_recall@{k}"]
    if any(sample.references for sample in samples):
        found += ["context_recall", *(["token_f1", "contains"] if answers else [])]
    if not found:
        raise InputError("nothing is known of these samples (no relevance, spans or references): name the metrics")
    return found


def _listed(metrics: Iterable[object] | str) -> Iterable[object]:
    return [metrics] if isinstance(metrics, str) else metrics
