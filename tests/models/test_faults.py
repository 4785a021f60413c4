"""Endpoints that misbehave: every cell ends ok, or failed with a reason that names its fault."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from steelyard.core.errors import AskFailed, BadReply
from steelyard.core.records import Value
from steelyard.core.requests import Flow, Numbered, Prompt, ask, items
from steelyard.models.engine import Result
from tests.models.small_rules import Verdict, by_key, cells, engine_of, so, supported, texts, value
from tests.server import Server

Serve = Callable[..., Server]
FAULTS = {"429": 0.05, "500": 0.02, "malformed": 0.02, "hang": 0.01}
NAMED = {
    "429": "rate_limited",
    "500": "server_error",
    "hang": "timeout",
    "malformed": "malformed",
    "drop": "connection",
}


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.long
def test_faults_drawn_per_call_leave_no_trace(serve: Serve) -> None:
    """Every cell ends ok with the value of a run without faults."""
    deadline = 1.0
    results = {}
    for faults in ({}, FAULTS):
        server = serve(latency=0.02, faults=faults, retry_after="0.25")
        engine = engine_of(server, deadline=deadline, max_wait=30.0)
        results[bool(faults)] = by_key(engine.run(cells(supported, texts(150))))
        assert server.most_in_flight <= 16
    assert sum(server.faulted.values()) > 15
    assert all(one.error is None for one in results[True].values())
    assert_equal_where_untouched(results[True], results[False])


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.long
def test_sticky_faults_fail_their_cells_alone_and_are_named(serve: Serve) -> None:
    """A prompt keeps its fault: what is untouched equals the fault-free run; the rest is ok or failed with the reason."""
    free = by_key(engine_of(serve()).run(cells(supported, texts(150))))
    faults = {"429": 0.04, "500": 0.03, "malformed": 0.03, "hang": 0.02, "drop": 0.02}
    server = serve(faults=faults, mode="sticky")
    found = by_key(engine_of(server, deadline=0.2, max_wait=0.5).run(cells(supported, texts(150))))
    failed = [one for one in found.values() if one.error is not None]
    assert len(found) == 150
    assert len(failed) > 5
    assert {one.error.kind for one in failed} <= set(NAMED.values())  # type: ignore[union-attr]
    assert_equal_where_untouched(found, free)


def assert_equal_where_untouched(found: dict[Any, Result], free: dict[Any, Result]) -> None:
    """Cells that needed no second prompt have the values of a run without faults."""
    plain = {key: one for key, one in found.items() if one.error is None and len(one.requests) == 2}
    assert len(plain) > 100
    assert {key: value(one) for key, one in plain.items()} == {key: value(free[key]) for key in plain}


@pytest.mark.parametrize(
    ("fault", "kind", "calls"),
    [
        ("malformed", "malformed", 2),
        ("truncated", "truncated", 2),
        ("refusal", "refusal", 2),
        ("empty", "empty", 2),
        ("wrong_schema", "wrong_schema", 2),
    ],
)
def test_a_judge_that_always_fails_gives_no_number(serve: Serve, fault: str, kind: str, calls: int) -> None:
    """Every cell failed, with the right reason, after one more try."""
    server = serve(faults={fault: 1.0})
    found = list(engine_of(server).run(cells(supported, texts(10))))
    assert {one.error.kind for one in found} == {kind}  # type: ignore[union-attr]
    assert {one.outcome for one in found} == {None}
    assert server.calls == 10 * calls


@pytest.mark.parametrize("fault", ["fenced", "chatty"])
def test_fences_and_chat_cost_no_call(serve: Serve, fault: str) -> None:
    """All cells ok, with as many calls as from a judge without manners."""
    server = serve(faults={fault: 1.0})
    found = list(engine_of(server).run(cells(supported, texts(10))))
    assert all(isinstance(one.outcome, Value) for one in found)
    assert server.calls == 20


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"choices": [{"finish_reason": "stop", "message": {"content": None, "refusal": "I can't."}}]}, "refusal"),
        ({"choices": [{"finish_reason": "content_filter", "message": {"content": ""}}]}, "content_filter"),
        ({"choices": [{"finish_reason": "stop", "message": {"content": ""}}]}, "empty"),
        ({"choices": []}, "no_choices"),
        ({"choices": [{"finish_reason": "stop"}]}, "empty"),
        (
            {"choices": [{"finish_reason": "stop", "message": {"content": [{"type": "text", "text": "{"}]}}]},
            "malformed",
        ),
        ({"choices": {"a": 1}}, "bad_answer"),
    ],
)
def test_each_kind_of_nothing_is_told_apart(serve: Serve, body: dict[str, Any], kind: str) -> None:
    """The run goes on, and nothing is scored 0."""
    bodies = {"a": body}

    def answer(asked: dict[str, Any]) -> Any:
        return bodies["a"] if "\na\n" in asked["messages"][0]["content"] else '{"reason": "r", "verdict": "yes"}'

    found = by_key(engine_of(serve(answer=answer)).run(cells(so, ["a", "b"])))
    assert isinstance(found["a"].error, BadReply | AskFailed)
    assert found["a"].error.kind == kind
    assert value(found["b"]) == 1.0


def test_a_bad_reply_is_asked_for_again_with_the_complaint(serve: Serve) -> None:
    """The second prompt is the first with what was wrong and the schema; it is a call and a key of its own."""
    server = serve(
        answer=lambda body: (
            '{"reason": "r", "verdict": "no"}'
            if "could not be used" in body["messages"][0]["content"]
            else '{"verdict": 3}'
        )
    )
    engine = engine_of(server)
    (result,) = engine.run(cells(so, ["a"]))
    assert value(result) == 0.0
    assert result.usage.calls == server.calls == 2
    first, second = server.prompts
    assert second.startswith(first)
    assert "(wrong schema)" in second or "expected" in second
    assert len(set(result.requests)) == 2
    assert [bad.reply for bad in engine.ledger.unusable(result.requests[0])] == ['{"verdict": 3}']


@pytest.mark.parametrize(("breaks", "calls", "kind"), [(2, 3, None), (3, 3, "malformed")])
def test_a_judge_that_seldom_breaks_is_asked_a_third_time(serve: Serve, breaks: int, calls: int, kind: str) -> None:
    """No JSON twice running befalls one call in thousands; it is no reason to lose a cell."""
    broken: list[str] = []

    def answer(body: dict[str, Any]) -> Any:
        prompt = body["messages"][0]["content"]
        if "\nodd\n" in prompt and len(broken) < breaks:
            broken.append(prompt)
            return '{"verdict":'
        return '{"reason": "r", "verdict": "yes"}'

    engine = engine_of(serve(answer=answer), concurrency=1)
    found = by_key(engine.run(cells(so, [*texts(40), "odd"])))
    assert found["odd"].usage.calls == calls
    assert broken[1:] == [broken[1]] * (breaks - 1)
    assert (value(found["odd"]) == 1.0) if kind is None else (found["odd"].error.kind == kind)  # type: ignore[union-attr]


def test_no_question_is_asked_a_fourth_time(serve: Serve) -> None:
    """Broken, broken, and then cut off: three calls."""
    seen: list[str] = []

    def answer(body: dict[str, Any]) -> Any:
        prompt = body["messages"][0]["content"]
        if "\nodd\n" not in prompt:
            return '{"reason": "r", "verdict": "yes"}'
        seen.append(prompt)
        cut = {"choices": [{"finish_reason": "length", "message": {"content": '{"reason": "r'}}]}
        return '{"verdict":' if len(seen) < 3 else cut

    found = by_key(engine_of(serve(answer=answer), concurrency=1).run(cells(so, [*texts(40), "odd"])))
    assert found["odd"].error.kind == "truncated"  # type: ignore[union-attr]
    assert len(seen) == 3


class Mine(BaseException):
    """What no rule should raise."""


@pytest.mark.parametrize("raised", [Mine, GeneratorExit])
def test_what_is_no_exception_ends_the_run(serve: Serve, raised: type[BaseException]) -> None:
    """It reaches the caller, as pytest.fail in a rule should; nothing waits for ever."""

    def rule(text: str) -> Flow:
        if text == "odd":
            raise raised
        return (yield from so(text))

    with pytest.raises(raised):
        list(engine_of(serve()).run(cells(rule, [*texts(5), "odd"])))


def test_a_rule_that_raises_cancelled_fails_alone(serve: Serve) -> None:
    """It is no cancellation of the run."""

    def rule(text: str) -> Flow:
        if text == "odd":
            raise asyncio.CancelledError
        return (yield from so(text))

    found = by_key(engine_of(serve()).run(cells(rule, [*texts(5), "odd"])))
    assert "CancelledError" in str(found["odd"].error)
    assert sum(one.error is None for one in found.values()) == 5


def test_a_reply_cut_off_gets_more_room(serve: Serve) -> None:
    """The same prompt again with four times the tokens."""

    def answer(body: dict[str, Any]) -> Any:
        whole = body["max_tokens"] > 100
        content = '{"reason": "r", "verdict": "yes"}' if whole else '{"reason": "r'
        return {"choices": [{"finish_reason": "stop" if whole else "length", "message": {"content": content}}]}

    server = serve(answer=answer)
    engine = engine_of(server, judge=server.judge + "&max_tokens=100")
    (result,) = engine.run(cells(so, ["a"]))
    assert value(result) == 1.0
    assert [body["max_tokens"] for body in server.bodies] == [100, 400]
    assert len(set(server.prompts)) == 1
    assert engine.ledger.reply(result.requests[0]).attempts == 2  # type: ignore[union-attr]


def one_by_one(text: str) -> Flow:
    """Verdicts on three items in one request; where the count is wrong, item by item."""
    try:
        reply = yield from ask(Prompt("All three."), Numbered(Verdict).of(3), item=[text, text, text])
        return float(len(items(reply)))
    except BadReply:
        single = Numbered(Verdict).of(1)
        count = 0
        for number in range(3):
            reply = yield from ask(Prompt(f"Item {number}."), single, item=[text])
            count += len(items(reply))
        return count / 100


def test_a_wrong_count_is_asked_again_and_then_falls_to_the_rule(serve: Serve) -> None:
    """One complaint, then the rule decides: here it asks item by item."""
    one = {"reason": "r", "verdict": "yes"}

    def answer(body: dict[str, Any]) -> str:
        return json.dumps({"1": one, "2": one} if "All three." in body["messages"][0]["content"] else {"1": one})

    server = serve(answer=answer)
    engine = engine_of(server)
    (result,) = engine.run(cells(one_by_one, ["a"]))
    assert value(result) == 0.03
    assert [bad.message for bad in engine.ledger.unusable(result.requests[0])] == ["expected 3 got 2"]
    assert server.calls == 2 + 3


def test_a_rate_limit_does_not_starve_the_first(serve: Serve) -> None:
    """Under a limit that turns most calls away, the oldest cells are not the last to be answered."""
    server = serve(latency=0.01, places=3, retry_after="0.05")
    order = [one.key for one in engine_of(server, concurrency=32, max_wait=60.0).run(cells(so, texts(120)))]
    early = [order.index(text) for text in texts(120)[:40]]
    assert sum(early) / len(early) < 50
