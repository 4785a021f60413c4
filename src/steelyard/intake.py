"""One row becomes one sample: every value in the type of its field, or a problem that names place and field.

Rules of this file: values are never guessed (a number is not a text, ``1.0`` is not an id), absent and empty stay
apart (null is no list, ``[]`` is an empty one), and whatever a field cannot hold is kept in the metadata.
"""

from __future__ import annotations

import math
import re
from ast import literal_eval
from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

import msgspec

from .cells import unescape
from .errors import InputError, InputErrors
from .fields import Mapper, Plan, Source, plain
from .records import Json, Sample, Span
from .rows import Bad, Kind, Place, Row, decode_json

TEXT_KEYS = ("text", "content", "page_content", "contents", "passage", "body")
"""Under which keys (or attributes) an object keeps the text of a passage."""

ID_KEYS = ("id", "_id", "doc_id", "document_id", "source_id")
"""Under which keys an object keeps the id of a passage."""

_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_PYTHON_LIST = re.compile(rf"\[\s*(?:{_QUOTED}\s*(?:,\s*{_QUOTED}\s*)*,?\s*)?\]", re.DOTALL)
_NUMPY_LIST = re.compile(rf"\[\s*{_QUOTED}(?:\s+{_QUOTED})+\s*\]|array\(.*\)", re.DOTALL)
_ITEM = re.compile(_QUOTED, re.DOTALL)
_ABSENT = ("NAType", "NaTType")

_Remark: TypeAlias = Callable[[str], None]


class Intake:
    """Turns rows into samples. ``on_remark`` is told, with the first place, of what was read with a caveat."""

    def __init__(self, fields: Mapping[str, str] | None = None, on_remark: Callable[[str], None] | None = None) -> None:
        self.mapper = Mapper(fields)
        self.remarks: dict[str, tuple[Place, int]] = {}
        self._on_remark = on_remark
        self._conflicts: set[tuple[str, ...]] = set()

    def sample(self, row: Row) -> Sample:
        """The sample of a row. Raises InputError, or InputErrors where the row has several problems."""
        if isinstance(row.values, InputError):
            raise row.values
        if not isinstance(row.values, Mapping):
            raise row.place.error(f"expected an object with fields, found {_kind(row.values)}")
        plan = self.mapper.plan(row.values)
        for remark in plan.remarks:
            self._remark(row.place, remark)
        if row.values and not (plan.fields or plan.tags or plan.extra):
            found = ", ".join(repr(str(column)) for column in row.values)
            raise row.place.error(f"no column fills a field of a sample (found {found}; see fields=)")
        return _Reading(row, plan, self).sample()

    def _remark(self, place: Place, text: str) -> None:
        first, count = self.remarks.get(text, (place, 0))
        self.remarks[text] = (first, count + 1)
        if count == 0 and self._on_remark is not None:
            self._on_remark(f"{place}: {text}")

    def _conflict(self, field: str, sources: list[Source]) -> str | None:
        """The problem of two columns that both fill a field; said once for these columns."""
        names = tuple(str(source) for source in sources)
        said = names in self._conflicts
        self._conflicts.add(names)
        both = " and ".join(repr(name) for name in names)
        return None if said else f"{both} both fill it: choose one, as in fields={{'{field}': '{names[0]}'}}"


class _Reading:
    """The reading of one row: what was found, what is left over, and what is wrong."""

    def __init__(self, row: Row, plan: Plan, intake: Intake) -> None:
        self.values = cast("Mapping[str, object]", row.values)
        self.place, self.kind, self.plan, self.intake = row.place, row.kind, plan, intake
        self.problems: list[InputError] = []
        self.conflict = False
        self.found: dict[str, object] = {}
        self.metadata: dict[str, Json] = {}

    def sample(self) -> Sample:
        for field, sources in self.plan.fields.items():
            self._fill(field, sources)
        for name, source in self.plan.tags.items():
            self._try(name, lambda value: self._tag(value), source, lambda tag, key=name: self._add_tag(key, tag))
        for column in self.plan.rest:
            self._keep(column, self.values[column])
        for name, source in self.plan.extra.items():
            self._keep(name, source.of(self.values))
        if self.metadata:
            self.found["metadata"] = self.metadata
        if self.problems:
            raise self.problems[0] if len(self.problems) == 1 else InputErrors(self.problems)
        return Sample(**self.found)  # type: ignore[arg-type]
