"""Suites and whole systems: one report of rankings and answers, with failures, stages and resumption."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import steelyard
from steelyard import (
    AnswerJudge,
    AnswerQuality,
    BenchmarkSuite,
    Dataset,
    EvalQuery,
    JudgeInput,
    OverlapJudge,
    RAGEval,
    Sample,
)
from steelyard.core.errors import AskFailed, InputError, WrongType
from steelyard.core.records import Usage
from steelyard.core.requests import Ask
from steelyard.evaluate.evaluate_system import evaluate_system
from steelyard.models.embedder import embedding_script
from steelyard.models.json_schema import example_of
from steelyard.models.judge import script
from steelyard.render.cost_table import stage_costs
from steelyard.systems.bm25 import BM25
from steelyard.systems.extractive import Extractive
from steelyard.systems.http import Http
from steelyard.systems.outputs import Output
from tests.systems.service import Service

CORPUS = {
    "tower": "The tower was built of granite by Robert Stevenson. It was lit in 1811.",
    "lens": "Fresnel made the lens. It throws the light over the sea.",
    "keeper": "The keeper trims the lamp every night.",
}


def dataset() -> Dataset:
    return (
        Dataset("lights", "1", corpus=CORPUS)
        .add(EvalQuery("Who built the tower of granite?", ["tower"], reference_answer="Robert Stevenson", id="q1"))
        .add(EvalQuery("Who made the lens?", ["lens"], reference_answer="Fresnel", id="q2"))
        .add(EvalQuery("Who trims the lamp?", relevance={"keeper": 2, "tower": 0}, id="q3"))
        .add(EvalQuery("What do gulls eat?", id="q4"))
    )


def test_rankings_of_a_suite() -> None:
    """Keys, values and counts: a query without relevant documents is undefined."""
    report = BenchmarkSuite(dataset(), k=2).run(BM25(CORPUS))
    assert report.metrics == {"precision@2": 0.5, "recall@2": 1.0, "mrr": 1.0, "ndcg@2": 1.0}
    assert (report.kind, report.estimates["mrr"].n, report.dataset.version) == ("suite", 3, "1")
    assert dataset().digest == report.dataset.digest
    assert report.run["stages"]["retrieve"]["calls"] == 4  # type: ignore[index,call-overload]


def test_a_suite_scores_like_evaluate_system() -> None:
    """The same outputs and cells, with failed samples: a suite only names them and pools them in its own way."""

    def system(query: str, k: int) -> list[str]:
        if "gulls" in query:
            raise OSError("index closed")
        return ["lens", "tower"][:k]

    suite = BenchmarkSuite(dataset(), k=2).run(system)
    report = evaluate_system(system, dataset(), ["precision@2", "recall@2", "mrr", "ndcg@2"], k=2)
    assert suite.metrics == report.metrics
    assert suite.samples == report.samples
    assert [suite.score(row, "mrr").status for row in range(4)] == [report.score(row, "mrr").status for row in range(4)]
    assert (suite.notes["mrr"].threshold, report.notes["mrr"].threshold) == (None, 0.5)
    assert {"retrieve"} == set(suite.run["stages"])  # type: ignore[arg-type]


def test_answers_of_a_suite() -> None:
    """The judge's three qualities beside the rankings; correctness only where there is a reference."""
    report = BenchmarkSuite(dataset(), k=1).run_with_answers(BM25(CORPUS), Extractive(), OverlapJudge())
    assert report.metrics["recall@1"] == 1.0
    assert (report.judge, report.notes["faithfulness"].way) == ("overlap", "overlap")
    counts = {name: report.estimates[name].n for name in ("faithfulness", "relevance", "correctness")}
    assert counts == {"faithfulness": 4, "relevance": 4, "correctness": 2}
    assert report.samples[0].response == "The tower was built of granite by Robert Stevenson."
    assert {"retrieve", "answer", "judge"} == set(report.run["stages"])  # type: ignore[arg-type]
    assert report.score(3, "correctness").reason == "no reference"


def test_what_each_stage_took_is_shown() -> None:
    """Calls, seconds, tokens by stage in the terminal, in Markdown and on the page; a saved report still knows."""

    class Answerer:
        def answer_batch(self, questions: list[str], contexts: list[str]) -> list[Output]:
            return [Output(answer="a", usage=Usage(calls=1, prompt_tokens=5, completion_tokens=2))] * len(questions)

    report = evaluate_system(BM25(CORPUS), dataset(), ["mrr", "answered"], answerer=Answerer())
    row = next(line for line in str(report).splitlines() if line.startswith("answer "))
    assert row.split()[1:3] == ["1", "0"]
    assert row.endswith("20 + 8")
    assert "| answer | 1 | 0 |" in report.markdown()
    assert "tokens in + out 20 + 8" in report.html()
    assert stage_costs(report) is not None
    report.run = {key: value for key, value in report.run.items() if key != "stages"}
    assert stage_costs(report) is None


def test_contexts_reach_the_answerer_joined_by_a_blank_line() -> None:
    """An id without text is left out and counted."""
    seen: list[str] = []

    class System:
        def retrieve(self, query: str, k: int) -> list[str]:
            return ["tower", "missing", "lens"]

        def context_text(self, id: str) -> str | None:  # noqa: A002 - the word of the public protocol
            return CORPUS.get(id)

    class Answerer:
        def answer(self, question: str, context: str) -> str:
            seen.append(context)
            return "Yes."

    report = BenchmarkSuite(dataset(), k=3).run_with_answers(System(), Answerer(), OverlapJudge())
    assert f"{CORPUS['tower']}\n\n{CORPUS['lens']}" == seen[0]
    assert "4 retrieved documents have no text and were left out of the contexts" in report.warnings


def test_failures_of_every_stage_are_samples() -> None:
    """Retriever, answerer and judge each fail on one query; the rest stands."""

    class System(BM25):
        def search(self, query: str, limit: int) -> Any:
            if "gulls" in query:
                raise OSError("index closed")
            return super().search(query, limit)

    class Answerer:
        async def answer(self, question: str, context: str) -> str:
            if "lens" in question:
                raise AskFailed("timeout", "late")
            return "Robert Stevenson"

    class Judge:
        name = "mine"

        def judge(self, case: JudgeInput, /) -> AnswerQuality:
            if "lamp" in case.question:
                raise ValueError("cannot say")
            return AnswerQuality(1.0, 1.0, 0.5, "fine")

    report = BenchmarkSuite(dataset(), k=1).run_with_answers(System(CORPUS), Answerer(), Judge())
    reasons = [str(report.score(row, "faithfulness").reason) for row in (1, 2, 3)]
    assert reasons[0] == "timeout: late"
    assert reasons[1].startswith("ValueError: cannot say (test_suite.py")
    assert reasons[2].startswith("OSError: index closed")
    assert tuple(report.score(row, "mrr").status for row in range(4)) == ("ok", "failed", "ok", "failed")
    assert report.metrics["correctness"] == 0.5
    assert report.samples[0].metadata["comment"] == "fine"


def claims_or_questions(ask: Ask) -> object:
    """What a model says of the answer's claims and of the questions it answers; None for any other request."""
    fields = ask.shape.__struct_fields__
    if "claims" in fields:
        return {"claims": ["Robert Stevenson built it."]}
    if "questions" in fields:
        return {"questions": ["Who built it?"] * 3, "noncommittal": False}
    return None


def test_a_language_model_as_judge() -> None:
    """A model judges by the judged metrics under the suite's names; without an embedder it is told what is missing."""

    def model(ask: Ask) -> object:
        if (found := claims_or_questions(ask)) is None:
            raise AskFailed("timeout", "late")
        return found

    def same(texts: Any) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    suite = BenchmarkSuite(dataset(), k=1, ledger=":memory:")
    with pytest.raises(InputError, match="needs an embedder"):
        suite.run_with_answers(BM25(CORPUS), Extractive(), script(model))
    report = suite.run_with_answers(BM25(CORPUS), Extractive(), script(model), embedder=embedding_script(same))
    assert {"faithfulness", "relevance", "correctness"} <= report.metrics.keys()
    assert report.notes["faithfulness"].way == "judged"
    assert report.estimates["faithfulness"].failed >= 1


def test_a_language_model_judges_single_answers() -> None:
    """``judge(JudgeInput)`` gives the judged metrics; what is undefined is None, what fails is no number."""

    def model(ask: Ask) -> object:
        return claims_or_questions(ask) or example_of(ask.shape)

    judge = replace(script(model), embedder=embedding_script(lambda texts: [[1.0, 0.0] for _ in texts]))
    case = JudgeInput("Who built it?", "Robert Stevenson built it.", "Robert Stevenson.")
    quality = RAGEval(judge).evaluate(case)
    assert (quality.faithfulness, quality.relevance, quality.correctness) == (1.0, 1.0, None)
    assert "correctness: no reference" in quality.comment

    def broken(ask: Ask) -> object:
        raise AskFailed("timeout", "late")

    with pytest.raises(AskFailed, match="faithfulness: timeout: late"):
        AnswerJudge(script(broken), embedder=judge.embedder).judge(case)


@pytest.mark.parametrize("wrong", [7.0, -0.1, math.nan, "good"])
def test_what_is_no_share_is_a_failure(wrong: Any) -> None:
    """A judge of the user's own that leaves the range fails the sample; no number is cut or kept."""

    class Odd:
        def judge(self, case: JudgeInput, /) -> AnswerQuality:
            return AnswerQuality(1.0, wrong, None, "odd")

    report = BenchmarkSuite(dataset(), k=1).run_with_answers(BM25(CORPUS), Extractive(), Odd())
    assert report.metrics["faithfulness"] == 1.0
    assert report.score(0, "relevance").reason == f"the judge says {wrong!r} (expected 0 to 1)"
    assert report.score(0, "correctness").reason == "odd"


def test_what_cannot_serve_is_told_before_anything_is_asked() -> None:
    """A system without texts, an answerer without answers, a judge that is none."""
    suite = BenchmarkSuite(dataset())
    for parts, name in (
        ((lambda q, k: [], Extractive(), OverlapJudge()), "context_text"),
        ((BM25(CORPUS), object(), OverlapJudge()), "answer"),
        ((BM25(CORPUS), Extractive(), object()), "judge"),
        ((BM25(CORPUS), Extractive(), None), "judge"),
    ):
        with pytest.raises(WrongType, match=f"has no method {name}"):
            suite.run_with_answers(*parts)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="k=0"):
        BenchmarkSuite(dataset(), k=0)


def test_columns_in_solutions_and_pooled_results_out() -> None:
    """Queries, gold answers and gold documents as plain lists; the report has solutions and numbers."""
    report = evaluate_system(
        BM25(CORPUS),
        {
            "queries": ["Who built the tower?", "Who made the lens?"],
            "gold_answers": [["Robert Stevenson", "Stevenson"], ["Fresnel"]],
            "gold_docs": [[CORPUS["tower"]], [CORPUS["lens"]]],
        },
        ["passage_recall@1", "contains"],
        answerer=Extractive(),
        k=1,
    )
    assert report.metrics == {"passage_recall@1": 1.0, "contains": 1.0}
    assert report.samples[1].retrieved_ids == ["lens"]
    assert report.system == "bm25"


def test_default_metrics_are_what_can_be_measured() -> None:
    """Rankings where there is relevance, answers where there are answers and references."""
    assert list(evaluate_system(BM25(CORPUS), dataset(), k=3).metrics) == [
        "ndcg@3",
        "recall@3",
        "precision@3",
        "mrr",
        "context_recall",
    ]
    with pytest.raises(InputError, match="these samples have no relevance"):
        evaluate_system(BM25(CORPUS), [Sample(user_input="q")])


def test_inside_a_running_loop() -> None:
    """The twin is awaited; asynchronous systems work there too, and so does the plain function."""

    class Later:
        async def retrieve(self, query: str, k: int) -> list[str]:
            await asyncio.sleep(0)
            return ["tower"]

    async def main() -> list[object]:
        twin = await steelyard.aevaluate_system(Later(), dataset(), metrics=["mrr"])
        return [twin.metrics, evaluate_system(Later(), dataset(), ["mrr"]).metrics]

    one, two = asyncio.run(main())
    assert one == two


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"metrics": ["ndgc@10"]}, "unknown metric 'ndgc@10'"),
        ({"metrics": ["judged.faithfulness"]}, "needs a judge"),
        ({"metrics": ["mrr"], "thresholds": {"ndcg": 0.5}}, "threshold for 'ndcg', which is not requested"),
        ({"metrics": ["mrr"], "workers": "2"}, "workers must be at least 1, not '2'"),
    ],
)
def test_nothing_is_asked_in_vain(given: dict[str, Any], words: str) -> None:
    """Metrics that cannot be measured are told before the system is called."""
    asked: list[str] = []

    def system(query: str, k: int) -> list[str]:
        asked.append(query)
        return []

    with pytest.raises(InputError, match=words):
        evaluate_system(system, dataset(), **given)
    assert asked == []
    with pytest.raises(WrongType, match=r"expected a Dataset, found str: Dataset\.load reads one"):
        BenchmarkSuite("questions.json")  # type: ignore[arg-type]


def test_a_text_is_no_ranking() -> None:
    """What a suite asks of a retriever is a list; a text alone is a failed sample, not an undefined one."""
    report = BenchmarkSuite(dataset(), k=1).run(lambda query, k: "The tower.")
    assert report.estimates["mrr"].failed == 4
    assert "a retriever returns a list" in str(report.score(0, "mrr").reason)


def test_what_it_took_can_be_a_metric() -> None:
    """Seconds and tokens are measured where they are asked for."""
    system = lambda query: {"answer": "a", "usage": {"prompt_tokens": 3, "completion_tokens": 4}}  # noqa: E731
    report = evaluate_system(system, dataset(), ["seconds", "tokens", "answered"])
    assert (report.metrics["tokens"], report.metrics["answered"]) == (7.0, 1.0)
    assert report.estimates["seconds"].n == 4


def test_one_in_ten_failing_or_hanging() -> None:
    """A real service that fails on some questions and hangs on others: they are failed samples with reasons, and the
    numbers of the rest are what a perfect service would have got for them."""
    queries = [
        EvalQuery(f"Where is thing {n}?", [f"d{n % 7}"], reference_answer="here", id=f"q{n:02}") for n in range(60)
    ]
    bad = {n for n in range(60) if n % 10 == 3}

    def handle(body: dict[str, Any]) -> tuple[int, Any] | None:
        number = int(body["question"].split()[-1].rstrip("?"))
        if number in bad:
            return None if number % 20 == 3 else (500, {"error": "out of order"})
        return 200, {"answer": "here", "ids": [f"d{(number + 1) % 7}", f"d{number % 7}"], "contexts": ["a", "b"]}

    with Service(handle) as service:
        report = evaluate_system(
            Http(service.url, deadline=1.5),
            Dataset("things", queries=queries),
            ["mrr", "recall@2", "exact_match"],
            workers=4,
            deadline=3.0,
            retries=1,
        )
    assert report.metrics == {"mrr": 0.5, "recall@2": 1.0, "exact_match": 1.0}
    assert {"mrr": (report.estimates["mrr"].n, report.estimates["mrr"].failed)} == {"mrr": (54, 6)}
    reasons = [str(report.score(row, "mrr").reason) for row in sorted(bad)]
    assert reasons == ["timeout: no answer within 1.5 s", 'server_error: HTTP 500: {"error": "out of order"}'] * 3
    assert report.run["stages"]["retrieve"]["retried"] == 6  # type: ignore[index,call-overload]
    assert pytest.approx(0.5 * 54 / 60) == report.estimates["mrr"].if_failed_zero


def test_a_system_that_fails_on_everything() -> None:
    """All failed is a report with nothing scored, not an error and not zeros."""

    def broken(query: str, k: int) -> list[str]:
        raise RuntimeError("down")

    report = evaluate_system(broken, dataset(), ["mrr", "exact_match"])
    assert report.metrics == {"mrr": None, "exact_match": None}
    assert report.estimates["mrr"].failed == 4


def test_a_killed_evaluation_goes_on(tmp_path: Path) -> None:
    """With an identity the outputs of a run that was cut off are in the ledger."""
    asked: list[str] = []

    class Killed(BaseException):
        pass

    def system(query: str, k: int) -> list[str]:
        asked.append(query)
        if len(asked) == 3:
            raise Killed
        return ["tower"]

    def once() -> steelyard.Report:
        return evaluate_system(system, dataset(), ["mrr"], ledger=tmp_path / "l.sqlite", identity="system 1")

    with pytest.raises(Killed):
        once()
    report = once()
    assert len(asked) == 5
    assert report.run["stages"]["retrieve"]["kept"] == 2  # type: ignore[index,call-overload]


def test_two_systems_can_be_compared() -> None:
    """The dataset's digest is that of what was asked, so reports of two systems are comparable."""
    reports = [evaluate_system(one, dataset(), ["mrr"]) for one in (BM25(CORPUS), lambda query, k: ["lens"])]
    assert steelyard.compare(reports[1], reports[0], 0.01).comparable


def test_documents_that_are_texts_are_no_ids() -> None:
    """Where only texts say what should be found, a ranking is undefined, and the way out is named."""
    data = {"queries": ["Fog?"], "gold_answers": ["a horn"], "gold_docs": [["fog"]]}
    report = evaluate_system(lambda query, k: {"answer": "a horn", "ids": ["fog"]}, data, ["mrr", "exact_match"])
    assert report.metrics == {"mrr": None, "exact_match": 1.0}
    assert [line for line in report.warnings if line.startswith("mrr: ") and line.endswith("give relevant_ids")]
    data = {"queries": ["Fog?"], "relevant_ids": [["fog"]]}
    assert evaluate_system(lambda query, k: ["fog"], data, ["mrr"]).warnings == []


def test_a_cluster_widens_the_intervals_of_a_system() -> None:
    """Estimates are pooled once, with the clusters: as evaluate_rag pools the same answers."""
    rows = [
        {"id": str(n), "question": f"q{n}", "reference": "a", "tags": {"doc": str(n // 5), "half": str(n % 2)}}
        for n in range(50)
    ]
    answers = {f"q{n}": "a" if (n // 5) % 2 else "b" for n in range(50)}
    options = {"metrics": ["token_f1"], "cluster": "doc", "by": "half"}
    found = evaluate_system(lambda query, k: {"answer": answers[query], "ids": ["d"]}, rows, **options)
    known = steelyard.evaluate_rag([{**row, "response": answers[str(row["question"])]} for row in rows], **options)
    assert found.estimates == known.estimates
    assert found.slices == known.slices
    assert found.estimates["token_f1"].low == pytest.approx(0.1)
