"""A simple baseline retriever: documents by the number of words shared with the query."""

from __future__ import annotations

from collections.abc import Mapping

from ..text.tokens import content_words


class Overlap:
    """Documents by the number of distinct content words shared with the query: no stems, no weights, no lengths."""

    def __init__(self, corpus: Mapping[str, str]) -> None:
        self.name = "overlap"
        self._texts = corpus
        self._words = {doc: frozenset(content_words(text)) for doc, text in corpus.items()}

    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        """The best documents with their scores, ties in order of id."""
        wanted = set(content_words(query))
        shared = ((doc, float(len(wanted & words))) for doc, words in self._words.items())
        return sorted((hit for hit in shared if hit[1] > 0), key=lambda hit: (-hit[1], hit[0]))[:limit]

    def retrieve(self, query: str, k: int) -> list[tuple[str, float]]:
        """The same as ``search``."""
        return self.search(query, k)

    def context_text(self, id: str) -> str | None:  # noqa: A002 - the word of the public protocol
        """The text of a document."""
        return self._texts.get(id)
