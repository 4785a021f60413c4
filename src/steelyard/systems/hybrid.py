"""Reciprocal rank fusion of several retrievers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from ..core.errors import InputError, WrongType
from ..core.records import Usage
from ..core.wording import pluralize
from .adapters import SystemAdapter, adapt, find_method, resolve
from .hits import Hit, hit_of, listed


class Hybrid:
    """A retriever that fuses others: the score of a document is the sum of ``weight / (k + rank)`` over their lists.

    Cormack, Clarke and Büttcher 2009, with their k of 60. Each retriever returns ``depth`` results. Chunks are fused
    by the ids of the chunks, documents by the ids of the documents.

    >>> fused = Hybrid([lambda query, k: ["d1", "d2"], lambda query, k: ["d2", "d3"]])
    >>> [hit.id for hit in fused.search("q", 2)]
    ['d2', 'd1']
    """

    def __init__(
        self,
        retrievers: Sequence[object],
        *,
        k: int = 60,
        depth: int = 100,
        weights: Sequence[float] | None = None,
        name: str = "hybrid",
    ) -> None:
        if not isinstance(retrievers, Sequence):
            raise WrongType(f"a hybrid needs a list of retrievers, not {type(retrievers).__name__}")
        if not retrievers:
            raise InputError("a hybrid needs at least one retriever")
        if weights is not None and len(weights) != len(retrievers):
            raise InputError(f"{pluralize(len(weights), 'weight')} for {pluralize(len(retrievers), 'retriever')}")
        if k < 0 or depth < 1:
            raise InputError(f"k={k}, depth={depth}: expected k of at least 0 and depth of at least 1")
        self.name, self.k, self.depth = name, k, depth
        self.weights = list(weights) if weights is not None else [1.0] * len(retrievers)
        self._parts, self._adapters = list(retrievers), [adapt(one) for one in retrievers]

    def search(self, query: str, limit: int) -> list[Hit]:
        """The fused list, ties in order of id."""
        depth = max(limit, self.depth)
        return self._fused([self._results(adapter, query, depth) for adapter in self._adapters], limit)

    def search_batch(self, queries: Sequence[str], limit: int) -> list[list[Hit]]:
        """The same for many queries."""
        depth = max(limit, self.depth)
        columns = [
            list(adapter.many(queries, depth))
            if adapter.many is not None
            else [self._results(adapter, query, depth) for query in queries]
            for adapter in self._adapters
        ]
        return [self._fused(row, limit) for row in zip(*columns, strict=True)]

    def retrieve(self, query: str, k: int) -> list[Hit]:
        """The same as ``search``."""
        return self.search(query, k)

    def context_text(self, id: str) -> str | None:  # noqa: A002 - the word of the public protocol
        """The text of a document, from the first part that has it."""
        for part in self._parts:
            text_of = find_method(part, "context_text")
            text = text_of(id) if text_of is not None else None
            if isinstance(text, str) and text:
                return text
        return None

    def take_usage(self) -> Usage:
        """The usage of the parts that count it, since the last call."""
        usages = [take() for part in self._parts if (take := find_method(part, "take_usage")) is not None]
        return sum((one for one in usages if isinstance(one, Usage)), Usage())

    def _results(self, adapter: SystemAdapter, query: str, depth: int) -> object:
        return resolve(adapter.one(query, depth))

    def _fused(self, lists: Sequence[object], limit: int) -> list[Hit]:
        scores: dict[str, float] = defaultdict(float)
        hits: dict[str, Hit] = {}
        for weight, results in zip(self.weights, lists, strict=True):
            ranked: dict[str, Hit] = {}
            for result in listed(results):
                hit = hit_of(result)
                ranked.setdefault(hit.chunk or hit.id or "", hit)
            for rank, (key, hit) in enumerate(ranked.items(), 1):
                scores[key] += weight / (self.k + rank)
                hits.setdefault(key, hit)
        best = sorted(scores, key=lambda key: (-scores[key], key))[:limit]
        return [replace(hits[key], score=scores[key]) for key in best]
