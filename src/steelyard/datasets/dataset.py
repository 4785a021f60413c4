"""A named set of queries with their references and relevance, and a digest of its content.

The digest covers the data of the set (ids, queries, references, relevance, tags) and no output of a system (responses,
retrieved contexts and ids, metadata), so that two runs over one set can be compared. It does not depend on the order
of rows or keys, nor on the format of a file.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct, field
from msgspec.structs import force_setattr

from ..core.errors import InputError, InputErrors, WrongType
from ..core.records import Json, Qrels, Sample, Span
from ..core.wording import pluralize
from ..io import convert_values
from ..io.columns import known_as
from ..io.ir_datasets import PREFIX, Collection, collection_name
from ..io.row_parser import RowParser
from ..io.rows import InvalidValue, Row, RowPlace, decode_json, rows_of_file
from ..io.samples import collect_samples, warn_remark, write_samples
from ..io.text_files import read_utf8, suffix_of, writing
from .beir import read_beir

File: TypeAlias = "str | PathLike[str]"
Shape: TypeAlias = Literal["steelyard", "recall"]


class EvalQuery(Struct, omit_defaults=True, frozen=True):
    """One query of a dataset. The id defaults to the query text; ``relevance`` (grades) overrides ``relevant_ids``.

    >>> query = EvalQuery("Who?", relevant_ids=["d1", "d2"])
    >>> query.id, query.grades
    ('Who?', {'d1': 1.0, 'd2': 1.0})
    """

    query: str
    relevant_ids: tuple[str, ...] = ()
    relevance: dict[str, float] | None = None
    context: str | list[str] | None = None
    reference_answer: str | list[str] | None = None
    id: str = ""
    relevant_spans: list[Span] | None = None
    tags: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            self._normalise()
        except InvalidValue as bad:
            raise InputError(str(bad), field=f"query {self.query!r}") from None
        if not self.id:
            raise InputError("a query needs a text or an id")
        # One context, or none, has a single representation, so that a saved and loaded dataset is equal.
        context = self.context[0] if isinstance(self.context, list) and len(self.context) == 1 else self.context
        force_setattr(self, "context", None if context == "" else context)
        force_setattr(self, "reference_answer", None if self.reference_answer == "" else self.reference_answer)

    def _normalise(self) -> None:
        """Ids become text and grades numbers, or InvalidValue says what is wrong with them."""
        text = convert_values.text(self.query)
        force_setattr(self, "id", text if self.id in ("", None) else convert_values.identifier(self.id))
        listed = self.relevant_ids if isinstance(self.relevant_ids, str) else list(self.relevant_ids or ())
        force_setattr(self, "relevant_ids", tuple(convert_values.identifiers(listed)))
        if self.relevance is not None:
            force_setattr(self, "relevance", convert_values.grades(self.relevance))

    @property
    def grades(self) -> dict[str, float] | None:
        """The grades of documents: those given, or 1 for each relevant id; None if neither is given."""
        return self.relevance or (dict.fromkeys(self.relevant_ids, 1.0) if self.relevant_ids else self.relevance)

    def sample(self) -> Sample:
        """The query as a sample: ``context`` becomes ``reference_contexts``."""
        context = self.context
        return Sample(
            id=self.id,
            user_input=self.query,
            reference=self.reference_answer,
            reference_contexts=[context] if isinstance(context, str) else context,
            relevance=self.grades,
            relevant_spans=self.relevant_spans,
            tags=self.tags,
            metadata=self.metadata,
        )

    @classmethod
    def of(cls, sample: Sample, relevant_ids: Iterable[str] = ()) -> EvalQuery:
        """Build the query of a sample, without the outputs of a system."""
        if sample.user_input is None:
            raise InputError(f"sample {sample.id!r} has no query (user_input)")
        return cls(
            sample.user_input,
            relevant_ids=tuple(relevant_ids),
            relevance=sample.relevance,
            context=sample.reference_contexts,
            reference_answer=sample.reference,
            id=sample.id,
            relevant_spans=sample.relevant_spans,
            tags=sample.tags,
            metadata=sample.metadata,
        )


class Dataset:
    """Queries with a name and a version, and with their documents if those are known.

    >>> dataset = Dataset("tiny").add(EvalQuery("Who?", relevant_ids=["d1"], reference_answer="Ada"))
    >>> dataset.qrels, dataset.query_texts, dataset.samples()[0].reference
    ({'Who?': {'d1': 1.0}}, {'Who?': 'Who?'}, 'Ada')
    """

    def __init__(
        self,
        name: str,
        version: str | None = None,
        queries: Iterable[EvalQuery] = (),
        *,
        corpus: Mapping[str, str] | None = None,
    ) -> None:
        self.name, self.version, self.corpus = name, version, corpus
        self._queries: dict[str, EvalQuery] = {}
        for query in queries:
            self.add(query)

    def add(self, query: EvalQuery) -> Dataset:
        """Add a query, and return the dataset. A repeated id is an error."""
        if not isinstance(query, EvalQuery):
            raise WrongType(f"expected an EvalQuery, found {type(query).__name__}")
        if query.id in self._queries:
            raise InputError(f"dataset {self.name!r} has a query with the id {query.id!r} already")
        self._queries[query.id] = query
        return self

    @property
    def queries(self) -> list[EvalQuery]:
        """The queries, in the order in which they were added."""
        return list(self._queries.values())

    @property
    def qrels(self) -> Qrels:
        """The relevance judgments, for the queries that have any."""
        return {query.id: grades for query in self if (grades := query.grades)}

    @property
    def query_texts(self) -> dict[str, str]:
        """The texts of the queries by id."""
        return {query.id: query.query for query in self}

    @property
    def digest(self) -> str:
        """The digest of the content: ``digest_of`` its samples. Name, version and corpus are not included."""
        return digest_of(self.samples())

    def samples(self) -> list[Sample]:
        """The queries as samples, to be answered and scored."""
        return [query.sample() for query in self]

    def save(self, path: File, *, shape: Shape = "steelyard") -> None:
        """Write the dataset: ``.json`` with name and version, or samples (``.jsonl``, ``.csv``, ``.parquet``).

        ``shape="recall"`` writes ``{Name, version, Queries: [{ID, Query, RelevantIDs, relevance, context,
        reference_answer}]}``; a warning names the information that this shape does not support.
        """
        path = Path(path)
        if shape not in ("steelyard", "recall"):
            raise InputError(f"unknown shape {shape!r} (expected steelyard or recall)")
        if suffix_of(path) != ".json":
            write_samples(path, self.samples())
            return
        if shape == "recall" and (lost := self._lost_in_recall()):
            warnings.warn(f"the recall shape does not support {', '.join(lost)}", UserWarning, stacklevel=2)
        write_dataset(path, self, shape)

    @classmethod
    def load(cls, path: File, *, fields: Mapping[str, str] | None = None, encoding: str = "utf-8") -> Dataset:
        """Read a dataset: a JSON file of either shape (the case of keys is ignored), a file of samples, a BEIR folder,
        or a collection of ir_datasets (``ir_datasets:vaswani``).

        The file's name is used if the content has none. Raises InputError with file and line.
        """
        if (collection := collection_name(path)) is not None:
            return cls._of_collection(collection)
        path = Path(path)
        if path.is_dir():
            return cls.from_beir(path)
        top = _top_of(path, encoding) if suffix_of(path) == ".json" else {}
        name, version = top.get("name") or path.name.partition(".")[0], top.get("version")
        corpus = top.get("corpus")
        if corpus is not None and not (isinstance(corpus, dict) and all(isinstance(t, str) for t in corpus.values())):
            raise InputError("expected an object of texts by id", path=path, field="corpus")
        dataset = cls(str(name), None if version is None else str(version), corpus=corpus)
        for query in collect_samples(queries_of(path, RowParser(fields, warn_remark), encoding)):
            dataset.add(query)
        return dataset

    @classmethod
    def from_beir(cls, directory: File, *, qrels: str | None = None, name: str | None = None) -> Dataset:
        """Read a BEIR folder with its corpus. ``qrels`` is a split or a path, as for ``read_beir``."""
        corpus, queries, judged = read_beir(directory, qrels=qrels)
        found = [EvalQuery(text, relevance=judged.get(key), id=key) for key, text in queries.items()]
        return cls(name or Path(directory).name, queries=found, corpus=corpus)

    @classmethod
    def _of_collection(cls, name: str) -> Dataset:
        collection = Collection(name)
        judged = collection.qrels
        found = [EvalQuery(text, relevance=judged.get(key), id=key) for key, text in collection.queries.items()]
        if not found:
            raise InputError("the collection has no queries", path=f"{PREFIX}{name}")
        return cls(name, queries=found, corpus=collection.documents or None)

    def _lost_in_recall(self) -> list[str]:
        several = [query for query in self if isinstance(query.reference_answer, list)]
        lost = {
            "the corpus": bool(self.corpus),
            "the bounds of several contexts": any(isinstance(query.context, list) for query in self),
            "second references": any(len(query.reference_answer or ()) > 1 for query in several),
            "tags": any(query.tags for query in self),
            "metadata": any(query.metadata for query in self),
            "relevant_spans": any(query.relevant_spans is not None for query in self),
        }
        return [what for what, is_lost in lost.items() if is_lost]

    def __iter__(self) -> Iterator[EvalQuery]:
        return iter(self._queries.values())

    def __len__(self) -> int:
        return len(self._queries)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dataset):
            return NotImplemented
        return (self.name, self.version, self.queries, self.corpus) == (
            other.name,
            other.version,
            other.queries,
            other.corpus,
        )

    __hash__ = None  # type: ignore[assignment]  # it can be added to

    def __repr__(self) -> str:
        version = "" if self.version is None else f", version={self.version!r}"
        return f"<Dataset {self.name!r}{version}, {pluralize(len(self), 'query')}>"


def write_dataset(path: Path, dataset: Dataset, shape: Shape = "steelyard") -> None:
    """Write a dataset as JSON of a shape, without a warning about information that the shape does not support."""
    name, version, corpus = dataset.name, dataset.version, dataset.corpus
    if shape == "recall":
        queries = [_recall_query(query) for query in dataset]
        content: dict[str, object] = {"Name": name, "version": version or "", "Queries": queries}
    else:
        content = {"name": name, "version": version, "queries": dataset.queries, "corpus": corpus}
    try:
        data = msgspec.json.encode({key: value for key, value in content.items() if value is not None})
    except (UnicodeEncodeError, OverflowError) as error:
        raise InputError(f"cannot be written: {error}", path=path) from None
    with writing(path) as file:
        file.write(msgspec.json.format(data, indent=1) + b"\n")


def digest_of(samples: Iterable[Sample]) -> str:
    """The digest of the data of samples: 24 hexadecimal digits.

    Covers ids, queries, references, reference contexts, relevance, spans and tags; not the outputs of a system, and not
    the order of samples. A single reference counts as a list of one.

    >>> one = Sample(id="q", user_input="Who?", reference="Ada", response="Ada")
    >>> two = Sample(id="q", user_input="Who?", reference=["Ada"], response="Grace")
    >>> digest_of([one]) == digest_of([two])
    True
    """
    parts = sorted(
        blake2b(msgspec.json.encode(_given(one), order="sorted"), digest_size=16).digest() for one in samples
    )
    return blake2b(b"".join(parts), digest_size=12).hexdigest()


def _given(sample: Sample) -> tuple[object, ...]:
    return (
        sample.id,
        sample.user_input,
        sample.references,
        sample.reference_contexts or None,
        {doc: float(grade) for doc, grade in (sample.relevance or {}).items()},
        sample.relevant_spans or None,
        sample.tags,
    )


def queries_of(path: Path, parser: RowParser, encoding: str) -> Iterator[EvalQuery | list[InputError]]:
    """The queries of a file; an invalid row yields its problems instead."""
    places: dict[str, RowPlace] = {}
    for row in rows_of_file(path, encoding):
        try:
            query = _query_of(row, parser)
            if (first := places.setdefault(query.id, row.place)) is not row.place:
                raise row.place.error(f"the id {query.id!r} is given twice, first at {first._replace(path=None)}", "id")
            yield query
        except InputErrors as errors:
            yield list(errors.problems)
        except InputError as error:
            yield [error]
    parser.mapper.check_found()


def _query_of(row: Row, parser: RowParser) -> EvalQuery:
    """The query of a row. A list of relevant ids is preserved in addition to the grades."""
    relevant: list[str] = []
    if isinstance(row.values, Mapping) and "relevance" not in parser.mapper.explicit:
        key = next((key for key in row.values if known_as(str(key)) == "relevant_ids"), None)
        if isinstance(listed := row.values.get(key), list):
            try:
                relevant = convert_values.identifiers(listed)
            except InvalidValue as bad:
                raise row.place.error(str(bad), str(key)) from None
            row = row._replace(values={name: value for name, value in row.values.items() if name != key})
    sample = parser.sample(row)
    if not sample.user_input:
        raise row.place.error("expected the text of a query, found none", "query")
    return EvalQuery.of(sample, relevant)


def _top_of(path: Path, encoding: str) -> dict[str, object]:
    """The top-level fields of a dataset file, keys in lower case; empty if it contains a list or JSON lines."""
    try:
        top = decode_json(read_utf8(path, encoding))
    except InvalidValue:
        return {}
    return {key.casefold(): value for key, value in top.items()} if isinstance(top, dict) else {}


def _recall_query(query: EvalQuery) -> dict[str, object]:
    answer, context = query.reference_answer, query.context
    written = {
        "ID": query.id,
        "Query": query.query,
        "RelevantIDs": list(query.relevant_ids),
        "relevance": query.relevance,
        "context": "\n\n".join(context) if isinstance(context, list) else context,
        "reference_answer": (answer[0] if answer else None) if isinstance(answer, list) else answer,
    }
    return {key: value for key, value in written.items() if value is not None}
