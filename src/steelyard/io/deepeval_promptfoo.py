"""Convert test cases of deepeval and promptfoo to rows of samples, restoring the fields stored under ``steelyard``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from .columns import ALIASES, known_as
from .rows import Row

Fields: TypeAlias = dict[str, object]

EXTRA_KEY = "steelyard"
"""The metadata key for sample fields that another tool's format does not support."""

CONTAINS, CONTAINS_ANY = "icontains", "icontains-any"
_REFERENCE_ASSERTIONS = ("equals", "contains", CONTAINS, "similar", "factuality", "contains-any", CONTAINS_ANY)


def as_sample_row(row: Row) -> Row:
    """Convert a row that is a test case of deepeval or promptfoo; return any other row unchanged."""
    values = row.values
    if not isinstance(values, Mapping):
        return row
    if "vars" in values:
        return row._replace(values=of_promptfoo(values))
    if "input" in values and ("actual_output" in values or "expected_output" in values):
        return row._replace(values=of_deepeval(values))
    return row


def of_deepeval(values: Mapping[str, object]) -> Fields:
    """Convert a test case of deepeval to the columns of a sample."""
    row = dict(values)
    if "id" not in row and row.get("name"):
        row["id"] = row.pop("name")
    if "context" in row:
        row["reference_contexts"] = row.pop("context")
    _restore_fields(row, "additional_metadata")
    return row


def of_promptfoo(values: Mapping[str, object]) -> Fields:
    """Convert a test of promptfoo to the columns of a sample."""
    test = dict(values)
    given, variables = test.pop("assert", None), test.pop("vars", None)
    row = dict(variables) if isinstance(variables, Mapping) else {}
    if isinstance(row.get("context"), str):
        row["context"] = [row["context"]]
    row["metadata"], response = test.pop("metadata", None), test.pop("providerOutput", None)
    if response is not None:
        row["response"] = response
    metadata = _restore_fields(row)
    if test.get("description") == row.get("id"):
        test.pop("description", None)
    if isinstance(given, list) and given:
        reference, exact = _reference_of(given)
        if "reference" in row or not exact:
            metadata["assert"] = given
        row.setdefault("reference", reference)
    for name, value in test.items():
        metadata[f"promptfoo.{name}" if name in metadata else name] = value
    return row


def _reference_of(assertions: list[object]) -> tuple[object, bool]:
    """The reference that assertions name, and whether they contain nothing else."""
    known = [one for one in assertions if isinstance(one, Mapping) and one.get("type") in _REFERENCE_ASSERTIONS]
    if len(assertions) == 1 and known and set(known[0]) == {"type", "value"}:
        kind, value = known[0]["type"], known[0]["value"]
        if (kind == CONTAINS and isinstance(value, str)) or (kind == CONTAINS_ANY and isinstance(value, list)):
            return value, True
    found = [
        item
        for one in known
        for value in [one.get("value")]
        for item in (value if isinstance(value, list) else [value])
    ]
    texts = [item for item in found if isinstance(item, str)]
    return texts[0] if len(texts) == 1 else texts or None, False


def _restore_fields(row: Fields, key: str = "metadata") -> Fields:
    """Move the fields stored in a row's metadata back to the row, and return the remaining metadata."""
    given = row.pop(key, None)
    metadata = dict(given) if isinstance(given, Mapping) else {} if given is None else {key: given}
    extra = metadata.pop(EXTRA_KEY, None)
    if isinstance(extra, Mapping):
        for column in [column for column in row if ALIASES.get(known_as(column)) in extra]:
            del row[column]
        row.update(extra)
        metadata = dict(row.pop("metadata", metadata))  # type: ignore[call-overload]
    row["metadata"] = metadata
    return metadata
