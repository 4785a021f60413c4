"""Systems behind HTTP: a real service, described by paths, with failures and silences."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.core.errors import AskFailed, InputError
from steelyard.systems.http import Http
from steelyard.systems.json_mapping import Paths, put
from tests.systems.service import Service


def test_a_described_service() -> None:
    """The question goes where it is said to go, and the answer is read from where it is said to stand."""

    def handle(body: dict[str, Any]) -> tuple[int, Any]:
        docs = [{"ref": 7, "body": "Seven.", "s": 0.5}, {"ref": "d8", "body": "Eight.", "s": 0.25}]
        return 200, {"data": {"text": body["input"]["q"].upper(), "docs": docs[: body["options"]["top"]], "used": 12}}

    with Service(handle) as service:
        system = Http(
            service.url,
            question="input.q",
            k="options.top",
            body={"options": {"lang": "en"}},
            headers={"X-Tenant": "a"},
            answer="data.text",
            contexts="data.docs.*.body",
            ids="data.docs.*.ref",
            scores="data.docs.*.s",
            tokens="data.used",
        )
        output = system.ask("who?", 2)
        assert service.bodies == [{"input": {"q": "who?"}, "options": {"lang": "en", "top": 2}}]
        assert service.headers[0]["X-Tenant"] == "a"
    assert (output.answer, output.ids) == ("WHO?", ["7", "d8"])
    assert [(hit.text, hit.score) for hit in output.hits or ()] == [("Seven.", 0.5), ("Eight.", 0.25)]
    assert (output.usage and output.usage.completion_tokens) == 12


def test_usual_names_need_no_paths() -> None:
    """A service that speaks the usual words needs no description."""
    with Service(lambda body: (200, {"answer": body["question"], "contexts": ["c"], "ids": ["d"]})) as service:
        output = Http(service.url).ask("é", 3)
    assert (output.answer, output.ids) == ("é", ["d"])


def test_a_chat_endpoint() -> None:
    """A question may go into a list that the body holds; a place that is not there is told at once."""
    body: dict[str, Any] = {"model": "rag", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user"}]}

    def handle(given: dict[str, Any]) -> tuple[int, Any]:
        return 200, {"choices": [{"message": {"content": given["messages"][1]["content"] + "!"}}]}

    with Service(handle) as service:
        system = Http(service.url, body=body, question="messages.1.content", answer="choices.0.message.content")
        assert system.ask("who?", 3).answer == "who?!"
        assert service.bodies[0]["messages"][0] == {"role": "system", "content": "Be brief."}
        with pytest.raises(InputError, match="no item '2' in a list of 2"):
            Http(service.url, body=body, question="messages.2.content")


@pytest.mark.parametrize(
    ("places", "words"),
    [
        ({"ids": "docs"}, "an id is a text or a whole number"),
        ({"contexts": "docs.*.ref"}, "a context is a text, found '7'"),
        ({"ids": "docs.*.ref", "scores": "docs.*.s"}, "a score is a number, found 'high'"),
    ],
)
def test_places_of_another_kind_are_told(places: dict[str, str], words: str) -> None:
    """A list of objects is not turned into ids, nor a number into a text."""
    with pytest.raises((AskFailed, InputError), match=words):
        Paths(**places).read({"docs": [{"ref": 7, "s": "high"}]})
    assert (Paths(contexts="docs").read({"docs": [{"text": "Seven."}]}).hits or [])[0].text == "Seven."


def test_get() -> None:
    """A GET carries question and number as parameters."""
    with Service(lambda body: (200, {"answer": body["q"], "ids": [body["n"]]})) as service:
        output = Http(service.url, method="GET", question="q", k="n").ask("a b&c", 3)
    assert (output.answer, output.ids) == ("a b&c", ["3"])


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        ((500, {"error": "broken"}), "server_error", "HTTP 500: {\"error\": \"broken\"}"),
        ((429, {}), "server_error", "HTTP 429"),
        ((404, b"nothing"), "rejected", "HTTP 404: nothing"),
        ((302, b""), "rejected", "HTTP 302"),
        ((200, b"<html>"), "bad_output", "the reply is not JSON: <html>"),
        ((200, {"data": {}}), "bad_output", "no data.text in the reply"),
        ((200, {"data": {"text": "a", "ids": "d1", "texts": ["a", "b"]}}), "bad_output", "have different lengths"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_named(reply: tuple[int, Any], kind: str, words: str) -> None:
    """A refusal, a fault, a redirect, a page, a reply without the answer: each is a failure with its own words."""
    with Service(lambda body: reply) as service:
        system = Http(
            service.url,
            answer="data.text",
            **({"contexts": "data.texts", "ids": "data.ids"} if "ids" in str(reply) else {}),
        )
        with pytest.raises(AskFailed) as caught:
            system.ask("q", 1)
    assert (kind, True) == (caught.value.kind, words in str(caught.value))


def test_silence_and_absence() -> None:
    """A service that hangs times out; one that is not there is a failed connection."""
    with Service(lambda body: None) as service:
        with pytest.raises(AskFailed, match=r"timeout: no answer within 0\.2 s"):
            Http(service.url, deadline=0.2).ask("q", 1)
        url = service.url
    with pytest.raises(AskFailed, match=r"connection: cannot connect to 127\.0\.0\.1:\d+: connection refused"):
        Http(url).ask("q", 1)


def test_the_key_goes_to_the_service_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is read from its variable, sent as a bearer token, and cleansed from what comes back."""
    monkeypatch.setenv("MY_RAG_KEY", "secret-123456")
    with Service(lambda body: (400, {"you": "sent secret-123456"})) as service:
        with pytest.raises(AskFailed) as caught:
            Http(service.url, key_env="MY_RAG_KEY").ask("q", 1)
        assert service.headers[0]["Authorization"] == "Bearer secret-123456"
    assert "secret" not in str(caught.value)
    monkeypatch.delenv("MY_RAG_KEY")
    with pytest.raises(InputError, match="set the environment variable MY_RAG_KEY"):
        Http(service.url, key_env="MY_RAG_KEY").ask("q", 1)


@pytest.mark.parametrize("url", ["ftp://host/x", "file:///etc/passwd", "http://user:pass@host/x"])
def test_addresses(url: str) -> None:
    """Only http and https, and no password in an address."""
    with pytest.raises(InputError):
        Http(url)


def test_unknown_places_are_told() -> None:
    """A misspelt place is an error when the system is made."""
    with pytest.raises(TypeError):
        Http("http://host/x", contxts="a.b")


def test_put_and_read() -> None:
    """Values go into copies; a place in a list of lists is read."""
    body: dict[str, Any] = {"a": {"b": 1}}
    assert put(body, "a.c", "q") == {"a": {"b": 1, "c": "q"}}
    assert body == {"a": {"b": 1}}
    assert Paths(answer="choices.1.text").read({"choices": [{"text": "one"}, {"text": "two"}]}).answer == "two"
