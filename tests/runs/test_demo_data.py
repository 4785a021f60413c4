"""The corpus of `steelyard demo` is complete and consistent."""

from __future__ import annotations

import re
from collections import Counter
from importlib.resources import files
from typing import Any

import msgspec
import pytest

DEMO = files("steelyard") / "resources" / "demo"
FILES = ("SOURCE.txt", "corpus.jsonl", "queries.jsonl", "qrels/test.tsv", "references.jsonl")
TYPES = {"factual", "comparison", "multi_document", "numeric", "unanswerable"}


def read(name: str) -> str:
    return DEMO.joinpath(*name.split("/")).read_text(encoding="utf-8")


def rows(name: str) -> list[dict[str, Any]]:
    return msgspec.json.Decoder(dict[str, Any]).decode_lines(read(name))


@pytest.fixture(scope="module")
def corpus() -> dict[str, str]:
    return {row["_id"]: row["text"] for row in rows("corpus.jsonl")}


@pytest.fixture(scope="module")
def kinds() -> dict[str, str]:
    return {row["_id"]: row["metadata"]["question_type"] for row in rows("queries.jsonl")}


@pytest.fixture(scope="module")
def qrels() -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = {}
    for line in read("qrels/test.tsv").splitlines()[1:]:
        query, doc, grade = line.split("\t")
        assert doc not in judged.setdefault(query, {}), line
        judged[query][doc] = int(grade)
    return judged


def test_documents_are_short_and_named_once() -> None:
    """About sixty documents of 80 to 180 words, with readable ids that do not repeat."""
    documents = rows("corpus.jsonl")
    assert 60 <= len(documents) <= 70
    for field in ("_id", "title", "text"):
        assert len({row[field] for row in documents}) == len(documents)
    for row in documents:
        assert set(row) == {"_id", "title", "text"}
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", row["_id"])
        assert 80 <= len(row["text"].split()) <= 180, row["_id"]


def test_questions_are_of_the_promised_kinds() -> None:
    """Forty questions, ten of them over several documents and five that cannot be answered."""
    questions = rows("queries.jsonl")
    assert [row["_id"] for row in questions] == [f"q{n:02}" for n in range(1, 41)]
    assert len({row["text"] for row in questions}) == 40
    assert {row["metadata"]["difficulty"] for row in questions} == {"easy", "medium", "hard"}
    counts = Counter(row["metadata"]["question_type"] for row in questions)
    assert set(counts) == TYPES
    assert (counts["multi_document"], counts["unanswerable"]) == (10, 5)
    assert min(counts.values()) >= 5


def test_judgements_fit_questions_and_documents(
    corpus: dict[str, str], kinds: dict[str, str], qrels: dict[str, dict[str, int]]
) -> None:
    """Every question has several judged documents; only answerable ones have an essential document."""
    assert read("qrels/test.tsv").startswith("query-id\tcorpus-id\tscore\n")
    assert qrels.keys() == kinds.keys()
    grades = Counter(grade for judged in qrels.values() for grade in judged.values())
    assert set(grades) == {0, 1, 2, 3}
    for query, judged in qrels.items():
        assert judged.keys() <= corpus.keys()
        assert len(judged) >= 2, query
        essential = sum(grade >= 2 for grade in judged.values())
        if kinds[query] == "unanswerable":
            assert set(judged.values()) == {0}, query
        else:
            assert essential >= (2 if kinds[query] == "multi_document" else 1), query


def test_every_quote_stands_in_its_document(
    corpus: dict[str, str], kinds: dict[str, str], qrels: dict[str, dict[str, int]]
) -> None:
    """References quote whole sentences, word for word, from documents judged relevant."""
    references = rows("references.jsonl")
    assert [row["query_id"] for row in references] == list(kinds)
    for row in references:
        query, spans = row["query_id"], row["relevant_spans"]
        answers = [row["reference"]] if isinstance(row["reference"], str) else row["reference"]
        assert answers, query
        assert all(answer.strip() for answer in answers), query
        assert row["reference_contexts"] == [span["text"] for span in spans]
        assert bool(spans) == (kinds[query] != "unanswerable"), query
        for span in spans:
            text, quote = corpus[span["doc"]], span["text"]
            assert text.count(quote) == 1, (query, quote)
            assert text.startswith(quote) or f". {quote}" in text or f": {quote}" in text, (query, quote)
            assert quote.endswith("."), (query, quote)
            assert qrels[query][span["doc"]] > 0, (query, span["doc"])
        if kinds[query] == "multi_document":
            assert len({span["doc"] for span in spans}) >= 2, query


def test_the_folder_stays_small() -> None:
    """The whole demo set is under 120 kB and says where it comes from."""
    assert sum(len(read(name).encode()) for name in FILES) < 120_000
    assert "Apache-2.0" in read("SOURCE.txt")


def test_keywords_alone_do_well_but_not_perfectly(qrels: dict[str, dict[str, int]]) -> None:
    """BM25 reaches an nDCG@10 between .75 and .9, so that the demo has something to show."""
    bm25s = pytest.importorskip("bm25s", reason="needs the extra steelyard[systems]")
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="needs the development tools")
    documents, questions = rows("corpus.jsonl"), rows("queries.jsonl")

    def words(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords="en", show_progress=False)

    index = bm25s.BM25()
    index.index(words([f"{row['title']} {row['text']}" for row in documents]), show_progress=False)
    found, scores = index.retrieve(words([row["text"] for row in questions]), k=10, show_progress=False)
    run = {
        row["_id"]: {documents[place]["_id"]: float(score) for place, score in zip(hits, marks, strict=True)}
        for row, hits, marks in zip(questions, found, scores, strict=True)
    }
    answerable = {query: judged for query, judged in qrels.items() if any(judged.values())}
    values = pytrec_eval.RelevanceEvaluator(answerable, {"ndcg_cut.10"}).evaluate(run).values()
    assert 0.75 <= sum(value["ndcg_cut_10"] for value in values) / len(answerable) <= 0.9
