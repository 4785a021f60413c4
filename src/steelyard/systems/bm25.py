"""BM25 over a corpus, with tokens that work in any script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType

import numpy as np

from ..core.errors import InputError, MissingExtra
from ..text.tokens import content_words, stem
from .chunks import ChunkedCorpus, Results


def library() -> ModuleType:
    """Import the library that computes BM25; MissingExtra if it is not installed."""
    try:
        return import_module("bm25s")
    except ImportError:
        raise MissingExtra("bm25s", extra="systems") from None


class BM25:
    """A retriever: ``search(query, limit)`` returns ``(id, score)`` pairs, best first.

    Robertson and Zaragoza 2009, in the form of Lucene: idf = ln(1 + (N - n + 0.5) / (n + 0.5)), term frequencies
    saturated by ``k1`` and normalised by length with ``b``. Terms are stemmed content words; without ``language`` the
    script of a word selects its stemmer. Documents that share no term with the query are not returned. With
    ``chunk`` the corpus is split into chunks of that many characters, and the results are hits with their offsets.
    """

    def __init__(
        self,
        corpus: Mapping[str, str],
        *,
        k1: float = 1.2,
        b: float = 0.75,
        language: str | None = None,
        chunk: int | None = None,
        overlap: int = 0,
        name: str = "bm25",
    ) -> None:
        bm25s = library()
        if not (k1 >= 0 and 0 <= b <= 1):
            raise InputError(f"k1={k1}, b={b}: expected k1 of at least 0 and b from 0 to 1")
        self.name, self.language = name, language
        self._passages = ChunkedCorpus(corpus, chunk, overlap)
        self._order = [chunk.id for chunk in self._passages.chunks]
        self._index = bm25s.BM25(k1=k1, b=b, method="lucene")
        terms = [self._terms(chunk.text) for chunk in self._passages.chunks]
        if not any(terms):
            raise InputError("no document of the corpus has a word to search for")
        self._index.index(terms, show_progress=False)

    def search(self, query: str, limit: int) -> Results:
        """The best documents for a query with their scores, ties in order of id."""
        terms = [term for term in self._terms(query) if term in self._index.vocab_dict]
        if not terms:
            return []
        scores = np.asarray(self._index.get_scores(terms), dtype=np.float64)
        hits = np.flatnonzero(scores > 0)
        best = sorted(hits.tolist(), key=lambda row: (-scores[row], self._order[row]))[:limit]
        return self._passages.results(best, scores[best].tolist())

    def retrieve(self, query: str, k: int) -> Results:
        """The same as ``search``."""
        return self.search(query, k)

    def context_text(self, id: str) -> str | None:  # noqa: A002 - the word of the public protocol
        """The text of a document."""
        return self._passages.text(id)

    def _terms(self, text: str) -> Sequence[str]:
        return stem(content_words(text), self.language)
