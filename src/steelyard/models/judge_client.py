"""Answer a rule's request: look up the ledger, join an equal request in flight, reserve budget, call, read, store.

Rules of this file: equal requests are made once. An unusable reply is stored as evidence, and the request is retried
with a description of the problem; a truncated reply is retried with more tokens. If the second reply is unusable too,
it is a BadReply, except that a judge with rarely broken replies gets a third attempt after a reply without JSON.
Failures are not cached.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import msgspec
from msgspec import Struct

from ..core.errors import AskFailed, BadReply
from ..core.records import Json
from ..core.requests import Ask, WithLogprobs, replace_surrogates
from ..core.validation import decode_problem
from .budget import Budget, tokens_of
from .cell import CellTrace
from .endpoint import Endpoint
from .json_schema import digest_of, in_words, schema_of
from .judge import LLMJudge
from .ledger import Entry, ReplyStore, Unusable, request_key
from .logprobs import chances, read_tokens
from .parse_reply import Completion, complaint, read_reply

ROOM = 4
"""The factor by which the token limit grows for the retry of a truncated reply."""

LEAST_REPLY = 256
"""The smallest number of tokens of the window that must be left for a reply."""

UNHEEDED = 3
"""The number of replies of another shape, before any of the right shape, after which the schema is described in the
prompt instead of sent."""

LIKELY = 20
"""The number of alternative tokens per position whose probabilities are requested from the endpoint."""

MOST = 3
"""The maximal number of calls for one request."""

BROKEN = frozenset({"malformed", "empty"})
"""Kinds of replies without readable content."""

RARE = 1 / 10
"""The share of broken replies below which another one is retried."""

EXPECTED = 256
"""The expected tokens of a reply, for the reservation of its cost."""


class TimedCompletion(Struct, frozen=True):
    """A completion with its tokens and duration."""

    completion: Completion
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    seconds: float


class TypedReply(Struct, frozen=True):
    """A typed reply and the ledger keys of the prompts behind it."""

    reply: Struct
    keys: tuple[str, ...]


class JudgeClient:
    """Answers the judge requests of one run."""

    def __init__(
        self, judge: LLMJudge, endpoint: Endpoint, ledger: ReplyStore, budget: Budget, *, offline: bool
    ) -> None:
        self.judge, self.endpoint, self.ledger, self.budget, self.offline = judge, endpoint, ledger, budget, offline
        self._identity = judge.identity
        self._heeded, self._unheeded = False, 0
        self._usable = self._broken = 0
        self._in_flight: dict[str, asyncio.Future[TypedReply | Exception]] = {}

    async def ask(self, ask: Ask, trace: CellTrace) -> Struct:
        """Get the reply to a request; raises AskFailed or BadReply."""
        prompt = replace_surrogates(ask.prompt)
        key = self.key(ask, prompt, trace.repeat)
        found: TypedReply | Exception
        if (in_flight := self._in_flight.get(key)) is not None:
            found = await in_flight
            trace.cached += isinstance(found, TypedReply)
        elif (known := self.cached(key, ask)) is not None:
            found = known
            trace.cached += 1
        else:
            found = await self._first(ask, prompt, key, trace)
        if isinstance(found, TypedReply):
            trace.add_requests(found.keys, ask.flags)
            return found.reply
        trace.add_requests([key], ask.flags)
        raise copy_error(found)

    def key(self, ask: Ask, prompt: str, repeat: int) -> str:
        """The ledger key of a request."""
        return key_of_ask(ask, prompt, self._identity, repeat)

    def cached(self, key: str, ask: Ask) -> TypedReply | None:
        """Look up the reply in the ledger."""
        entry = self.ledger.reply(key) if self.judge.kept else None
        if entry is None:
            return None
        try:
            reply = cached_reply(entry, ask)
        except msgspec.DecodeError:
            return None
        return TypedReply(reply, (key,) if entry.asked_again is None else (key, entry.asked_again))

    async def _first(self, ask: Ask, prompt: str, key: str, trace: CellTrace) -> TypedReply | Exception:
        """Make the request, while equal requests wait for its result."""
        answer = self._in_flight[key] = asyncio.get_running_loop().create_future()
        found: TypedReply | Exception
        try:
            found = await self._fresh(ask, prompt, key, trace)
        except Exception as error:  # noqa: BLE001 - a script may raise anything; each rule gets it and decides
            found = error
        except BaseException:
            answer.cancel()
            raise
        finally:
            del self._in_flight[key]
        answer.set_result(found)
        return found

    async def _fresh(self, ask: Ask, prompt: str, key: str, trace: CellTrace) -> TypedReply:
        if self.offline:
            raise AskFailed("offline", "no cached reply to this request, and --offline is set")
        sent, sent_key, room, attempts = prompt, key, 1, 0
        while True:
            timed = await self._complete(ask, sent, trace, room)
            attempts += 1
            try:
                reply = self._read(timed.completion, ask)
                self._heeded |= sent_key == key
                self._usable += 1
                break
            except BadReply as error:
                self._broken += error.kind in BROKEN
                self._count_unheeded(error, first=sent_key == key)
                self._store_unusable(sent_key, sent, timed.completion.text, error)
                if error.kind == "truncated" and room == 1 and attempts < MOST:
                    room = ROOM
                elif sent_key == key and error.kind not in {"truncated", "content_filter"}:
                    sent = f"{prompt}\n\n{complaint(error, ask.shape)}"
                    sent_key = self.key(ask, sent, trace.repeat)
                    if (known := self.cached(sent_key, ask)) is not None:
                        return TypedReply(known.reply, (key, sent_key))
                elif not (error.kind in BROKEN and attempts < MOST and self._broken < RARE * self._usable):
                    raise
        keys = (key,) if sent_key == key else (key, sent_key)
        self._store(keys, (prompt, sent), timed, reply, attempts)
        return TypedReply(reply, keys)

    def _count_unheeded(self, error: BadReply, *, first: bool) -> None:
        """Count replies that ignore the schema; from the third on, describe it in the prompt instead of sending it."""
        if first and self.judge.kept and not self._heeded and error.kind in {"malformed", "wrong_schema"}:
            self._unheeded += 1
            if self._unheeded == UNHEEDED:
                self.endpoint.leave_out("response_format", "seems to ignore")

    def _read(self, completion: Completion, ask: Ask) -> Struct:
        try:
            reply = read_reply(completion, ask.shape)
            if not ask.weighed:
                return reply
            tokens = read_tokens(completion.logprobs)
            return WithLogprobs(reply, chances(tokens, ask.weighed, getattr(reply, ask.weighed)))
        except BadReply:
            raise
        except Exception as error:  # noqa: BLE001 - a judge may write anything, and one cell pays for it
            raise BadReply("malformed", f"{type(error).__name__}: {error}", completion.text) from None

    async def _complete(self, ask: Ask, prompt: str, trace: CellTrace, room: int) -> TimedCompletion:
        """Get one completion, within the budget, and record its cost."""
        judge = self.judge
        tokens = tokens_of(prompt)
        most = room_for(judge, tokens)
        estimate = cost_of(judge, tokens, min(most or EXPECTED, EXPECTED)) or 0.0
        await self.budget.reserve(estimate)
        cost = None
        try:
            if judge.answer is not None:
                timed = _scripted(judge.answer, ask, prompt, tokens)
            else:
                timed = await self._called(ask, prompt, trace, tokens, most, room)
            cost = cost_of(judge, timed.prompt_tokens, timed.completion_tokens) or 0.0
        finally:
            self.budget.settle(estimate, cost)
        trace.paid(
            prompt=timed.prompt_tokens,
            completion=timed.completion_tokens,
            cost=cost if judge.price is not None else None,
            seconds=timed.seconds,
            estimated=timed.estimated,
            unpriced=judge.costs_unknown,
        )
        return timed

    async def _called(
        self, ask: Ask, prompt: str, trace: CellTrace, tokens: int, most: int | None, room: int
    ) -> TimedCompletion:
        judge, endpoint = self.judge, self.endpoint

        def build() -> Mapping[str, Json]:
            described = "response_format" in endpoint.refused
            text = f"{prompt}\n\n{in_words(ask.shape)}" if described else prompt
            body = judge.body(text, draw=ask.draw, repeat=trace.repeat)
            if most is not None:
                left = most * room if judge.window is None else min(most * room, judge.window - tokens)
                body["max_tokens"] = left
            if ask.weighed:
                body |= {"logprobs": True, "top_logprobs": LIKELY}
            if not described:
                schema: Json = {"name": "reply", "strict": True, "schema": schema_of(ask.shape)}
                body["response_format"] = {"type": "json_schema", "json_schema": schema}
            return body

        answer = await endpoint.post("/chat/completions", build, rank=trace.rank, seed=prompt)
        return read_body(answer.raw, answer.seconds, tokens)

    def _store(
        self, keys: tuple[str, ...], prompts: tuple[str, ...], timed: TimedCompletion, reply: Struct, attempts: int
    ) -> None:
        if not self.judge.kept:
            return
        for key, prompt in zip(keys, prompts, strict=False):
            self.ledger.add(
                Entry(
                    key=key,
                    judge=self._identity,
                    prompt=prompt,
                    reply=timed.completion.text or "",
                    parsed=msgspec.json.encode(reply).decode(),
                    finish=timed.completion.finish,
                    prompt_tokens=timed.prompt_tokens,
                    completion_tokens=timed.completion_tokens,
                    estimated=timed.estimated,
                    attempts=attempts,
                    seconds=timed.seconds,
                    asked_again=keys[1] if key == keys[0] and len(keys) > 1 else None,
                )
            )

    def _store_unusable(self, key: str, prompt: str, text: str | None, error: BadReply) -> None:
        if self.judge.kept:
            self.ledger.add(Unusable(key, self._identity, prompt, text or error.reply, error.kind, error.message))


class _Message(Struct):
    content: str | list[dict[str, Json]] | None = None
    refusal: str | None = None


class _Choice(Struct):
    message: _Message | None = None
    finish_reason: str | None = None
    logprobs: msgspec.Raw = msgspec.Raw()


class _Tokens(Struct):
    prompt_tokens: float | None = None
    completion_tokens: float | None = None


class _Chat(Struct):
    choices: list[_Choice] | None = None
    usage: _Tokens | None = None


def read_body(raw: bytes, seconds: float, prompt_tokens: int) -> TimedCompletion:
    """Read the completion from an endpoint's answer; tokens are estimated if it reports none."""
    try:
        chat = msgspec.json.decode(raw, type=_Chat)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise AskFailed(
            "bad_answer", f"the reply of the endpoint is not a chat completion: {decode_problem(error)}"
        ) from None
    if not chat.choices:
        completion = Completion(None, finish="no_choices")
    else:
        message = chat.choices[0].message or _Message()
        text = message.content
        if isinstance(text, list):
            text = "".join(str(part.get("text", "")) for part in text)
        first = chat.choices[0]
        completion = Completion(text, first.finish_reason, message.refusal, bytes(first.logprobs))
    usage = chat.usage or _Tokens()
    if min(usage.prompt_tokens or 0, usage.completion_tokens or 0) < 0:  # a negative count is invalid
        usage = _Tokens()
    counted = usage.prompt_tokens is not None and usage.completion_tokens is not None
    return TimedCompletion(
        completion=completion,
        prompt_tokens=prompt_tokens if usage.prompt_tokens is None else int(usage.prompt_tokens),
        completion_tokens=_or_estimate(usage.completion_tokens, completion),
        estimated=not counted,
        seconds=seconds,
    )


def _or_estimate(counted: float | None, completion: Completion) -> int:
    return tokens_of(completion.text or "") if counted is None else int(counted)


def _scripted(answer: Callable[[Ask], object], ask: Ask, prompt: str, tokens: int) -> TimedCompletion:
    """A script's answer, as the text of a model's completion."""
    given = answer(msgspec.structs.replace(ask, prompt=prompt))
    if isinstance(given, BaseException):
        raise given
    text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
    return TimedCompletion(Completion(text), tokens, tokens_of(text), estimated=True, seconds=0.0)


def room_for(judge: LLMJudge, tokens: int) -> int | None:
    """The maximal tokens of the reply to a prompt; AskFailed if the judge's window has no room for a reply."""
    if judge.window is None:
        return judge.max_tokens
    if tokens + LEAST_REPLY > judge.window:
        need = f"the prompt has about {tokens} tokens, and a reply needs {LEAST_REPLY}"
        raise AskFailed("context_too_long", f"{need}; the judge's window has {judge.window}")
    return min(judge.max_tokens or judge.window, judge.window - tokens)


def cost_of(judge: LLMJudge, prompt_tokens: int, completion_tokens: int) -> float | None:
    """The cost of a call by the judge's price for a million tokens; None if the price is unknown."""
    if judge.price is None:
        return None
    return (prompt_tokens * judge.price[0] + completion_tokens * judge.price[1]) / 1e6


def key_of_ask(ask: Ask, prompt: str, judge: str, repeat: int) -> str:
    """The ledger key of a request."""
    return request_key(prompt, digest_of(ask.shape) + ask.weighed.encode(), judge, ask.draw, repeat)


class _StoredReply(Struct):
    reply: msgspec.Raw
    chances: dict[int, float] = {}


def cached_reply(entry: Entry, ask: Ask) -> Struct:
    """The reply of an entry in the shape of the request; msgspec.DecodeError if it does not fit."""
    if not ask.weighed:
        return msgspec.json.decode(entry.parsed, type=ask.shape)
    stored = msgspec.json.decode(entry.parsed, type=_StoredReply)
    return WithLogprobs(msgspec.json.decode(stored.reply, type=ask.shape), stored.chances)


def copy_error(error: Exception) -> Exception:
    """Copy an error for another rule, without the traceback of the first."""
    match error:
        case BadReply():
            return BadReply(error.kind, error.message, error.reply)
        case AskFailed():
            return AskFailed(error.kind, error.message)
    return error
