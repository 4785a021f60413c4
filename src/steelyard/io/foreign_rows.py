"""Test cases of other tools as rows of ours, with what stands in their metadata under ``steelyard`` put back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from .columns import ALIASES, known_as
from .rows import Row

Fields: TypeAlias = dict[str, object]

OURS = "steelyard"
"""The key of metadata under which other tools' files keep what they have no place for."""

ONE, ANY = "icontains", "icontains-any"
_REFERENCE_ASSERTIONS = ("equals", "contains", ONE, "similar", "factuality", "contains-any", ANY)


def as_plain(row: Row) -> Row:
    """A row that is a test case of deepeval or promptfoo as a row of ours; any other as it is."""
    values = row.values
    if not isinstance(values, Mapping):
        return row
    if "vars" in values:
        return row._replace(values=of_promptfoo(values))
    if "input" in values and ("actual_output" in values or "expected_output" in values):
        return row._replace(values=of_deepeval(values))
    return row


def of_deepeval(values: Mapping[str, object]) -> Fields:
    """The columns of a test case of deepeval."""
    row = dict(values)
    if "id" not in row and row.get("name"):
        row["id"] = row.pop("name")
    if "context" in row:
        row["reference_contexts"] = row.pop("context")
    _put_back(row, "additional_metadata")
    return row


def of_promptfoo(values: Mapping[str, object]) -> Fields:
    """The columns of a test of promptfoo."""
    test = dict(values)
    given, variables = test.pop("assert", None), test.pop("vars", None)
    row = dict(variables) if isinstance(variables, Mapping) else {}
    if isinstance(row.get("context"), str):
        row["context"] = [row["context"]]
    row["metadata"], response = test.pop("metadata", None), test.pop("providerOutput", None)
    if response is not None:
        row["response"] = response
    metadata = _put_back(row)
    if test.get("description") == row.get("id"):
        test.pop("description", None)
    if isinstance(given, list) and given:
        reference, exact = _asserted(given)
        if "reference" in row or not exact:
            metadata["assert"] = given
        row.setdefault("reference", reference)
    for name, value in test.items():
        metadata[f"promptfoo.{name}" if name in metadata else name] = value
    return row


def _asserted(assertions: list[object]) -> tuple[object, bool]:
    """The reference that assertions name, and whether they say nothing else."""
    known = [one for one in assertions if isinstance(one, Mapping) and one.get("type") in _REFERENCE_ASSERTIONS]
    if len(assertions) == 1 and known and set(known[0]) == {"type", "value"}:
        kind, value = known[0]["type"], known[0]["value"]
        if (kind == ONE and isinstance(value, str)) or (kind == ANY and isinstance(value, list)):
            return value, True
    found = [
        item
        for one in known
        for value in [one.get("value")]
        for item in (value if isinstance(value, list) else [value])
    ]
    texts = [item for item in found if isinstance(item, str)]
    return texts[0] if len(texts) == 1 else texts or None, False


def _put_back(row: Fields, key: str = "metadata") -> Fields:
    """Put back in a row what was put away in its metadata; the metadata that remains."""
    given = row.pop(key, None)
    metadata = dict(given) if isinstance(given, Mapping) else {} if given is None else {key: given}
    ours = metadata.pop(OURS, None)
    if isinstance(ours, Mapping):
        for column in [column for column in row if ALIASES.get(known_as(column)) in ours]:
            del row[column]
        row.update(ours)
        metadata = dict(row.pop("metadata", metadata))  # type: ignore[call-overload]
    row["metadata"] = metadata
    return metadata
