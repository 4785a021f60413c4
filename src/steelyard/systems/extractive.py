"""An answerer without a model: the sentences of the context that share the most words with the question."""

from __future__ import annotations

from collections import Counter
from math import log

from ..text.sentences import sentences
from ..text.tokens import content_words, stem

SHORT = 5
"""A sentence of fewer content words is a title or a heading, not an answer."""


class Extractive:
    """Answers with the best ``count`` sentences of the context, in their order.

    A sentence scores the summed rarity of the question's stems in it, ``ln(1 + sentences / sentences with the stem)``,
    over the square root of its length, so that short exact sentences score highest. If no sentence has
    the share ``least`` of the question's stems, the answer is that the documents do not say.
    """

    def __init__(self, *, count: int = 1, least: float = 0.25, language: str = "english") -> None:
        self.name = "extractive"
        self.count, self.least, self.language = count, least, language

    def answer(self, question: str, context: str) -> str:
        """The answer to a question from a context."""
        wanted = set(stem(content_words(question), self.language))
        found = [(text, set(stem(content_words(text), self.language))) for text in sentences(context)]
        found = [one for one in found if len(one[1]) >= SHORT] or found
        spread = Counter(term for _, terms in found for term in terms)
        scored = [
            (sum(log(1 + len(found) / spread[term]) for term in wanted & terms) / max(1, len(terms)) ** 0.5, at)
            for at, (_, terms) in enumerate(found)
            if len(wanted & terms) >= max(1.0, self.least * len(wanted))
        ]
        best = sorted(at for _, at in sorted(scored, key=lambda one: (-one[0], one[1]))[: self.count])
        return " ".join(found[at][0] for at in best) if best else "The documents do not say."
