"""Rankings from retrievers and runs, as users call them."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import polars as pl
import pytest

from steelyard import RETRIEVAL_METRICS, Dataset, EvalQuery, InputError, WrongType, evaluate_retrieval, evaluate_run

QRELS = {"q1": {"d1": 2, "d2": 1}, "q2": {"d3": 1}, "q3": {"d9": 0}, "q4": {"d1": 1}}
QUERIES = {"q1": "first", "q2": "second", "q3": "third", "q4": "  "}
FOUND = {"first": ["d2", "d1", "x"], "second": ["x", "y"], "third": ["d9"]}


@dataclass
class Hit:
    """A result of a typical retriever: a chunk with its source."""

    source_id: str
    id: str = "chunk"


@dataclass
class Document:
    """A document with metadata, as frameworks give them."""

    page_content: str
    metadata: dict[str, str]


class Searching:
    """Has search(query, limit=)."""

    def search(self, query: str, *, limit: int) -> list[Hit]:
        """Hits, best first."""
        return [Hit(doc) for doc in FOUND[query]][:limit]


class Retrieving:
    """Has retrieve(query, k)."""

    def retrieve(self, query: str, k: int) -> list[dict[str, object]]:
        """Mappings, best first."""
        return [{"id": f"chunk-{doc}", "metadata": {"source": doc}} for doc in FOUND[query]][:k]


SHAPES = {
    "search": Searching(),
    "retrieve": Retrieving(),
    "ids": lambda query, k: FOUND[query][:k],
    "pairs": lambda query, limit: [(doc, 1.0 / (at + 1)) for at, doc in enumerate(FOUND[query])][:limit],
    "documents": lambda query, k: [Document(doc, {"source": doc}) for doc in FOUND[query]][:k],
    "mappings": lambda query, top_k: [{"id": doc} for doc in FOUND[query]][:top_k],
    "query alone": lambda query: FOUND[query],
    "any arguments": lambda *args: FOUND[args[0]][: args[1]],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_retriever_shape(shape: str) -> None:
    """Each shape gives the same report; queries without text or a relevant document are skipped with a warning."""
    report = evaluate_retrieval(SHAPES[shape], QRELS, QUERIES, k_values=(1, 3))
    assert report.n_queries == 2
    assert report.metrics["recall@3"] == 0.5
    assert report.metrics["precision@1"] == 0.5
    assert report.metrics["mrr@3"] == 0.5
    assert report.per_query["q2"]["ndcg@3"] == 0.0
    assert report.k_values == (1, 3)
    assert "2 queries without text or without a relevant document were skipped" in report.warnings


def test_chunks_count_as_their_document_at_the_best_rank() -> None:
    """Case R02: a document found twice counts once; nothing exceeds 1, and the repeats are counted."""
    report = evaluate_retrieval(
        lambda query, k: ["A", "A", "B"] if query == "one" else ["A", "A"],
        {"1": {"A": 1}, "2": {"A": 1, "B": 1}},
        {"1": "one", "2": "two"},
        k_values=(2,),
        metrics=("recall", "ndcg", "map"),
    )
    assert report.per_query["2"]["recall@2"] == 0.5
    assert report.per_query["2"]["ndcg@2"] == pytest.approx(0.6131471927654584)
    assert report.per_query["1"] == {"recall@2": 1.0, "ndcg@2": 1.0, "map@2": 1.0}
    assert any("2 repeated documents" in line for line in report.warnings)


def test_the_limit_is_the_largest_k_unless_given() -> None:
    """The retriever is asked for max(k_values) documents, or for what limit says."""
    asked: list[int] = []

    def retriever(query: str, k: int) -> list[str]:
        asked.append(k)
        return [f"d{number}" for number in range(1, 100)][:k]

    evaluate_retrieval(retriever, {"q": {"d5": 1}}, {"q": "text"}, k_values=(3, 7))
    report = evaluate_retrieval(retriever, {"q": {"d5": 1}}, {"q": "text"}, k_values=(3, 7), limit=4)
    assert asked == [7, 4]
    assert report.metrics["recall@7"] == 0.0


def test_primary_is_ndcg_at_ten() -> None:
    """None if it was not asked for."""
    assert evaluate_retrieval(lambda q, k: ["d1"], {"q": {"d1": 1}}, {"q": "t"}).primary == 1.0
    assert evaluate_retrieval(lambda q, k: ["d1"], {"q": {"d1": 1}}, {"q": "t"}, k_values=(5,)).primary is None


def test_what_cannot_be_scored() -> None:
    """Unknown metric and nothing scorable are ValueErrors with choices or reasons; no retriever is a TypeError."""
    ok = {"q": {"d": 1}}
    with pytest.raises(ValueError, match="did you mean ndcg"):
        evaluate_retrieval(lambda q, k: [], ok, {"q": "t"}, metrics=("ndgc",))
    with pytest.raises(ValueError, match="not a ranking metric"):
        evaluate_retrieval(lambda q, k: [], ok, {"q": "t"}, metrics=("exact_match",))
    with pytest.raises(ValueError, match="no query has both text and a relevant document"):
        evaluate_retrieval(lambda q, k: [], {"q": {"d": 0}}, {"q": "t"})
    with pytest.raises(ValueError, match=r"share no id \(qrels: q; queries: p\)"):
        evaluate_retrieval(lambda q, k: [], ok, {"p": "t"})
    with pytest.raises(ValueError, match="the qrels are empty"):
        evaluate_retrieval(lambda q, k: [], {}, {"q": "t"})
    with pytest.raises(TypeError, match="not a retriever: int"):
        evaluate_retrieval(3, ok, {"q": "t"})
    with pytest.raises(ValueError, match="k_values"):
        evaluate_retrieval(lambda q, k: [], ok, {"q": "t"}, k_values=(0,))
    assert issubclass(WrongType, TypeError)


@pytest.mark.parametrize("found", [[None], [{"text": "no id"}], [""], [[]]])
def test_results_without_an_id_are_an_error(found: list[object]) -> None:
    """Case R11: a null id never matches a null id."""
    with pytest.raises(InputError, match="document id"):
        evaluate_retrieval(lambda q, k: found, {"q": {"d": 1}}, {"q": "t"})


def test_a_retrievers_exception_reaches_the_caller_with_the_query() -> None:
    """It is not caught, not scored, and says which query it was."""

    def broken(query: str, k: int) -> list[str]:
        raise ConnectionError("index is down")

    with pytest.raises(ConnectionError, match="index is down") as caught:
        evaluate_retrieval(broken, {"q7": {"d": 1}}, {"q7": "t"})
    assert caught.value.__notes__ == ["while retrieving for query 'q7'"]


def test_missing_and_ignored_queries_are_named() -> None:
    """Case R03: the mean is over the judged queries; the intersection is there by flag."""
    run, qrels = {"q1": {"a": 1.0}, "q9": {"a": 1.0}}, {"q1": {"a": 1}, "q2": {"b": 1}}
    report = evaluate_run(run, qrels, ["map"])
    assert (report.metrics["map"], report.coverage["map"]) == (0.5, 2)
    assert any("1 judged query is not in the run and scores 0: q2" in line for line in report.warnings)
    assert any("1 query of the run is not in the qrels and is ignored: q9" in line for line in report.warnings)
    assert evaluate_run(run, qrels, ["map"], missing="skip").metrics["map"] == 1.0


def test_hits_equal_to_the_query_stay_by_default() -> None:
    """Case R10: dropping is asked for, and counted."""
    ids = [str(number) for number in range(10)]
    run, qrels = {"0": dict.fromkeys(ids, 1.0)}, {"0": dict.fromkeys(ids, 1)}
    names = ["recall@10", "precision@10", "ndcg@10", "mrr"]
    assert set(evaluate_run(run, qrels, names).metrics.values()) == {1.0}
    dropped = evaluate_run(run, qrels, names, drop_self=True)
    assert dropped.metrics["recall@10"] < 1.0  # type: ignore[operator]
    assert any("1 hit equal to its query was dropped" in line for line in dropped.warnings)


def test_grades_negative_and_graded() -> None:
    """Case R05: negative grades are judged, not relevant, gain 0; the two gains are two names."""
    run, qrels = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}, {"q1": {"d1": -2, "d2": 1, "d3": 2}}
    metrics = evaluate_run(run, qrels, ["ndcg", "ndcg(gain=exponential)", "mrr", "precision@3", "judged@3"]).metrics
    assert metrics == {
        "ndcg": pytest.approx(0.61990623),
        "ndcg(gain=exponential)": pytest.approx(0.58688267),
        "mrr": 0.5,
        "precision@3": pytest.approx(2 / 3),
        "judged@3": 1.0,
    }


def test_short_and_empty_lists() -> None:
    """Case R11: k stays k, AP divides by what is relevant, nothing relevant is undefined."""
    names = ["precision@10", "recall@10", "ndcg@10", "map"]
    qrels = {"q": {"a": 1, "b": 1}, "none": {"a": 0}}
    report = evaluate_run({"q": {"a": 2.0, "x": 1.0}, "none": {"a": 1.0}}, qrels, names)
    assert report.per_query["q"] == {
        "precision@10": 0.1, "recall@10": 0.5, "ndcg@10": pytest.approx(0.61314719), "map": 0.5,
    }  # fmt: skip
    assert report.estimates["map"].undefined == 1
    assert report.per_query["none"]["map"] is None
    assert evaluate_run({"q": {}}, {"q": {"a": 1}}, names).per_query["q"] == dict.fromkeys(names, 0.0)


def test_slices_by_a_mapping() -> None:
    """``by`` gives the tag of every query."""
    run, qrels = {"a": {"d": 1.0}, "b": {"x": 1.0}}, {"a": {"d": 1}, "b": {"d": 1}}
    report = evaluate_run(run, qrels, ["mrr"], by={"kind": {"a": "easy", "b": "hard"}})
    assert report.slices["kind=easy"]["mrr"].value == 1.0
    assert report.slices["kind=hard"]["mrr"].value == 0.0


def test_frames_are_runs_and_qrels() -> None:
    """polars and pandas, under the usual column names."""
    run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
    qrels = pd.DataFrame({"query-id": ["q"], "corpus-id": ["b"], "score": [1]})
    assert evaluate_run(run, qrels, ["mrr"]).metrics == {"mrr": 0.5}


def test_scalar_functions_by_name() -> None:
    """The public table of names to functions, on a hand-worked ranking."""
    ranked, grades = ["x", "b", "a"], {"a": 2, "b": 1, "c": 1}
    values = {name: function(ranked, grades, 3) for name, function in RETRIEVAL_METRICS.items()}
    assert values["recall"] == pytest.approx(2 / 3)
    assert values["precision"] == pytest.approx(2 / 3)
    assert values["mrr"] == 0.5
    assert values["map"] == pytest.approx((1 / 2 + 2 / 3) / 3)
    gain = 1 / 1.584962500721156 + 2 / 2
    ideal = 2 + 1 / 1.584962500721156 + 1 / 2
    assert values["ndcg"] == pytest.approx(gain / ideal)
    assert all(function([], {}, 3) == 0.0 for function in RETRIEVAL_METRICS.values())
    assert all(function(ranked, grades, 0) == 0.0 for function in RETRIEVAL_METRICS.values())


def test_a_dataset_holds_judgements_and_texts() -> None:
    """A Dataset stands for qrels and queries; anything else is told in one line."""
    dataset = Dataset("lights").add(EvalQuery("Which?", ["d1"], id="q1"))
    report = evaluate_retrieval(lambda query, k: ["d2", "d1"], dataset, k_values=(2,), metrics=("mrr",))
    assert (report.metrics, report.samples[0].user_input) == ({"mrr@2": 0.5}, "Which?")
    with pytest.raises(WrongType, match=r"qrels: expected .* or a Dataset, found list"):
        evaluate_retrieval(lambda query, k: [], [], {})  # type: ignore[arg-type]
    with pytest.raises(WrongType, match=r"queries: expected .*, found NoneType"):
        evaluate_retrieval(lambda query, k: [], {"q1": {"d1": 1}})
