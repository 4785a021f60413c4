"""Several judges as one: what they find, who agrees, who cost what, who moved the verdict."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from steelyard import Sample, evaluate_rag, metric, script
from steelyard.cli import invoke
from steelyard.core.errors import AskFailed, InputError
from steelyard.core.requests import Ask
from steelyard.evaluate.jury import combine, evaluate_by_jury
from steelyard.judges.jury import panel
from steelyard.render import jury as render
from steelyard.reports.report import Report
from tests.judges.judged_reports import report

SCORES = {
    "a": [1.0, 0.8, 0.2, 0.0, "timeout", 0.7],
    "b": [0.9, 0.4, 0.6, 0.1, 0.9, "timeout"],
    "c": [1.0, 0.9, 0.1, 0.2, 0.6, None],
}


def seats(higher: bool = True, **scores: list[float | str | None]) -> list[Report]:
    return [report({"m": one}, judge=name, higher=higher) for name, one in (scores or SCORES).items()]


def test_the_mean_needs_every_judge() -> None:
    """The mean of the scores; a judge that failed fails the cell, with its name and reason."""
    found = combine(seats())
    assert found.columns["m"].values[:4].tolist() == pytest.approx([2.9 / 3, 0.7, 0.3, 0.1])
    assert found.columns["m"].failed == {
        4: "timeout (1 of 3 judges, first a)",
        5: "timeout (1 of 3 judges, first b)",
    }
    assert found.metrics["m"] == pytest.approx((2.9 / 3 + 0.7 + 0.3 + 0.1) / 4)
    assert found.judge == "mean of a, b, c"
    assert found.policy["jury"] == "mean"


def test_a_majority_stands_without_the_judge_that_failed() -> None:
    """Two of three are enough; one of three with two that say nothing is not."""
    found = combine(seats(), rule="majority")
    assert found.columns["m"].values[:5].tolist() == [1.0, 1.0, 0.0, 0.0, 1.0]
    assert found.columns["m"].failed == {5: "timeout (1 of 3 judges, first b)"}


def test_unanimous_passes_only_if_all_pass() -> None:
    """One that fails decides; a judge that is missing leaves a pass open."""
    found = combine(seats(), rule="unanimous")
    assert found.columns["m"].values[:4].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert set(found.columns["m"].failed) == {4, 5}


def test_an_even_jury_may_be_split() -> None:
    """No majority is undefined, not a fail."""
    found = combine(seats(a=[1.0, 1.0], b=[0.0, 1.0]), rule="majority")
    assert found.columns["m"].undefined == {0: "no majority: the judges are split"}
    assert found.metrics["m"] == 1.0


def test_verdicts_keep_the_direction_of_the_metric() -> None:
    """Where lower is better a pass is 0, so that a comparison still knows which way is worse."""
    found = combine(seats(False, a=[0.1, 0.9], b=[0.2, 0.8], c=[0.9, 0.7]), rule="majority")
    assert found.columns["m"].values.tolist() == [0.0, 1.0]
    assert [found.score(row, "m").passed for row in (0, 1)] == [True, False]


def test_agreement_influence_and_cost(tmp_path: Path) -> None:
    """By hand, and the same from the saved report."""
    made = seats(a=[1.0, 1.0, 0.0, 0.0], b=[1.0, 1.0, 0.0, 0.0], c=[0.0, 1.0, 0.0, 1.0])
    found = combine(made)
    found.run["judges"] = {"a": {"calls": 4, "prompt_tokens": 10, "completion_tokens": 2, "cost": 0.5}}
    told = panel(found)
    by_name = {one.judge: one for one in told.seats}
    assert [by_name[name].values["m"] for name in "abc"] == [0.5, 0.5, 0.5]
    assert by_name["a"].influence["m"] == pytest.approx(0.0)
    assert by_name["c"].agrees["m"].value == 0.5
    assert (by_name["a"].usage.calls, by_name["a"].usage.cost) == (4, 0.5)
    lenient = combine(seats(a=[0.5] * 4, b=[0.5] * 4, c=[0.8] * 4))
    assert {one.judge: one.influence["m"] for one in panel(lenient).seats} == pytest.approx(
        {"a": -0.05, "b": -0.05, "c": 0.1}
    )
    found.save(tmp_path / "report.json")
    assert panel(Report.load(tmp_path / "report.json")) == told
    shown = render.text(told)
    assert "jury of 3, by mean" in shown
    assert "m: Krippendorff's alpha" in shown
    assert panel(report({"m": [1.0]})) is None


def lenient(ask: Ask) -> dict[str, object]:
    return {"reason": "fine", "rating": 5}


def strict(ask: Ask) -> dict[str, object]:
    return {"reason": "poor", "rating": 2}


def broken(ask: Ask) -> dict[str, object]:
    raise AskFailed("transport", "no route")


ROWS = [{"id": str(one), "response": f"Answer {one}", "reference": "x"} for one in range(5)]
RUBRIC = "rubric(criteria=coherence)"


def test_a_jury_of_scripts() -> None:
    """Each judge is asked by itself; what asks nobody is scored once; evidence names who said what."""
    evaluate = partial(evaluate_rag, ROWS, metrics=[RUBRIC, "exact_match"], repeats=2)
    found = evaluate_by_jury(evaluate, [script(lenient), script(strict)])
    assert found.metrics == {RUBRIC: 0.625, "exact_match": 0.0}
    assert found.columns[RUBRIC].draws[0] == [0.625, 0.625]
    (first, second) = found.columns[RUBRIC].evidence[0]["jury"].values()
    assert (first["value"], second["value"]) == (1.0, 0.25)
    assert first["evidence"]["reason"] == "fine"
    costs = {one.judge.rpartition(".")[2]: one.usage.calls for one in panel(found).seats}
    assert costs == {"lenient": 10, "strict": 10}
    failed = evaluate_by_jury(evaluate, [script(lenient), script(broken)])
    assert failed.estimates[RUBRIC].failed == 5
    assert "transport: no route" in failed.columns[RUBRIC].failed[0]


def test_evaluate_rag_with_several_judges_is_a_jury() -> None:
    """The same report as evaluate_by_jury with the mean: scores, evidence, estimates, slices and costs."""
    rows = [{**row, "tags": {"kind": str(number % 2)}} for number, row in enumerate(ROWS)]
    settings: dict[str, Any] = {"metrics": [RUBRIC, "exact_match"], "repeats": 2, "by": "kind", "max_calls": 15}
    judges = [script(lenient), script(strict)]
    found = evaluate_rag(rows, judge=judges, **settings)
    del settings["max_calls"]
    by_jury = evaluate_by_jury(partial(evaluate_rag, rows, **settings), judges, by="kind", max_calls=15)
    assert found.metrics[RUBRIC] == 0.625
    assert found.estimates[RUBRIC].failed == 3  # the second judge makes 5 calls of its 10
    assert panel(found) == panel(by_jury)
    for one in (found, by_jury):
        one.run = {}
        one.usage = replace(one.usage, seconds=0.0)
        for column in one.columns.values():
            column.usage = {row: replace(usage, seconds=0.0) for row, usage in column.usage.items()}
    assert found == by_jury
    with pytest.raises(InputError, match="no metric needs a judge"):
        evaluate_rag(ROWS, metrics=["exact_match"], judge=judges)
    assert evaluate_rag(ROWS, metrics=[RUBRIC], judge=[script(lenient)]).metrics == {RUBRIC: 1.0}


def test_a_jury_scores_metrics_without_a_judge_once() -> None:
    """A metric of a user's own is called once for every sample, whatever the number of judges."""
    seen = []

    def counted(sample: Sample) -> float:
        seen.append(sample.id)
        return 1.0

    own = metric(name="counted_by_jury", needs=("response",))(counted)
    evaluate_rag(ROWS, metrics=[RUBRIC, own], judge=[script(lenient), script(strict)])
    assert seen == [row["id"] for row in ROWS]


def test_later_judges_get_what_earlier_ones_left() -> None:
    """A limit of calls is the jury's, not each judge's."""
    evaluate = partial(evaluate_rag, ROWS, metrics=[RUBRIC])
    found = evaluate_by_jury(evaluate, [script(lenient), script(strict)], max_calls=7)
    assert sum(one.usage.calls for one in panel(found).seats) == 7
    assert found.estimates[RUBRIC].failed == 3


def test_what_is_no_jury_is_told() -> None:
    """One judge, the same twice, an unknown rule, nothing to ask, different samples."""
    evaluate = partial(evaluate_rag, ROWS, metrics=[RUBRIC])
    for judges, rule, words in (
        ([script(lenient)], "mean", "two judges or more"),
        ([script(lenient), script(lenient)], "mean", "the same judge twice"),
        ([script(lenient), script(strict)], "median", "rule='median': expected mean, majority, unanimous"),
    ):
        with pytest.raises(InputError, match=words):
            evaluate_by_jury(evaluate, judges, rule=rule)
    lexical = [evaluate_rag(ROWS, metrics=["exact_match"]) for _ in range(2)]
    with pytest.raises(InputError, match="no metric needs a judge"):
        combine(lexical)
    with pytest.raises(InputError, match="score the same samples"):
        combine([*seats(a=[1.0]), *seats(b=[1.0, 0.0])])


def test_several_judges_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], serve: Callable[..., Any]
) -> None:
    """--judge three times, --aggregate majority: seats with their agreement and cost, also from the saved report."""
    monkeypatch.chdir(tmp_path)
    server = serve()
    monkeypatch.setenv("STEELYARD_API_KEY", "k")
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    judges = [arg for seed in (1, 2, 3) for arg in ("--judge", f"{server.judge}&seed={seed}")]
    assert invoke(["eval", "rows.jsonl", "-m", RUBRIC, *judges, "--aggregate", "majority", "--out", "out"]) == 0
    shown = capsys.readouterr()
    assert "jury of 3, by majority" in shown.out
    assert shown.err.count("about 5 calls") == 3
    assert invoke(["show", "out"]) == 0
    assert "influence" in capsys.readouterr().out
    assert invoke(["eval", "rows.jsonl", "-m", RUBRIC, *judges, "--aggregate", "none"]) == 1
    assert "--aggregate none" in capsys.readouterr().err
