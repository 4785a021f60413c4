"""Suites: retrieve, answer and judge over a dataset."""

from __future__ import annotations

import pytest

from steelyard import BenchmarkSuite, Dataset, EvalQuery, InputError, OverlapJudge, WrongType

TEXTS = {"d1": "The tower is forty metres high.", "d2": "Ada built it in 1842.", "d3": "  "}


def dataset() -> Dataset:
    """Three queries: one easy, one graded, one that nothing answers."""
    made = Dataset("tiny", version="1")
    made.add(EvalQuery("How high is the tower?", relevant_ids=["d1"], reference_answer="forty metres"))
    made.add(EvalQuery("Who built it?", relevant_ids=["d9"], relevance={"d2": 2, "d1": 1}, id="who"))
    made.add(EvalQuery("What does it cost?", reference_answer="The documents do not say."))
    return made


class System:
    """Finds everything, blank documents too; fails on one question if told."""

    def __init__(self, broken: str | None = None) -> None:
        self.broken = broken

    def retrieve(self, query: str, k: int) -> list[str]:
        """All documents in the same order."""
        if query == self.broken:
            raise TimeoutError("index is slow")
        return ["d1", "d2", "d3", "d1"][:k]

    def context_text(self, id: str) -> str | None:  # noqa: A002
        """The text of a document."""
        return TEXTS.get(id)


class Echo:
    """Answers with the whole context."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def answer(self, question: str, context: str) -> str:
        """The context."""
        self.seen.append(context)
        return context


def test_retrieval_at_one_k() -> None:
    """Keys, values, and the query without relevant documents as undefined."""
    report = BenchmarkSuite(dataset(), k=2).run(System())
    assert list(report.metrics) == ["precision@2", "recall@2", "mrr", "ndcg@2"]
    assert report.per_query["How high is the tower?"]["mrr"] == 1.0
    assert report.per_query["who"]["ndcg@2"] == pytest.approx((1 + 2 / 1.584962500721156) / (2 + 1 / 1.584962500721156))
    assert report.per_query["What does it cost?"]["mrr"] is None
    assert report.coverage["mrr"] == 2
    assert (report.dataset.name, report.dataset.version, report.k_values) == ("tiny", "1", (2,))


def test_answers_are_judged_for_every_query() -> None:
    """Contexts reach the answerer joined by a blank line; blank texts are left out and counted."""
    echo = Echo()
    report = BenchmarkSuite(dataset(), k=3).run_with_answers(System(), echo, OverlapJudge())
    assert echo.seen[0] == "The tower is forty metres high.\n\nAda built it in 1842."
    assert report.metrics["faithfulness"] == 1.0
    assert report.coverage["faithfulness"] == 3
    assert report.notes["faithfulness"].way == report.judge
    assert report.estimates["correctness"].undefined == 1
    assert any("3 retrieved documents have no text" in line for line in report.warnings)


def test_a_system_that_fails_fails_one_sample() -> None:
    """The run goes on; the reason is kept and counted."""
    report = BenchmarkSuite(dataset(), k=2).run_with_answers(System("Who built it?"), Echo(), OverlapJudge())
    assert report.estimates["recall@2"].failed == 1
    assert report.estimates["faithfulness"].failed == 1
    assert "TimeoutError: index is slow" in str(report.score(1, "recall@2").reason)
    assert report.metrics["recall@2"] == 1.0


def test_the_dataset_rules() -> None:
    """relevance overrides relevant_ids, the id defaults to the query text, and contexts are reference contexts."""
    one = dataset().add(EvalQuery("Ctx?", context="a passage"))
    assert one.qrels["who"] == {"d2": 2, "d1": 1}
    assert one.query_texts["Ctx?"] == "Ctx?"
    assert one.samples()[-1].reference_contexts == ["a passage"]


def test_what_a_suite_refuses() -> None:
    """No queries, a senseless k, and things without the needed method."""
    with pytest.raises(InputError, match="no queries"):
        BenchmarkSuite(Dataset("empty"))
    with pytest.raises(InputError, match="k=0"):
        BenchmarkSuite(dataset(), k=0)
    with pytest.raises(WrongType, match="answer"):
        BenchmarkSuite(dataset()).run_with_answers(System(), object(), OverlapJudge())  # type: ignore[arg-type]
