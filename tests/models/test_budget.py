"""Budgets and limits of calls, and what a run would cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from steelyard.core.errors import AskFailed, InputError
from steelyard.core.requests import Flow, ask
from steelyard.models.budget import tokens_of
from steelyard.models.engine import Cell, Engine
from steelyard.models.judge import script
from tests.models.small_rules import SO, Claims, alike, cells, engine_of, so, supported, texts
from tests.server import Server

Serve = Callable[..., Server]


def priced(prompt: int = 2000, completion: int = 500) -> Callable[[dict[str, Any]], Any]:
    """Answers that each count the same tokens, but one that counts none."""
    calls = 0

    def answer(body: dict[str, Any]) -> Any:
        nonlocal calls
        calls += 1
        message = {"content": '{"reason": "r", "verdict": "yes"}'}
        usage = {"prompt_tokens": prompt, "completion_tokens": completion}
        whole = {"choices": [{"finish_reason": "stop", "message": message}], "usage": usage}
        return {"choices": whole["choices"]} if calls == 2 and prompt == 0 else whole

    return answer


def test_spending_never_exceeds_the_budget(serve: Serve) -> None:
    """Calls of 0.003 under a budget of 0.01, four at once: three are made, the rest is not run."""
    server = serve(answer=priced(), latency=0.02)
    engine = engine_of(server, judge=server.judge + "&price=1,2", budget=0.01, concurrency=4)
    found = list(engine.run(cells(so, texts(20))))
    assert server.calls == 3
    assert sum(one.error is None for one in found) == 3
    assert engine.usage.cost == pytest.approx(0.009)
    reasons = {str(one.error) for one in found if one.error}
    assert reasons == {"not_run: budget: 0.009 of 0.01 spent, the next call needs about 0.003"}


def test_missing_usage_is_charged_by_estimate_and_marked(serve: Serve) -> None:
    """A reply without a usage block is not free."""
    server = serve(usage=False)
    engine = engine_of(server, judge=server.judge + "&price=1000,1000", budget=10.0)
    (result,) = engine.run(cells(so, ["a"]))
    assert result.usage.estimated == 1
    assert result.usage.cost == pytest.approx(result.usage.prompt_tokens / 1e3 + result.usage.completion_tokens / 1e3)
    assert engine.budget.spent == result.usage.cost > 0


def test_what_is_in_the_ledger_costs_nothing(serve: Serve, tmp_path: Path) -> None:
    """With the budget spent, known replies are still scored."""
    server = serve(answer=priced())
    judge = server.judge + "&price=1,2"
    list(engine_of(server, judge=judge, ledger=tmp_path / "l").run(cells(so, texts(5))))
    found = list(engine_of(server, judge=judge, ledger=tmp_path / "l", budget=0.0001).run(cells(so, texts(8))))
    assert sum(one.error is None for one in found) == 5
    assert server.calls == 5


def test_a_limit_of_calls_stops_cleanly(serve: Serve) -> None:
    """Exactly so many calls, a complaint counted as one; calls that failed are not."""
    server = serve()
    found = list(engine_of(server, max_calls=7).run(cells(so, texts(20))))
    assert server.calls == sum(one.error is None for one in found) == 7
    assert {str(one.error) for one in found if one.error} == {"not_run: max_calls: 7 of 7 calls made"}
    server = serve(faults={"refusal": 1.0})
    list(engine_of(server, max_calls=5, concurrency=1).run(cells(so, texts(20))))
    assert server.calls == 5
    server = serve(faults={"500": 1.0})
    engine = engine_of(server, max_calls=1, max_wait=0.1)
    for _ in range(2):
        (failed,) = engine.run(cells(so, ["a"]))
        assert str(failed.error).startswith("server_error")


def test_a_budget_needs_a_price() -> None:
    """Said before anything is asked."""
    with pytest.raises(InputError, match="a budget needs the price of m"):
        Engine("http://localhost:1/v1#m", budget=1.0)
    judge = "http://localhost:1/v1#m&price=1,1"
    assert "are not counted" in Engine(judge, "http://localhost:1/v1#e", budget=1.0).notes[0]
    with pytest.raises(InputError, match="concurrency must be at least 1"):
        Engine(concurrency=0)


def test_a_script_may_have_a_price() -> None:
    """So that a budget can be tested without a network."""
    judge = script(lambda ask: {"reason": "r", "verdict": "yes"}, price=(1e6, 0.0))
    engine = Engine(judge, ledger=":memory:", budget=100.0)
    found = list(engine.run(cells(so, texts(10))))
    failed = [one.error for one in found if one.error is not None]
    assert 0 < len(failed) < 10
    assert all(isinstance(error, AskFailed) and error.kind == "not_run" for error in failed)
    assert engine.budget.spent <= 100.0


def test_tokens_by_script() -> None:
    """Letters are a quarter of a token, characters of Han about one."""
    assert tokens_of("word " * 100) == 125
    assert 80 <= tokens_of("字" * 100) <= 110
    assert tokens_of("") == 0


def test_a_rule_that_asks_on_and_on_is_cut_off_in_a_plan() -> None:
    """Plausible replies may never please it; the plan says that it is one of the least."""

    def until_yes(text: str) -> Flow:
        number = 0
        while True:
            number += 1
            reply = yield from ask(SO, Claims, text=f"{text} {number}")
            if not reply.claims:
                return 1.0

    found = Engine("http://localhost:1/v1#m", ledger=":memory:").estimate(cells(until_yes, texts(20)))
    assert (found.cells, found.unbounded) == (20, 20)
    assert 1000 <= found.usage.calls < 5000


def test_a_dry_run_asks_nothing_and_reckons_what_a_run_asks(serve: Serve, tmp_path: Path) -> None:
    """Calls and prompt tokens of the first requests are exact, the ledger's are left out, equal ones count once."""
    server = serve()
    judge = server.judge + "&price=1,2"
    engine = engine_of(server, judge=judge, ledger=tmp_path / "l")
    work = cells(supported, texts(30))
    plan = engine.estimate([*work, *work])
    assert server.calls == 0
    assert (plan.cells, plan.usage.calls, plan.usage.cached) == (
        60,
        60,
        0,
    )  # each half a question of its own, asked once
    single = engine.estimate(cells(so, texts(30)))
    list(engine.run(cells(so, texts(30))))
    assert (single.usage.calls, single.undefined) == (server.calls, 0)
    assert single.usage.prompt_tokens == pytest.approx(engine.usage.prompt_tokens, rel=0.1)
    assert single.usage.cost == pytest.approx((single.usage.prompt_tokens + 2 * single.usage.completion_tokens) / 1e6)
    after = engine.estimate(cells(so, texts(40)))
    assert (after.usage.calls, after.usage.cached) == (10, 30)


def test_a_dry_run_counts_embeddings_and_survives_rules_that_fail(serve: Serve) -> None:
    """Texts in batches; a rule that chokes on a plausible reply is counted by what it asked before."""

    def choking(text: str) -> Any:
        yield from so(text)
        raise ValueError(text)

    server = serve()
    engine = engine_of(server, embedder=server.judge + "&batch=10&price=1")
    plan = engine.estimate([Cell(number, partial(alike, "a", f"text {number}")) for number in range(20)])
    assert (plan.usage.embedded, plan.usage.calls) == (21, 3)
    assert plan.usage.cost == pytest.approx(plan.usage.prompt_tokens / 1e6)
    assert engine.estimate(cells(choking, texts(5))).usage.calls == 5
    long = engine_of(server, judge=server.judge + "&window=500").estimate(cells(so, ["word " * 1000]))
    assert long.usage.calls == 0
