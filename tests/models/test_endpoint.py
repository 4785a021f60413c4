"""Calls over HTTP: retries, deadlines, refused parameters, errors, and the key that must not get out."""

from __future__ import annotations

import logging
import re
import socket
import threading
import time
from collections.abc import Callable
from email.utils import formatdate
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from steelyard.core.errors import AskFailed, BadReply, InputError
from steelyard.core.requests import Flow, request
from steelyard.models.engine import Cell, Engine
from steelyard.models.retry_delay import backoff, retry_after
from tests.models.small_rules import SO, Verdict, by_key, cells, engine_of, so, supported, texts, value
from tests.server import Reply, Server

Serve = Callable[..., Server]
YES = '{"reason": "r", "verdict": "yes"}'


def error(status: int, message: str, **more: Any) -> Reply:
    return Reply({"error": {"message": message, **more}}, status)


def scripted(*answers: Any) -> Callable[[dict[str, Any]], Any]:
    """Answers in turn; the last stays."""
    left = list(answers)
    return lambda body: left.pop(0) if len(left) > 1 else left[0]


def failure(server: Server, **options: Any) -> AskFailed | BadReply:
    (result,) = engine_of(server, **options).run(cells(so, ["a"]))
    assert isinstance(result.error, AskFailed | BadReply)
    return result.error


def test_refused_parameters_are_left_out_renamed_remembered_and_noted(serve: Serve) -> None:
    """The first sample needs four requests, the next one; what was not applied is on record."""
    server = serve(
        answer=scripted(
            error(400, "Unsupported value: 'temperature' does not support 0 with this model.", param="temperature"),
            error(400, "Unsupported parameter: 'top_p' is not supported with this model.", param="top_p"),
            error(
                400,
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'"
                " instead.",
                param="max_tokens",
                code="unsupported_parameter",
            ),
            YES,
        )
    )
    engine = engine_of(server, judge=server.judge + "&top_p=0.1&max_tokens=256")
    assert value(*engine.run(cells(so, ["a"]))) == 1.0
    assert server.calls == 4
    sent = set(server.bodies[-1])
    assert sent == {"model", "messages", "max_completion_tokens", "response_format"}
    assert server.bodies[-1]["max_completion_tokens"] == 256
    assert [note.removeprefix(f"{server.url}: ") for note in engine.notes] == [
        "temperature is not applied, the endpoint refuses it",
        "top_p is not applied, the endpoint refuses it",
        "max_tokens is sent as max_completion_tokens, the endpoint refuses it",
    ]


def test_what_was_refused_once_is_not_sent_again_in_the_run(serve: Serve) -> None:
    """Later samples need one request each."""
    server = serve(answer=lambda body: error(400, "temperature is unknown") if "temperature" in body else YES)
    assert all(value(one) == 1.0 for one in engine_of(server, concurrency=1).run(cells(so, texts(5))))
    assert server.calls == 6


def test_an_endpoint_without_schemas_gets_the_shape_in_the_prompt(serve: Serve) -> None:
    """The schema is described where it cannot be sent."""

    def answer(body: dict[str, Any]) -> Any:
        if "response_format" in body:
            return error(400, "response_format.json_schema is not supported by this server")
        return YES if "JSON schema" in body["messages"][0]["content"] else "what?"

    server = serve(answer=answer)
    engine = engine_of(server)
    assert value(*engine.run(cells(so, ["a"]))) == 1.0
    assert server.calls == 2
    assert "described in the prompt" in engine.notes[0]


def test_an_endpoint_that_ignores_schemas_is_told_in_the_prompt(serve: Serve) -> None:
    """It costs a second call only until that is clear."""
    server = serve(answer=lambda body: YES if "JSON schema" in body["messages"][0]["content"] else "Well, it depends.")
    engine = engine_of(server, concurrency=1)
    assert [value(one) for one in engine.run(cells(so, texts(20)))] == [1.0] * 20
    assert server.calls == 3 + 20
    (note,) = engine.notes
    assert note.startswith(f"{server.url}: response_format is not sent")
    assert note.endswith("the endpoint seems to ignore it")


def three_questions() -> Flow:
    replies = yield [request(SO, Verdict, draw=draw, text="a") for draw in range(3)]
    return float(len(replies))


def test_several_draws_never_need_an_endpoint_that_gives_several(serve: Serve) -> None:
    """Three draws are three calls of one choice each, whatever the endpoint makes of ``n``."""
    server = serve(answer=lambda body: error(400, "Reasoning model does not support n > 1") if "n" in body else YES)
    assert value(*engine_of(server).run([Cell("k", three_questions)])) == 3.0
    assert server.calls == 3


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize(
    ("answers", "kind", "calls"),
    [
        ([error(401, "bad key")], "unauthorized", 1),
        ([error(403, "not for you")], "forbidden", 1),
        ([error(404, "no such model")], "not_found", 1),
        ([error(400, "nonsense")], "rejected", 1),
        ([error(429, "You exceeded your current quota", code="insufficient_quota")], "no_quota", 1),
        ([error(400, "This model's maximum context length is 8192 tokens")], "context_too_long", 1),
        ([error(400, "too long", code="context_length_exceeded")], "context_too_long", 1),
        ([error(400, "filtered", code="content_filter")], "content_filter", 1),
        ([Reply({"error": {"message": "upstream is down"}})], "server_error", 5),
        ([Reply(status=503)], "server_error", 5),
        ([Reply("no object")], "bad_answer", 5),
        ([Reply(drop=True)], "connection", 5),
    ],
)
def test_each_answer_that_is_none_has_its_kind(serve: Serve, answers: list[Reply], kind: str, calls: int) -> None:
    """What can pass is tried again, what cannot is not."""
    server = serve(answer=scripted(*answers))
    failed = failure(server)
    assert failed.kind == kind
    assert ("the endpoint closed the connection without an answer" in str(failed)) == answers[0].drop
    assert server.calls == calls


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize(
    "trouble", [Reply(status=500), Reply(status=503), Reply(drop=True), Reply({"error": {"message": "busy"}})]
)
def test_what_passes_is_survived(serve: Serve, trouble: Reply) -> None:
    """Three failures and then an answer are an answer."""
    server = serve(answer=scripted(trouble, trouble, trouble, YES))
    assert value(*engine_of(server).run(cells(so, ["a"]))) == 1.0
    assert server.calls == 4


@pytest.mark.parametrize("header", ["0.3", "date", "1", "soon"])
@pytest.mark.long
def test_retry_after_is_obeyed(serve: Serve, header: str) -> None:
    """Seconds, fractions and dates are waited for; nonsense is not."""
    text = formatdate(time.time() + 2.0, usegmt=True) if header == "date" else header
    server = serve(answer=scripted(Reply({}, 429, {"Retry-After": text}), YES))
    started = time.perf_counter()
    assert value(*engine_of(server).run(cells(so, ["a"]))) == 1.0
    least, most = {"0.3": (0.3, 1.0), "date": (0.9, 2.6), "1": (1.0, 2.0), "soon": (0.05, 1.0)}[header]
    assert least <= time.perf_counter() - started <= most + 10


def test_retry_after_forms() -> None:
    """Every form of the header, and the one in milliseconds."""
    assert retry_after({"Retry-After": "2"}, 0) == 2
    assert retry_after({"retry-after-ms": "250"}, 0) == 0.25
    assert retry_after({"Retry-After": "Thu, 01 Jan 1970 00:00:01 GMT"}, 9) == 0
    assert [retry_after({"Retry-After": text}, 0) for text in ("", "-3", "inf", "nan", "soon")] == [0] * 5
    assert backoff(1, "a") != backoff(1, "b")


def test_waiting_has_an_end(serve: Serve) -> None:
    """A rate limit that outlasts max_wait is a failure that says so."""
    server = serve(answer=scripted(Reply({}, 429, {"Retry-After": "3600"})))
    found = failure(server, max_wait=5.0)
    assert found.kind == "rate_limited"
    assert re.fullmatch(r"HTTP 429 \(1 call\); the next is due in 3\d{3} s, max_wait is 5 s", found.message)
    assert server.calls == 1


def test_a_hang_costs_its_deadline_and_no_more(serve: Serve) -> None:
    """A call that does not end is cut off and made again; three are enough."""
    server = serve(answer=scripted(Reply(hang=True), YES))
    assert value(*engine_of(server, deadline=0.2).run(cells(so, ["a"]))) == 1.0
    server = serve(answer=scripted(Reply(hang=True)))
    assert str(failure(server, deadline=0.1)) == "timeout: no answer within 0.1 s (3 calls)"


def test_the_deadline_is_for_the_call_not_for_the_queue(serve: Serve) -> None:
    """Ten calls of 0.1 s one after another all meet a deadline of 0.5 s."""
    server = serve(latency=0.1)
    found = by_key(engine_of(server, concurrency=1, deadline=0.5).run(cells(so, texts(10))))
    assert len(found) == 10
    assert all(one.error is None for one in found.values())
    assert server.most_in_flight == 1


@pytest.mark.usefixtures("quick_retries")
def test_an_address_where_nobody_answers_fails_all_at_once() -> None:
    """The second cell does not wait for what the first has found out."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = time.perf_counter()
    engine = Engine(f"http://127.0.0.1:{port}/v1#m", ledger=":memory:", concurrency=1)
    found = list(engine.run(cells(so, texts(200))))
    assert {one.error.kind for one in found} == {"connection"}  # type: ignore[union-attr]
    assert len(found) == 200
    assert f"cannot connect to 127.0.0.1:{port}: connection refused" in str(found[0].error)
    assert time.perf_counter() - started < 10


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.long
def test_an_endpoint_that_is_started_again_is_waited_for(serve: Serve) -> None:
    """A second without anybody, in which five calls fail, loses no cell: who has answered is expected back."""
    server = serve(latency=0.02)
    engine = engine_of(server, concurrency=4, max_wait=60.0)
    found = []
    for result in engine.run(cells(so, texts(200))):
        found.append(result)
        if len(found) == 20:
            server.__exit__()
            threading.Timer(1.0, server.__enter__).start()
    assert len(found) == 200
    assert [one.error for one in found if one.error is not None] == []


def test_an_endpoint_that_stays_away_fails_all_that_is_left(serve: Serve) -> None:
    """Once, after max_wait, and not for each cell anew."""
    server = serve(latency=0.02)
    engine = engine_of(server, concurrency=4, max_wait=1.0)
    found, started = [], 0.0
    for result in engine.run(cells(so, texts(2000))):
        found.append(result)
        if len(found) == 20:
            server.__exit__()
            started = time.perf_counter()
    assert time.perf_counter() - started < 5
    server.__enter__()
    failed = [one.error for one in found if one.error is not None]
    assert len(found) == 2000
    assert 1900 < len(failed) < 1990
    assert {error.kind for error in failed if isinstance(error, AskFailed)} == {"connection"}
    assert any("max_wait is 1 s" in str(error) for error in failed)


def test_no_key_for_openai_is_an_error_before_any_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the variable."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("STEELYARD_API_KEY", raising=False)
    with pytest.raises(InputError, match="no key: set the environment variable OPENAI_API_KEY or STEELYARD_API_KEY"):
        list(Engine("openai:gpt-4o-mini", ledger=":memory:").run(cells(so, ["a"])))


KEY = "sk-marker/0123456789+abcdef"


@pytest.mark.usefixtures("quick_retries")
def test_the_key_gets_nowhere(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Not into ledger, errors, notes, log or repr, though the endpoint throws it back in every way it can."""
    monkeypatch.setenv("STEELYARD_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    kinds = [0, 400, 403, 500, 429]

    def answer(body: dict[str, Any]) -> Any:
        header = server.headers[-1]["Authorization"]
        number = server.calls % 12
        if number == 0:
            return Reply(drop=True)
        if number <= 4:
            status = kinds[number]
            return Reply({"error": {"message": f"seen {header}", "code": header}}, status, {"X-Echo": header})
        if number == 5:
            return f"no json but {header}"
        if number == 6:
            return {"choices": [{"finish_reason": "stop", "message": {"content": None, "refusal": header}}]}
        return YES.replace('"r"', f'"your header was {header}"')

    server = serve(answer=answer)
    engine = engine_of(server, ledger=tmp_path / "l.sqlite", max_wait=0.5)
    found = [*engine.run(cells(supported, texts(40))), *engine.run(cells(so, texts(40)))]
    closed = serve(answer=lambda body: error(401, f"Incorrect API key provided: {KEY}"))
    found += engine_of(closed).run(cells(so, ["a"]))
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert found[-1].error.kind == "unauthorized"  # type: ignore[union-attr]
    assert {one.error is None for one in found} == {True, False}
    shown = [repr(found), str(engine.notes), repr(engine.judge), str(vars(engine)), caplog.text]
    shown += [f"{one.error!r} {one.error} {one.traceback}" for one in found]
    shown += [str(one.error.reply) for one in found if isinstance(one.error, BadReply)]
    assert "marker" not in "".join(shown)
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"your header was Bearer ***" in written
    assert b"marker" not in written


def test_a_short_placeholder_is_no_secret(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Local servers are given keys such as EMPTY; a reply with that word in it is left as it is."""
    monkeypatch.setenv("STEELYARD_API_KEY", "yes")
    server = serve(answer=lambda body: YES)
    assert value(*engine_of(server).run(cells(so, ["a"]))) == 1.0


def test_text_that_no_json_can_hold_is_sent_with_marks(serve: Serve, tmp_path: Path) -> None:
    """Half of a surrogate pair, from broken input, stops neither the request nor the ledger."""
    server = serve()
    engine = engine_of(server, ledger=tmp_path / "l.sqlite")
    assert [one.error for one in engine.run([Cell("k", partial(so, "broken \ud83d end"))])] == [None]
    assert "broken ? end" in server.prompts[0]


def test_connections_are_used_again(serve: Serve) -> None:
    """Calls in turn share a connection."""
    server = serve()
    list(engine_of(server, concurrency=2).run(cells(so, texts(20))))
    assert server.connections <= 2
