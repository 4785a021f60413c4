"""Answering a rule's question: ledger, same question in flight, budget, endpoint, reading, ledger.

Rules of this file: equal questions are asked once. A reply that cannot be used is kept as evidence and asked for once
more, with what was wrong with it; one that was cut off, once more with more room. What is still wrong then is a
BadReply, but where a judge breaks its replies rarely, no JSON at all is asked for a third time. Failures are not kept.
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
"""How many times the tokens of the first attempt a second one gets after a reply that was cut off."""

LEAST_REPLY = 256
"""Tokens of the window that must be left for a reply."""

UNHEEDED = 3
"""Replies of another shape, before any of the right one, after which a schema is no more sent but described."""

LIKELY = 20
"""Tokens that might have stood in a place, of which the endpoint is to tell the chances."""

MOST = 3
"""Calls for one question, whatever comes back."""

BROKEN = frozenset({"malformed", "empty"})
"""Kinds of replies that hold nothing to read."""

RARE = 1 / 10
"""The share of broken replies below which one more is an accident."""

EXPECTED = 256
"""Tokens of a reply for a reservation, until real replies say more."""


class TimedCompletion(Struct, frozen=True):
    """A completion and what it took."""

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
    """Answers the questions of one run."""

    def __init__(
        self, judge: LLMJudge, endpoint: Endpoint, ledger: ReplyStore, purse: Budget, *, offline: bool
    ) -> None:
        self.judge, self.endpoint, self.ledger, self.purse, self.offline = judge, endpoint, ledger, purse, offline
        self._identity = judge.identity
        self._heeded, self._unheeded = False, 0
        self._usable = self._broken = 0
        self._in_flight: dict[str, asyncio.Future[TypedReply | Exception]] = {}

    async def ask(self, ask: Ask, trace: CellTrace) -> Struct:
        """The reply, or AskFailed or BadReply."""
        prompt = replace_surrogates(ask.prompt)
        key = self.key(ask, prompt, trace.repeat)
        found: TypedReply | Exception
        if (in_flight := self._in_flight.get(key)) is not None:
            found = await in_flight
            trace.cached += isinstance(found, TypedReply)
        elif (known := self.kept(key, ask)) is not None:
            found = known
            trace.cached += 1
        else:
            found = await self._first(ask, prompt, key, trace)
        if isinstance(found, TypedReply):
            trace.asked(found.keys, ask.flags)
            return found.reply
        trace.asked([key], ask.flags)
        raise copy_error(found)

    def key(self, ask: Ask, prompt: str, repeat: int) -> str:
        """The request's name in the ledger."""
        return key_of_ask(ask, prompt, self._identity, repeat)

    def kept(self, key: str, ask: Ask) -> TypedReply | None:
        """The reply of the ledger."""
        entry = self.ledger.reply(key) if self.judge.kept else None
        if entry is None:
            return None
        try:
            reply = kept_reply(entry, ask)
        except msgspec.DecodeError:
            return None
        return TypedReply(reply, (key,) if entry.asked_again is None else (key, entry.asked_again))

    async def _first(self, ask: Ask, prompt: str, key: str, trace: CellTrace) -> TypedReply | Exception:
        """Ask, while those who ask the same wait for this answer, whatever it is."""
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
        said, now, room, attempts = prompt, key, 1, 0
        while True:
            spoken = await self._spoken(ask, said, trace, room)
            attempts += 1
            try:
                reply = self._read(spoken.completion, ask)
                self._heeded |= now == key
                self._usable += 1
                break
            except BadReply as error:
                self._broken += error.kind in BROKEN
                self._doubt(error, first=now == key)
                self._keep_unusable(now, said, spoken.completion.text, error)
                if error.kind == "truncated" and room == 1 and attempts < MOST:
                    room = ROOM
                elif now == key and error.kind not in {"truncated", "content_filter"}:
                    said = f"{prompt}\n\n{complaint(error, ask.shape)}"
                    now = self.key(ask, said, trace.repeat)
                    if (known := self.kept(now, ask)) is not None:
                        return TypedReply(known.reply, (key, now))
                elif not (error.kind in BROKEN and attempts < MOST and self._broken < RARE * self._usable):
                    raise
        keys = (key,) if now == key else (key, now)
        self._keep(keys, (prompt, said), spoken, reply, attempts)
        return TypedReply(reply, keys)

    def _doubt(self, error: BadReply, *, first: bool) -> None:
        """An endpoint that takes a schema and has never heeded it is told in the prompt from the third time on."""
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

    async def _spoken(self, ask: Ask, prompt: str, trace: CellTrace, room: int) -> TimedCompletion:
        """One completion, paid for."""
        judge = self.judge
        tokens = tokens_of(prompt)
        most = room_for(judge, tokens)
        estimate = cost_of(judge, tokens, min(most or EXPECTED, EXPECTED)) or 0.0
        await self.purse.reserve(estimate)
        cost = None
        try:
            if judge.answer is not None:
                spoken = _scripted(judge.answer, ask, prompt, tokens)
            else:
                spoken = await self._called(ask, prompt, trace, tokens, most, room)
            cost = cost_of(judge, spoken.prompt_tokens, spoken.completion_tokens) or 0.0
        finally:
            self.purse.settle(estimate, cost)
        trace.paid(
            prompt=spoken.prompt_tokens,
            completion=spoken.completion_tokens,
            cost=cost if judge.price is not None else None,
            seconds=spoken.seconds,
            estimated=spoken.estimated,
            unpriced=judge.costs_unknown,
        )
        return spoken

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

    def _keep(
        self, keys: tuple[str, ...], prompts: tuple[str, ...], spoken: TimedCompletion, reply: Struct, attempts: int
    ) -> None:
        if not self.judge.kept:
            return
        for key, prompt in zip(keys, prompts, strict=False):
            self.ledger.add(
                Entry(
                    key=key,
                    judge=self._identity,
                    prompt=prompt,
                    reply=spoken.completion.text or "",
                    parsed=msgspec.json.encode(reply).decode(),
                    finish=spoken.completion.finish,
                    prompt_tokens=spoken.prompt_tokens,
                    completion_tokens=spoken.completion_tokens,
                    estimated=spoken.estimated,
                    attempts=attempts,
                    seconds=spoken.seconds,
                    asked_again=keys[1] if key == keys[0] and len(keys) > 1 else None,
                )
            )

    def _keep_unusable(self, key: str, prompt: str, text: str | None, error: BadReply) -> None:
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
    """The completion in an endpoint's answer; tokens are estimated where it counts none."""
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
    if min(usage.prompt_tokens or 0, usage.completion_tokens or 0) < 0:  # nobody counts so
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
    """A script's answer as the text of a model."""
    given = answer(msgspec.structs.replace(ask, prompt=prompt))
    if isinstance(given, BaseException):
        raise given
    text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
    return TimedCompletion(Completion(text), tokens, tokens_of(text), estimated=True, seconds=0.0)


def room_for(judge: LLMJudge, tokens: int) -> int | None:
    """The tokens that the reply to a prompt may have; AskFailed where the judge's window has no room for one."""
    if judge.window is None:
        return judge.max_tokens
    if tokens + LEAST_REPLY > judge.window:
        need = f"the prompt has about {tokens} tokens, and a reply needs {LEAST_REPLY}"
        raise AskFailed("context_too_long", f"{need}; the judge's window has {judge.window}")
    return min(judge.max_tokens or judge.window, judge.window - tokens)


def cost_of(judge: LLMJudge, prompt_tokens: int, completion_tokens: int) -> float | None:
    """What a call costs by the judge's price for a million tokens; None where no price is known."""
    if judge.price is None:
        return None
    return (prompt_tokens * judge.price[0] + completion_tokens * judge.price[1]) / 1e6


def key_of_ask(ask: Ask, prompt: str, judge: str, repeat: int) -> str:
    """The name of a question in the ledger."""
    return request_key(prompt, digest_of(ask.shape) + ask.weighed.encode(), judge, ask.draw, repeat)


class _StoredReply(Struct):
    reply: msgspec.Raw
    chances: dict[int, float] = {}


def kept_reply(entry: Entry, ask: Ask) -> Struct:
    """The reply of an entry in the form that a question asks for; msgspec.DecodeError where it does not fit."""
    if not ask.weighed:
        return msgspec.json.decode(entry.parsed, type=ask.shape)
    kept = msgspec.json.decode(entry.parsed, type=_StoredReply)
    return WithLogprobs(msgspec.json.decode(kept.reply, type=ask.shape), kept.chances)


def copy_error(error: Exception) -> Exception:
    """The same error for another rule, without the traceback of the first."""
    match error:
        case BadReply():
            return BadReply(error.kind, error.message, error.reply)
        case AskFailed():
            return AskFailed(error.kind, error.message)
    return error
