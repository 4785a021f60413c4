"""What a run would ask, reckoned without asking.

Rules of this file: nothing is sent and nothing is written. Replies that the ledger holds are used; for the others the
rules are driven by plausible ones (three items a list, one sentence a text, other texts for another request), so that
all but the first requests of a rule are an estimate, as is every number of tokens.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress

import msgspec
from msgspec import Struct, field

from ..core.errors import AskFailed, BadReply
from ..core.records import Undefined
from ..core.requests import Ask, Embed, Request, Vector, play, replace_surrogates
from .budget import tokens_of
from .cell import Cell
from .embedder import Embedder
from .json_schema import example_of
from .judge import LLMJudge
from .judge_client import cost_of, kept_reply, key_of_ask, room_for
from .ledger import ReplyStore, request_key

MOST = 1000
"""Requests of one cell that are reckoned: a rule may ask until a reply pleases it, and plausible ones may never."""


class _Enough(BaseException):
    """Ends a rule that asks on and on; no rule may catch it as a failure."""


class CostEstimate(Struct):
    """How many cells there are, what is in the ledger, and what must be asked beyond that.

    ``calls`` are calls of judge and embedder, ``embedded`` texts; tokens and ``cost`` are those of the calls. ``cost``
    is None where no price is known. ``endless`` are cells that were cut off, ``skipped`` those that are undefined
    before they ask, with their reasons.
    """

    cells: int = 0
    undefined: int = 0
    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    embedded: int = 0
    cost: float | None = None
    unbounded: int = 0
    skipped: dict[object, str] = field(default_factory=dict)


def estimate_cost(
    cells: Iterable[Cell], judge: LLMJudge | None, embedder: Embedder | None, ledger: ReplyStore
) -> CostEstimate:
    """Play every cell without a judge, and sum up what it would ask; equal requests count once."""
    clerk = _CostCounter(judge, embedder, ledger)
    for cell in cells:
        clerk.count(cell)
    return clerk.total()


class _CostCounter:
    """Answers requests with what is known or plausible, and writes down what they would cost."""

    def __init__(self, judge: LLMJudge | None, embedder: Embedder | None, ledger: ReplyStore) -> None:
        self.judge, self.embedder, self.ledger = judge, embedder, ledger
        self.sum = CostEstimate()
        self._embedded_tokens = 0
        self._repeat = 0
        self._asked = 0
        self._seen: set[str] = set()

    def count(self, cell: Cell) -> None:
        self.sum.cells += 1
        self._repeat, self._asked = cell.repeat, 0
        try:
            with suppress(Exception):  # a plausible reply need not please a rule; what it asked is counted
                found = play(cell.start(), self._answer)
                if isinstance(found, Undefined):
                    self.sum.undefined += 1
                    if not self._asked:
                        self.sum.skipped[cell.key] = found.reason
        except _Enough:
            self.sum.unbounded += 1

    def total(self) -> CostEstimate:
        done = self.sum
        if self.judge is not None and self.judge.price is not None and (done.calls or done.cached):
            done.cost = done.cost or 0.0
        if self.embedder is not None:
            done.calls += math.ceil(done.embedded / self.embedder.batch)
            done.prompt_tokens += self._embedded_tokens
            if self.embedder.price is not None:
                done.cost = (done.cost or 0.0) + self._embedded_tokens * self.embedder.price / 1e6
        return done

    def _answer(self, request: Request) -> object:
        self._asked += 1
        if self._asked > MOST // (1 + self.sum.unbounded):
            raise _Enough
        return self._reply(request) if isinstance(request, Ask) else self._vectors(request)

    def _reply(self, ask: Ask) -> Struct:
        if self.judge is None:
            raise AskFailed("no_judge", "the rule asks a judge, and none was given")
        prompt = replace_surrogates(ask.prompt)
        key = key_of_ask(ask, prompt, self.judge.identity, self._repeat)
        new = key not in self._seen
        self._seen.add(key)
        entry = self.ledger.reply(key) if self.judge.kept else None
        if entry is not None:
            self.sum.cached += new
            return kept_reply(entry, ask)
        tokens = tokens_of(prompt)
        room_for(self.judge, tokens)
        try:
            reply = example_of(ask.shape, key[:6])
        except msgspec.ValidationError as error:
            raise BadReply("wrong_schema", f"no example fits the shape: {error}") from None
        if new:
            self._charge(self.judge, tokens, tokens_of(msgspec.json.encode(reply).decode()))
        return reply

    def _charge(self, judge: LLMJudge, prompt: int, completion: int) -> None:
        self.sum.calls += 1
        self.sum.prompt_tokens += prompt
        self.sum.completion_tokens += completion
        if (cost := cost_of(judge, prompt, completion)) is not None:
            self.sum.cost = (self.sum.cost or 0.0) + cost

    def _vectors(self, embed: Embed) -> list[Vector]:
        if self.embedder is None:
            raise AskFailed("no_embedder", "the rule asks for embeddings, and no embedder was given")
        vectors: list[Vector] = []
        new = False
        for text in map(replace_surrogates, embed.texts):
            key = request_key(text, b"embedding", self.embedder.identity)
            known = self.ledger.vector(key) if self.embedder.kept else None
            if known is None and key not in self._seen:
                new = True
                self.sum.embedded += 1
                self._embedded_tokens += tokens_of(text)
            self._seen.add(key)
            vectors.append((1.0,) if known is None else known)
        self.sum.cached += not new
        return vectors if len({len(vector) for vector in vectors}) == 1 else [(1.0,)] * len(vectors)
