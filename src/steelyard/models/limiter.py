"""How many calls one endpoint gets at once: as many as it takes, never more than it was given.

Rules of this file: it knows no HTTP. A call holds a place from its start to its end; calls that wait are served
by their rank, the oldest first, so none starves. When the endpoint pushes back the number of places
halves; it climbs back with successes, fast to where it was pushed back and slowly beyond.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from itertools import count

_LEAST = 16
_SHARE = 1 / 4
_PAUSING = (4, 8)
_CLIMB, _PROBE = 2, 32


class Limiter:
    """Places for calls to one endpoint. ``limit`` is their present number, ``most`` the number given."""

    def __init__(self, most: int) -> None:
        self.most = self.limit = most
        self.in_flight = 0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._serial = count()
        self._recent: deque[bool] = deque(maxlen=max(_LEAST, most))
        self._ceiling = most
        self._since_climb = 0
        self._generation = 0
        self._closed_until = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, rank: int) -> int:
        """Wait for a place; the least rank goes first. Returns the generation, to be told to ``pushed_back``."""
        if not self._waiting and self._open():
            self.in_flight += 1
            return self._generation
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (rank, next(self._serial), turn))
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            raise
        return self._generation

    def leave(self) -> None:
        """Give the place back."""
        self.in_flight -= 1
        self._admit()

    def succeeded(self, generation: int) -> None:
        """A call was answered: climb back, one place for two successes, beyond the last push-back one for 32."""
        if generation != self._generation:
            return
        self._recent.append(False)
        if self.limit >= self.most:
            return
        self._since_climb += 1
        if self._since_climb >= (_CLIMB if self.limit < self._ceiling else _PROBE):
            self.limit += 1
            self._since_climb = 0
            self._ceiling = max(self._ceiling, self.limit)
            self._admit()

    def pushed_back(self, generation: int, pause: float = 0.0) -> None:
        """A call was turned away or timed out: halve, if that befell a quarter of the recent calls.

        A rare one is an accident and costs nobody else. Calls begun before the last halving say nothing new.
        ``pause`` is what the endpoint asked for, in seconds: where half of the last few calls were turned away, no call
        starts before it has passed.
        """
        if generation != self._generation:
            return
        self._recent.append(True)
        recent = list(self._recent)
        seats = max(_LEAST, self.limit)
        if pause > 0 and sum(recent[-_PAUSING[1] :]) >= _PAUSING[0]:
            self._closed_until = max(self._closed_until, asyncio.get_running_loop().time() + pause)
        if sum(recent[-seats:]) >= _SHARE * seats:
            self._generation += 1
            self._recent.clear()
            self._ceiling = max(1, self.limit - 1)
            self.limit = max(1, self.limit // 2)
            self._since_climb = 0

    def _open(self) -> bool:
        if self.in_flight >= self.limit:
            return False
        if not self._closed_until:
            return True
        loop = asyncio.get_running_loop()
        if loop.time() < self._closed_until:
            if self._timer is None:
                self._timer = loop.call_at(self._closed_until, self._reopen)
            return False
        self._closed_until = 0.0
        return True

    def _reopen(self) -> None:
        self._timer = None
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._open():
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)
