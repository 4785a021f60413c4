"""Retrievers in any of their usual shapes, as one function from a query to document ids.

A shape is recognised by what an object has, never by calling it and seeing what breaks.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeAlias, runtime_checkable

from ..errors import InputError, WrongType

Search: TypeAlias = Callable[[str, int], Iterable[object]]

ID_FIELDS = ("source_id", "doc_id", "document_id", "id_", "node_id", "id", "_id")
SOURCE_FIELDS = ("source", "source_id", "doc_id", "document_id", "id")


@runtime_checkable
class Retriever(Protocol):
    """Anything that finds documents: ``retrieve(query, k)`` gives ids, hits or mappings, best first."""

    def retrieve(self, query: str, k: int) -> Iterable[object]:
        """The best ``k`` documents for a query, best first."""
        ...


@runtime_checkable
class Answerer(Protocol):
    """Anything that answers a question from a context."""

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
    """One calling convention for ``.search(query, limit=)``, ``.retrieve(query, k)`` and plain callables.

    >>> searcher(lambda query, k: ["d1", "d2"])("q", 2)
    ['d1', 'd2']
    """
    for name in ("search", "retrieve"):
        method = getattr(retriever, name, None)
        if callable(method):
            return _called(method)
    if callable(retriever):
        return _called(retriever)
    raise WrongType(
        f"not a retriever: {type(retriever).__name__}"
        " (expected .search(query, limit=), .retrieve(query, k) or a callable)"
    )


def _called(method: Callable[..., Iterable[object]]) -> Search:
    """How a function takes the number of documents: by name where it has one for it, else by place, else not at all."""
    try:
        parameters = inspect.signature(method).parameters
    except (TypeError, ValueError):  # built in C: no signature to read
        return method
    for name in ("limit", "k", "top_k", "n", "num_results"):
        if name in parameters and parameters[name].kind is not inspect.Parameter.POSITIONAL_ONLY:
            return lambda query, k: method(query, **{name: k})
    kinds = [one.kind for one in parameters.values()]
    places = [one for one in parameters.values() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    if sum(one.default is one.empty for one in places) > 1 or inspect.Parameter.VAR_POSITIONAL in kinds:
        return method
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return lambda query, k: method(query, k=k)
    return lambda query, _: method(query)


def document_id(hit: object) -> str:
    """The id of the source document of one result: an id, an (id, score) pair, a hit, a mapping, a document.

    >>> document_id(("d1", 0.5)), document_id({"metadata": {"source": "d2"}, "id": "chunk-7"})
    ('d1', 'd2')
    """
    found = _find_id(hit)
    if found is None or isinstance(found, bool) or not isinstance(found, str | int) or found == "":
        raise InputError(
            f"a result without a document id: {str(hit)[:120]!r} (expected an id, a pair, a hit or a mapping)"
        )
    return str(found)


def _find_id(hit: object) -> object:
    if isinstance(hit, str | int):
        return hit
    if isinstance(hit, tuple | list):
        return _find_id(hit[0]) if hit else None
    node = _part(hit, "node")
    if node is not None:
        return _find_id(node)
    if (source := _part(hit, "source_id")) is not None:
        return source
    metadata = _part(hit, "metadata") or _part(hit, "meta")
    if isinstance(metadata, Mapping):
        for name in SOURCE_FIELDS:
            if metadata.get(name) is not None:
                return metadata[name]
    return next((value for name in ID_FIELDS if (value := _part(hit, name)) is not None), None)


def _part(hit: object, name: str) -> object:
    return hit.get(name) if isinstance(hit, Mapping) else getattr(hit, name, None)


def document_ids(hits: Iterable[object], limit: int) -> tuple[list[str], int]:
    """The source documents of a result list, each at its best rank, and how many repeats that removed."""
    if isinstance(hits, str | bytes) or not isinstance(hits, Iterable):
        raise WrongType(f"a retriever returns a list of results, not {type(hits).__name__}")
    found = [document_id(hit) for hit in hits]
    unique = list(dict.fromkeys(found))
    return unique[:limit], len(found) - len(unique)
