"""An anchor set judged twice: what moved, and whom people agree with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import evaluate_rag, script
from steelyard.cli import invoke
from steelyard.core.errors import InputError
from steelyard.core.requests import Ask
from steelyard.judges.annotations import HumanLabel
from steelyard.judges.drift import drift, rejudge
from steelyard.render import drift as render
from tests.judges.judged_reports import report

RUBRIC = "rubric(criteria=coherence)"


def old(ask: Ask) -> dict[str, object]:
    return {"reason": "r", "rating": 2 + len(ask.prompt) % 3}


def new(ask: Ask) -> dict[str, object]:
    return {"reason": "r", "rating": 3 + len(ask.prompt) % 3}


def anchor(judge: Callable[[Ask], object] = old) -> Any:
    rows = [{"id": str(one), "response": "word " * one, "reference": "x"} for one in range(1, 31)]
    return evaluate_rag(
        rows, metrics=[RUBRIC, "exact_match"], judge=script(judge), thresholds={RUBRIC: 0.7}, name="sys"
    )


def test_a_stricter_model_is_seen() -> None:
    """Judged again by another model: mean, interval, p, flips, movers; the order of samples stays."""
    first = anchor()
    again = rejudge(first, script(new))
    found = drift(first, again)
    one = found.metrics[RUBRIC]
    assert list(found.metrics) == [RUBRIC]  # what asks no judge cannot drift
    assert (one.delta.delta, one.delta.n, one.moved) == (pytest.approx(0.25), 30, True)
    assert one.delta.p_adjusted < 0.001
    assert (one.delta.to_pass, one.delta.to_fail) == (10, 0)
    assert (one.ranks.value, one.words()) == (pytest.approx(1.0), "scores higher")
    assert one.same.value == pytest.approx(2 / 3)
    assert found.changed == [f"judge: {first.judge} → {again.judge}"]
    assert "moved: rubric" in str(found)
    assert len(one.movers) == 10


def test_the_same_judge_again_does_not_drift() -> None:
    """No change, no p below 1, nothing that moved; a tolerance and noise hold small changes back."""
    first = anchor()
    same = drift(first, rejudge(first, script(old))).metrics[RUBRIC]
    assert (same.delta.delta, same.delta.p, same.moved, same.words()) == (0.0, 1.0, False, "no detectable drift")
    assert not drift(first, rejudge(first, script(new)), tolerance=0.3).moved
    rng = np.random.default_rng(0)
    sides = []
    for _ in range(2):
        draws = {row: [float(one) for one in rng.random(3) < 0.5] for row in range(40)}
        sides.append(report({"m": [sum(one) / 3 for one in draws.values()]}, draws=draws))
    noisy = drift(*sides)
    assert noisy.metrics["m"].words() == "no detectable drift, below judge noise"
    assert "the judge's randomness alone causes changes of up to" in str(noisy)


def test_a_new_revision_of_a_prompt_is_named() -> None:
    """The judge is the same and the metric is not."""
    before, after = report({"m": [0.5, 1.0] * 10}), report({"m": [0.5, 0.5] * 10})
    after.notes["m"] = type(after.notes["m"])("m", "judged", revision=2, threshold=0.5)
    found = drift(before, after)
    assert found.changed == ["m: revision 1 → 2"]
    assert found.metrics["m"].words() == "scores lower"


def test_people_say_which_judge_is_right() -> None:
    """Verdicts compared with people's, before and now, with the paired test."""
    people = [1.0, 0.0] * 20
    before = report({"m": [0.9] * 40})
    after = report({"m": [0.9, 0.1] * 20})
    labels = [HumanLabel(sample=f"q{row}", value=value) for row, value in enumerate(people)]
    beside = drift(before, after, labels=labels).metrics["m"].people
    assert (beside.before, beside.after, beside.n) == (0.5, 1.0, 40)
    assert beside.p < 0.001
    assert "verdicts match people's on 0.500 before, on 1.000 now (n 40" in str(drift(before, after, labels=labels))


def test_what_cannot_drift_is_told() -> None:
    """Other samples, no judged metric, no samples to judge again."""
    first = anchor()
    other = report({RUBRIC: [0.5] * 30})
    with pytest.raises(InputError, match="different dataset"):
        drift(first, other)
    plain = evaluate_rag([{"response": "a", "reference": "a"}], metrics=["exact_match"])
    with pytest.raises(InputError, match="share no judged metric"):
        drift(plain, plain)
    with pytest.raises(InputError, match="drift cannot be measured"):
        rejudge(plain, script(new))
    first.samples = []
    with pytest.raises(InputError, match="does not contain its samples"):
        rejudge(first, script(new))


def test_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], serve: Callable[..., Any]
) -> None:
    """Two reports, or a judge to ask again; 0 without drift, 2 with it, 1 for a mistake."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_API_KEY", "k")
    first = anchor()
    first.save("old/report.json")
    rejudge(first, script(new)).save("new/report.json")
    assert invoke(["drift", "old", "old"]) == 0
    assert "no detectable drift" in capsys.readouterr().out
    assert invoke(["drift", "old", "new", "--format", "json"]) == 2
    assert json.loads(capsys.readouterr().out)["moved"] == [RUBRIC]
    server = serve(answer=lambda body: json.dumps({"reason": "r", "rating": 5}))
    assert invoke(["drift", "old", "--judge", str(server.judge), "--out", "again"]) == 2
    assert "scores higher" in capsys.readouterr().out
    assert Path("again/report.json").is_file()
    asked = server.calls
    assert (
        invoke(["drift", "again", "--judge", str(server.judge)]) == 3
    )  # every reply is kept: nothing is known of today
    assert "the judge was not called" in capsys.readouterr().err
    assert invoke(["drift", "again", "--judge", str(server.judge), "--ledger", "new.sqlite"]) == 0
    assert server.calls == 2 * asked
    assert invoke(["drift", "old"]) == 1
    assert "give either a second report or --judge" in capsys.readouterr().err
    assert render.as_json(drift(first, first))


def test_everything_is_checked_before_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], serve: Callable[..., Any]
) -> None:
    """Labels of no metric or of no value cost nothing, and a dry run asks nobody."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_API_KEY", "k")
    anchor().save("old/report.json")
    server = serve(answer=lambda body: json.dumps({"reason": "r", "rating": 5}))
    asking = ["drift", "old", "--judge", str(server.judge)]
    for content, words in (
        ("id,metric,value\n1,no_such,1\n", "no metric 'no_such' in the report"),
        ("id,value\n1,perhaps\n", "perhaps"),
    ):
        Path("labels.csv").write_text(content, encoding="utf-8")
        assert invoke([*asking, "--labels", "labels.csv"]) == 1
        assert words in capsys.readouterr().err
    assert invoke([*asking, "--tolerance", "-1"]) == 1
    assert invoke(["drift", "old", "old", "--dry-run"]) == 1
    capsys.readouterr()
    assert invoke([*asking, "--dry-run", "--price", "1,2"]) == 0
    assert "about 30 calls" in capsys.readouterr().out
    assert server.calls == 0


def test_labels_that_name_no_metric(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are about the only judged metric, though others are in the report; of several, ``--metric`` says which."""
    first = anchor()
    labels = [HumanLabel(sample=str(one), value=1.0) for one in range(1, 31)]
    assert drift(first, rejudge(first, script(new)), labels=labels).metrics[RUBRIC].people.n == 30
    report({"one": [0.9, 0.1], "two": [0.9, 0.1]}).save(tmp_path / "report.json")
    (tmp_path / "sheet.csv").write_text("id,value\nq0,1\nq1,0\n", encoding="utf-8")
    both = ["drift", str(tmp_path), str(tmp_path), "--labels", str(tmp_path / "sheet.csv")]
    assert invoke(both) == 1
    words = "name the metric that the labels refer to: one of one, two (--metric)"
    assert words in capsys.readouterr().err
    assert invoke([*both, "-m", "two"]) == 0
    assert "two: verdicts match people's on 1.000 before" in capsys.readouterr().out.replace("  ", "")
