"""Convert one row to one sample: every value in the type of its field, or an error that names row and column.

Rules of this file: values are never guessed (a number is not a text, ``1.0`` is not an id), absent and empty are
different (null is not a list, ``[]`` is an empty one), and values that no field supports are stored in the metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import cast

from msgspec import ValidationError, convert, structs
from msgspec.json import encode

from ..core.errors import InputError, InputErrors
from ..core.records import Json, Sample, Span
from . import convert_values as v
from .columns import ColumnMapper, ColumnMapping, Source, known_as, may_hold_list
from .csv_cells import unescape
from .rows import InvalidValue, Row, RowPlace


class RowParser:
    """Converts rows to samples, and records remarks on doubtful values with the first place and the count of each."""

    def __init__(self, fields: Mapping[str, str] | None = None, on_remark: Callable[[str], None] | None = None) -> None:
        self.mapper = ColumnMapper(fields)
        self.remarks: dict[str, tuple[RowPlace, int]] = {}
        self._on_remark = on_remark
        self._conflicts: set[tuple[str, ...]] = set()

    def sample(self, row: Row) -> Sample:
        """The sample of a row. Raises InputError, or InputErrors if the row has several problems."""
        if isinstance(row.values, InputError):
            raise row.values
        if not isinstance(row.values, Mapping):
            raise row.place.error(f"expected an object with fields, found {v.describe_value(row.values)}")
        plan = self.mapper.plan(row.values)
        for remark in plan.remarks:
            self.remark(row.place, remark)
        if row.values and not (plan.fields or plan.tags) and len(plan.extra) == len(plan.rest):
            self.mapper.check_found()
            found = ", ".join(str(column) for column in row.values)
            raise row.place.error(f"no column matches a field of a sample; map columns with fields= (found: {found})")
        sample = _convert_directly(row, plan) or _RowReader(row, plan, self).sample()  # most rows take the fast path
        if row.kind in ("object", "table"):
            _check_text(sample, row.place)
        return sample

    def remark(self, place: RowPlace, text: str) -> None:
        """Record a remark, and report it if it is the first of its kind."""
        first, count = self.remarks.get(text, (place, 0))
        self.remarks[text] = (first, count + 1)
        if count == 0 and self._on_remark is not None:
            self._on_remark(f"{place}: {text}")

    def conflict(self, place: RowPlace, field: str, columns: tuple[str, ...]) -> InputError:
        """The error for columns that fill the same field; reported once, since all rows will share it."""
        if columns in self._conflicts:
            return InputErrors(())
        self._conflicts.add(columns)
        both = " and ".join(repr(column) for column in columns)
        return place.error(f"{both} fill the same field; choose one with fields={{{field!r}: {columns[0]!r}}}", field)


def _convert_directly(row: Row, plan: ColumnMapping) -> Sample | None:
    """The sample of a row whose values already have the types of their fields, as most do; None for any other row."""
    if not plan.is_direct or row.kind == "cells":
        return None
    values = cast("Mapping[str, object]", row.values)
    fields = {field: values[column] for field, column in plan.columns.items()}
    if row.kind == "json":
        if plan.extra:
            if "metadata" in fields:
                return None
            fields["metadata"] = {name: source.of(values) for name, source in plan.extra.items()}
    elif plan.extra or not fields.keys().isdisjoint(("metadata", "relevance")):
        return None
    try:
        return convert(fields, Sample)
    except ValidationError:
        return None


def _check_text(sample: Sample, place: RowPlace) -> None:
    """Raise InputError for a lone surrogate, which a Python string can contain but a file cannot."""
    try:
        encode(sample)
    except UnicodeEncodeError:
        for name, value in structs.asdict(sample).items():
            try:
                encode(value)
            except UnicodeEncodeError as error:
                code = ord(error.object[error.start])
                message = f"found half of a surrogate pair (U+{code:04X}), which is not valid text; replace it"
                raise place.error(message, name) from None


class _RowReader:
    """Reads one row: its fields, its metadata and its problems."""

    def __init__(self, row: Row, plan: ColumnMapping, parser: RowParser) -> None:
        self.values = cast("Mapping[str, object]", row.values)
        self.place, self.kind, self.plan, self.parser = row.place, row.kind, plan, parser
        self.problems: list[InputError] = []
        self.found: dict[str, object] = {}
        self.metadata: dict[str, Json] = {}

    def sample(self) -> Sample:
        for field, sources in self.plan.fields.items():
            self._fill(field, sources)
        for name, source in self.plan.tags.items():
            if (value := v.plain_value(source.of(self.values))) is not None:
                self._read_field(str(source), partial(self._tag_of, name, value))
        for name, source in self.plan.extra.items():
            self._read_field(str(source), partial(self._keep_column, name, source))
        if self.problems:
            raise self.problems[0] if len(self.problems) == 1 else InputErrors(self.problems)
        return Sample(**self.found, metadata=self.metadata)  # type: ignore[arg-type]

    def _fill(self, field: str, sources: list[Source]) -> None:
        given = [(source, value) for source in sources if (value := v.plain_value(source.of(self.values))) is not None]
        if field == "relevance" and len(given) > 1:
            given = self._prefer_grades(given)
        if len(given) > 1:
            self.problems.append(self.parser.conflict(self.place, field, tuple(str(source) for source, _ in given)))
        elif given:
            source, value = given[0]
            self._read_field(str(source), lambda: _READERS[field](self, field, source, value))

    def _read_field(self, column: str, read: Callable[[], None]) -> None:
        try:
            read()
        except InvalidValue as bad:
            self.problems.append(self.place.error(str(bad), column))

    def _prefer_grades(self, given: list[tuple[Source, object]]) -> list[tuple[Source, object]]:
        """Prefer grades to a list of relevant ids, which is stored as metadata; a list overrides empty grades."""
        graded = [one for one in given if known_as(one[0].column) == "relevance"]
        listed = [one for one in given if known_as(one[0].column) != "relevance"]
        if len(graded) != 1 or len(listed) != 1:
            return given
        if not graded[0][1]:
            return listed
        self._keep(str(listed[0][0]), listed[0][1])
        return graded

    # One reader for each type of field.

    def _id(self, field: str, source: Source, value: object) -> None:  # noqa: ARG002 - all readers share a signature
        self.found["id"] = v.identifier(self._unescaped(value))

    def _text(self, field: str, source: Source, value: object) -> None:  # noqa: ARG002
        self.found[field] = v.text(self._unescaped(value))

    def _reference(self, field: str, source: Source, value: object) -> None:
        if isinstance(value, str):
            listed = v.parse_list(value) if self.kind == "cells" or may_hold_list(source) else None
            if listed is None:
                self.found[field] = unescape(value, maybe_list=True) if self.kind == "cells" else value
                return
            value = self._items_of(source, listed)
        if isinstance(value, Mapping) and v.text_key(value):
            self._keep_rest(source, [v.rest_of(value)])
            value = value[v.text_key(value)]
        self.found[field] = value if isinstance(value, str) else v.texts(value)

    def _contexts(self, field: str, source: Source, value: object) -> None:
        if isinstance(value, str):
            listed = v.parse_list(value)
            if listed is not None:
                value = self._items_of(source, listed)
            elif not value.strip():
                value = []
            else:
                self.parser.remark(self.place, f"{source}: expected a list, found a text; it was read as one passage")
                value = [self._unescaped(value)]
        passages = v.passages(value)
        self.found[field] = [passage.text for passage in passages]
        self._keep_rest(source, [passage.rest for passage in passages])
        ids = [passage.id for passage in passages]
        if field == "retrieved_contexts" and ids and None not in ids and "retrieved_ids" not in self.plan.fields:
            self.found["retrieved_ids"] = ids

    def _ids(self, field: str, source: Source, value: object) -> None:
        self.found[field] = v.identifiers(self._parsed(source, value))

    def _relevance(self, field: str, source: Source, value: object) -> None:
        value = self._parsed(source, value)
        if isinstance(value, Mapping):
            self.found[field] = v.grades(value, skip_null=self.kind == "table")
        else:
            self.found[field] = dict.fromkeys(v.identifiers(value), 1.0)

    def _spans(self, field: str, source: Source, value: object) -> None:
        spans = v.spans(self._parsed(source, value))
        self.found[field] = [Span(**fields) for fields, _ in spans]  # type: ignore[arg-type]
        self._keep_rest(source, [rest for _, rest in spans])

    def _tags(self, field: str, source: Source, value: object) -> None:  # noqa: ARG002
        value = self._parsed(source, value)
        if not isinstance(value, Mapping):
            self.parser.remark(self.place, f"{source}: tags without names are stored as metadata")
            self._keep(str(source), value)
            return
        for name, tag in value.items():
            if (tag := v.plain_value(tag)) is not None:
                self._tag(str(name), tag)
        self.found.setdefault("tags", {})

    def _tag_of(self, name: str, value: object) -> None:
        self._tag(name, self._unescaped(value))

    def _tag(self, name: str, value: object) -> None:
        tags = cast("dict[str, str]", self.found.setdefault("tags", {}))
        tag = v.tag(value)
        if tags.setdefault(name, tag) != tag:
            raise InvalidValue(f"the tag {name!r} is given twice: {tags[name]!r} and {tag!r}")

    def _metadata(self, field: str, source: Source, value: object) -> None:  # noqa: ARG002
        parsed = self._parsed(source, value)
        if not isinstance(parsed, Mapping):
            self._keep(str(source), value)
            return
        for name, item in parsed.items():
            self._keep(str(name), item)

    # Metadata, and cells.

    def _keep_column(self, name: str, source: Source) -> None:
        """Store a column as metadata. A null in a table or a CSV file is an empty cell, not a value."""
        value = source.of(self.values)
        if self.kind in ("json", "object") or v.plain_value(value) is not None:
            self._keep(name, self._unescaped(value))

    def _keep(self, name: str, value: object) -> None:
        stored = v.json_value(value)
        if name in self.metadata and self.metadata[name] != stored:
            raise InvalidValue(f"the metadata {name!r} is given twice")
        self.metadata[name] = stored

    def _keep_rest(self, source: Source, rest: list[dict[str, object]]) -> None:
        """Store the unused fields of objects as metadata."""
        if any(rest):
            self._keep(str(source), rest)

    def _unescaped(self, value: object) -> object:
        return unescape(value) if self.kind == "cells" and isinstance(value, str) else value

    def _parsed(self, source: Source, value: object) -> object:
        """The list or object that a text contains, or the value unchanged."""
        if not isinstance(value, str):
            return value
        listed = v.parse_list(value)
        return self._items_of(source, listed) if listed is not None else v.parse_object(value)

    def _items_of(self, source: Source, listed: v.ParsedList) -> list[object]:
        if listed.python:
            self.parser.remark(
                self.place, f"{source}: the printed form of a Python list was read as a list; JSON is safer"
            )
        return listed.items


_READERS: dict[str, Callable[[_RowReader, str, Source, object], None]] = {
    "id": _RowReader._id,
    "user_input": _RowReader._text,
    "response": _RowReader._text,
    "retrieved_contexts": _RowReader._contexts,
    "reference": _RowReader._reference,
    "reference_contexts": _RowReader._contexts,
    "retrieved_ids": _RowReader._ids,
    "relevance": _RowReader._relevance,
    "relevant_spans": _RowReader._spans,
    "tags": _RowReader._tags,
    "metadata": _RowReader._metadata,
}
