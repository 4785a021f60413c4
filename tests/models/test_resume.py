"""What is asked again after a kill, after an end, after a change: only what the ledger lacks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from steelyard.core.errors import AskFailed
from steelyard.core.requests import Flow, Prompt, ask
from steelyard.models.engine import Cell
from tests.models.small_rules import Verdict, by_key, cells, engine_of, so, supported, texts, value
from tests.server import Reply, Server

Serve = Callable[..., Server]

KILLED = """
import sys
sys.path[:0] = {paths!r}
from tests.models.small_rules import *
engine = Engine({judge!r}, ledger={ledger!r}, concurrency=8)
for number, result in enumerate(engine.run(cells(supported, texts(100))), 1):
    print(number, flush=True)
"""


def test_a_killed_run_goes_on_where_it_was(serve: Serve, tmp_path: Path) -> None:
    """SIGKILL at half: both runs together ask what one asks, plus at most what was in flight; a third asks nothing."""
    server = serve(latency=0.03)
    ledger = str(tmp_path / "l.sqlite")
    code = KILLED.format(paths=[str(Path(__file__).resolve().parents[2])], judge=server.judge, ledger=ledger)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) == 50:
            os.kill(process.pid, signal.SIGKILL)
            break
    process.wait()
    process.stdout.close()
    first = server.calls
    found = by_key(engine_of(server, ledger=ledger, concurrency=8).run(cells(supported, texts(100))))
    assert 100 <= first < 200
    assert 200 <= server.calls <= 200 + 8
    server.reset()
    again = engine_of(server, ledger=ledger)
    third = by_key(again.run(cells(supported, texts(100))))
    assert server.calls == again.usage.calls == 0
    assert again.usage.cached == 200
    assert {key: value(one) for key, one in third.items()} == {key: value(one) for key, one in found.items()}
    assert {key: one.requests for key, one in third.items()} == {key: one.requests for key, one in found.items()}


@pytest.mark.usefixtures("quick_retries")
def test_a_run_with_faults_replays_without_a_call(serve: Serve, tmp_path: Path) -> None:
    """Replies that took a complaint or more room are found by the first prompt."""
    server = serve(faults={"malformed": 0.2, "truncated": 0.1, "500": 0.1})
    ledger = tmp_path / "l.sqlite"
    first = by_key(engine_of(server, ledger=ledger).run(cells(supported, texts(60))))
    good = [text for text, one in first.items() if one.error is None]
    assert len(good) > 30
    assert any(len(first[text].requests) > 2 for text in good)
    server.reset()
    second = by_key(engine_of(server, ledger=ledger).run(cells(supported, good)))
    assert server.calls == 0
    assert {key: (value(one), one.requests) for key, one in second.items()} == {
        key: (value(first[key]), first[key].requests) for key in good
    }


def test_a_second_prompt_that_was_answered_is_not_asked_again(serve: Serve, tmp_path: Path) -> None:
    """A key of its own: the complaint's answer is found even where that of the first prompt is not."""
    bad = {"on": True}

    def answer(body: dict[str, Any]) -> Any:
        again = "could not be used" in body["messages"][0]["content"]
        return '{"reason": "r", "verdict": "yes"}' if again or not bad["on"] else "nonsense, all of it"

    server = serve(answer=answer)
    (result,) = engine_of(server, ledger=tmp_path / "l").run(cells(so, ["a"]))
    first, second = result.requests
    assert first != second
    engine = engine_of(server, ledger=tmp_path / "l")
    assert engine.ledger.reply(first).asked_again == second  # type: ignore[union-attr]
    assert "could not be used" in engine.ledger.reply(second).prompt  # type: ignore[union-attr]
    engine.ledger.close()


@pytest.mark.usefixtures("quick_retries")
def test_failures_are_asked_again_and_repeats_are_draws_of_their_own(serve: Serve, tmp_path: Path) -> None:
    """An error is never kept; five repeats are five calls and five scores, which the next run replays."""
    sick = {"on": True}
    replies = iter(["yes", "no", "yes", "yes", "no"])

    def answer(body: dict[str, Any]) -> Any:
        if sick["on"]:
            return Reply({"error": {"message": "boom"}}, 500)
        return json.dumps({"reason": "r", "verdict": next(replies)})

    server = serve(answer=answer)
    ledger = tmp_path / "l"
    (result,) = engine_of(server, ledger=ledger).run(cells(so, ["sample 1"]))
    assert str(result.error) == "server_error: HTTP 500: boom (5 calls)"
    sick["on"] = False
    work = [Cell(("m", repeat), partial(so, "sample 1"), repeat) for repeat in range(5)]
    first = by_key(engine_of(server, ledger=ledger, concurrency=1).run(work))
    assert [value(first["m", repeat]) for repeat in range(5)] == [1.0, 0.0, 1.0, 1.0, 0.0]
    server.reset()
    again = engine_of(server, ledger=ledger, judge=server.judge + "&price=1,1")
    second = by_key(again.run(work))
    assert [value(second["m", repeat]) for repeat in range(5)] == [1.0, 0.0, 1.0, 1.0, 0.0]
    assert server.calls == 0
    assert (again.usage.calls, again.usage.cached, again.usage.cost) == (0, 5, None)


def test_whatever_changes_a_reply_is_another_request(serve: Serve, tmp_path: Path) -> None:
    """Another model, sampling, prompt, shape, draw or repeat is asked anew; another price is not."""
    server = serve()
    ledger = tmp_path / "l"

    def revised(text: str) -> Flow:
        reply = yield from ask(Prompt("Is it so, truly?"), Verdict, text=text)
        return float(reply.verdict == "yes")

    list(engine_of(server, ledger=ledger).run(cells(so, ["a"])))
    base = server.calls
    for judge in ("#mock&price=1,2&window=9000", "#mock"):
        list(engine_of(server, ledger=ledger, judge=server.url + judge).run(cells(so, ["a"])))
    assert server.calls == base == 1
    for judge in ("#other", "#mock&temperature=1", "#mock&seed=1", "#mock&max_tokens=99", "#mock&top_p=0.5"):
        list(engine_of(server, ledger=ledger, judge=server.url + judge).run(cells(so, ["a"])))
    assert server.calls == 6
    list(engine_of(server, ledger=ledger).run(cells(revised, ["a"])))
    list(engine_of(server, ledger=ledger).run(cells(partial(so, draw=1), ["a"])))
    list(engine_of(server, ledger=ledger).run([Cell("a", partial(so, "a"), repeat=1)]))
    assert server.calls == 9


def test_offline_answers_from_the_ledger_alone(serve: Serve, tmp_path: Path) -> None:
    """A hit is a score, a miss a failure that says so; nothing is sent."""
    server = serve()
    list(engine_of(server, ledger=tmp_path / "l").run(cells(so, ["known"])))
    server.reset()
    found = by_key(engine_of(server, ledger=tmp_path / "l", offline=True).run(cells(so, ["known", "new"])))
    assert value(found["known"]) in {0.0, 1.0}
    error = found["new"].error
    assert isinstance(error, AskFailed)
    assert error.kind == "offline"
    assert server.calls == 0


def test_two_runs_share_a_ledger_at_once(serve: Serve, tmp_path: Path) -> None:
    """Two processes on one ledger finish, and a third run asks nothing."""
    server = serve(latency=0.01)
    ledger = str(tmp_path / "l.sqlite")
    code = KILLED.format(paths=[str(Path(__file__).resolve().parents[2])], judge=server.judge, ledger=ledger)
    processes = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    server.reset()
    list(engine_of(server, ledger=ledger).run(cells(supported, texts(100))))
    assert server.calls == 0
    with pytest.raises(StopIteration):
        next(engine_of(server, ledger=ledger).run([]))
