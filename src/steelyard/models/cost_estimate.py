"""The estimated cost of a run, computed without a call.

Rules of this file: nothing is sent and nothing is written. The rules get the replies cached in the ledger, and example
replies for other requests (three items per list, one sentence per text, different texts for different requests). All
requests of a rule except the first are therefore estimates, as is every number of tokens.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress

import msgspec
from msgspec import Struct, field

from ..core.errors import AskFailed, BadReply
from ..core.records import Undefined, Usage
from ..core.requests import Ask, Embed, Request, Vector, play, replace_surrogates
from .budget import tokens_of
from .cell import Cell, CellTrace
from .embedder import Embedder
from .json_schema import example_of
from .judge import LLMJudge
from .judge_client import cached_reply, cost_of, key_of_ask, room_for
from .ledger import ReplyStore, request_key

MOST = 1000
"""The maximal number of requests counted per cell: a rule may repeat a request until it accepts the reply, and it may
never accept an example."""


class _Enough(BaseException):
    """Ends a rule that makes too many requests; no rule may catch it as a failure."""


class CostEstimate(Struct, frozen=True):
    """How many cells there are, and what the requests that the ledger does not answer would use.

    ``usage`` holds calls of judge and embedder, cached replies, tokens of the calls, embedded texts, and the cost, None
    where no price is known. ``unbounded`` counts the cells that were cut off; ``skipped`` are the reasons of the cells
    that are undefined before their first request, by the keys of the cells.
    """

    cells: int = 0
    undefined: int = 0
    usage: Usage = Usage()
    unbounded: int = 0
    skipped: dict[object, str] = field(default_factory=dict)


def estimate_cost(
    cells: Iterable[Cell], judge: LLMJudge | None, embedder: Embedder | None, ledger: ReplyStore
) -> CostEstimate:
    """Play every cell without a judge and sum up its requests; equal requests count once."""
    counter = _CostCounter(judge, embedder, ledger)
    for cell in cells:
        counter.count(cell)
    return counter.total()


class _CostCounter:
    """Answers requests with cached or example replies, and counts their cost."""

    def __init__(self, judge: LLMJudge | None, embedder: Embedder | None, ledger: ReplyStore) -> None:
        self.judge, self.embedder, self.ledger = judge, embedder, ledger
        self.cells = self.undefined = self.unbounded = 0
        self.skipped: dict[object, str] = {}
        self._account = CellTrace(0)
        self._embedded_tokens = 0
        self._repeat = 0
        self._requests = 0
        self._seen: set[str] = set()

    def count(self, cell: Cell) -> None:
        self.cells += 1
        self._repeat, self._requests = cell.repeat, 0
        try:
            with suppress(Exception):  # a rule may refuse an example reply; its requests are still counted
                found = play(cell.start(), self._answer)
                if isinstance(found, Undefined):
                    self.undefined += 1
                    if not self._requests:
                        self.skipped[cell.key] = found.reason
        except _Enough:
            self.unbounded += 1

    def total(self) -> CostEstimate:
        """The sum of all cells, with the embedded texts as calls in batches."""
        account = self._account
        if self.judge is not None and self.judge.price is not None and (account.calls or account.cached):
            account.cost = account.cost or 0.0
        if self.embedder is not None:
            account.calls += math.ceil(account.embedded / self.embedder.batch)
            account.prompt_tokens += self._embedded_tokens
            if self.embedder.price is not None:
                account.cost = (account.cost or 0.0) + self._embedded_tokens * self.embedder.price / 1e6
        return CostEstimate(self.cells, self.undefined, account.usage(), self.unbounded, self.skipped)

    def _answer(self, request: Request) -> object:
        self._requests += 1
        if self._requests > MOST // (1 + self.unbounded):
            raise _Enough
        return self._reply(request) if isinstance(request, Ask) else self._vectors(request)

    def _reply(self, ask: Ask) -> Struct:
        if self.judge is None:
            raise AskFailed("no_judge", "the rule needs a judge, and none was given")
        prompt = replace_surrogates(ask.prompt)
        key = key_of_ask(ask, prompt, self.judge.identity, self._repeat)
        new = key not in self._seen
        self._seen.add(key)
        entry = self.ledger.reply(key) if self.judge.kept else None
        if entry is not None:
            self._account.cached += new
            return cached_reply(entry, ask)
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
        cost = cost_of(judge, prompt, completion)
        self._account.paid(
            prompt=prompt, completion=completion, cost=cost, seconds=0.0, estimated=False, unpriced=False
        )

    def _vectors(self, embed: Embed) -> list[Vector]:
        if self.embedder is None:
            raise AskFailed("no_embedder", "the rule needs an embedder, and none was given")
        vectors: list[Vector] = []
        new = False
        for text in map(replace_surrogates, embed.texts):
            key = request_key(text, b"embedding", self.embedder.identity)
            known = self.ledger.vector(key) if self.embedder.kept else None
            if known is None and key not in self._seen:
                new = True
                self._account.embedded += 1
                self._embedded_tokens += tokens_of(text)
            self._seen.add(key)
            vectors.append((1.0,) if known is None else known)
        self._account.cached += not new
        return vectors if len({len(vector) for vector in vectors}) == 1 else [(1.0,)] * len(vectors)
