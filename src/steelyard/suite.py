"""A dataset, a cut-off and a system: retrieval and, if asked, answers in one report."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

import numpy as np

from .dataset import Dataset, EvalQuery
from .errors import InputError, WrongType, reason_of
from .evaluate_rankings import ranking_metrics, stamp, weigh
from .metrics.overlap import Judge, JudgeInput
from .pool import Column
from .pooling import pool_report
from .records import Json, Sample
from .report import DatasetNote, MetricNote, Report, versions
from .systems.protocols import Answerer, RetrievalSystem, document_ids, searcher
from .trec import load_rankings

QUALITIES = ("faithfulness", "relevance", "correctness")


class BenchmarkSuite:
    """Run a system over a dataset and measure it at one cut-off.

    Keys of the report: ``precision@k``, ``recall@k``, ``mrr``, ``ndcg@k``; with answers also ``faithfulness``,
    ``relevance`` and ``correctness``, measured the judge's way. A query that the system fails on is a failed sample
    with its reason, and the run goes on.

    >>> from steelyard import Dataset, EvalQuery
    >>> dataset = Dataset("tiny").add(EvalQuery("Which?", relevant_ids=["d1"]))
    >>> BenchmarkSuite(dataset, k=2).run(lambda query, k: ["d2", "d1"]).metrics["recall@2"]
    1.0
    """

    def __init__(self, dataset: Dataset, k: int = 10) -> None:
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise InputError(f"k={k!r}: expected a whole number of at least 1")
        if not dataset.queries:
            raise InputError(f"dataset {dataset.name!r} has no queries")
        self.dataset, self.k = dataset, k

    def run(self, retriever: object, *, confidence: float = 0.95, seed: int = 0) -> Report:
        """Ask the retriever every query and measure its rankings."""
        started = time.time()
        samples, failed, notes = self._retrieve(retriever)
        report = self._report(samples, failed, notes)
        pool_report(report, by=(), clusters=None, confidence=confidence, seed=seed)
        report.run = stamp(started)
        return report

    def run_with_answers(
        self, system: RetrievalSystem, answerer: Answerer, judge: Judge, *, confidence: float = 0.95, seed: int = 0
    ) -> Report:
        """Retrieve, answer and judge every query.

        The texts of the retrieved documents reach the answerer joined by a blank line; an id without text is left
        out and counted. Answers are judged for queries without relevant documents too.
        """
        for thing, method in ((system, "context_text"), (answerer, "answer"), (judge, "judge")):
            if not callable(getattr(thing, method, None)):
                raise WrongType(f"{type(thing).__name__} has no method {method}")
        started = time.time()
        samples, failed, notes = self._retrieve(system)
        columns = {name: Column(np.full(len(samples), math.nan)) for name in QUALITIES}
        without_text = 0
        for row, query in enumerate(self.dataset.queries):
            if row in failed:
                for column in columns.values():
                    column.failed[row] = failed[row]
                continue
            texts = [system.context_text(doc) for doc in samples[row].retrieved_ids or ()]
            contexts = [text for text in texts if text and text.strip()]
            without_text += len(texts) - len(contexts)
            samples[row], reason = _answered(samples[row], query, contexts, answerer, judge, columns, row)
            if reason is not None:
                for column in columns.values():
                    column.failed[row] = reason
        if without_text:
            notes.append(f"{without_text} retrieved documents have no text and were left out of the contexts")
        report = self._report(samples, failed, notes)
        report.judge = getattr(judge, "name", None) or type(judge).__name__
        for name, column in columns.items():
            report.columns[name] = column
            report.notes[name] = MetricNote(name=name, way=report.judge, threshold=0.5)
        pool_report(report, by=(), clusters=None, confidence=confidence, seed=seed)
        report.run = stamp(started)
        return report

    def _retrieve(self, retriever: object) -> tuple[list[Sample], dict[int, str], list[str]]:
        """The dataset's samples with what the retriever found; failures by row; notes."""
        search = searcher(retriever)
        samples, failed, repeats = [], dict[int, str](), 0
        for row, sample in enumerate(self.dataset.samples()):
            found: list[str] | None = None
            try:
                found, twice = document_ids(search(sample.user_input or "", self.k), self.k)
                repeats += twice
            except Exception as error:  # noqa: BLE001 - whatever a system raises fails this sample, not the run
                failed[row] = reason_of(error)
            samples.append(_with(sample, retrieved_ids=found))
        notes = [f"{repeats} repeated documents in the results: each counts once, at its best rank"] if repeats else []
        return samples, failed, notes

    def _report(self, samples: list[Sample], failed: Mapping[int, str], notes: list[str]) -> Report:
        asked = ranking_metrics([f"precision@{self.k}", f"recall@{self.k}", "mrr", f"ndcg@{self.k}"])
        rows = [row for row, sample in enumerate(samples) if row not in failed and sample.relevance]
        run = {samples[row].id: _scored(samples[row]) for row in rows}
        qrels = {samples[row].id: samples[row].relevance or {} for row in rows}
        report = Report(kind="suite", ids=[sample.id for sample in samples], samples=samples, versions=versions())
        report.dataset = DatasetNote(self.dataset.name, self.dataset.version, self.dataset.digest)
        report.k_values, report.warnings = (self.k,), notes
        inner = weigh(load_rankings(run, qrels, ties="given"), asked) if rows else None
        where = {one: at for at, one in enumerate(inner.ids)} if inner is not None else {}
        for one in asked:
            column = Column(np.full(len(samples), math.nan))
            for row, sample in enumerate(samples):
                at = where.get(sample.id)
                if row in failed:
                    column.failed[row] = failed[row]
                elif inner is None or at is None or math.isnan(inner.columns[one.label].values[at]):
                    column.undefined[row] = "nothing relevant is judged for this query"
                else:
                    column.values[row] = inner.columns[one.label].values[at]
            report.columns[one.label] = column
            report.notes[one.label] = MetricNote(
                name=str(one.metric), way="ranking", revision=one.metric.revision, remedy=one.metric.remedy
            )
        report.policy = {"k": self.k, "missing": "zero", "undefined": "skip", "ties": "given"}
        return report


def _scored(sample: Sample) -> dict[str, float]:
    found = sample.retrieved_ids or []
    return {doc: float(len(found) - at) for at, doc in enumerate(found)}


def _with(sample: Sample, **changes: object) -> Sample:
    from msgspec.structs import replace

    return replace(sample, **changes)


def _answered(
    sample: Sample,
    query: EvalQuery,
    contexts: list[str],
    answerer: Answerer,
    judge: Judge,
    columns: Mapping[str, Column],
    row: int,
) -> tuple[Sample, str | None]:
    """The sample with its answer, its qualities put into the columns; or the reason why there are none."""
    sample = _with(sample, retrieved_contexts=contexts)
    joined = "\n\n".join(contexts)
    try:
        answer = answerer.answer(query.query, joined)
        sample = _with(sample, response=answer)
        quality = judge.judge(JudgeInput(query.query, joined, answer, query.reference_answer))
    except Exception as error:  # noqa: BLE001 - as for retrieval
        return sample, reason_of(error)
    for name in QUALITIES:
        value = getattr(quality, name)
        if name == "correctness" and query.reference_answer is None:
            columns[name].undefined[row] = "no reference"
        elif value is None:
            columns[name].undefined[row] = "the judge gave none"
        else:
            columns[name].values[row] = float(value)
    comment: dict[str, Json] = {"comment": quality.comment} if quality.comment else {}
    return _with(sample, metadata={**sample.metadata, **comment}), None
