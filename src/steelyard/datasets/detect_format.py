"""Detect the kind of a file: samples, a dataset, a run, qrels, a BEIR folder, or the test cases of another tool."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..core.errors import InputError
from ..io.foreign_formats import YAML
from ..io.ir_datasets import collection_name
from ..io.rows import FORMATS, InvalidValue, decode_json
from ..io.text_files import peek, read_utf8, suffix_of
from ..ranking.trec.number_parser import parse_number

KINDS = ("samples", "dataset", "recall", "run", "qrels", "beir", "ragas", "deepeval", "promptfoo")
"""The kinds that can be read and written. ``recall`` is a format of datasets, ``ragas`` a format of samples."""

_SUFFIXES = {".run": "run", ".trec": "run", ".res": "run", ".qrels": "qrels", ".qrel": "qrels"}
_QRELS_HEADS = ("query-id", "query_id", "qid", "q_id")


def kind_of(path: Path, encoding: str = "utf-8") -> str:
    """The kind of a file, by suffix and content. Raises InputError if neither is known."""
    suffix = suffix_of(path)
    if collection_name(path) is not None:
        return "dataset"
    if path.is_dir():
        if not any((path / f"queries.jsonl{end}").is_file() for end in ("", ".gz", ".zst")):
            raise InputError("not a BEIR folder: it has no queries.jsonl", path=path)
        return "beir"
    if suffix in YAML:
        return "promptfoo"
    if suffix == ".json":
        return _kind_of_json(path, encoding)
    if suffix in FORMATS and suffix != ".tsv":
        return "samples"
    return _SUFFIXES.get(suffix) or _kind_of_text(path, suffix)


def kind_to_write(path: Path, source: str) -> str:
    """The kind of file to write, by the target's name and the kind of the source."""
    suffix = suffix_of(path)
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    if suffix in YAML:
        return "promptfoo"
    if suffix == ".json" and source in ("dataset", "recall", "beir"):
        return "dataset"
    if suffix == ".tsv" and source in ("qrels", "beir"):
        return "qrels"
    if suffix in FORMATS:
        return "samples"
    if suffix == ".txt" and source in ("run", "qrels"):
        return source
    if not suffix or path.is_dir():
        return "beir"
    raise InputError(f"unknown suffix: choose the format with --to or to= ({', '.join(KINDS)})", path=path)


def _kind_of_json(path: Path, encoding: str) -> str:
    try:
        top = decode_json(read_utf8(path, encoding))
    except InvalidValue:
        return "samples"  # the reader of samples reports the invalid line, or reads JSON lines
    if isinstance(top, dict):
        keys = {key.casefold() for key in top}
        if "queries" in keys:
            return "dataset"
        rows = top.get("tests")
    else:
        rows = top
    first = rows[0] if isinstance(rows, list) and rows else None
    if isinstance(first, Mapping):
        if "vars" in first:
            return "promptfoo"
        if "input" in first and not first.keys().isdisjoint(("actual_output", "expected_output")):
            return "deepeval"
    return "samples"


def _kind_of_text(path: Path, suffix: str) -> str:
    first = next(
        (line for line in peek(path).decode("utf-8", "replace").lstrip("\ufeff").splitlines() if line.strip()), ""
    )
    cells, words = [cell.strip() for cell in first.split("\t")], first.split()
    if len(cells) == 3 and (cells[0].casefold() in _QRELS_HEADS or parse_number(cells[2]) is not None):
        return "qrels"
    if len(words) >= 6 and parse_number(words[4]) is not None:
        return "run"
    if len(words) == 4 and parse_number(words[3]) is not None:
        return "qrels"
    if suffix == ".tsv" or first[:1] in ("{", "["):
        return "samples"
    raise InputError("unknown format: neither the suffix nor the first line is recognised", path=path)
