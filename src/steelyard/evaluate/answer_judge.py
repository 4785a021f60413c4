"""Single answers scored by a judge: a language model as such a judge, and a check of the scores of any judge."""

from __future__ import annotations

from ..core.errors import AskFailed, BadReply, WrongType
from ..core.records import Sample
from ..metrics.lexical.content_word_overlap import AnswerQuality, Judge, JudgeInput
from ..models.embedder import Embedder
from ..models.judge import LLMJudge, judge_of
from .evaluate_samples import evaluate_rag

MEASURES = {
    "faithfulness": "judged.faithfulness",
    "relevance": "judged.answer_relevancy",
    "correctness": "judged.answer_correctness",
}
"""The judged metrics by which a language model gives its three numbers."""


class AnswerJudge:
    """A language model as a judge of single answers, with the method ``judge(JudgeInput)`` of every judge.

    ``judge`` is an ``LLMJudge`` or its spelling. ``embedder`` measures relevance (default: the embedder of the judge).
    """

    def __init__(self, judge: LLMJudge | str, embedder: Embedder | str | None = None) -> None:
        self.model = judge_of(judge)
        self.embedder = self.model.embedder if embedder is None else embedder

    def judge(self, case: JudgeInput, /) -> AnswerQuality:
        """The quality of one answer by the metrics judged.faithfulness, answer_relevancy and answer_correctness.

        A number that is undefined is None, and the comment gives the reason. Raises AskFailed if a metric failed.
        """
        return _quality(case, self.model, self.embedder)

    def __repr__(self) -> str:
        return f"AnswerJudge({str(self.model)!r})"


def _quality(case: JudgeInput, judge: LLMJudge, embedder: Embedder | str) -> AnswerQuality:
    sample = Sample(
        user_input=case.question or None,
        response=case.answer,
        retrieved_contexts=[case.context] if case.context.strip() else [],
        reference=case.reference,
    )
    report = evaluate_rag([sample], metrics=list(MEASURES.values()), judge=judge, embedder=embedder)
    values: dict[str, float | None] = {}
    reasons = []
    for name, (label, column) in zip(MEASURES, report.columns.items(), strict=True):
        score = report.score(0, label)
        if 0 in column.failed:
            raise AskFailed("metric_failed", f"{name}: {score.reason}")
        values[name] = score.value
        if score.value is None:
            reasons.append(f"{name}: {score.reason}")
    return AnswerQuality(values["faithfulness"], values["relevance"], values["correctness"], "; ".join(reasons))


class RAGEval:
    """Scores answers with a judge of any kind and checks its scores."""

    def __init__(self, judge: Judge | LLMJudge) -> None:
        if isinstance(judge, LLMJudge):
            judge = AnswerJudge(judge)
        if not callable(getattr(judge, "judge", None)):
            raise WrongType(f"not a judge: {judge!r} (expected an object with judge(JudgeInput))")
        self.judge = judge

    def evaluate(self, case: JudgeInput) -> AnswerQuality:
        """The judge's scores of one answer; BadReply if they are no AnswerQuality or out of range.

        >>> from steelyard import OverlapJudge
        >>> RAGEval(OverlapJudge()).evaluate(JudgeInput("Who?", "Ada wrote it.", "Ada wrote it.", "Ada")).faithfulness
        1.0
        """
        quality = self.judge.judge(case)
        if not isinstance(quality, AnswerQuality):
            raise BadReply("shape", f"the judge returned {type(quality).__name__} (expected AnswerQuality)")
        for name in ("faithfulness", "relevance", "correctness"):
            value = getattr(quality, name)
            if value is not None and not 0.0 <= value <= 1.0:
                raise BadReply("range", f"{name} is {value} (expected 0 to 1)", quality.comment)
        return quality
