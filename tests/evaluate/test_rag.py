"""Answers, as users weigh them from Python."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pandas as pd
import polars as pl
import pytest

import steelyard
from steelyard import InputError, OverlapJudge, Sample, WrongType, evaluate_rag, score

ROWS = [
    {
        "question": "Who?",
        "answer": "Ada Lovelace",
        "ground_truths": ["Ada", "Ada Lovelace"],
        "contexts": ["Ada wrote."],
    },
    {"question": "When?", "answer": "1842", "ground_truth": "1843", "contexts": []},
]


def test_the_default_metrics() -> None:
    """Exact match, F1, lexical context recall and precision, and the share of samples with contexts."""
    report = evaluate_rag(ROWS)
    assert report.metrics == {
        "exact_match": 0.5, "token_f1": 0.5, "context_recall": 0.5, "context_precision": 0.5, "non_empty_rate": 0.5,
    }  # fmt: skip
    assert report.n_samples == 2
    assert report.notes["context_recall"].way == "lexical"
    assert report.estimates["exact_match"].method == "wilson"


@pytest.mark.parametrize("shape", ["list", "samples", "polars", "pandas", "generator"])
def test_every_source_gives_the_same(shape: str) -> None:
    """Mappings, samples, frames and iterators are one thing."""
    rows = [{"id": "a", "question": "q", "answer": "x", "ground_truth": "x"}]
    source = {
        "list": rows,
        "samples": [Sample(id="a", user_input="q", response="x", reference="x")],
        "polars": pl.DataFrame(rows),
        "pandas": pd.DataFrame(rows),
        "generator": iter(rows),
    }[shape]
    report = evaluate_rag(source, metrics=["exact_match"])
    assert report.per_sample == {"a": {"exact_match": 1.0}}
    assert report.dataset.digest == evaluate_rag(rows, metrics=["em"]).dataset.digest


def test_unknown_metric_and_no_samples_are_value_errors() -> None:
    """Both say what would have done."""
    with pytest.raises(ValueError, match="did you mean exact_match"):
        evaluate_rag(ROWS, metrics=["exact_mach"])
    with pytest.raises(ValueError, match="no samples"):
        evaluate_rag([])
    with pytest.raises(ValueError, match="no metrics"):
        evaluate_rag(ROWS, metrics=[])


def test_the_overlap_judge_is_for_suites() -> None:
    """Given as a judge of prompts it is a TypeError that says where it belongs."""
    with pytest.raises(TypeError, match=r"lexical\.\*.*BenchmarkSuite"):
        evaluate_rag(ROWS, judge=OverlapJudge())  # type: ignore[arg-type]


def test_thresholds_mark_samples_and_pool_to_a_pass_rate() -> None:
    """The default is 0.5; an explicit one is checked and applies to its metric."""
    report = evaluate_rag(ROWS, metrics=["token_f1"], thresholds={"token_f1": 0.9})
    assert [one.passed for one in report.scores] == [True, False]
    assert report.estimates["token_f1"].pass_rate == 0.5
    with pytest.raises(InputError, match=r"must be in \[0, 1\]"):
        evaluate_rag(ROWS, metrics=["token_f1"], thresholds={"token_f1": 7})
    with pytest.raises(InputError, match="not requested"):
        evaluate_rag(ROWS, metrics=["token_f1"], thresholds={"exact_match": 0.5})


def test_one_sample_by_itself() -> None:
    """score gives the cell: value, status, reason, verdict."""
    good = score({"response": "Paris", "reference": "paris"}, "exact_match")
    assert (good.value, good.passed, good.status) == (1.0, True, "ok")
    none = score({"response": "Paris"}, "exact_match")
    assert (none.value, none.status, none.reason) == (None, "undefined", "no reference")


def test_blank_is_bad_and_absent_is_undefined() -> None:
    """A blank response scores 0 by formula; a missing one has no score."""
    report = evaluate_rag([{"response": "", "reference": "x"}, {"reference": "x"}], metrics=["token_f1"])
    assert [one.value for one in report.scores] == [0.0, None]


def test_rankings_of_samples() -> None:
    """Samples with ids and relevance are measured by ranking metrics too; others say what is missing."""
    rows = [
        {"id": "a", "retrieved_ids": ["x", "d"], "relevance": {"d": 1}},
        {"id": "b", "retrieved_ids": ["d"]},
        {"id": "c", "relevance": {"d": 1}},
        {"id": "d", "retrieved_ids": ["d"], "relevance": {"d": 0}},
    ]
    report = evaluate_rag(rows, metrics=["mrr"])
    assert [one.value for one in report.scores] == [0.5, None, None, None]
    assert [one.reason for one in report.scores[1:]] == [
        "no relevance", "no retrieved_ids", "nothing relevant is judged for this query",
    ]  # fmt: skip


class Lengths:
    """A user's batch metric."""

    def calculate_metric_scores(
        self, predicted_answers: Sequence[str], questions: Sequence[str]
    ) -> tuple[dict[str, float], list[dict[str, float]]]:
        """Mean length of answers and the share of questions with a mark."""
        rows = [{"Length": float(len(answer))} for answer in predicted_answers]
        marked = sum(question.endswith("?") for question in questions) / len(questions)
        return {"Length": sum(row["Length"] for row in rows) / len(rows), "Marked": marked}, rows


@pytest.mark.parametrize("given", [Lengths, Lengths()])
def test_a_users_batch_metric(given: object) -> None:
    """A class or an object: it gets the columns it names, and its pooled keys are report keys."""
    report = evaluate_rag(ROWS, metrics=["em", given])
    assert report.metrics == {"em": 0.5, "Length": 8.0, "Marked": 1.0}
    assert report.per_sample["1"]["Length"] == 12.0
    assert report.estimates["Marked"].method == "none"
    with pytest.raises(InputError, match="two metrics report the key 'Length'"):
        evaluate_rag(ROWS, metrics=[given, given])


def test_what_is_no_metric() -> None:
    """A number in the list of metrics is a TypeError."""
    with pytest.raises(WrongType, match="not a metric: 3"):
        evaluate_rag(ROWS, metrics=[3])


def test_inside_a_running_loop_twice_and_in_a_thread() -> None:
    """Case T11: the synchronous API works inside a running loop and patches nothing; the twin awaits."""
    before = asyncio.run

    async def main() -> list[float | None]:
        found = [evaluate_rag(ROWS, metrics=["em"]).metrics["em"] for _ in range(2)]
        return [*found, (await steelyard.aevaluate_rag(ROWS, metrics=["em"])).metrics["em"]]

    assert asyncio.run(main()) == [0.5, 0.5, 0.5]
    assert asyncio.run is before
    box: list[float | None] = []
    thread = threading.Thread(target=lambda: box.append(evaluate_rag(ROWS, metrics=["em"]).metrics["em"]))
    thread.start()
    thread.join()
    assert box == [0.5]


def test_identical_runs_have_identical_reports() -> None:
    """Everything but the run block is the same to the byte."""
    first, second = (evaluate_rag(ROWS, by=None) for _ in range(2))
    first.run = second.run = {}
    assert first.to_json() == second.to_json()
