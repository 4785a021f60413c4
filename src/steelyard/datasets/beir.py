"""Read and write BEIR folders: ``corpus.jsonl``, ``queries.jsonl`` and qrels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from ..core.errors import InputError
from ..core.records import Qrels
from ..core.validation import decode_problem
from ..io.text_files import read_lines, writing
from ..ranking.qrels import identifier
from ..ranking.trec.files import File, NotFound, find_qrels, format_grade, read_qrels

Texts: TypeAlias = dict[str, str]

HEADER = "query-id\tcorpus-id\tscore\n"


def read_beir(
    directory: str | PathLike[str], *, qrels: File | None = None
) -> tuple[Texts, Texts, dict[str, dict[str, float]]]:
    """Read a folder in the layout of BEIR: ``(corpus {id: text}, queries {id: text}, qrels)``.

    ``corpus.jsonl`` and ``queries.jsonl`` (or .gz, .zst) have one object per line with ``_id`` or ``id``, ``text``
    and an optional ``title``, which precedes the text on a separate line. ``qrels`` is a path in the folder or the
    name of a split; the default is the first of ``qrels.tsv``, ``qrels/test.tsv`` and ``qrels/dev.tsv`` that exists.

    Raises FileNotFoundError, which lists the names that were tried, and InputError with the line for invalid content.
    """
    folder = Path(directory)
    corpus = dict(_texts(_find(folder, "corpus.jsonl")))
    queries = dict(_texts(_find(folder, "queries.jsonl")))
    return corpus, queries, read_qrels(find_qrels(folder, qrels))


def write_beir(
    directory: str | PathLike[str], corpus: Mapping[str, str], queries: Mapping[str, str], qrels: Qrels
) -> None:
    """Write a folder that ``read_beir`` reads back: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv``.

    Parent folders are created. Raises InputError, before anything is written, for an id in the qrels that contains a
    tab or a line end, or begins or ends with a blank.
    """
    folder, table = Path(directory), _qrels_table(qrels)
    for name, texts in (("corpus.jsonl", corpus), ("queries.jsonl", queries)):
        with writing(folder / name) as file:
            for key, text in texts.items():
                file.write(msgspec.json.encode({"_id": key, "text": text}) + b"\n")
    with writing(folder / "qrels.tsv") as file:
        file.write(table)


def write_qrels_tsv(path: File, qrels: Qrels) -> None:
    """Write BEIR qrels: a header, then ``query-id``, ``corpus-id`` and ``score`` separated by tabs."""
    table = _qrels_table(qrels)
    with writing(Path(path)) as file:
        file.write(table)


def _qrels_table(qrels: Qrels) -> bytes:
    lines = [HEADER]
    for query, judged in qrels.items():
        lines += [f"{tsv_id(query)}\t{tsv_id(doc)}\t{format_grade(grade)}\n" for doc, grade in judged.items()]
    return "".join(lines).encode("utf-8")


def _find(folder: Path, name: str) -> Path:
    for suffix in ("", ".gz", ".zst"):
        if (path := folder / (name + suffix)).is_file():
            return path
    raise NotFound(f"no {name} in {folder}: looked for {name}, {name}.gz and {name}.zst")


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    """The id and the text of each line."""
    decoder = msgspec.json.Decoder(dict[str, Any])
    seen: set[str] = set()
    for line in read_lines(path):
        if not line.data.strip():
            continue
        try:
            item = decoder.decode(line.data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise line.encoding_error(path) or InputError(
                f"not a JSON object: {decode_problem(error)}", path=path, line=line.number
            ) from None
        key = item.get("_id", item.get("id"))
        if key is None:
            raise InputError("no _id", path=path, line=line.number)
        key = identifier(key, "_")
        if key in seen:
            raise InputError(f"an earlier line has the id {key!r} already", path=path, line=line.number)
        seen.add(key)
        yield key, _title_and_text(item, path, line.number)


def _title_and_text(item: Mapping[str, object], path: Path, line: int) -> str:
    parts = []
    for field in "title", "text":
        part = item.get(field)
        if part is None:
            part = ""
        if not isinstance(part, str):
            raise InputError(f"expected text, found {part!r}", path=path, line=line, field=field)
        parts.append(part)
    title, text = parts
    return f"{title}\n{text}" if title.strip() else text


def tsv_id(field: str) -> str:
    """Return an id that a tab-separated qrels file can store; raise InputError for any other."""
    if not field or field != field.strip() or any(letter in field for letter in "\t\r\n\v\f"):
        message = "an id is not empty and has no tabs, line ends or blanks around it"
        raise InputError(f"{field!r} cannot be written to a qrels.tsv: {message}")
    return field
