"""An answerer with a language model: one prompt with the context and the question."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from ..core.requests import Flow, Prompt, Text, ask
from ..models.cell import Cell
from ..models.cost_estimate import CostEstimate
from ..models.engine import Engine
from ..models.judge import LLMJudge, judge_of
from .outputs import Output

PROMPT = Prompt(
    "Answer the question from the context alone, in one or two sentences. Where the context does not hold the answer,"
    " say that the documents do not say."
)


class Answer(Struct):
    """The reply."""

    answer: Text


class LLMAnswerer:
    """Answers with a language model: ``LLMAnswerer("openai:gpt-4o-mini")``. Replies are cached in the ledger.

    ``instruction`` replaces the text of the prompt; the question and the context follow it between fences.
    """

    def __init__(
        self,
        model: LLMJudge | str,
        *,
        instruction: str | None = None,
        ledger: str | Path | None = None,
        concurrency: int = 16,
        deadline: float = 60.0,
        budget: float | None = None,
        max_calls: int | None = None,
        name: str = "",
    ) -> None:
        self.model = judge_of(model)
        self.name = name or str(self.model)
        self.prompt = PROMPT if instruction is None else Prompt(instruction)
        self._engine = partial(
            Engine,
            self.model,
            ledger=ledger,
            concurrency=concurrency,
            deadline=deadline,
            budget=budget,
            max_calls=max_calls,
        )
        self._engine()  # an error in the limits is raised now

    def answer(self, question: str, context: str) -> str:
        """The answer to one question; AskFailed or BadReply if there is none."""
        (found,) = self.answer_batch([question], [context])
        if isinstance(found, Exception):
            raise found
        return found.answer or ""

    def answer_batch(self, questions: Sequence[str], contexts: Sequence[str]) -> list[Output | Exception]:
        """The answer to each of many questions with its usage, or the exception."""
        answers: dict[int, str] = {}
        found: list[Output | Exception] = [Output()] * len(questions)
        for result in self._engine().run(self._cells(questions, contexts, answers)):
            at = result.key
            assert isinstance(at, int)
            found[at] = result.error or Output(answer=answers[at], usage=result.usage)
        return found

    def estimate_cost(self, questions: Sequence[str], contexts: Sequence[str]) -> CostEstimate:
        """The estimated cost of the answers. No call is made."""
        return self._engine().estimate(self._cells(questions, contexts, {}))

    def _cells(self, questions: Sequence[str], contexts: Sequence[str], answers: dict[int, str]) -> list[Cell]:
        def rule(at: int) -> Flow:
            reply = yield from ask(self.prompt, Answer, context=contexts[at], question=questions[at])
            answers[at] = reply.answer
            return 1.0

        return [Cell(at, partial(rule, at)) for at in range(len(questions))]
