"""Questions without a language model: known-item queries, and sentences with a gap.

A known-item query simulates a person who searches for a partly remembered document. It has some salient words of the
document, drawn at random, some in another form, and some replaced by words of related passages (Azzopardi, de Rijke and
Balog 2007, "Building simulated queries for known-item topics", with related passages in place of their background
noise). Without mistakes, every retriever that counts words would find the document.

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
"""Probability that a word is mistaken; at least one word is always correct."""
GAP = "____"
_NUMBER = re.compile(r"(?<![\w.,])\d[\d.,]*\d|(?<![\w.,])\d(?![\w.,])")
_NAME = re.compile(r"(?<=[^.!?]\s)\b[^\W\d_a-zß-ÿ][\w’'-]+(?:\s[^\W\d_a-zß-ÿ][\w’'-]+)*")


class PlainQuestion(Struct, frozen=True):
    """A question without a model, with its answer and evidence."""

    question: str
    answer: str | None
    span: Span


class Salience:
    """Salience of words (tf * idf over the passages), and the forms of each stem in the passages."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._spread: Counter[str] = Counter()
        forms: dict[str, set[str]] = defaultdict(set)
        for passage in passages:
            passage_words = content_words(passage.text)
            stems = stem(passage_words)
            self._spread.update({*stems})
            for word, term in zip(passage_words, stems, strict=True):
                forms[term].add(word)
        self._forms = {term: sorted(words) for term, words in forms.items()}
        self._count = len(passages)

    def idf(self, term: str) -> float:
        """Return ln(1 + N / n) of a stem."""
        return log(1 + self._count / max(1, self._spread[term]))

    def query(self, passage: Passage, draw: random.Random, related: Sequence[Passage] = ()) -> str | None:
        """Make a known-item query: distinct words drawn with probability tf * idf, in the order of the passage.

        The number of words (about four) and the form of each word are drawn too. A word may be replaced by a word of
        related passages that this passage lacks. Returns None for a passage with too few words.
        """
        stems = stem(content_words(passage.text))
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

    def cloze(self, passage: Passage, draw: random.Random) -> PlainQuestion | None:
        """Make a question from a sentence with a gap; None if no sentence of the passage is suitable."""
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
        return PlainQuestion(question, sentence[start:end], passage.span(place.start, place.end))

    def _fit(self, sentence: str) -> bool:
        return 8 <= len(words(sentence)) <= 40

    def _gap(self, sentence: str, draw: random.Random) -> tuple[int, int] | None:
        """Choose the gap: a number or a name, else the rarest word; it must occur once in the sentence."""
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
    """Draw a weighted sample without replacement: the largest u ** (1 / weight) (Efraimidis and Spirakis 2006)."""
    keys = {term: draw.random() ** (1 / weight) for term, weight in weights.items()}
    return sorted(keys, key=lambda term: -keys[term])[:size]


def _others(related: Sequence[Passage], own: set[str]) -> dict[str, float]:
    """Count the words of related passages with stems that the passage lacks."""
    found: Counter[str] = Counter()
    for passage in related:
        passage_words = content_words(passage.text)
        found.update(word for word, term in zip(passage_words, stem(passage_words), strict=True) if term not in own)
    return {word: float(count) for word, count in sorted(found.items())}


def known_item(
    salience: Salience, passage: Passage, draw: random.Random, related: Sequence[Passage] = ()
) -> PlainQuestion | None:
    """Make a known-item query with the passage itself as evidence."""
    query = salience.query(passage, draw, related)
    return None if query is None else PlainQuestion(query, None, passage.span(0, len(passage.text)))
