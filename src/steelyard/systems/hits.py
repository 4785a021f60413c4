"""Read the results of retrievers: ids, pairs, hits, mappings, documents and nodes of other libraries.

The shape of a result is recognised by its fields. A chunk counts as its source document if it names one.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping

from msgspec import Struct

from ..core.errors import InputError, WrongType

ID_FIELDS = ("doc_id", "document_id", "id_", "node_id", "id", "_id", "docno", "docid")
SOURCE_FIELDS = ("source", "source_id", "doc_id", "document_id", "id")
TEXT_FIELDS = ("text", "page_content", "content", "contents", "passage", "body")
START_FIELDS = ("start_char_idx", "start_index", "split_idx_start", "start")
END_FIELDS = ("end_char_idx", "end_index", "end")


class Hit(Struct, frozen=True, omit_defaults=True):
    """One result: the id of its source document and, if known, the text, score, chunk id and offsets of the passage.

    ``start`` and ``end`` are offsets in characters of the source document.
    """

    id: str | None = None
    text: str | None = None
    score: float | None = None
    chunk: str | None = None
    start: int | None = None
    end: int | None = None


def hit_of(result: object, *, need_id: bool = True) -> Hit:
    """Read one result as a ``Hit``: an id, an (id, score) pair, a hit, a mapping, a document or node.

    Without ``need_id`` a result may have a text alone. Raises InputError for a result with neither.

    >>> hit_of(("d1", 0.5)) == Hit("d1", score=0.5)
    True
    >>> hit_of({"id": "d2#3", "metadata": {"source": "d2", "start_index": 40}, "page_content": "Words."})
    Hit(id='d2', text='Words.', score=None, chunk='d2#3', start=40, end=46)
    """
    if isinstance(result, Hit):
        return result
    inner, score = _unwrapped(result)
    if isinstance(inner, str | int):
        return Hit(_id(inner, result), score=score)
    source, own = _id(_source(inner), result), _id(_own_id(inner), result)
    text = next((str(value) for name in TEXT_FIELDS if isinstance(value := _part(inner, name), str)), None)
    if source is None and own is None and (need_id or text is None):
        raise InputError(
            f"a result without a document id: {str(result)[:120]!r} (expected an id, a pair, a hit or a mapping)"
        )
    start, end = _offset(inner, START_FIELDS), _offset(inner, END_FIELDS)
    if start is not None and end is None and text is not None:
        end = start + len(text)
    if start is None or end is None:
        start = end = None
    return Hit(source or own, text, score, own if source is not None and own != source else None, start, end)


def document_id(hit: object) -> str:
    """The id of the source document of one result: an id, an (id, score) pair, a hit, a mapping, a document.

    >>> document_id(("d1", 0.5)), document_id({"metadata": {"source": "d2"}, "id": "chunk-7"})
    ('d1', 'd2')
    """
    found = hit_of(hit).id
    assert found is not None
    return found


def document_ids(hits: Iterable[object], limit: int) -> tuple[list[str], int]:
    """The source documents of a result list, each at its best rank, and how many repeats that removed."""
    found = [document_id(hit) for hit in listed(hits)]
    unique = list(dict.fromkeys(found))
    return unique[:limit], len(found) - len(unique)


def listed(hits: object) -> list[object]:
    """Read a result list as a list; WrongType for other values (a text, a number, None, or a set, which has no order).

    Haystack components wrap their documents in a mapping, other stores in an object: the fields ``documents``, ``hits``
    and ``results`` are read. The rows of a data frame are mappings.
    """
    if (rows := rows_of(hits)) is not None:
        return rows
    for name in ("documents", "hits", "results"):
        inner = _part(hits, name)
        if isinstance(inner, list | tuple):
            return list(inner)
    if isinstance(hits, str | bytes | Mapping | set | frozenset) or not isinstance(hits, Iterable):
        raise WrongType(f"a retriever returns a list of results, best first, not {type(hits).__name__}")
    return list(hits)


def rows_of(frame: object) -> list[object] | None:
    """The rows of a polars or pandas data frame as mappings; None for anything else."""
    if not hasattr(frame, "columns") or not hasattr(frame, "shape"):
        return None
    to_dicts, to_dict = getattr(frame, "to_dicts", None), getattr(frame, "to_dict", None)
    rows = to_dicts() if callable(to_dicts) else to_dict("records") if callable(to_dict) else None
    return rows if isinstance(rows, list) else None


def _unwrapped(result: object) -> tuple[object, float | None]:
    """The document inside pairs and scored nodes, and its score."""
    score: object = None
    if isinstance(result, tuple | list) and not hasattr(result, "_fields"):
        score, pair = result[1] if len(result) > 1 else None, result
        result = result[0] if result else None
        if score is not None and not _is_number(score):
            raise InputError(f"a pair is (id or document, score), found {str(pair)[:120]!r}")
    elif not isinstance(result, str | int):
        score = _part(result, "score")
        node = _part(result, "node")
        result = result if node is None else node
    if not isinstance(result, str | int) and hasattr(result, "__index__"):
        result = operator.index(result)  # an integer of numpy
    number = float(score) if _is_number(score) else None  # type: ignore[arg-type]
    return result, number


def _is_number(value: object) -> bool:
    return not isinstance(value, bool | str) and (isinstance(value, int | float) or hasattr(value, "__float__"))


def _id(value: object, result: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise InputError(f"a document id is a text or a whole number, found {value!r} in {str(result)[:120]!r}")
    return str(value)


def _source(inner: object) -> object:
    """The source document that a result names; None if it names none."""
    if isinstance(inner, str | int):
        return None
    if (source := _part(inner, "source_id")) is not None:
        return source
    metadata = _metadata(inner)
    source = next((metadata[name] for name in SOURCE_FIELDS if metadata.get(name) is not None), None)
    return source if source is not None else _part(inner, "ref_doc_id")


def _own_id(inner: object) -> object:
    if isinstance(inner, str | int):
        return None
    return next((value for name in ID_FIELDS if (value := _part(inner, name)) is not None), None)


def _offset(inner: object, names: Iterable[str]) -> int | None:
    metadata = _metadata(inner)
    for name in names:
        for value in (_part(inner, name), metadata.get(name)):
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                return value
    return None


def _metadata(inner: object) -> Mapping[str, object]:
    found = _part(inner, "metadata") or _part(inner, "meta")
    return found if isinstance(found, Mapping) else {}


def _part(thing: object, name: str) -> object:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
