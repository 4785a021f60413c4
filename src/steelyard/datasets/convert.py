"""Convert files between formats: TREC, BEIR, datasets, samples, and the test cases of other tools.

Every conversion goes through samples: a ranking is a sample with ``retrieved_ids`` (its scores in the metadata), and
the relevance judgments of a query are a sample with ``relevance``. Information that the target does not support is
listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from ..core.errors import InputError, UnknownName
from ..core.records import Sample
from ..core.wording import did_you_mean, pluralize
from ..io.foreign_formats import YAML, read_cases, write_cases
from ..io.row_parser import RowParser
from ..io.rows import InvalidValue, decode_json
from ..io.samples import collect_samples, has_field, read_samples, warn_remark, write_samples
from ..io.text_files import read_utf8, suffix_of
from ..ranking.trec.files import read_qrels, read_run, write_qrels, write_run
from .beir import read_beir, write_beir, write_qrels_tsv
from .dataset import Dataset, EvalQuery, write_dataset
from .detect_format import KINDS, kind_of, kind_to_write

SCORES = "scores"
"""The metadata key for the scores of ``retrieved_ids``."""

_KNOWN = ("id", "user_input", "reference", "reference_contexts", "relevance", "relevant_spans", "tags", "metadata")
_ALL = Sample.__struct_fields__
_SUPPORTED: dict[str, Iterable[str]] = {
    "samples": _ALL,
    "dataset": (*_KNOWN, "corpus", "name"),
    "recall": ("id", "user_input", "reference", "reference_contexts", "relevance", "name"),
    "run": ("id", "retrieved_ids"),
    "qrels": ("id", "relevance"),
    "beir": ("id", "user_input", "relevance", "corpus"),
    "ragas": tuple(name for name in _ALL if name not in ("id", "relevant_spans", "tags", "metadata")),
    "deepeval": _ALL,
    "promptfoo": _ALL,
}
_NEEDS = {"run": "retrieved_ids", "qrels": "relevance", "beir": "relevance"}
"""The field without which a file of each kind would be empty."""


@dataclass
class Contents:
    """The contents of a file of any kind."""

    kind: str
    samples: list[Sample]
    corpus: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    dataset: Dataset | None = None
    lost: list[str] = field(default_factory=list)


def convert(
    source: str | PathLike[str],
    target: str | PathLike[str],
    *,
    from_: str | None = None,
    to: str | None = None,
    fields: Mapping[str, str] | None = None,
    encoding: str = "utf-8",
) -> list[str]:
    """Convert a file or folder, and list the information that the target does not support; empty if nothing is lost.

    Names and contents determine the kinds: ``.run`` ``.trec`` (a TREC run), ``.qrels`` (TREC) or ``.tsv`` (BEIR's
    qrels), a folder (BEIR), ``.json`` (samples, or a dataset if the source is one), ``.jsonl`` ``.csv`` ``.tsv``
    ``.parquet`` (samples), ``.yaml`` (promptfoo). ``from_`` and ``to`` override them: samples, dataset, recall, run,
    qrels, beir, ragas, deepeval, promptfoo. ``fields`` is as for ``read_samples``.
    """
    source, target = Path(source), Path(target)
    for name in (from_, to):
        if name is not None and name not in KINDS:
            raise UnknownName(f"unknown format {name!r}: {did_you_mean(name, KINDS)}")
    contents = read_contents(source, kind=from_, fields=fields, encoding=encoding)
    return write_contents(target, contents, kind=to)


def read_contents(
    source: Path, *, kind: str | None = None, fields: Mapping[str, str] | None = None, encoding: str = "utf-8"
) -> Contents:
    """Read the contents of a file or folder; its kind is detected from name and contents unless given."""
    kind = kind or kind_of(source, encoding)
    contents = _READERS[kind](source, fields, encoding)
    contents.kind = kind
    return contents


def write_contents(target: Path, contents: Contents, *, kind: str | None = None) -> list[str]:
    """Write contents in the format of the target's name, and list the information that the format does not support."""
    kind = kind or kind_to_write(target, contents.kind)
    lost = [*contents.lost, *_lost(contents, kind)]
    need = _NEEDS.get(kind)
    if need is not None and not any(getattr(sample, need) for sample in contents.samples):
        raise InputError(f"nothing to write as {kind}: no sample has {need}", path=target)
    _WRITERS[kind](target, contents)
    return lost


# Reading


def _read_samples(path: Path, fields: Mapping[str, str] | None, encoding: str) -> Contents:
    return Contents("samples", read_samples(path, fields=fields, encoding=encoding))


def _read_dataset(path: Path, fields: Mapping[str, str] | None, encoding: str) -> Contents:
    dataset = Dataset.load(path, fields=fields, encoding=encoding)
    return Contents("dataset", dataset.samples(), dataset.corpus or {}, dataset.name, dataset)


def _read_run(path: Path, fields: Mapping[str, str] | None, encoding: str) -> Contents:  # noqa: ARG001
    run, samples = read_run(path, encoding=encoding), []
    for query, scores in run.items():
        docs = sorted(scores, reverse=True)
        docs.sort(key=scores.__getitem__, reverse=True)
        metadata = {SCORES: [scores[doc] for doc in docs]}
        samples.append(Sample(id=query, retrieved_ids=docs, metadata=metadata))  # type: ignore[arg-type]
    return Contents("run", samples, lost=["the run's tag"])


def _read_qrels(path: Path, fields: Mapping[str, str] | None, encoding: str) -> Contents:  # noqa: ARG001
    qrels = read_qrels(path, encoding=encoding)
    return Contents("qrels", [Sample(id=query, relevance=dict(judged)) for query, judged in qrels.items()])


def _read_beir(path: Path, fields: Mapping[str, str] | None, encoding: str) -> Contents:
    corpus, queries, qrels = read_beir(path)
    if (path / "samples.jsonl").is_file():  # a set written by Steelyard; its samples have more fields than BEIR
        return Contents(
            "beir", read_samples(path / "samples.jsonl", fields=fields, encoding=encoding), corpus, path.name
        )
    samples = [Sample(id=key, user_input=text, relevance=qrels.get(key)) for key, text in queries.items()]
    samples += [Sample(id=key, relevance=judged) for key, judged in qrels.items() if key not in queries]
    return Contents("beir", samples, corpus, path.name)


def _cases_reader(kind: str) -> Callable[[Path, Mapping[str, str] | None, str], Contents]:
    def read(path: Path, fields: Mapping[str, str] | None, encoding: str) -> Contents:
        samples = collect_samples(read_cases(path, kind, RowParser(fields, warn_remark), encoding))
        return Contents(kind, samples, lost=_other_keys(path, encoding))

    return read


def _other_keys(path: Path, encoding: str) -> list[str]:
    """The keys of a configuration other than its tests."""
    if suffix_of(path) in YAML:
        import yaml

        node = yaml.compose(read_utf8(path, encoding).decode("utf-8"), yaml.SafeLoader)
        keys = [key.value for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
    else:
        try:
            top = decode_json(read_utf8(path, encoding))
        except InvalidValue:
            return []
        keys = list(top) if isinstance(top, dict) else []
    return [f"{key} of the configuration" for key in keys if key not in ("tests", "test_cases", "goldens")]


_READERS: dict[str, Callable[[Path, Mapping[str, str] | None, str], Contents]] = {
    "samples": _read_samples,
    "ragas": _read_samples,
    "dataset": _read_dataset,
    "recall": _read_dataset,
    "run": _read_run,
    "qrels": _read_qrels,
    "beir": _read_beir,
    **{kind: _cases_reader(kind) for kind in ("deepeval", "promptfoo")},
}


# Lost information


def _lost(contents: Contents, target_kind: str) -> list[str]:
    supported, samples = set(_SUPPORTED[target_kind]), contents.samples
    counts: dict[str, int] = {}
    for sample in samples:
        for name in _ALL:
            if name not in supported and has_field(sample, name):
                counts[name] = counts.get(name, 0) + 1
    if target_kind == "run":
        counts["metadata"] = sum(1 for sample in samples if sample.metadata.keys() - {SCORES})
    if target_kind == "ragas" and [sample.id for sample in samples] == [str(row + 1) for row in range(len(samples))]:
        counts.pop("id", None)
    lost = [f"{name} ({pluralize(counts[name], 'sample')})" for name in _ALL if counts.get(name)]
    if contents.corpus and "corpus" not in supported:
        lost.append(f"corpus ({pluralize(len(contents.corpus), 'document')})")
    if contents.dataset is not None and "name" not in supported:
        lost.append("name" if contents.dataset.version is None else "name and version")
    return lost + [
        f"{what} ({pluralize(count, 'sample')})" for what, count in _partly_lost(samples, target_kind) if count
    ]


def _partly_lost(samples: list[Sample], target_kind: str) -> list[tuple[str, int]]:
    """Information that a kind of file supports only in part, with the number of affected samples."""

    def many(part: Callable[[Sample], bool]) -> int:
        return sum(1 for sample in samples if part(sample))

    if target_kind == "ragas":
        return [
            ("empty lists of references", many(lambda one: one.reference == [])),
            ("second references", many(lambda one: len(one.references) > 1)),
            ("grades other than 1", many(lambda one: any(grade != 1 for grade in (one.relevance or {}).values()))),
        ]
    if target_kind == "dataset":
        return [
            ("blank references", many(lambda one: one.reference == "")),
            ("blank contexts", many(lambda one: one.reference_contexts == [""])),
        ]
    if target_kind == "recall":
        return [
            ("blank references", many(lambda one: one.reference in ("", [], [""]))),
            ("blank contexts", many(lambda one: one.reference_contexts in ([], [""]))),
            ("second references", many(lambda one: len(one.references) > 1)),
            ("the bounds of several contexts", many(lambda one: len(one.reference_contexts or ()) > 1)),
        ]
    if target_kind == "run":
        return [
            ("queries without results", many(lambda one: not one.retrieved_ids)),
            (
                "documents retrieved twice",
                many(lambda one: len(set(one.retrieved_ids or ())) < len(one.retrieved_ids or ())),
            ),
        ]
    if target_kind == "qrels":
        return [("queries without relevance judgments", many(lambda one: not one.relevance))]
    if target_kind == "beir":
        return [
            ("empty relevance judgments", many(lambda one: one.relevance == {})),
            (
                "queries without text and relevance judgments",
                many(lambda one: one.user_input is None and not one.relevance),
            ),
        ]
    if target_kind == "promptfoo":
        return [("texts that promptfoo reads as templates", many(_looks_like_template))]
    return []


def _looks_like_template(sample: Sample) -> bool:
    texts = [sample.user_input or "", *(sample.retrieved_contexts or ()), *sample.references]
    return any(mark in text for text in texts for mark in ("{{", "{%", "{#"))


# Writing


def _write_samples(path: Path, contents: Contents) -> None:
    write_samples(path, contents.samples)


def _write_dataset(path: Path, contents: Contents) -> None:
    write_dataset(path, _dataset_of(path, contents))


def _write_recall(path: Path, contents: Contents) -> None:
    write_dataset(path, _dataset_of(path, contents), "recall")


def _dataset_of(path: Path, contents: Contents) -> Dataset:
    if contents.dataset is not None:
        return contents.dataset
    if missing := [sample.id for sample in contents.samples if not sample.user_input]:
        raise InputError(f"a dataset needs the text of each query: no text for {', '.join(missing[:3])}")
    queries = [EvalQuery.of(sample) for sample in contents.samples]
    return Dataset(contents.name or path.name.partition(".")[0], queries=queries, corpus=contents.corpus or None)


def _write_run(path: Path, contents: Contents) -> None:
    write_run(path, {sample.id: _scored(sample) for sample in contents.samples if sample.retrieved_ids})


def _scored(sample: Sample) -> dict[str, float]:
    """The scores of a ranking: its own, or descending whole numbers if it has none."""
    docs, scores = sample.retrieved_ids or [], sample.metadata.get(SCORES)
    known = (
        isinstance(scores, list) and len(scores) == len(docs) and all(isinstance(one, int | float) for one in scores)
    )
    values = scores if known else range(len(docs), 0, -1)
    scored: dict[str, float] = {}
    for doc, score in zip(docs, values, strict=True):  # type: ignore[arg-type]
        scored.setdefault(doc, float(score))  # type: ignore[arg-type]
    return scored


def _write_qrels(path: Path, contents: Contents) -> None:
    qrels = {sample.id: sample.relevance for sample in contents.samples if sample.relevance}
    if suffix_of(path) == ".tsv":
        write_qrels_tsv(path, qrels)
    else:
        write_qrels(path, qrels)


def _write_beir(path: Path, contents: Contents) -> None:
    texts = {sample.id: sample.user_input for sample in contents.samples if sample.user_input is not None}
    qrels = {sample.id: sample.relevance for sample in contents.samples if sample.relevance}
    write_beir(path, contents.corpus, texts, qrels)


def _cases_writer(kind: str) -> Callable[[Path, Contents], None]:
    return lambda path, contents: write_cases(path, contents.samples, kind)


_WRITERS: dict[str, Callable[[Path, Contents], None]] = {
    "samples": _write_samples,
    "dataset": _write_dataset,
    "recall": _write_recall,
    "run": _write_run,
    "qrels": _write_qrels,
    "beir": _write_beir,
    **{kind: _cases_writer(kind) for kind in ("ragas", "deepeval", "promptfoo")},
}
