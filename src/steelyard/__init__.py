"""Steelyard evaluates retrieval and RAG systems: exact rankings, answers, LLM judges, intervals and gates.

>>> import steelyard
>>> steelyard.exact_match("Paris!", "paris")
1.0
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .core.version import VERSION

if TYPE_CHECKING:
    from .core.errors import (
        AskFailed as AskFailed,
        BadReply as BadReply,
        InputError as InputError,
        MissingExtra as MissingExtra,
        SteelyardError as SteelyardError,
        UnknownName as UnknownName,
        WrongType as WrongType,
    )
    from .core.records import (
        Estimate as Estimate,
        Qrels as Qrels,
        RagSample as RagSample,
        Run as Run,
        Sample as Sample,
        Score as Score,
        Span as Span,
        Undefined as Undefined,
        Usage as Usage,
        Value as Value,
    )
    from .core.requests import (
        Numbered as Numbered,
        Prompt as Prompt,
        ask as ask,
        embed as embed,
        play as play,
        ratio as ratio,
    )
    from .datasets.beir import read_beir as read_beir, write_beir as write_beir
    from .datasets.corpus import Corpus as Corpus, read_corpus as read_corpus
    from .datasets.dataset import Dataset as Dataset, EvalQuery as EvalQuery
    from .datasets.set_folder import write_set as write_set
    from .evaluate.answer_judge import AnswerJudge as AnswerJudge, RAGEval as RAGEval
    from .evaluate.evaluate_rankings import (
        aevaluate_retrieval as aevaluate_retrieval,
        aevaluate_run as aevaluate_run,
        evaluate_retrieval as evaluate_retrieval,
        evaluate_run as evaluate_run,
    )
    from .evaluate.evaluate_samples import aevaluate_rag as aevaluate_rag, evaluate_rag as evaluate_rag, score as score
    from .evaluate.evaluate_system import aevaluate_system as aevaluate_system, evaluate_system as evaluate_system
    from .evaluate.jury import evaluate_by_jury as evaluate_by_jury
    from .evaluate.suite import BenchmarkSuite as BenchmarkSuite
    from .evaluate.tie_bounds import tied_orders as tied_orders
    from .io.foreign_formats import as_ragas_dataset as as_ragas_dataset
    from .io.samples import read_samples as read_samples, write_samples as write_samples
    from .judges.calibrate import calibrate as calibrate
    from .judges.calibration import Calibration as Calibration
    from .judges.jury import panel as panel
    from .judges.label_sampling import label as label
    from .judges.pairwise import prefer as prefer
    from .metrics.lexical.content_word_overlap import (
        AnswerQuality as AnswerQuality,
        Judge as Judge,
        JudgeInput as JudgeInput,
        OverlapJudge as OverlapJudge,
    )
    from .metrics.lexical.token_overlap import (
        context_precision as context_precision,
        context_recall as context_recall,
        exact_match as exact_match,
        token_f1 as token_f1,
    )
    from .metrics.lookup import get_metric as get_metric
    from .metrics.ranking.single_ranking import (
        RETRIEVAL_METRICS as RETRIEVAL_METRICS,
        average_precision as average_precision,
        dcg_at_k as dcg_at_k,
        ndcg_at_k as ndcg_at_k,
        precision_at_k as precision_at_k,
        recall_at_k as recall_at_k,
        reciprocal_rank as reciprocal_rank,
    )
    from .metrics.registry import (
        Metric as Metric,
        metric as metric,
        ranking_metric as ranking_metric,
        register_metric as register_metric,
    )
    from .models.judge import LLMJudge as LLMJudge, script as script
    from .ranking.trec.files import read_qrels as read_qrels, read_run as read_run
    from .reports.compare import compare as compare
    from .reports.comparison import Comparison as Comparison, MetricDelta as MetricDelta
    from .reports.report import (
        RagEvalReport as RagEvalReport,
        Report as Report,
        RetrievalEvalReport as RetrievalEvalReport,
    )
    from .runs.demo import load_demo as load_demo
    from .synthesis.generate import EvalDatasetBuilder as EvalDatasetBuilder, synthesize as synthesize
    from .systems.protocols import Answerer as Answerer, RetrievalSystem as RetrievalSystem, Retriever as Retriever
    from .text.tokens import normalize_answer as normalize_answer

__version__ = VERSION

_WHERE = {
    "evaluate.evaluate_rankings": ("evaluate_run", "evaluate_retrieval", "aevaluate_run", "aevaluate_retrieval"),
    "evaluate.evaluate_samples": ("evaluate_rag", "aevaluate_rag", "score"),
    "evaluate.jury": ("evaluate_by_jury",),
    "judges.jury": ("panel",),
    "metrics.lexical.token_overlap": ("exact_match", "token_f1", "context_recall", "context_precision"),
    "metrics.ranking.single_ranking": (
        "dcg_at_k",
        "ndcg_at_k",
        "recall_at_k",
        "precision_at_k",
        "reciprocal_rank",
        "average_precision",
        "RETRIEVAL_METRICS",
    ),
    "metrics.lexical.content_word_overlap": ("OverlapJudge", "JudgeInput", "AnswerQuality", "Judge"),
    "evaluate.answer_judge": ("AnswerJudge", "RAGEval"),
    "text.tokens": ("normalize_answer",),
    "datasets.beir": ("read_beir", "write_beir"),
    "ranking.trec.files": ("read_qrels", "read_run"),
    "io.foreign_formats": ("as_ragas_dataset",),
    "io.samples": ("read_samples", "write_samples"),
    "core.records": ("Sample", "RagSample", "Qrels", "Run", "Score", "Estimate", "Span", "Value", "Undefined", "Usage"),
    "datasets.dataset": ("Dataset", "EvalQuery"),
    "reports.report": ("Report", "RetrievalEvalReport", "RagEvalReport"),
    "judges.label_sampling": ("label",),
    "judges.pairwise": ("prefer",),
    "datasets.corpus": ("Corpus", "read_corpus"),
    "datasets.set_folder": ("write_set",),
    "judges.calibrate": ("calibrate",),
    "judges.calibration": ("Calibration",),
    "reports.compare": ("compare",),
    "evaluate.tie_bounds": ("tied_orders",),
    "reports.comparison": ("Comparison", "MetricDelta"),
    "systems.protocols": ("Retriever", "Answerer", "RetrievalSystem"),
    "runs.demo": ("load_demo",),
    "evaluate.suite": ("BenchmarkSuite",),
    "evaluate.evaluate_system": ("evaluate_system", "aevaluate_system"),
    "synthesis.generate": ("EvalDatasetBuilder", "synthesize"),
    "metrics.registry": ("metric", "ranking_metric", "register_metric", "Metric"),
    "metrics.lookup": ("get_metric",),
    "core.requests": ("play", "ask", "embed", "ratio", "Prompt", "Numbered"),
    "models.judge": ("LLMJudge", "script"),
    "core.errors": (
        "SteelyardError",
        "InputError",
        "UnknownName",
        "WrongType",
        "MissingExtra",
        "AskFailed",
        "BadReply",
    ),
}
_HOME = {name: module for module, names in _WHERE.items() for name in names}

__all__ = sorted(_HOME)  # noqa: PLE0605 - the one list of public names is the table above


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
    value: object = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
