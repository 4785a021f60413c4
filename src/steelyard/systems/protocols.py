"""What a system has to have: the protocols, and retrievers in any of their usual shapes as one function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias, runtime_checkable

from ..errors import WrongType
from ..loops import wait
from .calling import caller_of
from .hits import document_id, document_ids
from .outputs import output_of

__all__ = [
    "Answerer", "RetrievalSystem", "Retriever", "Search", "document_id", "document_ids", "searcher",
]  # fmt: skip

Search: TypeAlias = Callable[[str, int], Iterable[object]]


@runtime_checkable
class Retriever(Protocol):
    """Anything that finds documents: ``retrieve(query, k)`` gives ids, hits or mappings, best first.

    It may be ``async``. ``search(query, limit=)`` and a plain callable serve as well, and so does
    ``retrieve_batch(queries, k)``, which gives one list per query.
    """

    def retrieve(self, query: str, k: int) -> Iterable[object]:
        """The best ``k`` documents for a query, best first."""
        ...


@runtime_checkable
class Answerer(Protocol):
    """Anything that answers a question from a context.

    It may be ``async``, and ``answer_batch(questions, contexts)``, which gives one answer or exception per question, is
    called instead where it is there.
    """

    def answer(self, question: str, context: str) -> str:
        """The answer to a question, given the context that was retrieved for it."""
        ...


@runtime_checkable
class RetrievalSystem(Retriever, Protocol):
    """A retriever that can also give the text of a document."""

    def context_text(self, id: str) -> str | None:  # noqa: A002 - the word of the public protocol
        """The text of a document; None or blank where there is none."""
        ...


def searcher(retriever: object) -> Search:
    """One calling convention for retrievers of every shape; see ``calling`` for which there are.

    >>> searcher(lambda query, k: ["d1", "d2"])("q", 2)
    ['d1', 'd2']
    """
    call = caller_of(retriever).one

    def search(query: str, limit: int) -> Iterable[object]:
        result = call(query, limit)
        if inspect.isawaitable(result):
            result = wait(result)
        if isinstance(result, list | tuple):
            return result
        hits = None if result is None or isinstance(result, str | bytes) else output_of(result).hits
        if hits is None:
            raise WrongType(f"a retriever returns a list of results, not {type(result).__name__}")
        return hits

    return search
