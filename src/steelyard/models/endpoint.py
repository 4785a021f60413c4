"""One endpoint called over HTTP: concurrency, deadlines, retries, and refused parameters.

Rules of this file: it knows neither metrics nor the ledger. A deadline applies to one call, not to its wait in the
queue. The waits for rate limits add up to at most ``max_wait``, as do those for an endpoint that has answered before
and is unreachable now (it may be restarting); other failures are retried a few times. If the endpoint stays
unreachable, all requests fail at once. A parameter that the endpoint refuses by name is renamed or left out from then
on, with a note. The key is sent only in the header of a call, and is removed from every answer before it is read.
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies

import msgspec
from msgspec import Struct

from ..core.errors import AskFailed, BadReply, InputError
from ..core.records import Json
from ..core.wording import pluralize
from .model_spec import OPENAI, key_of
from .rate_limits import ConcurrencyLimiter, PermitSource
from .retry_delay import backoff, retry_after

if TYPE_CHECKING:
    import aiohttp

Build: TypeAlias = Callable[[], Mapping[str, Json]]

TRIES = 5
TIMEOUTS = 3
_HIDDEN = "***"
_SHORT_KEY = 8
_LOOK_AGAIN = 2.0  # seconds until an unreachable endpoint is tried again
_NEEDED = frozenset({"model", "messages", "input"})
_OTHER_WORDS = {"response_format": r"response_format|json_schema|structured outputs?", "encoding_format": "encoding"}
_TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context|context (?:length|window|size)|too many (?:input )?tokens"
    r"|prompt is too long|input is too long|exceeds? the (?:model|maximum|available)[^.]{0,40}tokens",
    re.IGNORECASE,
)


_NOTHING = msgspec.Raw()


class EndpointReply(Struct, frozen=True):
    """The body of a successful answer, the duration of the call, and the number of calls needed."""

    raw: bytes
    seconds: float
    calls: int


class CallError(Struct, frozen=True):
    """The failure of a call. ``pause`` is the wait in seconds that the endpoint requested; ``again`` is true if a retry
    may help; ``away`` is true if no endpoint answered at the address."""

    kind: str
    message: str
    again: bool = False
    pause: float = 0.0
    away: bool = False


class Unreachable(ConnectionError):
    """No connection was made."""


class ParameterRefused(Exception):
    """The endpoint refuses a parameter by name; the next call goes without it."""


class Endpoint:
    """An OpenAI-compatible endpoint, shared by all callers of the same address in one run."""

    def __init__(
        self,
        url: str,
        key_env: str = "",
        *,
        concurrency: int = 16,
        deadline: float = 60.0,
        max_wait: float = 120.0,
        rate_limiter: PermitSource | None = None,
    ) -> None:
        self.url, self.deadline, self.max_wait, self.rate_limiter = url, deadline, max_wait, rate_limiter
        self.limiter = ConcurrencyLimiter(concurrency)
        self.refused: dict[str, str | None] = {}
        self.notes: list[str] = []
        self._key_names, self._key = key_of(url, key_env)
        self._turned_away: AskFailed | None = None
        self._answers = 0
        self._session: aiohttp.ClientSession | None = None

    def fitted(self, body: Mapping[str, Json]) -> dict[str, Json]:
        """The body without refused parameters, or with their newer names."""
        if not self.refused:
            return dict(body)
        sent = {}
        for name, value in body.items():
            now: str | None = name
            while now is not None and now in self.refused:
                now = self.refused[now]
            if now is not None and not (name == "top_logprobs" and "logprobs" in self.refused):
                sent[now] = value
        return sent

    async def post(self, path: str, build: Build, *, rank: int = 0, seed: str = "") -> EndpointReply:
        """Call until an answer is successful; raises AskFailed. ``build`` makes a new body for every call."""
        calls = failures = timeouts = 0
        waited, answers = 0.0, self._answers
        while True:
            if self._turned_away is not None:
                raise AskFailed(self._turned_away.kind, self._turned_away.message)
            error, answer = await self._call(path, build, rank, calls)
            calls += 1
            if answer is not None:
                return answer
            if error is None:
                continue
            failures += not (error.kind == "rate_limited" or (error.away and self._answers))
            timeouts += error.kind == "timeout"
            delay = backoff(calls, seed, error.pause)
            if error.away:
                delay = min(delay, _LOOK_AGAIN)
            why = f"{error.message} ({pluralize(calls, 'call')})"
            if not error.again or failures >= TRIES or timeouts >= TIMEOUTS:
                raise self._final_failure(error, why, answers)
            if waited + delay > self.max_wait:
                due = f"the next is due in {delay:.4g} s, max_wait is {self.max_wait:g} s"
                raise self._final_failure(error, f"{why}; {due}", answers)
            waited += delay
            await asyncio.sleep(delay)

    def _final_failure(self, error: CallError, why: str, answers: int) -> AskFailed:
        """The failure of one request. If the endpoint is unreachable and has not answered since, all requests fail."""
        failed = AskFailed(error.kind, why)
        if error.away and answers == self._answers:
            self._turned_away = failed
        return failed

    async def _call(
        self, path: str, build: Build, rank: int, calls: int
    ) -> tuple[CallError | None, EndpointReply | None]:
        """Make one call: its answer, or its error, or neither if a parameter was refused and the next call omits it."""
        generation = await self.limiter.enter(rank)
        error = None
        try:
            if self.rate_limiter is not None:
                await self.rate_limiter.permit()
            started = time.perf_counter()
            body = self.fitted(build())
            status, headers, raw = await self._send(path, body)
            self._answers += 1
            if status == 200 and (error := self._error_in_success(raw)) is None:
                self.limiter.succeeded(generation)
                return None, EndpointReply(raw, time.perf_counter() - started, calls + 1)
            error = error or self._error(status, headers, raw, body)
        except ParameterRefused:
            return None, None
        except TimeoutError:
            error = CallError("timeout", f"no answer within {self.deadline:g} s", again=True)
        except OSError as raised:
            words = self.cleansed(str(raised) or type(raised).__name__)
            error = CallError("connection", words, again=True, away=isinstance(raised, Unreachable))
        finally:
            self.limiter.leave()
        if error.kind in {"rate_limited", "timeout"}:
            self.limiter.pushed_back(generation, error.pause)
        return error, None

    async def _send(self, path: str, body: Mapping[str, Json]) -> tuple[int, Mapping[str, str], bytes]:
        import aiohttp

        session = self._session or self._open()
        try:
            async with session.post(
                self._address(path), data=msgspec.json.encode(body), allow_redirects=False
            ) as response:
                return response.status, response.headers, self._cleansed(await response.read())
        except TimeoutError:
            raise
        except aiohttp.ClientConnectorError as error:
            raise Unreachable(_words(error)) from None
        except (aiohttp.ClientError, ValueError) as error:
            raise ConnectionError(_words(error)) from None

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        headers = {"Content-Type": "application/json", "User-Agent": "steelyard"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        elif self.url == OPENAI:
            raise InputError(f"no key: set the environment variable {self._key_names}")
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
            timeout=aiohttp.ClientTimeout(total=self.deadline),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
            trust_env=bool(getproxies()),
        )
        return self._session

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def cleansed(self, text: str) -> str:
        """Replace the key in a text."""
        return self._cleansed(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    def _cleansed(self, raw: bytes) -> bytes:
        if self._key is None or len(self._key) < _SHORT_KEY:
            return raw
        for spelling in {self._key.encode(), msgspec.json.encode(self._key)[1:-1]}:
            raw = raw.replace(spelling, _HIDDEN.encode())
        return raw

    def _address(self, path: str) -> str:
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path))

    def _error_in_success(self, raw: bytes) -> CallError | None:
        """The error in an answer with status 200, if there is one."""
        try:
            body = msgspec.json.decode(raw, type=_Body)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return CallError("bad_answer", "the reply of the endpoint is not JSON", again=True)
        if body.error and not (body.choices or body.data):
            return CallError("server_error", f"the endpoint reports: {_error_text(raw)[0]}", again=True)
        return None

    def _error(self, status: int, headers: Mapping[str, str], raw: bytes, body: Mapping[str, Json]) -> CallError:
        text, named = _error_text(raw)
        message = f"HTTP {status}: {text}" if text else f"HTTP {status}"
        if status == 429 and "insufficient_quota" not in raw.decode("utf-8", "replace"):
            return CallError("rate_limited", message, again=True, pause=retry_after(headers, time.time()))
        if status in {408, 409, 425} or status >= 500:
            return CallError("server_error", message, again=True, pause=retry_after(headers, time.time()))
        if status == 401:
            self._turned_away = AskFailed("unauthorized", f"{message} (the key is read from {self._key_names})")
            raise self._turned_away
        if status in {400, 413, 422}:
            if status == 413 or _TOO_LONG.search(f"{text} {named}"):
                return CallError("context_too_long", message)
            if "content_filter" in named or "content management policy" in text:
                raise BadReply("content_filter", message)
            if (name := _refused_name(text, named, body)) is not None:
                self.leave_out(name)
                raise ParameterRefused
        kind = {403: "forbidden", 404: "not_found", 429: "no_quota"}.get(status, "rejected")
        return CallError(kind, message)

    def leave_out(self, name: str, why: str = "refuses") -> None:
        """Omit a parameter from now on, or send it under its newer name, and add a note."""
        if name in self.refused:
            return
        other = "max_completion_tokens" if name == "max_tokens" else None
        self.refused[name] = other
        action = f"sent as {other}" if other else "not applied"
        if name == "response_format":
            action = "not sent (the shape of the reply is described in the prompt)"
        self.notes.append(f"{self.url}: {name} is {action}, the endpoint {why} it")


class _Body(Struct):
    choices: msgspec.Raw = _NOTHING
    data: msgspec.Raw = _NOTHING
    error: Json = None


def _error_text(raw: bytes) -> tuple[str, str]:
    """The message of an error body in one line, and the names in it (code, parameter)."""
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        body = raw.decode("utf-8", "replace")
    error = body.get("error") or body.get("detail") or body.get("message") or body if isinstance(body, dict) else body
    named = ""
    if isinstance(error, dict):
        named = " ".join(str(error.get(key) or "") for key in ("param", "code"))
        error = error.get("message") or error
    return " ".join(str(error or "").split())[:300], named


def _refused_name(message: str, named: str, body: Mapping[str, Json]) -> str | None:
    """The parameter of a body that an error names."""
    ours = sorted(set(body) - _NEEDED, key=len, reverse=True)
    for text in (named, message):
        for name in ours:
            if re.search(rf"(?<![\w.])(?:{_OTHER_WORDS.get(name, re.escape(name))})(?!\w)", text, re.IGNORECASE):
                return name
    return None


_BROKEN_OFF = {
    "ServerDisconnectedError": "the endpoint closed the connection without an answer",
    "ClientPayloadError": "the endpoint closed the connection in the middle of its answer",
    "ClientConnectionResetError": "the endpoint closed the connection during the request",
}
"""Messages for exceptions of the HTTP library, by class name, so that the library need not be loaded."""


def unreachable(host: str, port: int | None, cause: BaseException) -> str:
    """The message for an unreachable address: its host, its port, and the reason that the system gives.

    >>> unreachable("localhost", 8000, ConnectionRefusedError(111, "Connect call failed"))
    'cannot connect to localhost:8000: connection refused'
    """
    why = getattr(cause, "strerror", None) or str(cause)
    if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError) and (cause.errno or 0) > 0:
        why = os.strerror(cause.errno or 0)
    why = " ".join(why.split())[:200]
    return f"cannot connect to {host}{'' if port is None else f':{port}'}" + (
        f": {why[:1].lower()}{why[1:]}" * bool(why)
    )


def _words(error: BaseException) -> str:
    """The message of an exception of the HTTP library, without quotations of the request."""
    if host := getattr(error, "host", None):
        cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
        return unreachable(host, getattr(error, "port", None), cause)
    return _BROKEN_OFF.get(type(error).__name__) or f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
