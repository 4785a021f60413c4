"""Pairs of question and answer from documents, for a quick start."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .generate import synthesize

if TYPE_CHECKING:
    from ..models.judge import LLMJudge


class EvalDatasetBuilder:
    """Question and answer pairs from documents, for a quick start; ``synthesize`` gives whole sets.

    >>> text = "The tower was built of granite by Robert Stevenson in 1811, on a reef that the sea covers at times."
    >>> (pair,) = EvalDatasetBuilder(None, [text]).generate_qa_pairs(1)
    >>> sorted(pair), pair["source"]
    (['answer', 'context', 'question', 'source'], '1')
    """

    def __init__(
        self, judge: LLMJudge | str | None, documents: object, *, ledger: str | Path | None = None, seed: int = 0
    ) -> None:
        self.judge, self.documents, self.ledger, self.seed = judge, documents, ledger, seed

    def generate_qa_pairs(self, num_pairs: int = 100) -> list[dict[str, str]]:
        """Pairs with the passage and the id of the document they are from: single questions of a language model, or
        without one sentences with a gap. There are fewer where the documents do not give as many."""
        made = synthesize(
            self.documents,
            num_pairs,
            judge=self.judge,
            kinds=["cloze" if self.judge is None else "single"],
            styles=["plain"],
            ledger=self.ledger,
            seed=self.seed,
        )
        return [
            {
                "question": sample.user_input or "",
                "answer": sample.references[0],
                "context": (sample.reference_contexts or [""])[0],
                "source": next(iter(sample.relevance or {})),
            }
            for sample in made.samples
        ]
