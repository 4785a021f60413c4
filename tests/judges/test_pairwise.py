"""Pairs in both orders: position bias, ties, win rates, strengths of many systems."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from steelyard import script
from steelyard.cli import invoke
from steelyard.core.errors import BadReply, InputError
from steelyard.core.records import Sample
from steelyard.core.requests import Ask
from steelyard.judges.pairwise import prefer
from steelyard.render import preference as render
from steelyard.reports.report import Report
from steelyard.stats.bradley_terry import bradley_terry, strengths

Answer = Callable[[Ask], object]


def sides(ask: Ask) -> tuple[str, str]:
    """The two responses of a prompt, in their order."""
    mark = re.search(r"Text in marks (#\w+)", ask.prompt)[1]
    found = re.findall(rf"^([AB]) {mark}\n(.*?)\n{mark}", ask.prompt, re.MULTILINE | re.DOTALL)
    return dict(found)["A"], dict(found)["B"]


def rows(name: str, quality: Callable[[int], float], n: int = 100) -> list[Sample]:
    """Answers that carry their quality as a number, for a judge made of code to read."""
    return [
        Sample(
            id=str(one),
            user_input=f"Question {one}?",
            response=f"{name} {quality(one):.6f}",
            tags={"kind": "even" if one % 2 == 0 else "odd"},
        )
        for one in range(n)
    ]


def fair(ask: Ask) -> str:
    """The answer of higher quality; a tie where they are equal."""
    first, second = (float(one.split()[1]) for one in sides(ask))
    return "A" if first > second else "B" if second > first else "tie"


def saying(choose: Callable[[Ask], str]) -> Answer:
    return lambda ask: {"reason": "r", "better": choose(ask)}


def biased(share: float, seed: int) -> Callable[[Ask], str]:
    """Fair, but for a share of prompts where the first place wins whoever stands there."""
    return lambda ask: "A" if random.Random(f"{seed}{ask.prompt}").random() < share else fair(ask)


def truth(seed: int, rate: float = 0.7) -> tuple[list[Sample], list[Sample]]:
    """Two systems, the first of which is better on so large a share of samples."""
    rng = random.Random(seed)
    first = [rng.random() < rate for _ in range(200)]
    return rows("x", lambda one: 1.0 + first[one], 200), rows("y", lambda one: 2.0 - first[one], 200)


def test_a07_a_judge_that_prefers_the_first_place() -> None:
    """Both orders are asked; all pairs are ties, win rates 0 and 0, and the position bias is 100 %."""
    judge = script(saying(lambda ask: "A"))
    found = prefer({"x": rows("x", lambda one: 1.0, 8), "y": rows("y", lambda one: 2.0, 8)}, judge)
    (duel,) = found.duels
    assert (duel.win, duel.tie, duel.loss) == (0, 8, 0)
    assert (duel.position_bias.value, duel.consistent.value, duel.win_rate.value) == (1.0, 0.0, None)
    assert found.usage.calls == 16
    assert duel.words() == "no decided pair"
    assert duel.one_order == (1.0, 0.0)
    assert "+1.000" in str(found)


def test_a_planted_bias_is_found_and_does_not_move_the_win_rate() -> None:
    """20 % of first places win for their place: the interval holds it, and the win rate stays 70 %, over many seeds.

    Asked in one order alone, the judge would have said 76 % or 56 %.
    """
    bias = rate = alone = 0
    rates = []
    for seed in range(6):
        x, y = truth(seed)
        duel = prefer({"x": x, "y": y}, script(saying(biased(0.2, seed)))).duels[0]
        real = np.mean([float(a.response.split()[1]) > float(b.response.split()[1]) for a, b in zip(x, y, strict=True)])
        bias += duel.position_bias.low <= 0.2 <= duel.position_bias.high
        rate += duel.win_rate.low <= 0.7 <= duel.win_rate.high
        alone += duel.one_order[0] - real > 0.02 and real - duel.one_order[1] > 0.08
        rates.append(duel.win_rate.value - real)
    assert bias >= 5
    assert rate >= 5
    assert alone >= 5
    assert abs(float(np.mean(rates))) < 0.02


def test_a_fair_judge_has_no_bias_and_decides() -> None:
    """Wins, ties and losses as they are; the better system is named; slices add up."""
    x, y = rows("x", lambda one: one % 10), rows("y", lambda one: 5.0)
    duel = prefer({"x": x, "y": y}, script(saying(fair)), by="kind").duels[0]
    assert (duel.win, duel.tie, duel.loss) == (40, 10, 50)
    assert (duel.win_rate.value, duel.score.value, duel.position_bias.value) == (pytest.approx(4 / 9), 0.45, 0.0)
    assert duel.consistent.value == 1.0
    even, odd = duel.slices["kind=even"], duel.slices["kind=odd"]
    assert (even.win + odd.win, even.tie + odd.tie, even.loss + odd.loss) == (40, 10, 50)
    assert (even.n, odd.tie) == (50, 10)
    assert duel.words() == "no detectable difference"
    best = prefer({"x": rows("x", lambda one: 2.0), "y": rows("y", lambda one: 1.0)}, script(saying(fair))).duels[0]
    assert best.words() == "x is better"
    turned = prefer({"y": rows("y", lambda one: 1.0), "x": rows("x", lambda one: 2.0)}, script(saying(fair))).duels[0]
    assert turned.words() == "x is better"


def test_failures_are_counted_and_told() -> None:
    """A bad reply in either order fails the pair; an answer that is missing leaves it undefined."""

    def half(ask: Ask) -> object:
        if "Question 3?" in ask.prompt:
            raise BadReply("wrong_schema", "no letter")
        return {"reason": "r", "better": fair(ask)}

    x = rows("x", lambda one: 2.0, 6)
    x[0] = Sample(id="0", user_input="Question 0?")
    found = prefer({"x": x, "y": rows("y", lambda one: 1.0, 7)}, script(half))
    duel = found.duels[0]
    assert (duel.n, duel.undefined, duel.failed) == (4, 1, 1)
    assert found.failed_share == pytest.approx(1 / 5)
    assert "x, y: 1 sample is in one system only and is left out" in found.warnings
    assert "failed: wrong_schema: no letter" in str(found)


def test_many_systems_get_strengths() -> None:
    """Three systems of known order, from every pair; the JSON holds every verdict."""
    systems = {
        name: rows(name, lambda one, level=level: level + (one * 7 + level) % 3, 60) for level, name in enumerate("xyz")
    }
    found = prefer(systems, script(saying(fair)))
    assert [(one.a, one.b) for one in found.duels] == [("x", "y"), ("x", "z"), ("y", "z")]
    assert [one.system for one in found.strengths] == ["z", "y", "x"]
    assert all(one.low < one.value < one.high for one in found.strengths)
    assert sum(one.value for one in found.strengths) == pytest.approx(0.0)
    assert "beats another" in str(found)
    plain = json.loads(render.as_json(found))
    assert len(plain["duels"][0]["verdicts"]) == 60
    assert "| x – y |" in render.markdown(found)


def test_strengths_are_the_maximum_of_the_likelihood() -> None:
    """As scipy finds it, on the same table with one more tie for each pair that met."""
    rng = np.random.default_rng(0)
    wins = rng.integers(0, 30, (4, 4)).astype(float)
    np.fill_diagonal(wins, 0.0)
    wins[0, 3] = wins[3, 0] = 0.0
    padded = wins + ((wins + wins.T) > 0) / 2

    def loss(values: np.ndarray) -> float:
        return float((padded * np.log1p(np.exp(values[None, :] - values[:, None]))).sum())

    best = optimize.minimize(loss, np.zeros(4), tol=1e-12).x
    assert strengths(wins) == pytest.approx(best - best.mean(), abs=1e-4)
    assert strengths(np.stack([wins, 2 * wins]))[0] == pytest.approx(strengths(wins))


def test_strengths_of_those_who_won_everything_are_finite() -> None:
    """And the same for the same seed; samples are drawn whole."""
    games = [(0, 1, 1.0, one) for one in range(20)] + [(1, 2, 1.0, one) for one in range(20)]
    found = bradley_terry(["a", "b", "c"], games, seed=3)
    assert [one.system for one in found] == ["a", "b", "c"]
    assert np.isfinite([one.value for one in found]).all()
    assert found == bradley_terry(["a", "b", "c"], games, seed=3)
    assert found[0].beats > 0.9 > found[2].beats
    with pytest.raises(InputError, match="a square table of wins"):
        strengths(np.zeros((2, 3)))


def test_pairs_that_are_none() -> None:
    """One system, no id in common, different questions under the same id."""
    one = rows("x", lambda at: 1.0, 3)
    for systems, words in (
        ({"x": one}, "at least two systems"),
        ({"x": one, "y": [Sample(id="z", user_input="?", response="r")]}, "x and y have no sample id in common"),
        (
            {"x": one, "y": [Sample(id="1", user_input="Other?", response="r")]},
            "1 has different questions in x and y",
        ),
    ):
        with pytest.raises(InputError, match=words):
            prefer(systems, script(saying(fair)))


def test_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], serve: Callable[..., Any]
) -> None:
    """A file and a report; the judge over HTTP; everything as JSON beside the table; exit codes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_API_KEY", "k")
    server = serve(answer=lambda body: json.dumps({"reason": "r", "better": "A"}))
    report = Report(ids=["0", "1"], samples=rows("x", lambda one: 1.0, 2), system="bm25")
    report.save(tmp_path / "kept" / "report.json")
    lines = [json.dumps({"id": str(one), "question": f"Question {one}?", "answer": "y 2"}) for one in range(2)]
    Path("dense.jsonl").write_text("\n".join(lines), encoding="utf-8")
    args = ["prefer", "kept", "dense.jsonl", "--judge", str(server.judge), "--by", "kind"]
    assert invoke([*args, "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "bm25, dense:\npreference [judged] on 2 rows" in told
    assert ("about 4 calls" in told, "cost unknown: give --price" in told, server.calls) == (True, True, 0)
    assert invoke([*args, "--out", "all.json"]) == 0
    out = capsys.readouterr().out
    assert "bm25 – dense" in out
    assert "0/2/0" in out
    assert "kind=even" in out
    assert json.loads(Path("all.json").read_text(encoding="utf-8"))["duels"][0]["position_bias"]["value"] == 1.0
    assert invoke([*args, "--offline", "--ledger", "empty.sqlite"]) == 3
    assert "failed: " in capsys.readouterr().out
    assert invoke(["prefer", "kept/report.json", "dense.jsonl", "--judge", "gpt"]) == 1


def test_intervals_hold_only_what_can_be() -> None:
    """Shares lie in 0 to 1 and their differences in -1 to 1, however few pairs there are."""
    for n in range(2, 8):
        for share in (0.2, 0.5, 0.9):
            systems = {"x": rows("x", float, n), "y": rows("y", lambda one: one + 0.5 - one % 2, n)}
            duel = prefer(systems, script(saying(biased(share, n))), ledger=":memory:").duels[0]
            assert -1 <= duel.position_bias.low <= duel.position_bias.value <= duel.position_bias.high <= 1
            for found in (duel.win_rate, duel.score, duel.consistent):
                assert found.value is None or 0 <= found.low <= found.value <= found.high <= 1
