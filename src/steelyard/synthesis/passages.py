"""What questions are asked about: passages of documents, and which of them belong together."""

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
"""Characters of a passage. Longer documents are divided between sentences; shorter passages are not asked about."""
LEAST_WORDS = 8
_NEAR, _TOO_NEAR = 5, 0.8


class Passage(Struct, frozen=True):
    """Characters ``start`` to ``end`` of a document."""

    doc: str
    start: int
    end: int
    text: str

    def span(self, start: int, end: int) -> Span:
        """A stretch of the passage as a span of the document."""
        return Span(self.doc, self.start + start, self.start + end, self.text[start:end])


def passages_of(texts: Mapping[str, str]) -> list[Passage]:
    """The passages of documents, in their order, each at most ``LONGEST`` characters where its sentences allow.

    >>> [passage.end for passage in passages_of({"d": "The keeper climbs the tower every night and trims the lamp."})]
    []
    >>> len(passages_of({"d": "The keeper climbs the tower every night and trims the lamp. " * 40})) > 1
    True
    """
    found = []
    for doc, text in texts.items():
        for start, end in _divided(text):
            piece = text[start:end]
            if len(piece) >= SHORTEST and len(words(piece)) >= LEAST_WORDS:
                found.append(Passage(doc, start, end, piece))
    return found


def _divided(text: str) -> list[tuple[int, int]]:
    places = sentence_spans(text)
    if not places:
        return []
    whole = (places[0].start, places[-1].end)
    if whole[1] - whole[0] <= LONGEST:
        return [whole]
    pieces: list[tuple[int, int]] = []
    start, end = places[0]
    for place in places[1:]:
        if place.end - start > LONGEST:
            pieces.append((start, end))
            start = place.start
        end = place.end
    return [*pieces, (start, end)]


class Links:
    """Which passages belong together: by rare words that they share, or by nearness of embeddings where there are some.

    The weight of a shared stem is its idf, and only stems of at most a fiftieth of the passages count. Passages that
    say nearly the same are not linked: a question that needs both could not be asked.
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
        """The passages nearest to one, best first; none where it shares nothing with any."""
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
        """One of the nearest, by a draw."""
        near = self.near(at)
        return draw.choice(near) if near else None

    def _apart(self, own: np.ndarray[tuple[int, ...], np.dtype[np.uint64]], other: int) -> bool:
        return jaccard(own, grams_of(self.passages[other].text)) < _TOO_NEAR
