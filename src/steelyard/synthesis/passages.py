"""Passages of documents for questions, and links between related passages."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import log
from pathlib import Path

import numpy as np
from msgspec import Struct

from ..core.records import Span
from ..models.embedder import Embedder
from ..systems.dense import embed_all
from ..text.near_duplicates import grams_of, jaccard
from ..text.sentences import sentence_spans
from ..text.tokens import content_words, stem, words

LONGEST, SHORTEST = 1200, 60
"""Largest and smallest number of characters of a passage. Longer documents are split between sentences."""
LEAST_WORDS = 8
_NEAR, _TOO_NEAR = 5, 0.8


class Passage(Struct, frozen=True):
    """Characters ``start`` to ``end`` of a document."""

    doc: str
    start: int
    end: int
    text: str

    def span(self, start: int, end: int) -> Span:
        """Convert offsets in the passage to a span of the document."""
        return Span(self.doc, self.start + start, self.start + end, self.text[start:end])


def passages_of(texts: Mapping[str, str]) -> list[Passage]:
    """Split documents into passages, in order, of at most ``LONGEST`` characters unless a sentence is longer.

    >>> [passage.end for passage in passages_of({"d": "The keeper climbs the tower every night and trims the lamp."})]
    []
    >>> len(passages_of({"d": "The keeper climbs the tower every night and trims the lamp. " * 40})) > 1
    True
    """
    found = []
    for doc, text in texts.items():
        for start, end in _split(text):
            piece = text[start:end]
            if len(piece) >= SHORTEST and len(words(piece)) >= LEAST_WORDS:
                found.append(Passage(doc, start, end, piece))
    return found


def _split(text: str) -> list[tuple[int, int]]:
    places = sentence_spans(text)
    if not places:
        return []
    full = (places[0].start, places[-1].end)
    if full[1] - full[0] <= LONGEST:
        return [full]
    pieces: list[tuple[int, int]] = []
    start, end = places[0]
    for place in places[1:]:
        if place.end - start > LONGEST:
            pieces.append((start, end))
            start = place.start
        end = place.end
    return [*pieces, (start, end)]


class Links:
    """Links between passages, by shared rare words, or by similarity of embeddings if an embedder is given.

    The weight of a shared stem is its idf, and only stems in at most 2 % of the passages count. Near-duplicate passages
    are not linked, because no question needs both.
    """

    def __init__(
        self, passages: Sequence[Passage], *, embedder: Embedder | str | None = None, ledger: str | Path | None = None
    ) -> None:
        self.passages = passages
        stems = [sorted({*stem(content_words(passage.text))}) for passage in passages]
        spread = Counter(term for own in stems for term in own)
        most = max(2, len(passages) // 50)
        self._weights = {term: log(len(passages) / count) for term, count in spread.items() if 2 <= count <= most}
        self._stems = [[term for term in own if term in self._weights] for own in stems]
        self._holders: dict[str, list[int]] = defaultdict(list)
        for at, own in enumerate(self._stems):
            for term in own:
                self._holders[term].append(at)
        self._vectors = (
            None if embedder is None else embed_all([one.text for one in passages], embedder, ledger=ledger)[0]
        )

    def near(self, at: int, most: int = _NEAR) -> list[int]:
        """Return the passages most similar to one, best first; none if no passage shares a rare word with it."""
        if self._vectors is not None:
            scores = self._vectors @ self._vectors[at]
            ranked = [int(other) for other in np.argsort(-scores, kind="stable")[: most + 10]]
        else:
            shared: dict[int, float] = defaultdict(float)
            for term in self._stems[at]:
                for other in self._holders[term]:
                    shared[other] += self._weights[term]
            ranked = sorted(shared, key=lambda other: (-shared[other], other))[: most + 10]
        own = grams_of(self.passages[at].text)
        kept = [other for other in ranked if other != at and self._apart(own, other)]
        return kept[:most]

    def partner(self, at: int, draw: random.Random) -> int | None:
        """Draw one of the most similar passages."""
        near = self.near(at)
        return draw.choice(near) if near else None

    def _apart(self, own: np.ndarray[tuple[int, ...], np.dtype[np.uint64]], other: int) -> bool:
        return jaccard(own, grams_of(self.passages[other].text)) < _TOO_NEAR
