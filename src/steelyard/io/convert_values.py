"""Convert values from JSON, CSV, tables and objects to the types of sample fields.

Each function returns the converted value or raises InvalidValue, which states the value expected and the value found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

import msgspec

from ..core.records import Json
from .rows import InvalidValue, decode_json

TEXT_KEYS = ("text", "content", "page_content", "contents", "passage", "body")
"""Keys (or attributes) of an object that may contain the text of a passage."""

ID_KEYS = ("id", "_id", "doc_id", "document_id", "source_id")
"""Keys of an object that may contain the id of a passage."""

_QUOTED = r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\""""
_PYTHON_LIST = re.compile(rf"\[\s*(?:(?:{_QUOTED})\s*,\s*)*(?:(?:{_QUOTED})\s*)?\]")
_QUOTED_ITEM = re.compile(_QUOTED)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_PRINTED = ("['", '["', "[{'", "array(", "[array(", "[Document(")
Item = TypeVar("Item")
_NO_VALUE = ("NAType", "NaTType")


class ParsedList(NamedTuple):
    """A list parsed from a text; ``python`` is true if the text was the printed form of a Python list, not JSON."""

    items: list[object]
    python: bool = False


class RetrievedPassage(NamedTuple):
    """The text, the id and the remaining fields of an item in a list of passages."""

    text: str
    id: str | None
    rest: dict[str, object]


def describe_value(value: object) -> str:
    """A short description of a value for an error message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {value if len(value) <= 40 else value[:37] + '…'!r}"
    if isinstance(value, Mapping):
        return "an object"
    return "a list" if isinstance(value, list | tuple) else type(value).__name__


def plain_value(value: object) -> object:
    """Convert values of arrays and tables to plain Python: lists for arrays, None for NaN and NA.

    >>> plain_value(float("nan")) is None
    True
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, Mapping | list | tuple | int):
        return value
    if type(value).__name__ in _NO_VALUE:
        return None
    for name in ("tolist", "to_list", "to_pylist"):
        if callable(method := getattr(value, name, None)):
            return plain_value(method())
    return value


def text(value: object) -> str:
    """Return a text unchanged."""
    if not isinstance(value, str):
        raise InvalidValue(f"expected text, found {describe_value(value)}")
    return value


def texts(value: object) -> list[str]:
    """Return a list of texts."""
    return [_read_item(number, text, item) for number, item in enumerate(_list(value, "text or a list of texts"), 1)]


def identifier(value: object) -> str:
    """Convert an id to text; only a text or a whole number is accepted."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InvalidValue(f"expected an id (text or a whole number), found {describe_value(value)}")


def identifiers(value: object) -> list[str]:
    """Convert a list of ids to texts."""
    return [_read_item(number, identifier, item) for number, item in enumerate(_list(value, "a list of ids"), 1)]


def grades(value: Mapping[str, object], *, skip_null: bool = False) -> dict[str, float]:
    """Grades by document. ``skip_null`` leaves out nulls, for tables with one column per document."""
    converted = {}
    for doc, given in value.items():
        grade = plain_value(given)
        if grade is None and skip_null:
            continue
        if not isinstance(grade, int | float) or not math.isfinite(grade):
            raise InvalidValue(f"grade of {doc!r}: expected a number, found {describe_value(given)}")
        converted[str(doc)] = float(grade)
    return converted


def tag(value: object) -> str:
    """Convert the value of a tag to text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise InvalidValue(f"expected a tag (a text or a number), found {describe_value(value)}")


def passages(value: object) -> list[RetrievedPassage]:
    """Convert passages: texts, or objects with their text under one of ``TEXT_KEYS``.

    >>> passages(["c1", {"text": "c2", "id": 7, "score": 0.5}])[1]
    RetrievedPassage(text='c2', id='7', rest={'id': 7, 'score': 0.5})
    """
    return [_read_item(number, _passage, item) for number, item in enumerate(_list(value, "a list of texts"), 1)]


def _passage(item: object) -> RetrievedPassage:
    if isinstance(item, str):
        return RetrievedPassage(item, None, {})
    fields = _object(item)
    key = None if fields is None else text_key(fields)
    if fields is None or key is None or not isinstance(fields[key], str):
        raise InvalidValue(
            f"expected text, or an object with its text under {', '.join(TEXT_KEYS[:3])}, found {describe_value(item)}"
        )
    own = next((fields[name] for name in ID_KEYS if isinstance(fields.get(name), str | int)), None)
    return RetrievedPassage(text(fields[key]), None if own is None else identifier(own), rest_of(fields))


def text_key(fields: Mapping[str, object]) -> str | None:
    """The key of an object's text, or None if it has no text."""
    return next((key for key in TEXT_KEYS if fields.get(key) is not None), None)


def rest_of(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields of an object without its text and without nulls."""
    key = text_key(fields)
    return {name: value for name, value in fields.items() if name != key and value is not None}


def spans(value: object) -> list[tuple[dict[str, object], dict[str, object]]]:
    """The span fields of each object in a list of spans, and the object's other fields."""
    return [_read_item(number, _span, item) for number, item in enumerate(_list(value, "a list of spans"), 1)]


def _span(item: object) -> tuple[dict[str, object], dict[str, object]]:
    fields = _object(item)
    if fields is None or fields.get("doc") is None:
        raise InvalidValue(f"expected a span with doc and start, end or text, found {describe_value(item)}")
    known = {name: fields[name] for name in ("start", "end", "text", "digest") if fields.get(name) is not None}
    for name, given in known.items():
        wanted = str if name in ("text", "digest") else int
        if not isinstance(given, wanted) or isinstance(given, bool):
            raise InvalidValue(
                f"{name}: expected {'text' if wanted is str else 'a whole number'}, found {describe_value(given)}"
            )
    if "text" not in known and not {"start", "end"} <= set(known):
        raise InvalidValue("expected start and end, or text, found neither")
    rest = {name: given for name, given in fields.items() if name not in ("doc", "start", "end", "text", "digest")}
    return {"doc": identifier(fields["doc"]), **known}, rest


def parse_list(cell: str) -> ParsedList | None:
    """Parse a text that is a list in JSON or in Python's printed form; None if the text is not a list.

    The printed form of an array or of a list of objects cannot be split into items, so it is an error.

    >>> parse_list('["c1", "c2"]').items, parse_list("['c1', 'c2']").items, parse_list("[1] is a note")
    (['c1', 'c2'], ['c1', 'c2'], None)
    """
    stripped = cell.strip()
    if stripped[:1] == "[":
        try:
            items = decode_json(stripped)
        except InvalidValue:
            pass
        else:
            return ParsedList(items) if isinstance(items, list) else None
        if _PYTHON_LIST.fullmatch(stripped):
            return ParsedList([_unquoted(item) for item in _QUOTED_ITEM.findall(stripped)], python=True)
    if stripped.startswith(_PRINTED) and stripped[-1:] in "])":
        raise InvalidValue(
            "expected a JSON list, found a printed Python object: write lists with json.dumps, or use Parquet"
        )
    return None


def parse_object(cell: str) -> object:
    """Parse a text that is a JSON object; any other text is returned unchanged."""
    if cell.lstrip()[:1] == "{":
        try:
            return decode_json(cell)
        except InvalidValue:
            return cell
    return cell


def json_value(value: object) -> Json:
    """Convert any value to JSON: dates and the like become text, NaN becomes null; an infinite number is an error."""
    value = plain_value(value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise InvalidValue(f"expected a finite number, found {value}")
        return value
    if isinstance(value, Mapping):
        return {str(name): json_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [json_value(item) for item in value]
    plain: Json = msgspec.to_builtins(value, enc_hook=str)
    return plain


def _list(value: object, expected: str) -> list[object]:
    value = plain_value(value)
    if not isinstance(value, list | tuple):
        raise InvalidValue(f"expected {expected}, found {describe_value(value)}")
    return list(value)


def _object(item: object) -> Mapping[str, object] | None:
    """The fields of a mapping, a record, or an object with one of the text attributes; None for any other item."""
    if isinstance(item, Mapping):
        return item
    if isinstance(item, msgspec.Struct):
        return msgspec.structs.asdict(item)
    attributes = {key: getattr(item, key, None) for key in (*TEXT_KEYS, "id", "metadata")}
    return attributes if text_key(attributes) else None


def _read_item(number: int, read: Callable[[object], Item], item: object) -> Item:
    """Convert one item of a list; an error message begins with the item's number."""
    try:
        return read(item)
    except InvalidValue as bad:
        raise InvalidValue(f"item {number}: {bad}") from None


def _unquoted(token: str) -> str:
    def plain(escape: re.Match[str]) -> str:
        code = escape[1]
        if code[0] in "xuU" and len(code) > 1:
            return chr(int(code[1:], 16))
        return _ESCAPES.get(code, f"\\{code}")

    return _ESCAPE.sub(plain, token[1:-1])
