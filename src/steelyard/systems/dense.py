"""Dense retrieval: the documents with the embeddings nearest to that of the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from ..core.errors import BadReply
from ..core.records import Usage
from ..core.requests import Flow, embed
from ..models.cell import Cell
from ..models.embedder import Embedder, embedder_of
from ..models.engine import Engine
from .chunks import ChunkedCorpus, Results

_TEXTS = 64
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]


class Dense:
    """A retriever over the embeddings of a corpus, by exact cosine similarity.

    ``embedder`` is an embedder or its spelling, such as ``local``. Vectors are cached in the ledger, so a corpus is
    embedded once. ``prefix`` is put before queries and ``passage_prefix`` before passages, for models that need it.
    ``usage`` is the usage of embeddings so far.
    """

    def __init__(
        self,
        corpus: Mapping[str, str],
        embedder: Embedder | str,
        *,
        chunk: int | None = None,
        overlap: int = 0,
        prefix: str = "",
        passage_prefix: str = "",
        ledger: str | Path | None = None,
        name: str = "dense",
    ) -> None:
        self.name, self.embedder, self.usage, self._unreported = name, embedder_of(embedder), Usage(), Usage()
        self._passages, self._prefix, self._ledger = ChunkedCorpus(corpus, chunk, overlap), prefix, ledger
        self._order = np.argsort(np.argsort(np.array([chunk.id for chunk in self._passages.chunks], dtype=object)))
        self._vectors = self._embedded([passage_prefix + chunk.text for chunk in self._passages.chunks])

    def search(self, query: str, limit: int) -> Results:
        """The nearest documents with their cosines, ties in order of id."""
        return self.search_batch([query], limit)[0]

    def search_batch(self, queries: Sequence[str], limit: int) -> list[Results]:
        """The same for many queries, embedded together."""
        wanted = self._embedded([self._prefix + query for query in queries])
        return [self._nearest(self._vectors @ vector, limit) for vector in wanted]

    def retrieve(self, query: str, k: int) -> Results:
        """The same as ``search``."""
        return self.search(query, k)

    def context_text(self, id: str) -> str | None:  # noqa: A002 - the word of the public protocol
        """The text of a document."""
        return self._passages.text(id)

    def take_usage(self) -> Usage:
        """The usage of embeddings since the last call: first of the corpus, then of the queries."""
        taken, self._unreported = self._unreported, Usage()
        return taken

    def _nearest(self, scores: np.ndarray[tuple[int], np.dtype[np.float32]], limit: int) -> Results:
        limit = min(limit, len(scores))
        if limit < len(scores):
            least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            rows = np.flatnonzero(scores >= least)
        else:
            rows = np.arange(len(scores))
        best = rows[np.lexsort((self._order[rows], -scores[rows]))][:limit].tolist()
        return self._passages.results(best, scores[best].astype(np.float64).tolist())

    def _embedded(self, texts: Sequence[str]) -> Matrix:
        vectors, usage = embed_all(texts, self.embedder, ledger=self._ledger)
        self.usage, self._unreported = self.usage + usage, self._unreported + usage
        return vectors


def embed_all(
    texts: Sequence[str], embedder: Embedder | str, *, ledger: str | Path | None = None
) -> tuple[Matrix, Usage]:
    """The unit vectors of texts, one row each, and their usage. The error of a failed call is raised.

    A zero vector stays zero, so its cosine with every vector is 0.
    """
    found: dict[int, Sequence[Sequence[float]]] = {}

    def rule(start: int) -> Flow:
        found[start] = yield from embed(texts[start : start + _TEXTS])
        return 0.0

    engine = Engine(embedder=embedder, ledger=ledger)
    for result in engine.run(Cell(start, partial(rule, start)) for start in range(0, len(texts), _TEXTS)):
        if result.error is not None:
            raise result.error
    rows = [vector for start in sorted(found) for vector in found[start]]
    if len({len(row) for row in rows}) > 1:
        raise BadReply("embedding", "vectors of several lengths from one embedder")
    matrix: Matrix = np.array(rows, dtype=np.float32).reshape(len(rows), -1)
    if not np.isfinite(matrix).all():
        raise BadReply("embedding", "a vector has a number that is not finite")
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit: Matrix = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
    return unit, engine.usage
