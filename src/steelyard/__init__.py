"""Steelyard weighs retrieval and RAG systems: exact rankings, answers, LLM judges, intervals and gates.

>>> import steelyard
>>> steelyard.exact_match("Paris!", "paris")
1.0
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

_WHERE = {
    "evaluate_rankings": ("evaluate_run", "evaluate_retrieval", "aevaluate_run", "aevaluate_retrieval"),
    "evaluate_samples": ("evaluate_rag", "aevaluate_rag", "score"),
    "metrics.scalars": ("exact_match", "token_f1", "context_recall", "context_precision"),
    "metrics.ranking_scalars": (
        "dcg_at_k",
        "ndcg_at_k",
        "recall_at_k",
        "precision_at_k",
        "reciprocal_rank",
        "average_precision",
        "RETRIEVAL_METRICS",
    ),
    "metrics.overlap": ("OverlapJudge", "RAGEval", "JudgeInput", "AnswerQuality", "Judge"),
    "text": ("normalize_answer",),
    "beir": ("read_beir", "write_beir"),
    "trec": ("read_qrels", "read_run"),
    "samples": ("read_samples", "write_samples"),
    "records": ("Sample", "RagSample", "Qrels", "Run", "Score", "Estimate", "Span", "Value", "Undefined", "Usage"),
    "dataset": ("Dataset", "EvalQuery"),
    "report": ("Report", "RetrievalEvalReport", "RagEvalReport"),
    "suite": ("BenchmarkSuite",),
    "metric": ("metric", "ranking_metric", "register_metric", "Metric"),
    "shelf": ("get_metric",),
    "flow": ("play", "ask", "embed", "ratio", "Prompt", "Numbered"),
    "judge": ("LLMJudge", "script"),
    "errors": ("SteelyardError", "InputError", "UnknownName", "WrongType", "MissingExtra", "AskFailed", "BadReply"),
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
