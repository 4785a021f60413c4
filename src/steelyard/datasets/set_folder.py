"""Write a set as a folder that every command reads: samples, queries, qrels, and the corpus if it is known.

``samples.jsonl`` is for ``eval`` and ``run``; ``queries.jsonl``, ``qrels/test.tsv`` and ``corpus.jsonl`` are the layout
of BEIR, for ``rank``, ``run`` and other tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from ..core.errors import InputError
from ..core.records import Sample
from ..io.rows import InvalidValue, decode_json
from ..io.samples import read_samples, write_samples
from ..io.text_files import read_utf8, writing
from ..ranking.trec.files import format_grade
from .beir import HEADER, tsv_id
from .corpus import Corpus
from .dataset import digest_of

FILES = ("samples.jsonl", "queries.jsonl", "qrels.tsv", "qrels/test.tsv", "corpus.jsonl")
JOB_FILE = "synthesis.json"
"""The file that records the job that made a set, and the digest of its samples at that time."""


def check_free(folder: Path, job: str = "") -> None:
    """Raise InputError if a folder contains a set, unless it is unchanged since the same job wrote it."""
    if not any((folder / name).exists() for name in FILES) or (job and _unchanged_since(job, folder)):
        return
    raise InputError("the folder already contains a set: replace it with --overwrite, or name another", path=folder)


def _unchanged_since(job: str, folder: Path) -> bool:
    samples = folder / FILES[0]
    try:
        record = decode_json(read_utf8(folder / JOB_FILE))
        found = digest_of(read_samples(samples)) if samples.exists() else None
    except (InputError, OSError, InvalidValue):
        return False
    return isinstance(record, dict) and record.get("job") == job and found in (None, record.get("samples"))


def write_set(folder: Path, samples: Sequence[Sample], corpus: Corpus | None = None) -> None:
    """Write the folder; existing files of the same names are replaced."""
    queries = {sample.id: sample.user_input or "" for sample in samples}
    judged = {sample.id: sample.relevance for sample in samples if sample.relevance is not None}
    lines = [HEADER]
    for query, grades in judged.items():
        lines += [f"{tsv_id(query)}\t{tsv_id(doc)}\t{format_grade(grade)}\n" for doc, grade in grades.items()]
    write_samples(folder / "samples.jsonl", samples)
    with writing(folder / "queries.jsonl") as file:
        for sample in samples:
            metadata = {"metadata": sample.tags} if sample.tags else {}
            file.write(msgspec.json.encode({"_id": sample.id, "text": queries[sample.id], **metadata}) + b"\n")
    with writing(folder / "qrels" / "test.tsv") as file:
        file.write("".join(lines).encode("utf-8"))
    if corpus is not None:
        with writing(folder / "corpus.jsonl") as file:
            for key, text in corpus.texts.items():
                file.write(msgspec.json.encode({"_id": key, "text": text, **_place(corpus, key)}) + b"\n")


def _place(corpus: Corpus, key: str) -> Mapping[str, object]:
    place = corpus.places.get(key)
    return {} if place is None else {"metadata": {"source": place.doc, "start": place.start}}
