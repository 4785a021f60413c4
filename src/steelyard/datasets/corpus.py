"""A corpus: the documents that systems search, from a folder of texts, a BEIR folder or a file of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from ..core.errors import InputError
from ..core.records import Span
from ..core.wording import pluralize
from ..io.convert_values import plain_value
from ..io.ir_datasets import Collection, collection_name
from ..io.rows import Row, rows_of_file
from ..io.text_files import read_utf8, suffix_of
from ..ranking.qrels import identifier

ID_COLUMNS = ("_id", "id", "chunk_id", "doc_id", "docid", "document_id", "source")
TEXT_COLUMNS = ("text", "contents", "content", "body", "page_content", "passage")
SOURCE_COLUMNS = ("source", "source_id", "doc", "doc_id", "document_id", "parent")
START_COLUMNS = ("start", "start_index", "start_char_idx", "offset")
PLAIN = (".txt", ".text", ".md", ".markdown", ".rst")
"""Suffixes of text files that are documents."""


@dataclass
class Corpus:
    """Texts by id. ``places`` has the location of a chunk in its source, if it is known."""

    name: str
    texts: dict[str, str] = field(default_factory=dict)
    places: dict[str, Span] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.texts)


def read_corpus(path: str | PathLike[str], *, encoding: str = "utf-8") -> Corpus:
    """Read the corpus at a path: a BEIR folder (``corpus.jsonl``), a folder of text files, or a file of rows.

    Text files (``.txt``, ``.md``, ``.rst``) are documents whose ids are their paths in the folder. Rows (JSONL, JSON,
    CSV, TSV, Parquet) have an id (``_id``, ``id``, ``doc_id``), a text and an optional title, which precedes the text
    on a separate line; a chunk may name its source and its start there (``source``, ``start``), in the row or in its
    ``metadata``. One text file is one document, and ``ir_datasets:NAME`` reads the documents of a collection. Raises
    InputError with file and line for invalid rows, and for an empty corpus.
    """
    source = Path(path)
    if (collection := collection_name(path)) is not None:
        corpus = Corpus(collection, Collection(collection).documents)
    elif source.is_file() and suffix_of(source) in PLAIN:
        corpus = Corpus(source.name.partition(".")[0])
        _add_file(corpus, source.name, source, encoding)
    elif source.is_dir():
        found = next(
            (file for suffix in ("", ".gz", ".zst") if (file := source / f"corpus.jsonl{suffix}").is_file()), None
        )
        corpus = Corpus(source.name) if found is None else _read_rows(found, source.name, encoding)
        if found is None:
            _add_files(corpus, source, encoding)
    else:
        corpus = _read_rows(source, source.name.partition(".")[0], encoding)
    if not corpus.texts:
        raise InputError(f"no documents found (expected corpus.jsonl or {', '.join(PLAIN)} files)", path=source)
    return corpus


def _add_files(corpus: Corpus, folder: Path, encoding: str) -> None:
    others = 0
    for file in sorted(folder.rglob("*")):
        parts = file.relative_to(folder).parts
        if not file.is_file() or any(part.startswith(".") for part in parts):
            continue
        if suffix_of(file) not in PLAIN:
            others += 1
            continue
        _add_file(corpus, "/".join(parts), file, encoding)
    if others:
        corpus.notes.append(f"skipped {pluralize(others, 'unsupported file')} (supported: {', '.join(PLAIN)})")


def _add_file(corpus: Corpus, key: str, file: Path, encoding: str) -> None:
    text = read_utf8(file, encoding).decode("utf-8")
    if text.strip():
        corpus.texts[key] = text


def _read_rows(path: Path, name: str, encoding: str) -> Corpus:
    corpus = Corpus(name)
    blank = 0
    for row in rows_of_file(path, encoding):
        key, text, place = _document(row)
        if key in corpus.texts:
            raise row.place.error(f"an earlier row has the id {key!r} already")
        blank += not text.strip()
        corpus.texts[key] = text
        if place is not None:
            corpus.places[key] = place
    if blank:
        corpus.notes.append(pluralize(blank, "document is blank", "documents are blank"))
    return corpus


def _document(row: Row) -> tuple[str, str, Span | None]:
    """The id, the text and the source location of a row."""
    if isinstance(row.values, InputError):
        raise row.values
    if not isinstance(row.values, Mapping):
        raise row.place.error("expected an object with an id and a text")
    values = {str(name): plain_value(value) for name, value in row.values.items()}
    metadata = values.get("metadata") or values.get("meta")
    inner = metadata if isinstance(metadata, Mapping) else {}
    found = next((values[name] for name in ID_COLUMNS if values.get(name) is not None), None)
    if found is None:
        raise row.place.error(f"no id (expected one of {', '.join(ID_COLUMNS[:4])})")
    try:
        key = identifier(found, "_id")
    except InputError as error:
        raise row.place.error(error.message, error.field) from None
    body = next((values[name] for name in TEXT_COLUMNS if values.get(name) is not None), "")
    title = values.get("title") or ""
    for name, value in (("text", body), ("title", title)):
        if not isinstance(value, str):
            raise row.place.error(f"expected a text, found {value!r}", name)
    assert isinstance(body, str)
    assert isinstance(title, str)
    return key, f"{title}\n{body}" if title.strip() else body, _place(key, body, values, inner)


def _place(key: str, body: str, values: Mapping[str, object], inner: Mapping[object, object]) -> Span | None:
    both = list(_candidates(values, inner, SOURCE_COLUMNS))
    source = next((value for value in both if isinstance(value, str) and value != key), None)
    start = next((value for value in _candidates(values, inner, START_COLUMNS) if _is_offset(value)), None)
    if source is None or not isinstance(start, int):
        return None
    return Span(source, start, start + len(body))


def _candidates(
    values: Mapping[str, object], inner: Mapping[object, object], names: tuple[str, ...]
) -> Iterator[object]:
    for name in names:
        yield values.get(name)
        yield inner.get(name)


def _is_offset(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
