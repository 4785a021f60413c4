"""Draws of one judge: variance, noise floor, flaky samples, and the noise beside a delta."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random

import numpy as np
import pytest

from steelyard import compare, evaluate_rag, script
from steelyard.cli import invoke
from steelyard.core.requests import Ask
from steelyard.render import comparison as render_comparison, judge_noise as render
from steelyard.reports.judge_noise import delta_floor, noise
from steelyard.reports.report import Report
from tests.judges.judged_reports import report


def drawn(rows: list[list[float | None]], **options: object) -> Report:
    """A report of several draws: scores are their means."""
    means = [
        math.fsum(one for one in draws if one is not None) / sum(one is not None for one in draws) for draws in rows
    ]
    return report({"m": means}, draws=dict(enumerate(rows)), **options)


def test_noise_by_hand() -> None:
    """Variance within samples, its share, moving and flaky samples, pass^k and majority."""
    found = noise(drawn([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.4, 0.6, 0.5]]))["m"]
    within = (2 / 3 + 0.02) / 8  # squared gaps from the means over 2 degrees each
    assert (found.draws, found.n, found.moving, found.flaky) == (3, 4, 2, 2)
    assert found.within == pytest.approx(math.sqrt(within))
    assert found.pass_rate == pytest.approx((2 / 3 + 1 + 0 + 2 / 3) / 4)
    assert found.pass_all == pytest.approx(1 / 4)
    assert found.majority == pytest.approx(3 / 4)
    assert found.floor == pytest.approx(1.959964 * math.sqrt(2 * within / 3 / 4), rel=1e-6)
    assert [one.sample for one in found.worst] == ["q0", "q3"]
    assert "m of q0 passes and fails: 1.00, 1.00, 0.00" in render.text({"m": found})


def test_a_judge_that_never_wavers_has_no_noise() -> None:
    """Nothing within, nothing flaky, a floor of 0; one draw tells nothing at all."""
    found = noise(drawn([[0.2, 0.2], [0.9, 0.9]]))["m"]
    assert (found.within, found.share, found.floor, found.moving, found.flaky) == (0.0, 0.0, 0.0, 0, 0)
    assert noise(report({"m": [0.2, 0.9]})) == {}
    assert noise(drawn([[0.5, None], [0.5, 0.7]]))["m"].n == 1


def test_two_runs_of_one_system_stay_below_the_floor() -> None:
    """The floor is exceeded about once in twenty, whatever the number of draws."""
    rng = np.random.default_rng(0)
    level = rng.random(40)
    for draws in (2, 5):
        above = 0
        for _ in range(200):
            sides = [np.clip(level[:, None] + rng.normal(0, 0.1, (40, draws)), -1, 2) for _ in range(2)]
            rows = [dict(enumerate(side.tolist())) for side in sides]
            floor = delta_floor(*rows, [(row, row) for row in range(40)])
            above += abs(sides[0].mean() - sides[1].mean()) > floor
        assert 0.015 <= above / 200 <= 0.09


def test_the_gate_passes_a_noisy_judge_of_the_same_answers() -> None:
    """Two runs of one system under a judge with seeded noise: at least 95 of 100 seeds pass with significant."""

    def moody(seed: int) -> Callable[[Ask], object]:
        return lambda ask: {"reason": "r", "rating": round(Random(f"{seed} {ask.prompt}").triangular(1, 5, 4))}

    rows = [{"id": str(row), "answer": f"Answer {row}"} for row in range(10)]
    passed = 0
    for seed in range(100):
        runs = [
            evaluate_rag(rows, metrics=["rubric(criteria=coherence)"], judge=script(moody(2 * seed + run)))
            for run in range(2)
        ]
        passed += compare(*runs, significant=True).passed
    assert passed >= 95


def test_compare_prints_the_floor_beside_the_delta() -> None:
    """A difference below it says so; one above it does not; without draws there is no such column."""
    rng = np.random.default_rng(1)
    rows = [[float(one) for one in (rng.random(4) < 0.6)] for _ in range(50)]
    again = [[float(one) for one in (rng.random(4) < 0.6)] for _ in range(50)]
    found = compare(drawn(again), drawn(rows), 1.0)
    delta = found.deltas[0]
    assert abs(delta.delta) < delta.noise
    assert delta.below_noise
    assert delta.words() == "no detectable change, below judge noise"
    shown = render_comparison.text(found)
    assert f"± {delta.noise:.4f}" in shown
    assert "from the judge's randomness alone" in shown
    worse = compare(drawn([[0.0, 0.0, 0.0, 1.0]] * 50), drawn([[1.0, 1.0, 0.0, 1.0]] * 50)).deltas[0]
    assert (worse.below_noise, worse.words()) == (False, "worse")
    assert "noise" not in render_comparison.text(compare(report({"m": [0.5] * 9}), report({"m": [0.5] * 9})))


def test_a_side_that_was_drawn_once_is_as_noisy_as_the_other() -> None:
    """The baseline of yesterday had one draw."""
    once = {}
    many = {row: [0.0, 1.0] for row in range(100)}
    pairs = [(row, row) for row in range(100)]
    assert delta_floor(once, many, pairs) == pytest.approx(1.959964 * math.sqrt((0.5 + 0.25) / 100), rel=1e-6)
    assert delta_floor(once, once, pairs) is None
    assert delta_floor(many, many, []) is None


def test_repeats_through_a_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--repeats asks the judge several times; the noise is printed by eval's own page and by show."""
    turn = count()
    judge = script(lambda ask: {"reason": "r", "rating": 5 if next(turn) % 2 else 1})
    rows = [{"id": str(one), "response": f"Answer {one}"} for one in range(6)]
    made = evaluate_rag(rows, metrics=["rubric(criteria=coherence)"], judge=judge, repeats=4, concurrency=1)
    found = noise(made)["rubric(criteria=coherence)"]
    assert (found.draws, found.n) == (4, 6)
    assert found.within > 0.4
    made.save(tmp_path / "report.json")
    assert invoke(["show", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "noise floor" in out
    assert "passes and fails" in out
