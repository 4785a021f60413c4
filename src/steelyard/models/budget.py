"""Budget of a run: an amount of money and a number of calls.

Rules of this file: every call is reserved before it is made and settled after. The reserved estimate is scaled by the
worst ratio of cost to estimate seen so far; until one is known, calls are made one at a time. A call that does not fit
waits for the calls in flight, which may turn out cheaper.
"""

from __future__ import annotations

import asyncio
import math

from ..core.errors import AskFailed
from ..core.records import Usage
from ..core.wording import pluralize

_NOISE = 1e-12


class Budget:
    """A limit of cost and a limit of calls; each is optional."""

    def __init__(self, budget: float | None = None, max_calls: int | None = None) -> None:
        self.budget, self.max_calls = budget, max_calls
        self.spent = 0.0
        self.calls = 0
        self._estimates = 0.0
        self._in_flight = 0
        self._worst = 1.0
        self._settled = False
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self.budget is not None or self.max_calls is not None

    async def reserve(self, estimate: float) -> None:
        """Reserve the cost of a call; AskFailed of kind not_run if it does not fit."""
        if self.max_calls is not None and self.calls >= self.max_calls:
            raise AskFailed("not_run", f"max_calls: {self.calls} of {pluralize(self.max_calls, 'call')} made")
        while self.budget is not None and not self._fits(estimate):
            if not self._in_flight:
                need = self._worst * estimate
                message = f"budget: {self.spent:.6g} of {self.budget:g} spent, the next call needs about {need:.3g}"
                raise AskFailed("not_run", message)
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self.calls += 1
        self._in_flight += 1
        self._estimates += estimate

    def settle(self, estimate: float, cost: float | None) -> None:
        """Record the cost of a reserved call; None if there was no reply."""
        self._in_flight -= 1
        self._estimates -= estimate
        if cost is None:
            self.calls -= 1
        else:
            self.spent += cost
            self._settled = True
            if estimate > 0:
                self._worst = max(self._worst, cost / estimate)
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)

    def _fits(self, estimate: float) -> bool:
        assert self.budget is not None
        if not self._settled and self._in_flight:
            return False
        return self.spent + self._worst * (self._estimates + estimate) <= self.budget + _NOISE


class SharedBudget:
    """The common budget of consecutive runs: each run gets the rest that the earlier ones left."""

    def __init__(self, budget: float | None = None, max_calls: int | None = None) -> None:
        self.budget, self.max_calls = budget, max_calls

    def spend(self, usage: Usage) -> None:
        """Subtract the usage of one run."""
        if self.budget is not None:
            self.budget = max(self.budget - (usage.cost or 0.0), 0.0)
        if self.max_calls is not None:
            self.max_calls = max(self.max_calls - usage.calls, 0)


def tokens_of(text: str) -> int:
    """Estimate the tokens of a text: four Latin letters per token, one Chinese character per token.

    >>> tokens_of("a" * 400), tokens_of("\u5b57" * 100)
    (100, 95)
    """
    beyond = 0 if text.isascii() else len(text.encode("utf-8", "replace")) - len(text)
    return math.ceil(len(text) / 4 + 0.35 * beyond)
