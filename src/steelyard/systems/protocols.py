"""The protocols of retrievers and answerers. ``adapters`` lists every other shape of a system."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable


@runtime_checkable
class Retriever(Protocol):
    """A system that finds documents: ``retrieve(query, k)`` returns ids, hits or mappings, best first.

    The method may be ``async``. ``search(query, limit=)``, a plain callable, and ``retrieve_batch(queries, k)``, which
    returns one list for each query, are accepted too.
    """

    def retrieve(self, query: str, k: int) -> Iterable[object]:
        """The best ``k`` documents for a query, best first."""
        ...


@runtime_checkable
class Answerer(Protocol):
    """A system that answers a question from a context.

    The method may be ``async``. If the object has ``answer_batch(questions, contexts)``, which returns one answer or
    exception for each question, that method is called instead.
    """

    def answer(self, question: str, context: str) -> str:
        """The answer to a question from the context that was retrieved for it."""
        ...


@runtime_checkable
class RetrievalSystem(Retriever, Protocol):
    """A retriever that also returns the text of a document."""

    def context_text(self, id: str) -> str | None:  # noqa: A002 - the word of the public protocol
        """The text of a document; None or blank if it has no text."""
        ...
