"""The demo: retrieve, answer, score and report on the small corpus of the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import as_file
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..core.package import RESOURCES
from ..core.records import Sample, Span
from ..datasets.beir import read_beir
from ..datasets.corpus import Corpus
from ..datasets.set_folder import write_set
from ..evaluate.evaluate_rankings import evaluate_run
from ..evaluate.evaluate_samples import evaluate_rag
from ..io.samples import write_samples
from ..ranking.trec.files import write_run
from ..reports.provenance import DatasetNote
from ..reports.report import Report
from ..systems.bm25 import BM25
from ..systems.collect import retrieve_ids
from ..systems.extractive import Extractive
from ..systems.overlap import Overlap
from ..systems.protocols import Retriever

DEPTH, READ = 50, 3
RANKINGS = ("ndcg@10", "recall@10", "map", "mrr@10", "precision@3")
ANSWERS = ("token_f1", "contains", "rouge_l", "context_recall", "faithfulness", "answer_correctness")


class Reference(Struct):
    """The labels of one question: the accepted answers and the passages that contain them."""

    query_id: str
    reference: str | list[str]
    reference_contexts: list[str]
    relevant_spans: list[Span]


class Demo(NamedTuple):
    """The corpus with its questions, qrels and samples."""

    corpus: dict[str, str]
    queries: dict[str, str]
    qrels: Mapping[str, Mapping[str, float]]
    samples: list[Sample]


class DemoReports(NamedTuple):
    """One system with its two reports."""

    system: str
    rankings: Report
    answers: Report


def load_demo() -> Demo:
    """The corpus of the package: 66 documents on lighthouses, 40 questions, graded qrels and references."""
    with as_file(RESOURCES / "demo") as folder:
        corpus, queries, qrels = read_beir(folder)
        known = msgspec.json.Decoder(Reference)
        references = {one.query_id: one for one in known.decode_lines((folder / "references.jsonl").read_bytes())}
        rows = msgspec.json.Decoder(dict[str, object]).decode_lines((folder / "queries.jsonl").read_bytes())
    tags = {str(row["_id"]): _tags(row.get("metadata")) for row in rows}
    samples = [
        Sample(
            id=query,
            user_input=text,
            reference=references[query].reference,
            reference_contexts=references[query].reference_contexts,
            relevant_spans=references[query].relevant_spans or None,
            relevance=dict(qrels.get(query, {})),
            tags=tags[query],
        )
        for query, text in queries.items()
    ]
    return Demo(corpus, queries, qrels, samples)


def _tags(metadata: object) -> dict[str, str]:
    return {str(key): str(value) for key, value in metadata.items()} if isinstance(metadata, dict) else {}


def evaluate_demo_system(demo: Demo, system: Retriever, name: str, out: Path) -> DemoReports:
    """Retrieve, answer and score with one system; the run and the samples are written to the folder of the reports."""
    answerer = Extractive()
    run: dict[str, dict[str, float]] = {}
    samples = []
    questions = {sample.id: sample.user_input or "" for sample in demo.samples}
    retrieved = retrieve_ids(system, questions, DEPTH).ids
    for sample in demo.samples:
        question, ids = questions[sample.id], retrieved[sample.id]
        run[sample.id] = {doc: float(len(ids) - at) for at, doc in enumerate(ids)}
        contexts = [demo.corpus[doc] for doc in ids[:READ]]
        samples.append(
            replace(
                sample,
                retrieved_ids=ids,
                retrieved_contexts=contexts,
                response=answerer.answer(question, "\n\n".join(contexts)),
            )
        )
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    write_run(folder / "run.trec", run, tag=name)
    write_samples(folder / "samples.jsonl", samples)
    types = {sample.id: sample.tags["question_type"] for sample in samples}
    rankings = evaluate_run(run, demo.qrels, RANKINGS, by={"question_type": types}, name=name)
    rankings.dataset = DatasetNote("lighthouses", "1", rankings.dataset.digest)
    answers = evaluate_rag(samples, metrics=ANSWERS, by="question_type", name=name, dataset="lighthouses")
    return DemoReports(name, rankings, answers)


def run(out: Path) -> Sequence[DemoReports]:
    """Evaluate BM25 and a simple retriever and write all results to ``out``."""
    from ..render.files import write

    demo = load_demo()
    write_set(out / "data", demo.samples, Corpus("lighthouses", demo.corpus))
    results = []
    for system in (BM25(demo.corpus), Overlap(demo.corpus)):
        one = evaluate_demo_system(demo, system, system.name, out)
        write(one.rankings, out / system.name / "rankings")
        write(one.answers, out / system.name / "answers")
        results.append(one)
    return results
