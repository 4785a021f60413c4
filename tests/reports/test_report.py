"""Reports: they reload equal, they read the plain shape, they say what they rest on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import steelyard
from steelyard import InputError, Report, Sample, Undefined, Value, evaluate_rag, evaluate_run
from steelyard.metrics.registry import metric
from steelyard.reports.gate import exit_code, rules


@metric(needs=("response",), name="core_shaky")
def shaky(sample: Sample) -> Value | Undefined | float:
    """Scores a digit, is undefined on a question back, and breaks on the rest."""
    response = sample.response or ""
    if response.endswith("?"):
        return Undefined("a question back")
    return Value(float(response), {"digits": [response]}, (float(response), 1.0))


SAMPLES = [
    {"id": "a", "response": "1", "question_type": "x"},
    {"id": "b", "response": "0.5", "question_type": "y"},
    {"id": "c", "response": "what?", "question_type": "y"},
    {"id": "d", "response": "n/a", "question_type": "x"},
    {"id": "e", "question_type": "x"},
]


def made() -> Report:
    """A report with every status in it."""
    return evaluate_rag(SAMPLES, metrics=["core_shaky", "non_empty_rate"], by="question_type", name="toy")


def test_statuses_reasons_and_counts() -> None:
    """ok, undefined and failed each say why, and the counts add up."""
    report = made()
    assert [score.status for score in report.scores[:5]] == ["ok", "ok", "undefined", "failed", "undefined"]
    assert report.score(2, "core_shaky").reason == "a question back"
    assert re.fullmatch(
        r"ValueError: could not convert .* \(test_report.py:\d+\)", report.score(3, "core_shaky").reason or ""
    )
    assert report.score(4, "core_shaky").reason == "no response"
    assert "Traceback" in str(report.score(3, "core_shaky").evidence["traceback"])
    one = report.estimates["core_shaky"]
    assert (one.value, one.n, one.undefined, one.failed, one.if_failed_zero) == (0.75, 2, 2, 1, 0.5)
    assert report.estimates["non_empty_rate"].value is None
    assert report.metrics["non_empty_rate"] is None


def test_strict_raises_what_the_rule_raised() -> None:
    """strict=True is for finding faults: the rule's own exception reaches the caller."""
    with pytest.raises(ValueError, match="could not convert"):
        evaluate_rag(SAMPLES, metrics=["core_shaky"], strict=True)


def test_save_and_load_are_equal(tmp_path: Path) -> None:
    """A report that was saved loads back equal, and saves to the same bytes."""
    report = made()
    report.save(tmp_path / "deep" / "report.json")
    again = Report.load(tmp_path / "deep" / "report.json")
    assert again == report
    assert again.slices["question_type=x"] == report.slices["question_type=x"]
    assert again.to_json() == report.to_json()
    assert "NaN" not in (tmp_path / "deep" / "report.json").read_text()


def test_equal_runs_differ_in_the_run_block_alone() -> None:
    """Everything but times is byte-identical."""
    first, second = (json.loads(made().to_json()) for _ in range(2))
    first.pop("run")
    second.pop("run")
    assert first == second


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not JSON"),
        ("[]", "expected a JSON object"),
        ("{}", "neither"),
        ('{"format": "steelyard-report/9"}', "reads"),
    ],
)
def test_a_file_that_is_no_report(tmp_path: Path, content: str, words: str) -> None:
    """Each way of being no report has its own words, with the path."""
    path = tmp_path / "r.json"
    path.write_text(content)
    with pytest.raises(InputError, match=words) as caught:
        Report.load(path)
    assert str(caught.value).startswith(str(path))


PLAIN = {
    "Dataset": "tiny", "K": 5, "Num_Queries": 2, "mean_precision": 0.3, "mean_recall": 0.75, "mean_mrr": 0.75,
    "mean_ndcg": 0.8, "has_answer_metrics": True, "mean_faithfulness": 0.5, "mean_answer_relevance": 0.5,
    "mean_correctness": 1.0, "generated_at": "2026-01-01T00:00:00Z",
    "per_query": [
        {"ID": "q1", "query": "One?", "METRICS": {"precision": 0.2, "Recall": 1.0, "MRR": 1.0, "NDCG": 1.0},
         "answer": "Yes", "Quality": {"Faithfulness": 0.5, "Relevance": 0.5, "Correctness": 1.0, "Comment": "fine"}},
        {"id": "q2", "Query": "Two?", "Metrics": {"Precision": 0.4, "Recall": 0.5, "MRR": 0.5, "NDCG": 0.6}},
    ],
}  # fmt: skip


def test_the_plain_shape_loads_and_saves(tmp_path: Path) -> None:
    """Means and per-query metrics of the other shape, keys in any case; the means are those of the rows."""
    path = tmp_path / "plain.json"
    path.write_text(json.dumps(PLAIN))
    report = Report.load(path)
    assert report.metrics["recall@5"] == 0.75
    assert report.metrics["mrr"] == 0.75
    assert report.metrics["faithfulness"] == 0.5
    assert report.coverage["faithfulness"] == 1
    assert report.per_query["q2"]["ndcg@5"] == 0.6
    assert report.dataset.name == "tiny"
    report.save(tmp_path / "again.json", shape="recall")
    saved = json.loads((tmp_path / "again.json").read_text())
    assert saved["per_query"][0]["Quality"] == PLAIN["per_query"][0]["Quality"]  # type: ignore[index]
    assert saved["mean_ndcg"] == 0.8
    assert saved["generated_at"] == PLAIN["generated_at"]
    assert Report.load(tmp_path / "again.json").metrics == report.metrics


def test_a_plain_report_of_means_alone(tmp_path: Path) -> None:
    """Without rows the means are taken as they are given, with their number of queries."""
    path = tmp_path / "means.json"
    path.write_text(json.dumps({**PLAIN, "per_query": []}))
    assert Report.load(path).estimates["ndcg@5"].value == 0.8
    assert Report.load(path).estimates["ndcg@5"].n == 2


def test_renderings_carry_n_and_interval() -> None:
    """Text, Markdown, LaTeX and the frame show every metric with its n."""
    report = made()
    text = str(report)
    assert "core_shaky" in text
    assert "95 % interval" in text
    assert "1 failed: ValueError" in text
    assert "| core\\_shaky" in report.markdown()
    assert r"core\_shaky" in report.latex()
    frame = report.to_polars()
    assert frame["core_shaky"].to_list() == [1.0, 0.5, None, None, None]


def test_markdown_escapes_data() -> None:
    """A reason or a name cannot break the table or smuggle in a link."""
    report = evaluate_rag([{"response": "x|y"}], metrics=["core_shaky"], name="a|b [c](javascript:d)")
    assert "a\\|b \\[c\\](javascript:d)" in report.markdown()


def test_primary_is_ndcg_at_ten() -> None:
    """The headline of a ranking report, None if it was not asked for."""
    run, qrels = {"q": {"d": 1.0}}, {"q": {"d": 1}}
    assert evaluate_run(run, qrels, ["ndcg_cut.10", "map"]).primary == 1.0
    assert evaluate_run(run, qrels, ["map"]).primary is None
    assert evaluate_run(run, qrels, ["ndcg@3"]).primary_at(3) == 1.0


def test_gate_lists_every_rule() -> None:
    """Case A08: the mean passes, a per-sample rule does not; each rule has its verdict and one code comes out."""
    scores = [{"response": "1"}] * 28 + [{"response": "0.25"}] * 3
    report = evaluate_rag(scores, metrics=["core_shaky"], thresholds={"core_shaky": 0.8})
    found = rules(report, thresholds={"core_shaky": 0.8}, pass_rates={"core_shaky": 1.0})
    assert [rule.passed for rule in found] == [True, False]
    assert "0.9274 (n 31)" in str(found[0])
    assert "90.3% (n 31)" in str(found[1])
    assert exit_code(found) == 2
    assert exit_code(found[:1]) == 0


def test_failures_beyond_the_limit_are_incomplete() -> None:
    """Failed share is failed / (ok + failed); beyond the limit the code is 3, whatever the means say."""
    report = made()
    assert report.failed_share["core_shaky"] == pytest.approx(1 / 3)
    assert exit_code(rules(report, thresholds={"core_shaky": 0.9})) == 3
    assert exit_code(rules(report, max_failed=0.4)) == 0


def test_three_names_one_class() -> None:
    """The report has the names of what it weighs."""
    assert steelyard.RetrievalEvalReport is steelyard.RagEvalReport is steelyard.Report


def test_a_report_is_saved_as_a_folder(tmp_path: Path) -> None:
    """A path that ends in a separator, or a folder that is there, gets the three files; the folder loads."""
    report = made()
    report.save(f"{tmp_path}/new/")
    assert sorted(one.name for one in (tmp_path / "new").iterdir()) == ["report.html", "report.json", "report.md"]
    assert Report.load(tmp_path / "new") == Report.load(f"{tmp_path}/new/") == report
    (tmp_path / "old").mkdir()
    report.save(tmp_path / "old", shape="recall")
    assert [one.name for one in (tmp_path / "old").iterdir()] == ["report.json"]
    with pytest.raises(InputError, match="No such file"):
        Report.load(tmp_path)


def test_a_gate_is_for_reports() -> None:
    """What is no report is told in one line."""
    with pytest.raises(steelyard.WrongType, match="expected a Report, such as evaluate_rag gives, found list"):
        rules([{"answer": "x"}])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda saved: saved["columns"]["em"].update(values=[1]), "$.columns.em.values: expected 3 values"),
        (
            lambda saved: saved["columns"]["em"]["values"].__setitem__(1, 5),
            "$.columns.em.values: expected values from 0",
        ),
        (lambda saved: saved["columns"]["em"].update(evidence={"3": {}}), "$.columns.em.evidence: row 3 is not there"),
        (lambda saved: saved["columns"]["em"].update(failed={"-1": "x"}), "$.columns.em.failed: row -1 is not there"),
        (
            lambda saved: saved["columns"]["em"]["values"].__setitem__(1, None),
            "$.columns.em: row 1 is neither scored",
        ),
        (lambda saved: saved["ids"].__setitem__(1, "a"), "$.ids: the id 'a' occurs more than once"),
        (lambda saved: saved["ids"].append("d"), "$.samples: expected 4 samples"),
        (lambda saved: saved["samples"].pop(), "$.samples: expected 3 samples"),
        (lambda saved: saved.update(estimates={}), "$.estimates.em: the column 'em' has no entry"),
        (lambda saved: saved.update(metrics={}), "$.metrics.em: the column 'em' has no entry"),
        (lambda saved: saved.update(columns={}), "$.columns.em: the metric 'em' has no column"),
        (lambda saved: saved["estimates"]["em"].update(value=99), "$.estimates.em.value: expected a value from 0 to 1"),
        (lambda saved: saved["estimates"]["em"].update(n=-1), "$.estimates.em.n: expected at least 0"),
        (lambda saved: saved["estimates"]["em"].update(n=10**400), "$.estimates.em.n: expected at least 0"),
        (lambda saved: saved["run"].update(used={"cells": {"f1": {}}}), "$.run.used.cells.f1: there is no such column"),
        (
            lambda saved: saved["run"].update(used={"cells": {"em": {"3": {"calls": 1}}}}),
            "$.run.used.cells.em: row 3 is not there",
        ),
        (
            lambda saved: saved["run"].update(used={"usage": {"calls": "x"}}),
            "$.run.used.usage.calls: not a complete report",
        ),
        (lambda saved: saved["estimates"]["em"].update(confidence=95), "$.estimates.em.confidence: expected a number"),
        (
            lambda saved: saved["policy"].update(confidence="x"),
            "$.policy.confidence: expected a number between 0 and 1",
        ),
    ],
)
def test_pieces_that_do_not_fit_together(tmp_path: Path, change: Callable[[Any], object], words: str) -> None:
    """A report whose parts contradict each other is not read; the path and the field are named."""
    rows = [{"id": name, "response": "a", "reference": "a"} for name in "abc"]
    saved = json.loads(evaluate_rag(rows, metrics=["em"]).to_json())
    change(saved)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(saved), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        Report.load(path)
    assert str(caught.value).startswith(f"{path}: {words}")


@pytest.mark.parametrize(
    ("saved", "words"),
    [
        ({"per_query": {"a": 1}}, "per_query[0]: expected an object with an ID"),
        ({"num_queries": None, "mean_mrr": 0.5}, "num_queries: expected a whole number of at least 0, found None"),
        ({"num_queries": 2.5, "mean_mrr": 0.5}, "num_queries: expected a whole number of at least 0, found 2.5"),
        ({"num_queries": 2, "mean_mrr": 10**400}, "mean_mrr: expected a number, found one with hundreds of digits"),
        ({"num_queries": 2, "k": True, "mean_mrr": 0.5}, "k: expected a whole number of at least 1"),
    ],
)
def test_a_plain_report_that_is_none(tmp_path: Path, saved: dict[str, Any], words: str) -> None:
    """What stands where something else should is one line with the field."""
    path = tmp_path / "report.json"
    path.write_text(json.dumps(saved), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        Report.load(path)
    assert str(caught.value).startswith(f"{path}: {words}")


def test_a_rule_beyond_its_own_bounds_can_be_saved(tmp_path: Path) -> None:
    """A user's rule that counts, with no bounds declared, makes a report that loads: it tells no bounds."""

    @metric(needs=("response",), name="core_words")
    def count_words(sample: Sample) -> float:
        return float(len((sample.response or "").split()))

    report = evaluate_rag([{"id": "a", "response": "one two three"}], metrics=["core_words"])
    report.save(tmp_path / "r.json")
    loaded = Report.load(tmp_path / "r.json")
    assert (loaded.metrics, loaded.notes["core_words"].bounds) == ({"core_words": 3.0}, None)
    assert loaded == report
