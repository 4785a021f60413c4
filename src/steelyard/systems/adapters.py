"""One adapter for all shapes of retrievers and whole systems: a function of a question and a number of results.

Supported shapes, in the order of the checks; each is recognised by the methods of the object:

    ask(question, k)                          a whole system, such as ``Http`` and ``Command``
    query(question) and synthesize            a LlamaIndex query engine
    similarity_search(query, k=)              a LangChain vector store
    search(query, limit=)                     also asearch
    retrieve(query, k)                        also aretrieve; a copy of a LlamaIndex retriever gets k
    run(query=, top_k=)                       a Haystack retriever
    invoke(input)                             a LangChain retriever or chain
    query(question)
    a callable

A system may also have, in addition or alone, ``search_batch(queries, limit)`` or ``retrieve_batch(queries, k)`` for
many queries in one call. Each of these methods may be a coroutine or an asynchronous generator.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeAlias

from ..core.async_bridge import wait
from ..core.errors import WrongType

BATCH = 64
"""Number of questions in one call of a batch method."""
MAX_RESULTS = 100_000
"""Largest number of results that a generator may yield."""
LIMITS = ("limit", "k", "top_k", "n", "num_results", "n_results", "size")
QUESTIONS = ("query", "question", "queries", "text", "q")
Ask: TypeAlias = Callable[[str, int], object]
AskMany: TypeAlias = Callable[[Sequence[str], int], Sequence[object]]


class SystemAdapter(NamedTuple):
    """A system as functions of a question (or many) and a number of results; the returned values may be awaitable."""

    name: str
    one: Ask
    many: AskMany | None = None


def adapt(system: object) -> SystemAdapter:
    """The adapter of a system; WrongType for an object of no supported shape."""
    one, many = _one(system), _many(system)
    if one is None and many is not None:
        one = partial(ask_batch_of_one, many)
    if one is None:
        raise WrongType(
            f"not a retriever: {type(system).__name__}"
            " (expected .search(query, limit=), .retrieve(query, k), a whole system or a callable)"
        )
    return SystemAdapter(name_of(system), partial(_as_list, one), many)


def name_of(system: object) -> str:
    """The ``name`` of a system, or of a function, or else the name of its class.

    >>> name_of(len), name_of([])
    ('len', 'list')
    """
    own = getattr(system, "name", None) or getattr(system, "__name__", None)
    return own if isinstance(own, str) and own != "<lambda>" else type(system).__name__


def find_method(thing: object, *names: str) -> Callable[..., object] | None:
    """The first of these methods that an object has; None if it has none."""
    for name in names:
        found = getattr(thing, name, None)
        if callable(found):
            return found  # type: ignore[no-any-return]
    return None


def _one(system: object) -> Ask | None:
    if (ask := find_method(system, "ask")) is not None:
        return with_limit(ask)
    query = find_method(system, "query")
    if query is not None and find_method(system, "synthesize") is not None:
        return with_limit(query)
    if (similar := find_method(system, "similarity_search")) is not None:
        return lambda question, k: similar(question, k=k)
    if (search := find_method(system, "search", "asearch")) is not None:
        return with_limit(search)
    if (retrieve := find_method(system, "retrieve", "aretrieve")) is not None:
        return with_limit(retrieve) if not hasattr(system, "similarity_top_k") else partial(_with_top_k, system)
    if (run := find_method(system, "run")) is not None and "query" in _parameters(run):
        return lambda question, k: run(query=question, **_limit(run, k))
    if (invoke := find_method(system, "invoke", "ainvoke")) is not None:
        return _invoked(system, invoke)
    if query is not None:
        return with_limit(query)
    return with_limit(system) if callable(system) else None


def _many(system: object) -> AskMany | None:
    many = find_method(system, "search_batch", "retrieve_batch")
    return None if many is None else with_limit(many)  # type: ignore[return-value]


def ask_batch_of_one(many: Callable[..., object], question: str, other: object) -> object:
    """Call a batch method with one question; ``other`` is the number of results, or the context of an answer."""
    results = many([question], [other] if isinstance(other, str) else other)
    return _only_result_async(results) if inspect.isawaitable(results) else _only_result(results)


async def _only_result_async(results: Awaitable[object]) -> object:
    return _only_result(await results)


def _only_result(results: object) -> object:
    if not isinstance(results, Sequence) or len(results) != 1:
        raise WrongType(f"a batch method must return 1 result for 1 query, not {type(results).__name__}")
    return results[0]


def resolve(result: object) -> object:
    """The result of a call, after waiting for it if it is awaitable."""
    return wait(result) if inspect.isawaitable(result) else result


def _as_list(one: Ask, question: str, k: int) -> object:
    """Call a system; collect the results of a generator in a list, so that they count in the time of the call."""
    result = one(question, k)
    if isinstance(result, AsyncIterator):
        return _collect_async(result)
    return _bounded(list(islice(result, MAX_RESULTS + 1))) if isinstance(result, Iterator) else result


async def _collect_async(items: AsyncIterator[object]) -> list[object]:
    results: list[object] = []
    async for item in items:
        results.append(item)
        if len(results) > MAX_RESULTS:
            break
    return _bounded(results)


def _bounded(results: list[object]) -> list[object]:
    if len(results) > MAX_RESULTS:
        raise WrongType(f"a retriever that yields its results must stop after at most {MAX_RESULTS:,}")
    return results


def with_limit(function: Callable[..., object]) -> Ask:
    """The function with the number of results passed by keyword if it has one, else by position, else not at all."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # built in C: no signature to read
        return function
    question_name = next((name for name in QUESTIONS if name in parameters), None)
    if question_name is not None and parameters[question_name].kind is inspect.Parameter.KEYWORD_ONLY:
        return lambda query, k: function(**{question_name: query}, **_limit(function, k))
    for name in LIMITS:
        if name in parameters and parameters[name].kind is not inspect.Parameter.POSITIONAL_ONLY:
            return lambda query, k: function(query, **{name: k})
    kinds = [one.kind for one in parameters.values()]
    positional = [one for one in parameters.values() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    if sum(one.default is one.empty for one in positional) > 1 or inspect.Parameter.VAR_POSITIONAL in kinds:
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


def _with_top_k(system: object, question: str, k: int) -> object:
    """A LlamaIndex retriever stores the number of results: set it on a shallow copy, not on the user's object."""
    changed = copy.copy(system)
    changed.similarity_top_k = k  # type: ignore[attr-defined]
    return changed.retrieve(question)  # type: ignore[attr-defined]


def _invoked(system: object, invoke: Callable[..., object]) -> Ask:
    """LangChain: a retriever over a store accepts k; other retrievers and chains accept a question, some as a mapping.

    The input schema of a chain shows whether it needs a mapping; if the schema has several keys, use ``Described``.
    """
    if isinstance(getattr(system, "search_kwargs", None), Mapping):
        return lambda question, k: invoke(question, k=k)
    key = input_key(system)
    return (lambda question, _: invoke(question)) if key is None else (lambda question, _: invoke({key: question}))


def input_key(chain: object) -> str | None:
    """The only key of the input mapping of a chain; None if its input is a text."""
    keys = getattr(chain, "input_keys", None)
    if isinstance(keys, list) and len(keys) == 1 and isinstance(keys[0], str):
        return keys[0]
    schema = find_method(chain, "get_input_jsonschema")
    described = schema() if schema is not None else None
    if not isinstance(described, Mapping) or described.get("type") != "object":
        return None
    fields = described.get("required") or list(described.get("properties") or ())
    known = [name for name in ("input", "question", "query", "user_input") if name in fields]
    if known:
        return known[0]
    if hasattr(getattr(chain, "first", chain), "mapper"):  # it assigns keys to its input, so the input is a mapping
        return "input"
    return fields[0] if len(fields) == 1 and fields[0] != "root" else None  # "root" means a plain text
