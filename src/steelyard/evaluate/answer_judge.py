"""One answer weighed by a language model, in the three numbers that every judge gives."""

from __future__ import annotations

from ..core.errors import AskFailed
from ..core.records import Sample
from ..metrics.lexical.overlap import AnswerQuality, JudgeInput
from ..models.judge import LLMJudge
from .evaluate_samples import evaluate_rag

MEASURES = {
    "faithfulness": "judged.faithfulness",
    "relevance": "judged.answer_relevancy",
    "correctness": "judged.answer_correctness",
}
"""Which judged metrics a language model gives its three numbers by."""


def quality_by_model(case: JudgeInput, judge: LLMJudge) -> AnswerQuality:
    """The quality of one answer by the judged metrics; what is undefined is None, and the comment says why.

    Raises AskFailed with the reason where a metric failed: there is no number in place of one.
    """
    sample = Sample(
        user_input=case.question or None,
        response=case.answer,
        retrieved_contexts=[case.context] if case.context.strip() else [],
        reference=case.reference,
    )
    report = evaluate_rag([sample], metrics=list(MEASURES.values()), judge=judge, embedder=judge.embedder)
    found: dict[str, float | None] = {}
    said = []
    for name, (label, column) in zip(MEASURES, report.columns.items(), strict=True):
        score = report.score(0, label)
        if 0 in column.failed:
            raise AskFailed("metric_failed", f"{name}: {score.reason}")
        found[name] = score.value
        if score.value is None:
            said.append(f"{name}: {score.reason}")
    return AnswerQuality(found["faithfulness"], found["relevance"], found["correctness"], "; ".join(said))
