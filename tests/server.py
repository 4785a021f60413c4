"""A local OpenAI-compatible endpoint for tests: answers made from the JSON schema, latency, faults, counters.

    with Server(latency=0.02, faults={"429": 0.05}) as server:
        engine = Engine(server.judge, ledger=":memory:")

``answer`` may be a function of the request's body: it returns the text of the reply, a whole JSON body (a dict), or a
``Reply``. Without it every field is filled in as a pure function of prompt and place. Faults are drawn per call
(``mode="call"``) or per prompt (``"sticky"``), by a seed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

FAULTS = (
    "429",
    "500",
    "hang",
    "drop",
    "malformed",
    "truncated",
    "refusal",
    "empty",
    "wrong_schema",
    "fenced",
    "chatty",
)
OVER_HTTP = ("429", "500", "hang", "drop")


@dataclass
class Reply:
    """An HTTP answer: ``drop`` closes the connection instead, ``hang`` keeps it open."""

    json: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False
    hang: bool = False


Answer = Callable[[dict[str, Any]], "str | dict[str, Any] | Reply"]


@dataclass
class Server:
    answer: Answer | None = None
    embed: Callable[[str], list[float]] | None = None
    embedding_body: Callable[[dict[str, Any]], Any] | None = None
    latency: float = 0.0
    faults: Mapping[str, float] = field(default_factory=dict)
    mode: str = "call"
    retry_after: str | None = "0.05"
    places: int | None = None
    seed: int = 0
    usage: bool = True
    calls: int = 0
    embed_calls: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    faulted: Counter[str] = field(default_factory=Counter)
    faulted_prompts: set[str] = field(default_factory=set)
    prompts: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    port: int = 0
    peers: set[object] = field(default_factory=set)

    # -- life
    def __enter__(self) -> Server:
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._live, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _live(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/embeddings", self._embeddings)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        self._loop.run_until_complete(runner.setup())
        site = web.TCPSite(runner, "127.0.0.1", self.port)
        self._loop.run_until_complete(site.start())
        self.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        self._loop.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def judge(self) -> str:
        return f"{self.url}#mock"

    @property
    def connections(self) -> int:
        return len(self.peers)

    def reset(self) -> None:
        """Zero the counters."""
        self.calls = self.embed_calls = self.most_in_flight = 0
        for counted in (
            self.statuses,
            self.faulted,
            self.faulted_prompts,
            self.prompts,
            self.bodies,
            self.headers,
            self.times,
        ):
            counted.clear()

    # -- answers
    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        prompt = body["messages"][-1]["content"]
        self.calls += 1
        self.prompts.append(prompt)
        self.times.append(time.monotonic())
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        self.peers.add(request.transport and request.transport.get_extra_info("peername"))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if self.places is not None and self.in_flight > self.places:
                self.statuses["429"] += 1
                headers = {} if self.retry_after is None else {"Retry-After": self.retry_after}
                return web.json_response({"error": {"message": "too many at once"}}, status=429, headers=headers)
            fault = self._fault(prompt)
            if fault:
                self.faulted[fault] += 1
                self.faulted_prompts.add(prompt)
            if fault != "hang":
                await asyncio.sleep(self.latency)
            return await self._send(request, self._reply(body, prompt, fault))
        finally:
            self.in_flight -= 1

    def _fault(self, prompt: str) -> str | None:
        if not self.faults:
            return None
        draw = unit(self.seed, prompt if self.mode == "sticky" else self.calls)
        for kind in FAULTS:
            draw -= self.faults.get(kind, 0.0)
            if draw < 0:
                return kind
        return None

    def _reply(self, body: dict[str, Any], prompt: str, fault: str | None) -> Reply:
        if fault == "429":
            headers = {} if self.retry_after is None else {"Retry-After": self.retry_after}
            return Reply({"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, 429, headers)
        if fault == "500":
            return Reply({"error": {"message": "the server had an error"}}, 500)
        if fault in {"hang", "drop"}:
            return Reply(hang=fault == "hang", drop=True)
        given = self.answer(body) if self.answer is not None else json.dumps(filled(schema_in(body, prompt), prompt))
        if isinstance(given, Reply):
            return given
        if isinstance(given, dict):
            return Reply(given)
        text, finish = spoiled(fault, given)
        completion: dict[str, Any] = {
            "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}]
        }
        if self.usage:
            completion["usage"] = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4}
        return Reply(completion)

    async def _send(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        if reply.hang:
            await asyncio.sleep(600)
        if reply.drop:
            assert request.transport is not None
            request.transport.close()
            return web.Response(status=499)
        self.statuses[str(reply.status)] += 1
        return web.json_response(reply.json, status=reply.status, headers=reply.headers)

    async def _embeddings(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.embed_calls += 1
        self.bodies.append(body)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.latency)
            if self.embedding_body is not None:
                return await self._send(request, Reply(self.embedding_body(body)))
            vector = self.embed or words_vector
            data = [{"index": at, "embedding": vector(text)} for at, text in enumerate(body["input"])]
            return web.json_response({"data": data[::-1], "usage": {"prompt_tokens": 4 * len(data)}})
        finally:
            self.in_flight -= 1


def unit(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts alone."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=7).digest()
    return int.from_bytes(digest, "big") / 2**56


def spoiled(fault: str | None, text: str) -> tuple[str, str]:
    """A reply with a fault in it, and why it ended."""
    match fault:
        case "malformed":
            return text[: max(1, len(text) * 2 // 3)] + ' "oops": ,]', "stop"
        case "truncated":
            return text[: max(1, len(text) // 2)], "length"
        case "refusal":
            return "I'm sorry, but I can't help with that request.", "stop"
        case "empty":
            return "", "stop"
        case "wrong_schema":
            return '{"unexpected": ["shape"]}', "stop"
        case "fenced":
            return f"```json\n{text}\n```", "stop"
        case "chatty":
            return f"Sure! Here is the JSON:\n\n{text}\n\nLet me know if that helps.", "stop"
    return text, "stop"


def schema_in(body: dict[str, Any], prompt: str) -> dict[str, Any]:
    """The schema that a request asks for: its response format, else the last one written in the prompt."""
    if "response_format" in body:
        schema: dict[str, Any] = body["response_format"]["json_schema"]["schema"]
        return schema
    at = prompt.rindex('{"', 0, prompt.rindex("JSON schema: ") + 20)
    found: dict[str, Any] = json.JSONDecoder().raw_decode(prompt, at)[0]
    return found


def filled(schema: dict[str, Any], prompt: str, path: str = "$", parts: dict[str, Any] | None = None) -> Any:
    """A value that fits a schema, a pure function of prompt and place; four in five labels are positive."""
    parts = schema.get("$defs", {}) if parts is None else parts
    if "$ref" in schema:
        return filled(parts[schema["$ref"].rpartition("/")[2]], prompt, path, parts)
    if "anyOf" in schema:
        return filled(next(one for one in schema["anyOf"] if one.get("type") != "null"), prompt, path, parts)
    if "enum" in schema:
        good = unit(prompt, path) < 0.8
        return next((one for one in schema["enum"] if (one in ("yes", True, 2)) == good), schema["enum"][0])
    match schema.get("type"):
        case "object":
            return {key: filled(one, prompt, f"{path}.{key}", parts) for key, one in schema["properties"].items()}
        case "array":
            count = max(3, schema.get("minItems", 0))
            return [filled(schema["items"], prompt, f"{path}[{at}]", parts) for at in range(count)]
        case "integer" | "number":
            low, high = schema.get("minimum", 0), schema.get("maximum", 1)
            return low + round(unit(prompt, path) * (high - low))
        case "boolean":
            return unit(prompt, path) < 0.8
    return f"Text {hashlib.blake2b((prompt + path).encode(), digest_size=4).hexdigest()}."


def words_vector(text: str, size: int = 64) -> list[float]:
    """A hashed bag of words, so that texts which share words are similar."""
    vector = [0.0] * size
    for word in text.lower().split():
        vector[int(unit(word) * size)] += 1.0
    return vector
