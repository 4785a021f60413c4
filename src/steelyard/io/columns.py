"""Map columns to the fields of samples, by known names and by explicit mappings.

Rules of this file: two candidates for one field are an error, never a guess, and no column is dropped. A column with a
known name fills its field, ``question_type`` becomes a tag, and every other column is stored as metadata; a column
whose name is similar to that of a field is stored as metadata too, with a remark.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..core.errors import InputError, UnknownName
from ..core.wording import did_you_mean
from .rows import InvalidValue, decode_json

_NAMES = {
    "id": "_id sample_id example_id question_id query_id qid",
    "user_input": "question query input prompt user_query query_text question_text",
    "response": "answer output content actual_output generated_answer predicted_answer prediction generation"
    " completion model_answer model_output",
    "retrieved_contexts": "contexts context documents docs passages retrieval_context retrieved_context"
    " retrieved_documents retrieved_docs retrieved_passages",
    "reference": "references ground_truth ground_truths answers gold_answer gold_answers golden_answer golden_answers"
    " expected_output expected_answer expected_answers reference_answer reference_answers correct_answer"
    " correct_answers ideal",
    "reference_contexts": "reference_context gold_contexts gold_context expected_contexts ground_truth_contexts"
    " ground_truth_context",
    "retrieved_ids": "retrieved_context_ids retrieved_doc_ids retrieved_document_ids",
    "relevance": "relevant_ids relevant_doc_ids relevant_document_ids reference_context_ids gold_ids",
    "relevant_spans": "",
    "tags": "",
    "metadata": "additional_metadata",
}
ALIASES = {alias: field for field, names in _NAMES.items() for alias in (field, *names.split())}
"""The known column names, each with the field that it fills. Case, ``_``, ``-`` and blanks are ignored."""

TAG_COLUMNS = ("question_type",)
"""Columns that become tags, to slice results by; ``fields={"tags.lang": "lang"}`` makes a tag of any other column."""

MULTI_REFERENCE_COLUMNS = [
    "references",
    "ground_truths",
    "answers",
    "gold_answers",
    "golden_answers",
    "expected_answers",
    "reference_answers",
    "correct_answers",
]
"""Columns for several references: a text in them may be a list in JSON."""

_SEPARATORS = re.compile(r"[\s_-]+")


def normalized(column: str) -> str:
    """The form in which column names are compared: lower case, without separators.

    >>> normalized("RelevantIDs"), normalized("Ground Truth"), normalized("retrieved_contexts")
    ('relevantids', 'groundtruth', 'retrievedcontexts')
    """
    return _SEPARATORS.sub("", column).lower()


_PLAIN = {normalized(alias): alias for alias in reversed(ALIASES)}
_TAGS = {normalized(name): name for name in TAG_COLUMNS}


def known_as(column: str) -> str:
    """The known name of a column, as ``ALIASES`` spells it; the column's own name if it is not known."""
    return _PLAIN.get(normalized(column), column)


class Source(NamedTuple):
    """The source of a value: a column, and a path inside its cells."""

    column: str
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ".".join((self.column, *self.path))

    def of(self, row: Mapping[str, object]) -> object:
        """The value in a row; None if the path does not lead to a value."""
        value = row.get(self.column)
        return value if not self.path else _follow(value, self.path)


def _follow(value: object, path: Sequence[str]) -> object:
    for at, step in enumerate(path):
        if isinstance(value, str) and value[:1] in ("{", "["):
            try:
                value = decode_json(value)
            except InvalidValue:
                return None
        if not isinstance(value, str | Mapping) and callable(to_list := getattr(value, "tolist", None)):
            value = to_list()
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list | tuple) and step == "*":
            found = [_follow(item, path[at + 1 :]) for item in value]
            return [item for item in found if item is not None]
        elif isinstance(value, list | tuple) and re.fullmatch(r"-?\d+", step):
            index = int(step)
            value = value[index] if -len(value) <= index < len(value) else None
        else:
            return None
    return value


class ColumnMapping(NamedTuple):
    """The sources of each field, tag and metadata entry (``extra``), for rows with the same columns.

    ``rest`` lists the unmapped columns, which are stored in ``extra`` too; ``remarks`` are warnings on them.
    ``columns`` has the column of each field that one whole column fills and that needs no parsing.
    """

    fields: dict[str, list[Source]]
    tags: dict[str, Source]
    extra: dict[str, Source]
    rest: list[str]
    remarks: list[str]
    columns: dict[str, str]

    @property
    def is_direct(self) -> bool:
        """Whether ``columns`` and ``extra`` cover the whole mapping."""
        return len(self.columns) == len(self.fields) and not self.tags


class ColumnMapper:
    """Maps the columns of rows by ``fields={"user_input": "meta.question"}`` and by the known names."""

    def __init__(self, fields: Mapping[str, str] | None = None) -> None:
        self.explicit = dict(_target(target, column) for target, column in (fields or {}).items())
        self.missing = set(self.explicit)
        self._plans: dict[tuple[object, ...], ColumnMapping] = {}
        self._seen: dict[str, None] = {}

    def plan(self, row: Mapping[str, object]) -> ColumnMapping:
        """The mapping for a row; rows with the same columns share one."""
        key = tuple(row)
        if key not in self._plans:
            self._plans[key] = self._build([str(column) for column in key])
        return self._plans[key]

    def check_found(self) -> None:
        """Raise UnknownName if ``fields`` names a column that no row had. Readers call this after their last row."""
        for target in sorted(self.missing if self._seen else ()):
            column = self.explicit[target]
            raise UnknownName(f"no row has the column {column!r} (for {target}): {did_you_mean(column, self._seen)}")

    def _build(self, columns: list[str]) -> ColumnMapping:
        self._seen.update(dict.fromkeys(columns))
        plan = ColumnMapping({}, {}, {}, [], [], {})
        taken = set()
        for target, column in self.explicit.items():
            source = _source(column, columns)
            if source is None:
                continue
            self.missing.discard(target)
            if not source.path:
                taken.add(source.column)
            kind, _, name = target.partition(".")
            if not name:
                plan.fields[target] = [source]
            else:
                (plan.tags if kind == "tags" else plan.extra)[name] = source
        names = {column: known_as(column) for column in columns if column not in taken}
        known = set(names.values())
        for column, name in names.items():
            field = _field(name, known)
            if field is not None and field not in self.explicit:
                plan.fields.setdefault(field, []).append(Source(column))
            elif normalized(column) in _TAGS and _TAGS[normalized(column)] not in plan.tags:
                plan.tags[_TAGS[normalized(column)]] = Source(column)
            elif column in plan.extra:
                both = f"{str(plan.extra[column])!r} and the column {column!r} itself"
                raise InputError(f"{both} both become metadata.{column}", field="fields")
            else:
                plan.extra[column] = Source(column)
                plan.rest.append(column)
        for field, sources in plan.fields.items():
            if (
                len(sources) == 1
                and not sources[0].path
                and field != "relevant_spans"
                and not may_hold_list(sources[0])
            ):
                plan.columns[field] = sources[0].column
        plan.remarks.extend(_similar_names(plan, {*plan.fields, *self.explicit}))
        return plan


def may_hold_list(source: Source) -> bool:
    """Whether a column may contain several references, so that a text in it may be a list in JSON."""
    return known_as(source.column) in MULTI_REFERENCE_COLUMNS


def _field(name: str, known: set[str]) -> str | None:
    """The field that a column fills, given the names of the other columns."""
    field = ALIASES.get(name)
    if field == "id" and name != "id" and "id" in known:
        return None  # the row has its own id; this column is the key of another table
    if name == "context" and "retrieval_context" in known:
        return "reference_contexts"  # in a test case, "context" is the text that should have been retrieved
    return field


def _target(target: str, column: str) -> tuple[str, str]:
    """One entry of ``fields``: the field, ``tags.NAME`` or ``metadata.NAME`` that it fills, and the source column."""
    kind, _, name = target.partition(".")
    if not isinstance(column, str) or not column:
        raise InputError(f"expected the name of a column for {target!r}, found {column!r}", field="fields")
    if name and kind in ("tags", "metadata"):
        return target, column
    field = ALIASES.get(known_as(target))
    if field is None:
        hint = did_you_mean(target, _NAMES)
        raise UnknownName(f"samples have no field {target!r}: {hint}", field="fields")
    return field, column


def _source(column: str, columns: list[str]) -> Source | None:
    """The source that an entry of ``fields`` names: a column, or a column and a path in it; None if it is missing."""
    if column in columns:
        return Source(column)
    head, *path = column.split(".")
    return Source(head, tuple(path)) if path and head in columns else None


def _similar_names(plan: ColumnMapping, filled: set[str]) -> list[str]:
    """A remark for each unmapped column whose name is similar to that of a field without a column."""
    remarks = []
    for column in plan.rest:
        close = difflib.get_close_matches(normalized(column), _PLAIN, n=1, cutoff=0.82)
        if close and normalized(column) not in _PLAIN and ALIASES[_PLAIN[close[0]]] not in filled:
            name, field = _PLAIN[close[0]], ALIASES[_PLAIN[close[0]]]
            also = "" if name == field else f" ({field})"
            remarks.append(f"the column {column!r} is stored as metadata: did you mean {name!r}{also}?")
    return remarks
