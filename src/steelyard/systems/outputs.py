"""The output of a system for one question: retrieved results, an answer, or both.

A whole system may return a text, a mapping, a (text, documents) pair, or an object with an answer and its sources; a
retriever returns a list. The type and the fields of the result show which of them it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InputError, WrongType
from ..core.records import Usage
from ..core.requests import replace_surrogates
from ..core.wording import pluralize
from .hits import Hit, hit_of, listed, rows_of

ANSWER_FIELDS = ("answer", "response", "result", "output", "output_text", "generated_answer", "completion")
HIT_FIELDS = (
    "source_nodes", "source_documents", "hits", "results", "documents", "docs", "sources", "retrieved_contexts",
    "contexts", "context", "passages", "chunks",
)  # fmt: skip
IDS_FIELDS = ("retrieved_ids", "ids", "doc_ids", "document_ids")


class Output(Struct, frozen=True, omit_defaults=True):
    """Hits, best first, an answer, and its usage. None means not returned; an empty list or text was returned empty."""

    hits: list[Hit] | None = None
    answer: str | None = None
    usage: Usage | None = None

    @property
    def ids(self) -> list[str] | None:
        """The source documents at their best ranks; None if there are no hits or a hit has no id."""
        if self.hits is None:
            return None
        ids = [hit.id for hit in self.hits if hit.id is not None]
        return list(dict.fromkeys(ids)) if len(ids) == len(self.hits) else None

    @property
    def without_surrogates(self) -> Output:
        """The output with each half of a surrogate pair, which cannot be stored, replaced by a question mark."""
        hits = None if self.hits is None else [_without_surrogates(hit) for hit in self.hits]
        return replace(self, hits=hits, answer=None if self.answer is None else replace_surrogates(self.answer))


def _without_surrogates(hit: Hit) -> Hit:
    texts = [None if text is None else replace_surrogates(text) for text in (hit.id, hit.text, hit.chunk)]
    return hit if texts == [hit.id, hit.text, hit.chunk] else replace(hit, id=texts[0], text=texts[1], chunk=texts[2])


def output_of(result: object) -> Output:
    """Read the result of a call as an ``Output``.

    >>> output_of(["d1", "d2"]).ids
    ['d1', 'd2']
    >>> output_of({"answer": "In 1811.", "contexts": ["Built in 1811."], "ids": ["d7"]}).hits
    [Hit(id='d7', text='Built in 1811.', score=None, chunk=None, start=None, end=None)]
    >>> output_of("In 1811.")
    Output(hits=None, answer='In 1811.', usage=None)
    """
    if isinstance(result, Output):
        return result
    if isinstance(result, str):
        return Output(answer=str(result))  # a plain str, also for a subclass of str
    if result is None:
        raise WrongType("the system returned nothing")
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], str) and _is_list(result[1]):
        return Output(_hits(result[1]), str(result[0]))
    if isinstance(result, list | tuple):
        return Output(_hits(result))
    if (rows := rows_of(result)) is not None:
        return Output(_hits(rows))
    answer, hits, ids = _first(result, ANSWER_FIELDS), _first(result, HIT_FIELDS), _first(result, IDS_FIELDS)
    if answer is None and isinstance(_part(result, "content"), str):  # a chat model's message
        answer = _part(result, "content")
    usage = _usage(result)
    if answer is None and hits is None and ids is None:
        return Output(_hits(listed(result)))
    return Output(_together(hits, ids), None if answer is None else answer_of(answer), usage)


def ranked_ids(output: Output) -> list[str]:
    """The source documents of the output of a retriever, each once at its best rank.

    Raises WrongType for an answer without results, and InputError for a result without an id.

    >>> ranked_ids(output_of([("d2", 0.9), ("d1", 0.5), ("d2", 0.1)]))
    ['d2', 'd1']
    """
    if output.hits is None:
        raise WrongType("a retriever returns a list of results, and this is an answer alone")
    ids = output.ids
    if ids is None:
        raise InputError("a result without a document id")
    return ids


def answer_of(result: object) -> str:
    """Read the result of an answerer: a text, a chat message (``content``), or an object with a ``text`` or an answer.

    >>> answer_of({"answer": "Ada"})
    'Ada'
    """
    if isinstance(result, str):
        return str(result)
    for name in (*ANSWER_FIELDS, "content", "text"):
        if isinstance(found := _part(result, name), str):
            return str(found)
    raise WrongType(f"an answer is a text, not {type(result).__name__}")


def _together(hits: object, ids: object) -> list[Hit] | None:
    """Hits from a list of documents or texts, a list of ids, or both."""
    if ids is not None and not _is_list(ids):
        raise WrongType(f"expected a list of ids, found {type(ids).__name__}")
    if _of_many_queries(ids):
        hits, ids = _of_the_first(hits), _of_the_first(ids)
    if hits is None:
        return None if ids is None else _hits(ids)
    found = [Hit(text=str(hits))] if isinstance(hits, str) else _hits(hits, texts=True)
    if ids is None:
        return found
    named = _hits(ids)
    if len(named) != len(found):
        raise InputError(
            f"{pluralize(len(found), 'context')} and {pluralize(len(named), 'id')}: they do not belong together"
        )
    return [
        Hit(one.id, hit.text, hit.score, hit.chunk, hit.start, hit.end) for one, hit in zip(named, found, strict=True)
    ]


def _of_many_queries(ids: object) -> bool:
    """Whether ids are a list of lists, one for each query, as returned by Chroma; there was one query."""
    if not (isinstance(ids, list) and len(ids) == 1 and isinstance(ids[0], list)):
        return False
    return all(isinstance(one, str) for one in ids[0])


def _of_the_first(column: object) -> object:
    return column[0] if isinstance(column, list) and len(column) == 1 and isinstance(column[0], list) else column


def _hits(results: object, *, texts: bool = False) -> list[Hit]:
    if texts:
        return [Hit(text=str(one)) if isinstance(one, str) else hit_of(one, need_id=False) for one in listed(results)]
    return [hit_of(one, need_id=False) for one in listed(results)]


def _usage(result: object) -> Usage | None:
    """Tokens and cost from the field ``usage`` or ``usage_metadata`` of a result, under their usual names."""
    usage = _part(result, "usage") or _part(result, "usage_metadata")
    if isinstance(usage, Usage) or usage is None:
        return usage if isinstance(usage, Usage) else None
    prompt, completion = (
        _whole(usage, f"{a}_tokens", f"{b}_tokens") for a, b in (("prompt", "input"), ("completion", "output"))
    )
    cost = _part(usage, "cost")
    known = float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None
    if prompt is None and completion is None and known is None:
        return None
    return Usage(calls=1, prompt_tokens=prompt or 0, completion_tokens=completion or 0, cost=known)


def _whole(thing: object, *names: str) -> int | None:
    for name in names:
        value = _part(thing, name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None


def _first(thing: object, names: Sequence[str]) -> object:
    return next((value for name in names if (value := _part(thing, name)) is not None), None)


def _part(thing: object, name: str) -> object:
    found = thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
    return None if callable(found) else found


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)
