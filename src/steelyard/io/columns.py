"""Which column fills which field of a sample: known names, explicit mappings, and what to do with the rest.

Rules of this file: nothing is guessed between two candidates and nothing is dropped. A column under a known name fills
its field, ``question_type`` becomes a tag, and every other column is kept as metadata; a column whose name is nearly
that of a field is kept too, with a remark.
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
"""Every name under which a column is known, and the field that it fills. Case, ``_``, ``-`` and blanks do not count."""

TAG_COLUMNS = ("question_type",)
"""Columns that become tags, to slice by; any other becomes one through ``fields={"tags.lang": "lang"}``."""

SEVERAL = [
    "references",
    "ground_truths",
    "answers",
    "gold_answers",
    "golden_answers",
    "expected_answers",
    "reference_answers",
    "correct_answers",
]
"""Columns that hold several references, so that a text in them may be the JSON of a list."""

_SEPARATORS = re.compile(r"[\s_-]+")


def plain(column: str) -> str:
    """A column's name as it is compared: in lower case, without separators.

    >>> plain("RelevantIDs"), plain("Ground Truth"), plain("retrieved_contexts")
    ('relevantids', 'groundtruth', 'retrievedcontexts')
    """
    return _SEPARATORS.sub("", column).lower()


_PLAIN = {plain(alias): alias for alias in reversed(ALIASES)}
_TAGS = {plain(name): name for name in TAG_COLUMNS}


def known_as(column: str) -> str:
    """The known name of a column, as ``ALIASES`` spells it; the column's own if it has none."""
    return _PLAIN.get(plain(column), column)


class Source(NamedTuple):
    """Where a value comes from: a column, and the path inside its cells."""

    column: str
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ".".join((self.column, *self.path))

    def of(self, row: Mapping[str, object]) -> object:
        """The value in a row; None where the path leads nowhere."""
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
    """For rows of certain columns: the sources of each field, tag and piece of metadata, the last with all the columns
    left over, which ``rest`` lists; and remarks on them. ``columns`` has the column of each field where that is all
    there is to say (one whole column for each field, no tags, nothing that needs a second look)."""

    fields: dict[str, list[Source]]
    tags: dict[str, Source]
    extra: dict[str, Source]
    rest: list[str]
    remarks: list[str]
    columns: dict[str, str]

    @property
    def is_direct(self) -> bool:
        """Whether ``columns`` and ``extra`` say all."""
        return len(self.columns) == len(self.fields) and not self.tags


class ColumnMapper:
    """Plans for the columns of rows, after ``fields={"user_input": "meta.question"}`` and the known names."""

    def __init__(self, fields: Mapping[str, str] | None = None) -> None:
        self.explicit = dict(_target(target, column) for target, column in (fields or {}).items())
        self.missing = set(self.explicit)
        self._plans: dict[tuple[object, ...], ColumnMapping] = {}
        self._seen: dict[str, None] = {}

    def plan(self, row: Mapping[str, object]) -> ColumnMapping:
        """The plan for a row; rows of the same columns share one."""
        key = tuple(row)
        if key not in self._plans:
            self._plans[key] = self._made([str(column) for column in key])
        return self._plans[key]

    def check_found(self) -> None:
        """Raise where ``fields`` names a column that no row had. A reader asks at the end of its rows."""
        for target in sorted(self.missing if self._seen else ()):
            column = self.explicit[target]
            raise UnknownName(f"no row has the column {column!r} (for {target}): {did_you_mean(column, self._seen)}")

    def _made(self, columns: list[str]) -> ColumnMapping:
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
            elif plain(column) in _TAGS and _TAGS[plain(column)] not in plan.tags:
                plan.tags[_TAGS[plain(column)]] = Source(column)
            elif column in plan.extra:
                both = f"{str(plan.extra[column])!r} and the column {column!r} itself"
                raise InputError(f"{both} both become metadata.{column}", field="fields")
            else:
                plan.extra[column] = Source(column)
                plan.rest.append(column)
        for field, sources in plan.fields.items():
            if len(sources) == 1 and not sources[0].path and field != "relevant_spans" and not may_list(sources[0]):
                plan.columns[field] = sources[0].column
        plan.remarks.extend(_nearly(plan, {*plan.fields, *self.explicit}))
        return plan


def may_list(source: Source) -> bool:
    """Whether a column is one for several references, where a text may be the JSON of a list."""
    return known_as(source.column) in SEVERAL


def _field(name: str, known: set[str]) -> str | None:
    """The field that a column fills, given what stands beside it."""
    field = ALIASES.get(name)
    if field == "id" and name != "id" and "id" in known:
        return None  # another table's key beside the row's own
    if name == "context" and "retrieval_context" in known:
        return "reference_contexts"  # a test case, where "context" is what should have been retrieved
    return field


def _target(target: str, column: str) -> tuple[str, str]:
    """One entry of ``fields``: the field, ``tags.NAME`` or ``metadata.NAME`` that it fills, and from where."""
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
    """The source that an entry of ``fields`` names: a column, or a column and a path in it."""
    if column in columns:
        return Source(column)
    head, *path = column.split(".")
    return Source(head, tuple(path)) if path and head in columns else None


def _nearly(plan: ColumnMapping, filled: set[str]) -> list[str]:
    """A remark for each left-over column whose name is nearly that of a field which nothing fills."""
    remarks = []
    for column in plan.rest:
        close = difflib.get_close_matches(plain(column), _PLAIN, n=1, cutoff=0.82)
        if close and plain(column) not in _PLAIN and ALIASES[_PLAIN[close[0]]] not in filled:
            name, field = _PLAIN[close[0]], ALIASES[_PLAIN[close[0]]]
            also = "" if name == field else f" ({field})"
            remarks.append(f"the column {column!r} is kept as metadata: did you mean {name!r}{also}?")
    return remarks
