"""Relevance judgments as columns, and the checks of ids and numbers that runs and qrels share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from operator import itemgetter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError, WrongType
from ..core.records import Qrels

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class QrelsTable:
    """Relevance judgments as rows of (query, document, grade), grouped by query, queries sorted."""

    queries: Sequence[str]
    starts: IntArray
    docs: Sequence[str]
    grades: FloatArray

    @classmethod
    def of_columns(
        cls, queries: Sequence[str], docs: Sequence[str], grades: FloatArray, *, also: Iterable[str] = ()
    ) -> QrelsTable:
        """Build the table from three columns of equal length, in any order; ``also`` are queries without judgments.

        A repeated pair of query and document raises InputError.
        """
        known = sorted({*queries, *also})
        code = {query: at for at, query in enumerate(known)}
        codes = np.fromiter(map(code.__getitem__, queries), np.int64, len(queries))
        pairs = set(zip(queries, docs, strict=True))
        if len(pairs) < len(docs):
            query, doc = _first_repeated(zip(queries, docs, strict=True))
            raise InputError(f"document {doc!r} is judged twice for query {query!r}")
        order = np.argsort(codes, kind="stable")
        starts = np.zeros(len(known) + 1, dtype=np.int64)
        np.cumsum(np.bincount(codes, minlength=len(known)), out=starts[1:])
        return cls(known, starts, [docs[row] for row in order.tolist()], grades[order])

    @classmethod
    def of_mapping(cls, qrels: Qrels) -> QrelsTable:
        """Build the table from ``{query: {document: grade}}``.

        >>> QrelsTable.of_mapping({"q2": {"d": 1}, "q1": {"b": 0, "a": 2.5}}).grades.tolist()
        [0.0, 2.5, 1.0]
        """
        for query, judged in qrels.items():
            if type(judged) is not dict and not isinstance(judged, Mapping):
                raise WrongType(f"qrels must be {{query: {{document: grade}}}}, not {query!r}: {judged!r}")
        ids = identifiers(list(qrels), "query")
        table = dict(sorted(zip(ids, qrels.values(), strict=True), key=itemgetter(0)))
        if len(table) < len(qrels):
            raise InputError(f"query {next(one for one in ids if ids.count(one) > 1)!r} is in the qrels twice")
        found = list(chain.from_iterable(table.values()))
        docs = identifiers(found, "document")
        if not docs:
            raise InputError("the qrels are empty")
        grades = finite_array(chain.from_iterable(judged.values() for judged in table.values()), len(docs))
        if grades is None:
            query, doc, grade = _first_invalid(qrels)
            raise InputError(f"grade is not a finite number: {grade!r} (query {query!r}, document {doc!r})")
        sizes = list(map(len, table.values()))
        if docs is not found:  # some ids were converted to text, so two of them may now be equal
            queries = list(chain.from_iterable(map(repeat, table, sizes)))
            return cls.of_columns(queries, docs, grades, also=table)
        starts = np.zeros(len(sizes) + 1, dtype=np.int64)
        np.cumsum(sizes, out=starts[1:])
        return cls(list(table), starts, docs, grades)

    def with_self(self) -> QrelsTable:
        """The table with an added row of grade NaN for each query whose own id is not among its documents."""
        queries = [self.queries[at] for at in self.query.tolist()]
        own = set(self.queries) - {query for query, doc in zip(queries, self.docs, strict=True) if query == doc}
        more = sorted(own)
        grades = np.concatenate((self.grades, np.full(len(more), np.nan)))
        return QrelsTable.of_columns([*queries, *more], [*self.docs, *more], grades, also=self.queries)

    @property
    def query(self) -> IntArray:
        """The index of each row's query."""
        return np.repeat(np.arange(len(self.queries), dtype=np.int64), np.diff(self.starts))

    def is_self(self) -> BoolArray:
        """Which rows judge the document that has the id of the query."""
        queries = [self.queries[at] for at in self.query.tolist()]
        return np.array([query == doc for query, doc in zip(queries, self.docs, strict=True)], dtype=bool)


def identifier(found: object, what: str) -> str:
    """Convert an id to text: integers are accepted; a missing id is an error, never a match."""
    if isinstance(found, str) and found:
        return found
    if isinstance(found, int | np.integer) and not isinstance(found, bool):
        return str(int(found))
    raise InputError(f"{what} id must be text, found {found!r}")


def identifiers(found: Sequence[object], what: str) -> Sequence[str]:
    """Convert many ids to text; if all are text already, return the same sequence."""
    if set(map(type, found)) <= {str} and "" not in found:
        return found  # type: ignore[return-value]
    return [identifier(one, what) for one in found]


def finite_array(values: Iterable[object], count: int) -> FloatArray | None:
    """Convert values to an array; None if one of them is not a finite number (text, None, NaN, infinity)."""
    try:
        array = np.fromiter(values, np.float64, count)
    except (TypeError, ValueError, OverflowError):
        return None
    return array if np.isfinite(array).all() else None


def _first_repeated(pairs: Iterable[tuple[str, str]]) -> tuple[str, str]:
    seen: set[tuple[str, str]] = set()
    for pair in pairs:
        if pair in seen:
            return pair
        seen.add(pair)
    raise AssertionError


def _first_invalid(table: Mapping[str, Mapping[str, object]]) -> tuple[str, str, object]:
    for query, row in table.items():
        for doc, value in row.items():
            if finite_array([value], 1) is None:
                return query, doc, value
    raise AssertionError
