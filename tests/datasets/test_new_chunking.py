"""A corpus cut into chunks of 512 characters, and again into chunks of 384: what becomes of labels and figures."""

from __future__ import annotations

from dataclasses import replace as changed
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from steelyard import evaluate_rag
from steelyard.cli import invoke
from steelyard.core.records import Sample, Span
from steelyard.datasets.corpus import Corpus, read_corpus
from steelyard.datasets.dataset import Dataset, EvalQuery
from steelyard.datasets.label_status import check_labels, count_statuses, repair_labels
from steelyard.datasets.set_folder import write_set
from steelyard.io.samples import read_samples
from steelyard.ranking.trec.files import read_qrels, write_qrels
from steelyard.runs.demo import load_demo
from steelyard.systems.bm25 import BM25
from steelyard.systems.chunks import cut
from steelyard.systems.collect import collect
from steelyard.text.find_passage import find_passage

K = 5


class Chunked(NamedTuple):
    """A chunking, and the questions labelled for it."""

    corpus: Corpus
    samples: list[Sample]


def chunked(size: int) -> Chunked:
    """The demo corpus cut anew; relevant is each chunk that holds a part of the evidence."""
    demo = load_demo()
    corpus = Corpus(f"chunks of {size}")
    for doc, text in demo.corpus.items():
        for start, end in cut(text, size):
            corpus.texts[f"{doc}:{start}-{end}"] = text[start:end]
            corpus.places[f"{doc}:{start}-{end}"] = Span(doc, start, end)
    samples = []
    for sample in demo.samples:
        relevance: dict[str, float] = {}
        spans = []
        for span in sample.relevant_spans or ():
            place = find_passage(span.text or "", demo.corpus[span.doc])
            assert place is not None
            spans.append(Span(span.doc, place.start, place.end, span.text))
            relevance |= {
                key: 1.0
                for key, where in corpus.places.items()
                if where.doc == span.doc and (where.start or 0) < place.end and place.start < (where.end or 0)
            }
        if spans:
            samples.append(replace(sample, relevance=relevance, relevant_spans=spans, reference_contexts=None))
    return Chunked(corpus, samples)


@pytest.fixture(scope="module")
def then() -> Chunked:
    """Chunks of 512 characters."""
    return chunked(512)


@pytest.fixture(scope="module")
def now() -> Chunked:
    """Chunks of 384 characters."""
    return chunked(384)


def figures(corpus: Corpus, samples: list[Sample]) -> dict[str, float]:
    """What the same retriever gets over a chunking, with the labels of the samples."""
    collected = collect(BM25(corpus.texts), samples, k=K, places=corpus.places)
    report = evaluate_rag(collected.samples, metrics=[f"recall@{K}", f"span_recall@{K}"])
    return {label: value or 0.0 for label, value in report.metrics.items()}


def test_ids_collapse_and_spans_do_not(then: Chunked, now: Chunked) -> None:
    """With the labels of then, id recall falls to next to nothing; span recall moves as far as the evidence found does,
    and repaired labels give the figures that labels made for the new chunks give."""
    before = figures(then.corpus, then.samples)
    stale = figures(now.corpus, then.samples)
    fresh = figures(now.corpus, now.samples)
    assert before[f"recall@{K}"] > 0.6
    assert stale[f"recall@{K}"] < 0.1
    assert stale[f"span_recall@{K}"] == fresh[f"span_recall@{K}"]
    assert abs(stale[f"span_recall@{K}"] - before[f"span_recall@{K}"]) < 0.1
    mended, left = repair_labels(then.samples, check_labels(then.samples, now.corpus, then.corpus))
    assert left == []
    assert [one.relevance for one in mended] == [one.relevance for one in now.samples]
    again = figures(now.corpus, mended)
    assert again == pytest.approx(fresh, abs=0.002)
    assert abs(again[f"recall@{K}"] - before[f"recall@{K}"]) < 0.02


def test_span_recall_is_the_share_of_evidence_found(now: Chunked) -> None:
    """Counted character by character, without any of our placing."""
    demo = load_demo()
    collected = collect(BM25(now.corpus.texts), now.samples, k=K, places=now.corpus.places)
    report = evaluate_rag(collected.samples, metrics=[f"span_recall@{K}"])
    for sample in collected.samples:
        wanted = {
            (span.doc, at)
            for span in sample.relevant_spans or ()
            for at in range(span.start or 0, span.end or 0)
            if span.doc in demo.corpus
        }
        seen = {
            (place.doc, at)
            for key in sample.retrieved_ids or ()
            for place in [now.corpus.places[key]]
            for at in range(place.start or 0, place.end or 0)
        }
        assert report.per_sample[sample.id][f"span_recall@{K}"] == pytest.approx(len(wanted & seen) / len(wanted))


def test_every_label_as_its_offsets_say(then: Chunked, now: Chunked) -> None:
    """What became of each chunk, told from offsets alone: the same name, inside a larger one, or over several; and of
    these the label means those with a part of the evidence that it held."""
    spans = {sample.id: sample.relevant_spans or [] for sample in then.samples}
    for label in check_labels(then.samples, now.corpus, then.corpus):
        if label.number is not None:
            assert label.status == "valid"
            continue
        place = then.corpus.places[label.doc]
        holders = [
            key
            for key, where in now.corpus.places.items()
            if where.doc == place.doc
            and (where.start or 0) < (place.end or 0)
            and (place.start or 0) < (where.end or 0)
        ]
        if label.doc in now.corpus.texts:
            assert label.status == "valid"
        elif len(holders) == 1:
            assert label.status == "merged"
        else:
            assert label.status == "split"
        if label.status != "valid":
            wanted = set()
            for key in holders:
                low = max(place.start or 0, now.corpus.places[key].start or 0)
                high = min(place.end or 0, now.corpus.places[key].end or 0)
                if any(one.doc == place.doc and one.start < high and low < one.end for one in spans[label.sample]):
                    wanted.add(key)
            assert {one.doc for one in label.places} == wanted
    assert count_statuses(check_labels(then.samples, now.corpus, then.corpus))["split"] > 40


def test_quotes_repair_to_the_labels_of_the_new_chunks(then: Chunked, now: Chunked) -> None:
    """Where a set holds the quotes themselves, repair gives the labels that would be made for the new chunks, and so
    the same figures."""
    quoted = []
    for sample in then.samples:
        spans = []
        for span in sample.relevant_spans or ():
            for key in sample.relevance or ():
                where = then.corpus.places[key]
                low, high = max(where.start or 0, span.start or 0), min(where.end or 0, span.end or 0)
                if where.doc == span.doc and low < high:
                    text = then.corpus.texts[key]
                    spans.append(Span(key, text=text[low - (where.start or 0) : high - (where.start or 0)]))
        quoted.append(replace(sample, relevant_spans=spans))
    plain = changed(now.corpus, places={})
    mended, left = repair_labels(quoted, check_labels(quoted, plain))
    assert {label.note for label in left} <= {"found in 18 places"}  # a border left the word "On" alone
    same = [one.relevance == other.relevance for one, other in zip(mended, now.samples, strict=True)]
    assert sum(same) >= len(same) - 1
    assert figures(now.corpus, mended)[f"recall@{K}"] == pytest.approx(
        figures(now.corpus, now.samples)[f"recall@{K}"], abs=0.02
    )


def test_from_the_command_line(then: Chunked, now: Chunked, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """check --corpus --old-corpus counts, names and repairs; the repaired set is valid."""
    write_set(tmp_path / "set", then.samples, then.corpus)
    write_set(tmp_path / "now", now.samples, now.corpus)
    assert read_corpus(tmp_path / "now").places == now.corpus.places
    files = [str(tmp_path / name) for name in ("set/samples.jsonl", "now", "set", "mended.jsonl")]
    assert invoke(["check", files[0], "--corpus", files[1], "--old-corpus", files[2]]) == 1
    printed = capsys.readouterr().out
    assert " split, 0 gone" in printed
    assert "coverage: " in printed
    assert invoke(["check", files[0], "--corpus", files[1], "--old-corpus", files[2], "--repair", files[3]]) == 0
    assert "0 unchanged" in capsys.readouterr().out
    assert invoke(["check", files[3], "--corpus", files[1]]) == 0
    assert len(read_samples(files[3])) == len(then.samples)
    assert invoke(["check", files[0], "--old-corpus", files[1]]) == 1
    assert "--old-corpus and --repair need --corpus" in capsys.readouterr().err


def test_repair_keeps_the_format_of_the_set(then: Chunked, now: Chunked, tmp_path: Path) -> None:
    """A dataset stays a dataset with its name, qrels stay qrels; a run has no labels to repair."""
    write_set(tmp_path / "was", then.samples, then.corpus)
    write_set(tmp_path / "now", now.samples, now.corpus)
    corpora = ["--corpus", str(tmp_path / "now"), "--old-corpus", str(tmp_path / "was")]
    queries = [EvalQuery.of(sample) for sample in then.samples]
    Dataset("lights", "2", queries).save(tmp_path / "set.json")
    assert invoke(["check", str(tmp_path / "set.json"), *corpora, "--repair", str(tmp_path / "new.json")]) == 0
    repaired_set = Dataset.load(tmp_path / "new.json")
    assert (repaired_set.name, repaired_set.version) == ("lights", "2")
    assert repaired_set.qrels == {sample.id: sample.relevance for sample in now.samples}
    write_qrels(tmp_path / "set.qrels", Dataset.load(tmp_path / "set.json").qrels)
    assert invoke(["check", str(tmp_path / "set.qrels"), *corpora, "--repair", str(tmp_path / "new.qrels")]) == 0
    mended = read_qrels(tmp_path / "new.qrels")
    for sample in now.samples:  # without the quotes, all that a chunk became is relevant
        assert (sample.relevance or {}).keys() <= mended[sample.id].keys()
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 1.0 t\n")
    assert invoke(["check", str(tmp_path / "a.run"), *corpora]) == 1
