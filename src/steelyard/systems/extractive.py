"""An answerer that needs no model: the sentences of the context that share most with the question."""

from __future__ import annotations

from collections import Counter
from math import log

from ..sentences import sentences
from ..text import content_words, stem


class Extractive:
    """Answers with the best ``count`` sentences of the context, in their order.

    A sentence scores the summed rarity of the question's stems in it, over the square root of its length, so that
    short exact sentences win. Where nothing is shared the answer says so.
    """

    def __init__(self, *, count: int = 1, language: str = "english") -> None:
        self.name = "extractive"
        self.count, self.language = count, language

    def answer(self, question: str, context: str) -> str:
        """The answer to a question from a context."""
        wanted = set(stem(content_words(question), self.language))
        found = [(text, stem(content_words(text), self.language)) for text in sentences(context)]
        spread = Counter(term for _, terms in found for term in set(terms))
        scored = [
            (sum(log(1 + len(found) / spread[term]) for term in wanted & set(terms)) / max(1, len(terms)) ** 0.5, at)
            for at, (_, terms) in enumerate(found)
        ]
        best = sorted(sorted(scored, key=lambda one: (-one[0], one[1]))[: self.count], key=lambda one: one[1])
        chosen = [found[at][0] for score, at in best if score > 0]
        return " ".join(chosen) if chosen else "The documents do not say."
