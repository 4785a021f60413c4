"""The shape of a reply as a JSON schema, as prompt text, as a digest, and as an example."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

import msgspec
from msgspec import Struct, inspect

from ..core.records import Json

_UNSENT = frozenset({"minLength", "maxLength", "default"})
_NAMES = frozenset({"title", "description"})


@lru_cache(maxsize=1024)
def schema_of(shape: type[Struct]) -> dict[str, Json]:
    """The JSON schema of a shape, for endpoints with strict schema output.

    Every object is closed and all its fields are required; constraints that such endpoints refuse are left out and
    checked when the reply is read.

    >>> class Verdict(Struct):
    ...     verdict: str
    >>> schema_of(Verdict)["required"], schema_of(Verdict)["additionalProperties"]
    (['verdict'], False)
    """
    return _map(_whole(shape), _closed)


@lru_cache(maxsize=1024)
def in_words(shape: type[Struct]) -> str:
    """The schema as text for the prompt, for an endpoint that accepts no schema."""
    schema = msgspec.json.encode(_whole(shape)).decode()
    return f"Reply with one JSON object and nothing else. It must be valid against this JSON schema: {schema}"


@lru_cache(maxsize=1024)
def digest_of(shape: type[Struct]) -> bytes:
    """The digest of a shape in ledger keys: 16 bytes that change with fields, types, labels and bounds."""
    return blake2b(msgspec.json.encode(_whole(shape), order="sorted"), digest_size=16).digest()


def _whole(shape: type[Struct]) -> dict[str, Json]:
    """The schema with the shape itself at the root, without names of classes and their docstrings."""
    (root,), parts = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
    if "$ref" in root:
        name = root["$ref"].rpartition("/")[2]
        root = parts[name]
        if root["type"] == "object" and not _refers(parts, name):
            del parts[name]
    schema: dict[str, Json] = {**root, "$defs": parts} if parts else dict(root)
    return _map(schema, _unnamed)


def _refers(parts: dict[str, Json], name: str) -> bool:
    return f'"#/$defs/{name}"'.encode() in msgspec.json.encode(parts)


def _unnamed(node: dict[str, Json]) -> dict[str, Json]:
    if node.get("type") == "object":
        return {key: value for key, value in node.items() if key not in _NAMES}
    return node


def _closed(node: dict[str, Json]) -> dict[str, Json]:
    node = {key: value for key, value in node.items() if key not in _UNSENT}
    properties = node.get("properties")
    if isinstance(properties, dict):
        node |= {"required": list(properties), "additionalProperties": False}
    labels = node.get("enum")
    if isinstance(labels, list) and "type" not in node and len({type(label) for label in labels}) == 1:
        node["type"] = "string" if isinstance(labels[0], str) else "integer"
    return node


def _map(node: dict[str, Json], change: object) -> dict[str, Json]:
    """Apply a change to a schema and every schema in it; names of fields are not keywords."""
    assert callable(change)
    changed: dict[str, Json] = change(node)
    for key, value in changed.items():
        if key in {"properties", "$defs"} and isinstance(value, dict):
            changed[key] = {name: _map(one, change) for name, one in value.items() if isinstance(one, dict)}
        elif isinstance(value, dict):
            changed[key] = _map(value, change)
        elif isinstance(value, list) and all(isinstance(one, dict) for one in value):
            changed[key] = [_map(one, change) for one in value if isinstance(one, dict)]
    return changed


ITEMS = 3
"""The number of items of an example list, unless its type states one."""

_DEPTH = 4  # of recursive shapes
SENTENCE = "A sentence of about the length that a judge writes, which makes ninety characters"


def example_of(shape: type[Struct], mark: str = "") -> Struct:
    """An example reply for cost estimates: three items per list, one sentence per text, the first label.

    ``mark`` is part of every text, so that replies to different requests differ as those of a judge do.

    >>> class Claims(Struct):
    ...     claims: list[str]
    >>> len(example_of(Claims).claims)
    3
    """
    return msgspec.convert(_filled(_kind(shape), mark), shape)


@lru_cache(maxsize=1024)
def _kind(shape: type[Struct]) -> inspect.Type:
    return inspect.type_info(shape)


def _filled(kind: inspect.Type, mark: str, depth: int = 0) -> Json:
    """An example of a type; ``mark`` states its position and the request that it answers."""

    def part(of: inspect.Type, at: int) -> Json:
        return _filled(of, f"{mark}.{at + 1}", depth + 1)

    match kind:
        case inspect.Metadata():
            return _filled(kind.type, mark, depth)
        case inspect.StructType():
            return {field.encode_name: part(field.type, at) for at, field in enumerate(kind.fields)}
        case inspect.ListType():
            most = 0 if depth > _DEPTH else ITEMS if kind.max_length is None else kind.max_length
            return [part(kind.item_type, at) for at in range(min(max(kind.min_length or 0, ITEMS), most))]
        case inspect.UnionType():
            real = next(one for one in kind.types if not isinstance(one, inspect.NoneType))
            return _filled(real, mark, depth)
        case inspect.LiteralType():
            return kind.values[-1] if {"yes", "no"} <= set(kind.values) else kind.values[0]
        case inspect.BoolType():
            return False  # flags such as noncommittal are the exception, and end a rule early
        case inspect.IntType() | inspect.FloatType():
            return _within(kind)
        case inspect.StrType():
            return f"({mark.strip('.')}) {SENTENCE}"[: kind.max_length]
        case inspect.DictType():
            return {f"key {at}": part(kind.value_type, at) for at in range(ITEMS)}
    return None


def _within(kind: inspect.IntType | inspect.FloatType) -> int | float:
    """The upper bound if it is allowed, else the lower bound, else a number between them, else 1."""
    for bound in (kind.le, kind.ge):
        if bound is not None:
            return bound
    if kind.gt is not None and kind.lt is not None and isinstance(kind, inspect.FloatType):
        return (kind.gt + kind.lt) / 2
    if kind.gt is not None:
        return max(1, kind.gt + 1)
    return 1 if kind.lt is None else min(1, kind.lt - 1)
