"""What a system has to have: the protocols, and retrievers in any of their usual shapes as one function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from ..core.async_bridge import wait
from ..core.errors import WrongType
from .adapters import BATCH, Many, caller_of
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


def searcher(retriever: object, queries: Sequence[str] = ()) -> Search:
    """One calling convention for retrievers of every shape; see ``calling`` for which there are.

    ``queries`` are all that will be searched for: a retriever with a batch method gets them together. A batch that
    fails is asked one by one, so that the error is that of its query.

    >>> searcher(lambda query, k: ["d1", "d2"])("q", 2)
    ['d1', 'd2']
    """
    caller = caller_of(retriever)
    ahead: dict[str, object] = {}
    left = list(dict.fromkeys(queries)) if caller.many is not None else []

    def search(query: str, limit: int) -> Iterable[object]:
        if caller.many is not None and query in left[:1]:
            batch, left[:BATCH] = left[:BATCH], []
            ahead.update(_together(caller.many, batch, limit))
        result = ahead.pop(query) if query in ahead else _waited(caller.one(query, limit))
        if isinstance(result, list | tuple):
            return result
        hits = None if result is None or isinstance(result, str | bytes) else output_of(result).hits
        if hits is None:
            raise WrongType(f"a retriever returns a list of results, not {type(result).__name__}")
        return hits

    return search


def _together(many: Many, batch: Sequence[str], limit: int) -> dict[str, object]:
    """The results of a batch by query; nothing where it failed as a whole."""
    try:
        results = _waited(many(batch, limit))
    except Exception:  # noqa: BLE001 - each is asked by itself then, and raises what it raises
        return {}
    if not isinstance(results, list | tuple) or len(results) != len(batch):
        return {}
    return dict(zip(batch, results, strict=True))


def _waited(result: object) -> object:
    return wait(result) if inspect.isawaitable(result) else result
