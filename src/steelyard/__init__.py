"""Steelyard weighs retrieval and RAG systems: exact rankings, answers, LLM judges, intervals and gates.

>>> import steelyard
>>> steelyard.exact_match("Paris!", "paris")
1.0
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .core.version import VERSION

if TYPE_CHECKING:
    from .core.errors import AskFailed as AskFailed
    from .core.errors import BadReply as BadReply
    from .core.errors import InputError as InputError
    from .core.errors import MissingExtra as MissingExtra
    from .core.errors import SteelyardError as SteelyardError
    from .core.errors import UnknownName as UnknownName
    from .core.errors import WrongType as WrongType
    from .core.records import Estimate as Estimate
    from .core.records import Qrels as Qrels
    from .core.records import RagSample as RagSample
    from .core.records import Run as Run
    from .core.records import Sample as Sample
    from .core.records import Score as Score
    from .core.records import Span as Span
    from .core.records import Undefined as Undefined
    from .core.records import Usage as Usage
    from .core.records import Value as Value
    from .core.requests import Numbered as Numbered
    from .core.requests import Prompt as Prompt
    from .core.requests import ask as ask
    from .core.requests import embed as embed
    from .core.requests import play as play
    from .core.requests import ratio as ratio
    from .datasets.beir import read_beir as read_beir
    from .datasets.beir import write_beir as write_beir
    from .datasets.dataset import Dataset as Dataset
    from .datasets.dataset import EvalQuery as EvalQuery
    from .evaluate.answer_judge import AnswerJudge as AnswerJudge
    from .evaluate.answer_judge import RAGEval as RAGEval
    from .evaluate.evaluate_rankings import aevaluate_retrieval as aevaluate_retrieval
    from .evaluate.evaluate_rankings import aevaluate_run as aevaluate_run
    from .evaluate.evaluate_rankings import evaluate_retrieval as evaluate_retrieval
    from .evaluate.evaluate_rankings import evaluate_run as evaluate_run
    from .evaluate.evaluate_samples import aevaluate_rag as aevaluate_rag
    from .evaluate.evaluate_samples import evaluate_rag as evaluate_rag
    from .evaluate.evaluate_samples import score as score
    from .evaluate.evaluate_system import aevaluate_system as aevaluate_system
    from .evaluate.evaluate_system import evaluate_system as evaluate_system
    from .evaluate.jury import evaluate_by_jury as evaluate_by_jury
    from .evaluate.suite import BenchmarkSuite as BenchmarkSuite
    from .evaluate.tie_bounds import tied_orders as tied_orders
    from .io.foreign_formats import as_ragas_dataset as as_ragas_dataset
    from .io.samples import read_samples as read_samples
    from .io.samples import write_samples as write_samples
    from .judges.calibrate import calibrate as calibrate
    from .judges.calibration import Calibration as Calibration
    from .judges.jury import panel as panel
    from .metrics.lexical.content_word_overlap import AnswerQuality as AnswerQuality
    from .metrics.lexical.content_word_overlap import Judge as Judge
    from .metrics.lexical.content_word_overlap import JudgeInput as JudgeInput
    from .metrics.lexical.content_word_overlap import OverlapJudge as OverlapJudge
    from .metrics.lexical.token_overlap import context_precision as context_precision
    from .metrics.lexical.token_overlap import context_recall as context_recall
    from .metrics.lexical.token_overlap import exact_match as exact_match
    from .metrics.lexical.token_overlap import token_f1 as token_f1
    from .metrics.lookup import get_metric as get_metric
    from .metrics.ranking.single_ranking import RETRIEVAL_METRICS as RETRIEVAL_METRICS
    from .metrics.ranking.single_ranking import average_precision as average_precision
    from .metrics.ranking.single_ranking import dcg_at_k as dcg_at_k
    from .metrics.ranking.single_ranking import ndcg_at_k as ndcg_at_k
    from .metrics.ranking.single_ranking import precision_at_k as precision_at_k
    from .metrics.ranking.single_ranking import recall_at_k as recall_at_k
    from .metrics.ranking.single_ranking import reciprocal_rank as reciprocal_rank
    from .metrics.registry import Metric as Metric
    from .metrics.registry import metric as metric
    from .metrics.registry import ranking_metric as ranking_metric
    from .metrics.registry import register_metric as register_metric
    from .models.judge import LLMJudge as LLMJudge
    from .models.judge import script as script
    from .ranking.trec.files import read_qrels as read_qrels
    from .ranking.trec.files import read_run as read_run
    from .reports.compare import compare as compare
    from .reports.comparison import Comparison as Comparison
    from .reports.comparison import MetricDelta as MetricDelta
    from .reports.report import RagEvalReport as RagEvalReport
    from .reports.report import Report as Report
    from .reports.report import RetrievalEvalReport as RetrievalEvalReport
    from .runs.demo import load_demo as load_demo
    from .synthesis.generate import EvalDatasetBuilder as EvalDatasetBuilder
    from .synthesis.generate import synthesize as synthesize
    from .systems.protocols import Answerer as Answerer
    from .systems.protocols import RetrievalSystem as RetrievalSystem
    from .systems.protocols import Retriever as Retriever
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
