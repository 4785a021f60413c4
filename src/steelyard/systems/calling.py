"""How a system is called: one convention for all the shapes that retrievers and whole systems come in.

Shapes, in the order in which they are looked for; each is recognised by what the object has:

    ask(question, k)                          a whole system, such as ``Http`` and ``Command`` here
    query(question) and synthesize            a LlamaIndex query engine
    similarity_search(query, k=)              a LangChain vector store
    search(query, limit=)                     also asearch
    retrieve(query, k)                        also aretrieve; a LlamaIndex retriever is asked for k by a copy of it
    run(query=, top_k=)                       a Haystack retriever
    invoke(input)                             a LangChain retriever or chain
    query(question)
    a callable

Beside them ``search_batch(queries, limit)`` or ``retrieve_batch(queries, k)`` for all queries at once.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from ..errors import WrongType

LIMITS = ("limit", "k", "top_k", "n", "num_results", "n_results", "size")
One: TypeAlias = Callable[[str, int], object]
Many: TypeAlias = Callable[[Sequence[str], int], Sequence[object]]


class Caller(NamedTuple):
    """A system as functions of a question and a number of results; what they return may be awaitable."""

    name: str
    one: One
    many: Many | None = None


def caller_of(system: object) -> Caller:
    """How to call a system; WrongType for what has none of the shapes."""
    one = _one(system)
    if one is None:
        raise WrongType(
            f"not a retriever: {type(system).__name__}"
            " (expected .search(query, limit=), .retrieve(query, k), a whole system or a callable)"
        )
    return Caller(name_of(system), one, _many(system))


def name_of(system: object) -> str:
    """What a system calls itself, else the name of its class.

    >>> name_of(len), name_of([])
    ('len', 'list')
    """
    own = getattr(system, "name", None) or getattr(system, "__name__", None)
    return own if isinstance(own, str) and own != "<lambda>" else type(system).__name__


def method(thing: object, *names: str) -> Callable[..., object] | None:
    """The first of the methods that a thing has."""
    for name in names:
        found = getattr(thing, name, None)
        if callable(found):
            return found  # type: ignore[no-any-return]
    return None


def _one(system: object) -> One | None:
    if (ask := method(system, "ask")) is not None:
        return called(ask)
    query = method(system, "query")
    if query is not None and method(system, "synthesize") is not None:
        return called(query)
    if (similar := method(system, "similarity_search")) is not None:
        return lambda question, k: similar(question, k=k)
    if (search := method(system, "search", "asearch")) is not None:
        return called(search)
    if (retrieve := method(system, "retrieve", "aretrieve")) is not None:
        return called(retrieve) if not hasattr(system, "similarity_top_k") else partial(_deeper, system)
    if (run := method(system, "run")) is not None and "query" in _parameters(run):
        return lambda question, k: run(query=question, **_limit(run, k))
    if (invoke := method(system, "invoke", "ainvoke")) is not None:
        return _invoked(system, invoke)
    if query is not None:
        return called(query)
    return called(system) if callable(system) else None


def _many(system: object) -> Many | None:
    return method(system, "search_batch", "retrieve_batch")  # type: ignore[return-value]


def called(function: Callable[..., object]) -> One:
    """How a function takes the number of results: by name where it has one for it, else by place, else not at all."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # built in C: no signature to read
        return function
    for name in LIMITS:
        if name in parameters and parameters[name].kind is not inspect.Parameter.POSITIONAL_ONLY:
            return lambda query, k: function(query, **{name: k})
    kinds = [one.kind for one in parameters.values()]
    places = [one for one in parameters.values() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    if sum(one.default is one.empty for one in places) > 1 or inspect.Parameter.VAR_POSITIONAL in kinds:
        return function
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return lambda query, k: function(query, k=k)
    return lambda query, _: function(query)


def _limit(function: Callable[..., object], k: int) -> dict[str, int]:
    parameters = _parameters(function)
    return next(({name: k} for name in LIMITS if name in parameters), {})


def _parameters(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _deeper(system: object, question: str, k: int) -> object:
    """A LlamaIndex retriever holds the number of results itself: a shallow copy is told ours, the user's stays."""
    mine = copy.copy(system)
    mine.similarity_top_k = k  # type: ignore[attr-defined]
    return mine.retrieve(question)  # type: ignore[attr-defined]


def _invoked(system: object, invoke: Callable[..., object]) -> One:
    """LangChain: a retriever over a store takes k; other retrievers and chains take a question, chains by a key.

    A chain that wants a mapping says so in its input schema; where that names several keys, ``Described`` names one.
    """
    if isinstance(getattr(system, "search_kwargs", None), Mapping):
        return lambda question, k: invoke(question, k=k)
    key = input_key(system)
    return (lambda question, _: invoke(question)) if key is None else (lambda question, _: invoke({key: question}))


def input_key(chain: object) -> str | None:
    """The one key of a chain's input mapping; None where it takes a text."""
    keys = getattr(chain, "input_keys", None)
    if isinstance(keys, list) and len(keys) == 1 and isinstance(keys[0], str):
        return keys[0]
    schema = method(chain, "get_input_jsonschema")
    told = schema() if schema is not None else None
    if not isinstance(told, Mapping) or told.get("type") != "object":
        return None
    fields = told.get("required") or list(told.get("properties") or ())
    known = [name for name in ("input", "question", "query", "user_input") if name in fields]
    if known:
        return known[0]
    if hasattr(getattr(chain, "first", chain), "mapper"):  # it assigns keys to its input, so that is a mapping
        return "input"
    return fields[0] if len(fields) == 1 and fields[0] != "root" else None  # a "root" stands for a plain text
