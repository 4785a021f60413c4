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

Beside them, or alone, ``search_batch(queries, limit)`` or ``retrieve_batch(queries, k)`` for many queries at once. Any
of them may be a coroutine or an asynchronous generator.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeAlias

from ..core.errors import WrongType

BATCH = 64
"""Questions that a batch method gets at once."""
MOST = 100_000
"""Results that are taken from a generator."""
LIMITS = ("limit", "k", "top_k", "n", "num_results", "n_results", "size")
QUESTIONS = ("query", "question", "queries", "text", "q")
One: TypeAlias = Callable[[str, int], object]
Many: TypeAlias = Callable[[Sequence[str], int], Sequence[object]]


class Caller(NamedTuple):
    """A system as functions of a question and a number of results; what they return may be awaitable."""

    name: str
    one: One
    many: Many | None = None


def caller_of(system: object) -> Caller:
    """How to call a system; WrongType for what has none of the shapes."""
    one, many = _one(system), _many(system)
    if one is None and many is not None:
        one = partial(alone, many)
    if one is None:
        raise WrongType(
            f"not a retriever: {type(system).__name__}"
            " (expected .search(query, limit=), .retrieve(query, k), a whole system or a callable)"
        )
    return Caller(name_of(system), partial(_gathered, one), many)


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
    many = method(system, "search_batch", "retrieve_batch")
    return None if many is None else called(many)  # type: ignore[return-value]


def alone(many: Callable[..., object], question: str, other: object) -> object:
    """One question of what takes several; ``other`` is the number of results, or the context of an answer."""
    found = many([question], [other] if isinstance(other, str) else other)
    return _first(found) if inspect.isawaitable(found) else _only(found)


async def _first(found: Awaitable[object]) -> object:
    return _only(await found)


def _only(found: object) -> object:
    if not isinstance(found, Sequence) or len(found) != 1:
        raise WrongType(f"a batch of 1 query gives a list of 1 result, not {type(found).__name__}")
    return found[0]


def _gathered(one: One, question: str, k: int) -> object:
    """What a call gives; what comes one by one as a list, so that its time is that of the call."""
    result = one(question, k)
    if isinstance(result, AsyncIterator):
        return _list(result)
    return _bounded(list(islice(result, MOST + 1))) if isinstance(result, Iterator) else result


async def _list(items: AsyncIterator[object]) -> list[object]:
    found: list[object] = []
    async for item in items:
        found.append(item)
        if len(found) > MOST:
            break
    return _bounded(found)


def _bounded(found: list[object]) -> list[object]:
    if len(found) > MOST:
        raise WrongType(f"a retriever that gives results one by one ends after at most {MOST:,}")
    return found


def called(function: Callable[..., object]) -> One:
    """How a function takes the number of results: by name where it has one for it, else by place, else not at all."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # built in C: no signature to read
        return function
    asked = next((name for name in QUESTIONS if name in parameters), None)
    if asked is not None and parameters[asked].kind is inspect.Parameter.KEYWORD_ONLY:
        return lambda query, k: function(**{asked: query}, **_limit(function, k))
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
