"""A dataset, a cut-off and a system: retrieval and, if asked, answers in one report."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from ..core.errors import InputError, WrongType, reason_of
from ..core.records import Json, Sample
from ..datasets.dataset import Dataset
from ..metrics.lexical.content_word_overlap import AnswerQuality, Judge, JudgeInput
from ..models.ledger import Ledger
from ..models.run_options import RunOptions
from ..reports.estimates import pool_report
from ..reports.provenance import DatasetNote, MetricNote, stamp
from ..reports.report import Report
from ..stats.pooling import Column
from ..systems.call_pool import PLAIN, CallPolicy, call_all
from ..systems.collect import CollectedOutputs, Stage, collect
from ..systems.output_cache import OutputCache
from ..systems.protocols import Answerer, RetrievalSystem
from .answer_judge import MEASURES
from .evaluate_system import score_collected
from .scorer import Scorer

if TYPE_CHECKING:
    from ..models.embedder import Embedder
    from ..models.judge import LLMJudge

QUALITIES = ("faithfulness", "relevance", "correctness")


class BenchmarkSuite:
    """Run a system over a dataset and measure it at one cut-off.

    Keys of the report: ``precision@k``, ``recall@k``, ``mrr``, ``ndcg@k``; with answers also ``faithfulness``,
    ``relevance`` and ``correctness``, measured the judge's way. A query that the system fails on is a failed sample
    with its reason, and the run goes on. What each stage took stands in ``report.run["stages"]``.

    ``workers``, ``deadline`` and ``retries`` say how the system is called; with an ``identity``, which should change
    whenever the system does, its outputs are kept in the ledger, and a run that was killed goes on where it was.

    >>> from steelyard import Dataset, EvalQuery
    >>> dataset = Dataset("tiny").add(EvalQuery("Which?", relevant_ids=["d1"]))
    >>> BenchmarkSuite(dataset, k=2).run(lambda query, k: ["d2", "d1"]).metrics["recall@2"]
    1.0
    """

    def __init__(
        self,
        dataset: Dataset,
        k: int = 10,
        *,
        workers: int = 1,
        deadline: float | None = None,
        retries: int = 0,
        ledger: str | Path | None = None,
        identity: str | None = None,
    ) -> None:
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise InputError(f"k={k!r}: expected a whole number of at least 1")
        if not isinstance(dataset, Dataset):
            raise WrongType(f"expected a Dataset, found {type(dataset).__name__}: Dataset.load reads one")
        if not dataset.queries:
            raise InputError(f"dataset {dataset.name!r} has no queries")
        self.dataset, self.k = dataset, k
        self.patience = CallPolicy(workers, deadline, retries).checked()
        self.ledger, self.identity = ledger, identity

    def run(self, retriever: object, *, confidence: float = 0.95, seed: int = 0) -> Report:
        """Ask the retriever every query and measure its rankings."""
        started = time.time()
        collected = self._collected(retriever, None)
        report = self._rankings(collected)
        return self._finished(report, collected.stages, started, confidence, seed)

    def run_with_answers(
        self,
        system: RetrievalSystem,
        answerer: Answerer,
        judge: Judge | LLMJudge | str,
        *,
        embedder: Embedder | str | None = None,
        confidence: float = 0.95,
        seed: int = 0,
    ) -> Report:
        """Retrieve, answer and judge every query.

        The texts of the retrieved documents reach the answerer joined by a blank line; an id without text is left
        out and counted. Answers are judged for queries without relevant documents too. ``judge`` has
        ``judge(JudgeInput)``, or is a language model, which measures by the judged metrics and needs an ``embedder``.
        """
        for thing, name in ((system, "context_text"), (answerer, "answer")):
            if not callable(getattr(thing, name, None)):
                raise WrongType(f"{type(thing).__name__} has no method {name}")
        model = _model(judge, embedder)
        started = time.time()
        collected = self._collected(system, answerer)
        report = self._rankings(collected)
        stage = Stage()
        if model is None:
            self._judge(report, collected, judge, stage)  # type: ignore[arg-type]
        else:
            self._ask_model(report, collected, *model, stage)
        return self._finished(report, {**collected.stages, "judge": stage}, started, confidence, seed)

    def _collected(self, system: object, answerer: object) -> CollectedOutputs:
        ledger = Ledger(self.ledger) if self.identity is not None else None
        try:
            return collect(
                system,
                self.dataset.samples(),
                answerer=answerer,
                k=self.k,
                policy=self.patience,
                cache=None if ledger is None or self.identity is None else OutputCache(ledger, self.identity),
                texts=self.dataset.corpus,
                need_ids=True,
            )
        finally:
            if ledger is not None:
                ledger.close()

    def _rankings(self, collected: CollectedOutputs) -> Report:
        """The report with the ranking metrics, not yet pooled."""
        labels = [f"precision@{self.k}", f"recall@{self.k}", "mrr", f"ndcg@{self.k}"]
        report = score_collected(collected, Scorer(labels))
        report.kind, report.k_values = "suite", (self.k,)
        report.dataset = DatasetNote(self.dataset.name, self.dataset.version, self.dataset.digest)
        report.notes = {label: replace(note, threshold=None) for label, note in report.notes.items()}
        report.policy = {"k": self.k, "missing": "zero", "undefined": "skip", "ties": "given"}
        report.estimates = {}
        return report

    def _finished(
        self, report: Report, stages: Mapping[str, Stage], started: float, confidence: float, seed: int
    ) -> Report:
        pool_report(report, by=(), clusters=None, confidence=confidence, seed=seed)
        told: dict[str, Json] = {name: dict(stage.plain()) for name, stage in stages.items()}
        report.run = {**stamp(started), "stages": told}
        for stage in stages.values():
            report.usage += stage.usage
        return report

    def _judge(self, report: Report, collected: CollectedOutputs, judge: Judge, stage: Stage) -> None:
        """Columns of a judge of the user's own."""
        report.judge = getattr(judge, "name", None) or type(judge).__name__
        columns = {name: Column(np.full(len(report.ids), math.nan)) for name in QUALITIES}
        rows = [row for row in range(len(report.ids)) if row not in collected.failed]
        cases = [_case(report.samples[row]) for row in rows]
        patience = PLAIN if self.patience.deadline is None else self.patience
        for called in call_all(cases, judge.judge, patience):
            row, quality, error = rows[called.at], called.result, called.error
            stage.calls += called.attempts
            stage.seconds[row] = called.seconds
            if error is None and not isinstance(quality, AnswerQuality):
                error = WrongType(f"the judge returned {type(quality).__name__} (expected AnswerQuality)")
            if quality is None or error is not None:
                stage.failed += 1
                for column in columns.values():
                    column.failed[row] = reason_of(error or WrongType("the judge returned nothing"))
                continue
            sample = report.samples[row]
            _put(columns, row, sample, quality)
            if quality.comment:
                report.samples[row] = replace(sample, metadata={**sample.metadata, "comment": quality.comment})
        for name, column in columns.items():
            column.failed |= collected.failed
            report.columns[name] = column
            report.notes[name] = MetricNote(name=name, way=report.judge, threshold=0.5)

    def _ask_model(
        self, report: Report, collected: CollectedOutputs, judge: LLMJudge, embedder: Embedder | str, stage: Stage
    ) -> None:
        """Columns of a language model."""
        started = time.time()
        scorer = Scorer(list(MEASURES.values()), judge=judge, embedder=embedder, options=RunOptions(ledger=self.ledger))
        judged = score_collected(collected, scorer)
        for name, label in MEASURES.items():
            report.columns[name] = judged.columns[label]
            report.notes[name] = judged.notes[label]
        report.judge, report.embedder = judged.judge, judged.embedder
        report.warnings += [line for line in judged.warnings if line not in report.warnings]
        stage.calls, stage.usage = judged.usage.calls, judged.usage
        stage.seconds[0] = time.time() - started


def _case(sample: Sample) -> JudgeInput:
    references = sample.references
    return JudgeInput(
        sample.user_input or "",
        "\n\n".join(sample.retrieved_contexts or ()),
        sample.response or "",
        references[0] if references else None,
    )


def _put(columns: Mapping[str, Column], row: int, sample: Sample, quality: AnswerQuality) -> None:
    for name in QUALITIES:
        if name == "correctness" and not sample.references:
            columns[name].undefined[row] = "no reference"
            continue
        value: object = getattr(quality, name)
        if value is None:
            columns[name].undefined[row] = quality.comment or "the judge gives no number"
        elif isinstance(value, int | float) and 0.0 <= value <= 1.0:
            columns[name].values[row] = float(value)
        else:
            columns[name].failed[row] = f"the judge says {value!r} (expected 0 to 1)"


def _model(judge: object, embedder: Embedder | str | None) -> tuple[LLMJudge, Embedder | str] | None:
    """A language model as judge with its embedder; None for any other judge, WrongType for what is none."""
    from ..models.judge import LLMJudge, judge_of

    if not isinstance(judge, str | LLMJudge):
        if callable(getattr(judge, "judge", None)):
            return None
        raise WrongType(f"{type(judge).__name__} has no method judge")
    if embedder is None:
        raise InputError("relevance by a language model needs an embedder: embedder='local' or another")
    return judge_of(judge), embedder
