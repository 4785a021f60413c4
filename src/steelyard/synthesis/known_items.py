"""Questions without a language model: known-item queries, and sentences with a gap.

A known-item query stands for somebody who remembers a document, not quite, and searches for it: some of its salient
words, drawn by chance, some of them in another form, some mistaken for words of related passages (Azzopardi, de Rijke
and Balog 2007, "Building simulated queries for known-item topics", with related passages in the place of their
background noise). Without mistakes every retriever that counts words finds the document: nothing to compare.

A cloze question is a sentence of a passage with a name, a number or its rarest word left out, which is the answer.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import log

from msgspec import Struct

from ..core.records import Span
from ..text.sentences import sentence_spans
from ..text.tokens import content_words, stem, words
from .passages import Passage

SHORTEST_QUERY, LONGEST_QUERY, MEAN_QUERY = 2, 8, 4.0
LAPSE = 0.3
"""Chance of a word to be mistaken; one is always remembered."""
GAP = "____"
_NUMBER = re.compile(r"(?<![\w.,])\d[\d.,]*\d|(?<![\w.,])\d(?![\w.,])")
_NAME = re.compile(r"(?<=[^.!?]\s)\b[^\W\d_a-zß-ÿ][\w’'-]+(?:\s[^\W\d_a-zß-ÿ][\w’'-]+)*")


class Simple(Struct, frozen=True):
    """A question with its answer and evidence."""

    question: str
    answer: str | None
    span: Span


class Salience:
    """How telling the words of passages are, by tf * idf over the passages, and the forms that they have there."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._spread: Counter[str] = Counter()
        forms: dict[str, set[str]] = defaultdict(set)
        for passage in passages:
            said = content_words(passage.text)
            stems = stem(said)
            self._spread.update({*stems})
            for word, term in zip(said, stems, strict=True):
                forms[term].add(word)
        self._forms = {term: sorted(words) for term, words in forms.items()}
        self._count = len(passages)

    def idf(self, term: str) -> float:
        """ln(1 + N / n) of a stem."""
        return log(1 + self._count / max(1, self._spread[term]))

    def query(self, passage: Passage, draw: random.Random, related: Sequence[Passage] = ()) -> str | None:
        """A known-item query: distinct words drawn with chances of tf * idf, in the order of the passage.

        Their number is drawn too, about four, and of each the form. Each may be mistaken for a word that related
        passages have and this one has not. None for a passage of too few words.
        """
        said = content_words(passage.text)
        stems = stem(said)
        first = {term: at for at, term in reversed([*enumerate(stems)])}
        if len(first) < 2 * SHORTEST_QUERY:
            return None
        counts = Counter(stems)
        size = min(LONGEST_QUERY, max(SHORTEST_QUERY, round(draw.gauss(MEAN_QUERY, 1.5))), len(first) // 2)
        chosen = drawn({term: counts[term] * self.idf(term) for term in sorted(first)}, size, draw)
        words = [draw.choice(self._forms[term]) for term in sorted(chosen, key=first.__getitem__)]
        lapses = [at for at in range(len(words)) if draw.random() < LAPSE]
        if len(lapses) == len(words):
            lapses.pop()
        for at, word in zip(lapses, drawn(_others(related, set(first)), len(lapses), draw), strict=False):
            words[at] = word
        return " ".join(words)

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


def drawn(weights: Mapping[str, float], size: int, draw: random.Random) -> list[str]:
    """A weighted sample without replacement: the largest of u ** (1 / weight) (Efraimidis and Spirakis 2006)."""
    keys = {term: draw.random() ** (1 / weight) for term, weight in weights.items()}
    return sorted(keys, key=lambda term: -keys[term])[:size]


def _others(related: Sequence[Passage], own: set[str]) -> dict[str, float]:
    """Words of related passages whose stems a passage has not, each with how often they say it."""
    found: Counter[str] = Counter()
    for passage in related:
        said = content_words(passage.text)
        found.update(word for word, term in zip(said, stem(said), strict=True) if term not in own)
    return {word: float(count) for word, count in sorted(found.items())}


def known_item(
    salience: Salience, passage: Passage, draw: random.Random, related: Sequence[Passage] = ()
) -> Simple | None:
    """A known-item query with the passage itself as evidence."""
    query = salience.query(passage, draw, related)
    return None if query is None else Simple(query, None, passage.span(0, len(passage.text)))
