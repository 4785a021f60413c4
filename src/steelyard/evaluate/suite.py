"""Benchmark suites: the rankings of a system at one cut-off and, if requested, its answers, in one report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..core.errors import InputError, WrongType
from ..core.records import Usage
from ..datasets.dataset import Dataset
from ..metrics.lexical.content_word_overlap import Judge
from ..models.run_options import RunOptions
from ..reports.report import Report
from ..systems.call_pool import CallPolicy
from ..systems.collect import Stage
from ..systems.protocols import Answerer, RetrievalSystem
from .answer_judge import MEASURES
from .evaluate_system import SystemCalls, finish_report, read_set, score_system
from .judge_answers import judge_answers
from .scorer import Scorer

if TYPE_CHECKING:
    from ..models.embedder import Embedder
    from ..models.judge import LLMJudge


class BenchmarkSuite:
    """Run a system over a dataset and score it at one cut-off, by the steps of ``evaluate_system``.

    Keys of the report: ``precision@k``, ``recall@k``, ``mrr``, ``ndcg@k``; with answers also ``faithfulness``,
    ``relevance`` and ``correctness``, by the method of the judge. A query on which the system fails is a failed sample
    with its reason, and the run continues. ``report.run["stages"]`` has the calls and the time of each stage.

    ``workers``, ``deadline`` and ``retries`` control the calls of the system. With an ``identity``, which should change
    whenever the system does, its outputs are cached in the ledger, and a killed run resumes.

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
        self.policy = CallPolicy(workers, deadline, retries).checked()
        self.ledger, self.identity = ledger, identity

    def run(self, retriever: object, *, confidence: float = 0.95, seed: int = 0) -> Report:
        """Call the retriever with every query and score its rankings."""
        return self._report(retriever, None, None, RunOptions(ledger=self.ledger, confidence=confidence, seed=seed))

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

        The answerer gets the texts of the retrieved documents, joined by a blank line; an id without text is left out
        and counted. Answers to queries without relevant documents are judged too. ``judge`` has the method
        ``judge(JudgeInput)``, or is a language model, which scores the judged metrics and needs an ``embedder``.
        """
        for value, name in ((system, "context_text"), (answerer, "answer")):
            if not callable(getattr(value, name, None)):
                raise WrongType(f"{type(value).__name__} has no method {name}")
        options = RunOptions(ledger=self.ledger, confidence=confidence, seed=seed)
        return self._report(system, answerer, judge, options, embedder=embedder)

    def _report(
        self,
        system: object,
        answerer: Answerer | None,
        judge: Judge | LLMJudge | str | None,
        options: RunOptions,
        *,
        embedder: Embedder | str | None = None,
    ) -> Report:
        """The report of ``score_system`` under the keys of a suite, with the answers judged if there is a judge."""
        started = time.time()
        labels = [f"precision@{self.k}", f"recall@{self.k}", "mrr", f"ndcg@{self.k}"]
        model = None if answerer is None else _language_model(judge, embedder)
        if model is None:
            scorer = Scorer(labels, options=options)
        else:
            scorer = Scorer([*labels, *MEASURES.values()], judge=model, embedder=embedder, options=options)
        calls = SystemCalls(self.k, self.policy, ledger=self.ledger, identity=self.identity, need_ids=True)
        report, collected, seconds = score_system(system, read_set(self.dataset), scorer, calls, answerer=answerer)
        stages = dict(collected.stages)
        if model is not None:
            stages["judge"] = Stage(calls=report.usage.calls, seconds={0: seconds}, usage=report.usage)
            report.usage = Usage()  # the usage of scoring is that of the stage "judge"
            _rename_columns(report)
        elif judge is not None:
            stages["judge"] = judge_answers(report, judge, collected.failed, self.policy)  # type: ignore[arg-type]
        report.notes |= {label: replace(report.notes[label], threshold=None) for label in labels}
        report.kind, report.k_values = "suite", (self.k,)
        report.policy = {"k": self.k, "missing": "zero", "undefined": "skip", "ties": "given"}
        finish_report(report, scorer, stages, started)
        return report


def _rename_columns(report: Report) -> None:
    """Give the judged metrics the names of the qualities that they measure."""
    names = {label: name for name, label in MEASURES.items()}
    report.columns = {names.get(label, label): column for label, column in report.columns.items()}
    report.notes = {names.get(label, label): note for label, note in report.notes.items()}


def _language_model(judge: object, embedder: Embedder | str | None) -> LLMJudge | None:
    """A language model as the judge; None for other objects with a method ``judge``, WrongType without one."""
    from ..models.judge import LLMJudge, judge_of

    if not isinstance(judge, str | LLMJudge):
        if callable(getattr(judge, "judge", None)):
            return None
        raise WrongType(f"{type(judge).__name__} has no method judge")
    if embedder is None:
        raise InputError("relevance by a language model needs an embedder: embedder='local' or another")
    return judge_of(judge)
