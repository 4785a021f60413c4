"""Models behind litellm, where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.models.small_rules import cells, engine_of, so, texts, value
from tests.server import Reply, Server

KEY = "sk-marker-0123456789"


def test_litellm_is_called_as_an_endpoint_is(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Limits, retries and reading are the engine's; the provider's key is in no error."""
    pytest.importorskip("litellm")
    answers = iter([Reply({"error": {"message": KEY}}, 429, {"Retry-After": "0.1"}), Reply({}, 500)])

    def answer(body: dict[str, Any]) -> Any:
        return next(answers, '{"reason": "r", "verdict": "yes"}')

    server = serve(answer=answer)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    found = list(engine_of(server, judge="litellm:openai/mock", deadline=60.0).run(cells(so, texts(3))))
    assert [value(one) for one in found] == [1.0] * 3
    assert server.calls == 5
    server.answer = lambda body: Reply({"error": {"message": f"bad key {KEY}"}}, 401)
    (failed,) = engine_of(server, judge="litellm:openai/mock").run(cells(so, ["a"]))
    assert str(failed.error).startswith("unauthorized")
    assert "marker" not in str(failed.error)
    assert capsys.readouterr().out == ""
