"""Questions without a language model: known-item queries, and sentences with a gap.

A known-item query stands for somebody who remembers a document and searches for it: some of its salient words, drawn by
chance (Azzopardi, de Rijke and Balog 2007, "Building simulated queries for known-item topics"). A cloze question is a
sentence of a passage with a name, a number or its rarest word left out; what was left out is the answer.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from math import log

from msgspec import Struct

from ..records import Span
from ..sentences import sentence_spans
from ..text import content_words, stem, words
from .passages import Passage

SHORTEST_QUERY, LONGEST_QUERY, MEAN_QUERY = 2, 8, 4.5
GAP = "____"
_NUMBER = re.compile(r"(?<![\w.,])\d[\d.,]*\d|(?<![\w.,])\d(?![\w.,])")
_NAME = re.compile(r"(?<=[^.!?]\s)\b[^\W\d_a-zß-ÿ][\w’'-]+(?:\s[^\W\d_a-zß-ÿ][\w’'-]+)*")


class Simple(Struct, frozen=True):
    """A question with its answer and evidence."""

    question: str
    answer: str | None
    span: Span


class Salience:
    """How telling the words of passages are: tf * idf over the passages."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._spread = Counter(term for passage in passages for term in {*stem(content_words(passage.text))})
        self._count = len(passages)

    def idf(self, term: str) -> float:
        """ln(1 + N / n) of a stem."""
        return log(1 + self._count / max(1, self._spread[term]))

    def query(self, passage: Passage, draw: random.Random) -> str | None:
        """A known-item query: distinct words drawn with chances of tf * idf, in the order of the passage.

        Their number is drawn too, about four. None for a passage of too few words.
        """
        said = content_words(passage.text)
        stems = stem(said)
        first = {term: at for at, term in reversed([*enumerate(stems)])}
        if len(first) < 2 * SHORTEST_QUERY:
            return None
        counts = Counter(stems)
        weights = {term: counts[term] * self.idf(term) for term in first}
        size = min(LONGEST_QUERY, max(SHORTEST_QUERY, round(draw.gauss(MEAN_QUERY, 1.5))), len(first) // 2)
        # The largest of u ** (1 / weight) are a weighted sample without replacement (Efraimidis and Spirakis 2006).
        keys = {term: draw.random() ** (1 / weight) for term, weight in weights.items()}
        chosen = sorted(keys, key=lambda term: -keys[term])[:size]
        return " ".join(said[first[term]] for term in sorted(chosen, key=first.__getitem__))

    def cloze(self, passage: Passage, draw: random.Random) -> Simple | None:
        """A sentence with a gap; None where no sentence of the passage is fit for it."""
        places = [place for place in sentence_spans(passage.text) if self._fit(passage.text[place.start : place.end])]
        if not places:
            return None
        place = draw.choice(places)
        sentence = passage.text[place.start : place.end]
        gap = self._gap(sentence, draw)
        if gap is None:
            return None
        start, end = gap
        question = sentence[:start] + GAP + sentence[end:]
        return Simple(question, sentence[start:end], passage.span(place.start, place.end))

    def _fit(self, sentence: str) -> bool:
        return 8 <= len(words(sentence)) <= 40

    def _gap(self, sentence: str, draw: random.Random) -> tuple[int, int] | None:
        """What to leave out: a number or a name, else the rarest word; only what the sentence says once."""
        found = [match.span() for pattern in (_NUMBER, _NAME) for match in pattern.finditer(sentence)]
        once = [(start, end) for start, end in found if sentence.count(sentence[start:end]) == 1]
        if once:
            return draw.choice(sorted(once))
        rare = max(content_words(sentence), key=lambda word: (self.idf(stem([word])[0]), word), default=None)
        if rare is None:
            return None
        places = [match.span() for match in re.finditer(re.escape(rare), sentence, re.IGNORECASE)]
        return places[0] if len(places) == 1 else None


def known_item(salience: Salience, passage: Passage, draw: random.Random) -> Simple | None:
    """A known-item query with the passage itself as evidence."""
    query = salience.query(passage, draw)
    return None if query is None else Simple(query, None, passage.span(0, len(passage.text)))
