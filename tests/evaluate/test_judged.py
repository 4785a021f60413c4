"""Judged metrics end to end: samples in, a real local endpoint, a report out."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard import InputError, Report, evaluate_rag, score, script
from steelyard.cli import invoke
from steelyard.core.requests import Ask
from steelyard.evaluate.evaluate_samples import plan_rag
from steelyard.metrics.lookup import every
from tests.server import Server

RAG = ("faithfulness", "answer_relevancy", "context_relevancy", "context_recall", "context_precision")
SAMPLES = [
    {
        "id": f"s{number}",
        "user_input": f"When did bridge {number} open?",
        "response": f"Bridge {number} opened in 19{number:02}. It is made of steel.",
        "retrieved_contexts": [f"Bridge {number} opened in 19{number:02}.", "A mill stood by the river."],
        "reference": f"In 19{number:02}.",
    }
    for number in range(10)
]
MARKER = "sk-marker-4242"


def weigh(server: Server, tmp_path: Path, **options: Any) -> Report:
    """The five RAG metrics on ten samples."""
    return evaluate_rag(
        options.pop("samples", SAMPLES),
        metrics=options.pop("metrics", RAG),
        judge=f"{server.judge}&key_env=JUDGE_KEY",
        embedder=server.judge,
        ledger=tmp_path / "ledger.sqlite",
        **options,
    )


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The endpoint's key, by which its traces can be looked for."""
    monkeypatch.setenv("JUDGE_KEY", MARKER)


def test_all_five_score_and_a_second_run_asks_nothing(serve: Callable[..., Server], tmp_path: Path) -> None:
    """Ways, usage and evidence are in the report; the ledger answers the next run, and the reports are equal."""
    server = serve()
    first = weigh(server, tmp_path)
    assert list(first.metrics) == list(RAG)
    assert all(one.way == "judged" and one.n == 10 and one.failed == 0 for one in first.estimates.values())
    assert first.usage.calls >= 70
    calls = server.calls
    second = weigh(server, tmp_path)
    assert server.calls == calls
    assert second.usage.calls == 0
    assert second.usage.cached >= 70
    a, b = json.loads(first.to_json()), json.loads(second.to_json())
    assert a.pop("run")["used"]["usage"]["calls"] == calls + server.embed_calls
    assert set(b.pop("run")["used"]["usage"]) == {"cached", "seconds"}
    assert json.dumps(a) == json.dumps(b)
    first.save(tmp_path / "report.json")
    again = Report.load(tmp_path / "report.json")
    assert (again.usage.calls, again.run) == (first.usage.calls, first.run)


@pytest.mark.parametrize("fault", ["malformed", "truncated", "refusal", "empty", "wrong_schema"])
def test_a_judge_that_always_breaks_gives_no_number(serve: Callable[..., Server], tmp_path: Path, fault: str) -> None:
    """Every cell failed with the reason of its fault; no value anywhere."""
    report = weigh(serve(faults={fault: 1.0}), tmp_path, metrics=("faithfulness", "context_precision"))
    assert set(report.metrics.values()) == {None}
    assert all(one.failed == 10 for one in report.estimates.values())
    reasons = {reason.partition(":")[0] for column in report.columns.values() for reason in column.failed.values()}
    assert reasons == {fault}


@pytest.mark.parametrize("style", ["fenced", "chatty"])
def test_an_untidy_judge_is_read(serve: Callable[..., Server], tmp_path: Path, style: str) -> None:
    """Fences and small talk around the JSON cost nothing."""
    report = weigh(serve(faults={style: 1.0}), tmp_path, metrics=("faithfulness", "context_precision"))
    assert all(one.n == 10 for one in report.estimates.values())


def test_sticky_faults_leave_the_others_alone(serve: Callable[..., Server], tmp_path: Path) -> None:
    """Cells that no fault touched equal the fault-free run; the others say which fault it was."""
    clean = weigh(serve(), tmp_path / "clean")
    rough = weigh(serve(faults={"malformed": 0.08}, mode="sticky"), tmp_path / "rough")
    for label in RAG:
        for row in range(10):
            if row in rough.columns[label].failed:
                assert "malformed" in rough.columns[label].failed[row]
    failed = sum(one.failed for one in rough.estimates.values())
    scored = sum(one.n for one in rough.estimates.values())
    assert failed + scored == 50
    assert scored > 25
    assert all(one.n == 10 for one in clean.estimates.values())


def test_no_key_is_written_anywhere(serve: Callable[..., Server], tmp_path: Path) -> None:
    """Not in ledger, report, reasons or reprs, faults included."""
    server = serve(faults={"500": 0.3, "malformed": 0.2})
    report = weigh(server, tmp_path)
    report.save(tmp_path / "report.json")
    (tmp_path / "report.html").write_text(report.html(), encoding="utf-8")
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert MARKER.encode() not in path.read_bytes(), path
    assert MARKER not in repr(report) + str(report)


def test_lexical_and_judged_stand_side_by_side(serve: Callable[..., Server], tmp_path: Path) -> None:
    """A prefix asks for the other way; each estimate says which it is."""
    report = weigh(serve(), tmp_path, metrics=("context_recall", "lexical.context_recall", "token_f1"))
    assert [one.way for one in report.estimates.values()] == ["judged", "lexical", "lexical"]


def test_blank_needs_are_undefined_before_any_request(serve: Callable[..., Server], tmp_path: Path) -> None:
    """A judge is not asked about nothing."""
    server = serve()
    rows = [
        {"user_input": "Q?", "response": " ", "retrieved_contexts": ["c"]},
        {"user_input": "Q?", "response": "A", "retrieved_contexts": [" "]},
    ]
    report = weigh(server, tmp_path, samples=rows, metrics=("faithfulness",))
    assert [one.reason for one in report.scores] == ["blank response", "blank retrieved_contexts"]
    assert server.calls == 0


def test_repeats_are_draws(serve: Callable[..., Server], tmp_path: Path) -> None:
    """N draws per cell, their mean as the value, replayed from the ledger."""
    server = serve()
    report = weigh(server, tmp_path, metrics=("context_precision",), repeats=3)
    assert all(len(draws) == 3 for draws in report.columns["context_precision"].draws.values())
    calls = server.calls
    again = weigh(server, tmp_path, metrics=("context_precision",), repeats=3)
    assert server.calls == calls
    assert again.columns["context_precision"].draws == report.columns["context_precision"].draws


def yes(ask: Ask) -> object:
    """A judge that finds one claim and supports it."""
    if ask.shape.__struct_fields__ == ("claims",):
        return {"claims": ["It opened."]}
    return {"1": {"reason": "stated", "verdict": "yes", "passages": [1]}}


def test_a_script_is_a_judge(tmp_path: Path) -> None:
    """Users test without a network; the report names the script."""
    report = evaluate_rag(SAMPLES[:2], metrics=["faithfulness"], judge=script(yes), ledger=tmp_path / "l.sqlite")
    assert report.metrics == {"faithfulness": 1.0}
    assert "yes" in (report.judge or "")
    one = score(SAMPLES[0], "faithfulness", judge=script(yes), threshold=0.7, ledger=tmp_path / "l.sqlite")
    assert (one.value, one.passed) == (1.0, True)
    assert one.evidence["claims"][0]["claim"] == "It opened."  # type: ignore[index,call-overload]


def test_in_a_running_loop_and_in_threads(tmp_path: Path) -> None:
    """A notebook has a loop already; the engine brings its own."""

    def run(number: int) -> float | None:
        return evaluate_rag(
            SAMPLES[:2], metrics=["faithfulness"], judge=script(yes), ledger=tmp_path / f"{number}.sqlite"
        ).metrics["faithfulness"]

    async def notebook() -> list[float | None]:
        return [run(1), run(1)]

    assert asyncio.run(notebook()) == [1.0, 1.0]
    found: list[float | None] = []
    threads = [threading.Thread(target=lambda number=number: found.append(run(number))) for number in (2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1.0, 1.0]


def test_who_is_not_there_is_told_before_the_first_request(serve: Callable[..., Server], tmp_path: Path) -> None:
    """No judge, no embedder: an error that says how to give one."""
    server = serve()
    with pytest.raises(InputError, match="needs a judge"):
        evaluate_rag(SAMPLES, metrics=["judged.faithfulness"])
    with pytest.raises(InputError, match="needs an embedder"):
        evaluate_rag(SAMPLES, metrics=["answer_relevancy"], judge=server.judge)
    assert server.calls == 0


def test_the_command_line_plans_asks_and_explains(
    serve: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """--dry-run tells calls and cost and asks nothing; a run writes a report; --why shows prompts and replies."""
    monkeypatch.chdir(tmp_path)
    server = serve()
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in SAMPLES))
    common = ["eval", "rows.jsonl", "-m", "faithfulness", "--judge", server.judge]
    assert invoke([*common, "--dry-run", "--price", "1,2"]) == 0
    plan = capsys.readouterr().out.splitlines()
    assert plan[0] == "faithfulness [judged] on 10 rows"
    assert plan[1].startswith("about 20 calls (0 more are in the ledger)")
    assert len(plan) == 2
    assert invoke([*common, "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[2] == "cost unknown: give --price IN,OUT (per million tokens)"
    both = ["eval", "rows.jsonl", "-m", "answer_relevancy", "--judge", server.judge, "--embedder", server.judge]
    assert invoke([*both, "--dry-run", "--price", "1,2"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("cost unknown in part: give the embedder's price")
    assert invoke([*both[:-1], f"{server.judge}&price=0.02", "--dry-run", "--price", "1,2"]) == 0
    assert "unknown" not in capsys.readouterr().out
    assert server.calls == 0
    assert invoke([*common, "--offline"]) == 3
    assert "offline" in capsys.readouterr().out
    assert invoke([*common, "--out", "out"]) == 0
    capsys.readouterr()
    assert invoke(["show", "out", "--why", "s3", "faithfulness"]) == 0
    why = capsys.readouterr().out
    assert "── request 1 of 2" in why
    assert "List the factual claims" in why
    assert "Bridge 3 opened in 1903." in why
    assert invoke([*common, "--offline"]) == 0


def test_a_budget_stops_and_the_rest_is_not_run(serve: Callable[..., Server], tmp_path: Path) -> None:
    """Calls beyond the limit fail with their reason; what was scored stays."""
    report = weigh(serve(), tmp_path, metrics=("context_precision",), max_calls=4)
    one = report.estimates["context_precision"]
    assert (one.n, one.failed) == (4, 6)
    assert all(
        "budget" in reason or "max_calls" in reason for reason in report.columns["context_precision"].failed.values()
    )


def test_the_plan_knows_what_a_metric_needs_as_it_is_set(serve: Callable[..., Server]) -> None:
    """Rules that are undefined before their first question are no rows: plan and report leave out the same."""
    rows: list[dict[str, Any]] = [
        {"id": "a", "question": "Q", "answer": "A", "contexts": ["A"], "ground_truth": "A"},
        {"id": "b", "question": "Q", "answer": "A", "contexts": ["A"]},
        {"id": "c", "question": "Q", "answer": "", "contexts": ["A"], "ground_truth": "A"},
        {"id": "d", "question": "Q", "answer": "A", "contexts": [" "], "ground_truth": "A"},
    ]
    judge = serve().judge
    for metric, left_out in {
        "context_precision": {"blank retrieved_contexts": 1, "no reference": 1},
        "context_precision(against=response)": {"blank retrieved_contexts": 1, "no response": 1},
        "context_precision(against=question)": {"blank retrieved_contexts": 1},
    }.items():
        (line,) = plan_rag(rows, metrics=[metric], judge=judge, ledger=":memory:").lines
        assert line.skipped == left_out
        report = evaluate_rag(rows, metrics=[metric], judge=judge, ledger=":memory:")
        assert line.rows == report.estimates[line.metric].n


@pytest.mark.parametrize("metric", [one.name for one in every() if one.kind == "judged" and not one.embeds])
def test_a_plan_counts_the_calls_of_a_run(serve: Callable[..., Server], tmp_path: Path, metric: str) -> None:
    """What later questions quote differs from sample to sample, so that none of them is left out of the estimate."""
    server = serve()
    name = f"judged.{metric}" + ("(criteria=clear)" if metric == "rubric" else "")
    plan = plan_rag(SAMPLES, metrics=[name], judge=server.judge, ledger=tmp_path / "ledger.sqlite")
    assert server.calls == 0
    weigh(server, tmp_path, metrics=[name])
    assert plan.usage.calls == pytest.approx(server.calls, rel=0.1)


def test_limits_that_cannot_be_held_are_told_before_anything_is_asked(
    serve: Callable[..., Server], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A share beyond 1, or of a metric that is not asked for, ends the command before the first call and a dry run."""
    server = serve()
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in SAMPLES))
    line = ["eval", str(rows), "-m", "faithfulness", "--judge", server.judge]
    for limit, words in [
        (["--pass-rate", "faithfulness=5"], "pass rate 5 for faithfulness: must be in [0, 1]"),
        (["--pass-rate", "token_f1=0.5"], "pass rate for 'token_f1', which is not requested"),
        (["--threshold", "token_f1=0.5"], "threshold for 'token_f1', which is not requested"),
    ]:
        for more in ([], ["--dry-run"]):
            assert invoke([*line, *limit, *more]) == 1
            assert words in capsys.readouterr().err
    assert server.calls == 0


def test_a_limit_may_name_a_metric_otherwise() -> None:
    """The old name or the new one, as asked for or not."""
    rows = [{"id": "a", "response": "Ada", "reference": "Ada"}]
    report = evaluate_rag(rows, metrics=["qa_f1"], thresholds={"token_f1": 0.7})
    assert report.notes["qa_f1"].threshold == 0.7
    with pytest.raises(InputError, match="threshold for 'exact_match', which is not requested"):
        evaluate_rag(rows, metrics=["qa_f1"], thresholds={"exact_match": 0.7})


def test_a_run_does_not_write_over_its_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Samples that are saved beside the data would take its place: that is told before anything is done."""
    rows = tmp_path / "samples.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in SAMPLES))
    before = rows.read_bytes()
    settings = tmp_path / "c.json"
    settings.write_text(
        json.dumps({"data": "samples.jsonl", "metrics": ["em"], "outputs": {"dir": ".", "save": ["all"]}})
    )
    assert invoke(["run", str(settings)]) == 1
    assert "samples.jsonl would overwrite the data" in capsys.readouterr().err
    assert rows.read_bytes() == before


def test_a_cost_that_is_known_in_part_says_so(serve: Callable[..., Server], tmp_path: Path) -> None:
    """A judge with a price beside an embedder without one: at least what the judge cost, also when loaded again."""
    server = serve()
    judge = f"{server.judge}&price=1,2"
    options: dict[str, Any] = {"metrics": ["answer_relevancy"], "judge": judge}
    report = evaluate_rag(SAMPLES, embedder=server.judge, ledger=tmp_path / "a", **options)
    assert report.usage.unpriced == server.embed_calls > 0
    assert f"cost at least {report.usage.cost:.4f}" in str(report)
    report.save(tmp_path / "report.json")
    assert Report.load(tmp_path / "report.json").usage.unpriced == report.usage.unpriced
    whole = evaluate_rag(SAMPLES, embedder=f"{server.judge}&price=0.02", ledger=tmp_path / "b", **options)
    assert whole.usage.unpriced == 0
    assert "at least" not in str(whole)
