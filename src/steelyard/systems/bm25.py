"""BM25 over a corpus, with tokens that work in any script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import InputError, MissingExtra
from ..text import content_words, stem


class BM25:
    """A retriever: ``search(query, limit)`` gives ``(id, score)`` pairs, best first.

    Robertson and Zaragoza 2009, in the form of Lucene: idf = ln(1 + (N - n + 0.5) / (n + 0.5)), term frequencies
    saturated by ``k1`` and normalised by length with ``b``. Terms are stemmed content words. Documents that share no
    term with the query are not returned.
    """

    def __init__(
        self, corpus: Mapping[str, str], *, k1: float = 1.2, b: float = 0.75, language: str = "english"
    ) -> None:
        try:
            import bm25s
        except ImportError:
            raise MissingExtra("bm25s", extra="systems") from None
        if not corpus:
            raise InputError("the corpus is empty")
        self.name = "bm25"
        self.ids, self.language = list(corpus), language
        self._texts = corpus
        self._index = bm25s.BM25(k1=k1, b=b, method="lucene")
        self._index.index([self._terms(text) for text in corpus.values()], show_progress=False)

    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        """The best documents for a query with their scores, ties in order of id."""
        terms = [term for term in self._terms(query) if term in self._index.vocab_dict]
        if not terms:
            return []
        scores = np.asarray(self._index.get_scores(terms), dtype=np.float64)
        hits = np.flatnonzero(scores > 0)
        best = sorted(hits.tolist(), key=lambda row: (-scores[row], self.ids[row]))[:limit]
        return [(self.ids[row], float(scores[row])) for row in best]

    def retrieve(self, query: str, k: int) -> list[tuple[str, float]]:
        """``search`` under its other name."""
        return self.search(query, k)

    def context_text(self, id: str) -> str | None:  # noqa: A002 - the word of the public protocol
        """The text of a document."""
        return self._texts.get(id)

    def _terms(self, text: str) -> Sequence[str]:
        return stem(content_words(text), self.language)
