"""Limits of calls to an endpoint: at once (``ConcurrencyLimiter``) and per second (``RateLimiter``, ``TokenBucket``).

Rules of this file: it knows neither HTTP nor a clock; the caller passes the time. A permit is for a call that starts
now and is never promised for later, so that a suspended process has no backlog, and no second has more calls than the
rate plus the burst. A call holds a slot from start to end; waiting calls are served by rank, oldest first, so that none
starves. When the endpoint pushes back (429 or timeout), the number of slots halves; it grows again with successes, fast
up to the point of the push-back and slowly beyond.
"""

from __future__ import annotations

import asyncio
import heapq
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from itertools import count
from typing import Protocol

from ..core.errors import InputError

BURST = 0.1
"""The default burst after a pause, in seconds' worth of calls."""

_PER = {"s": 1.0, "m": 60.0, "h": 3600.0}
_RATE = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?:/(?P<per>[smh]))?")
_NOISE = 1e-9


class PermitSource(Protocol):
    """An object that decides when the next call may start."""

    async def permit(self) -> None:
        """Wait until a call may start; an exception ends the run."""


class TokenBucket:
    """Permits that accrue at ``rate`` per second, up to ``burst``.

    >>> bucket = TokenBucket(rate=10, burst=2)
    >>> [bucket.take(5, now) for now in (0.0, 0.05, 0.1, 9.0)], round(bucket.delay(9.0), 3)
    ([2, 0, 1, 2], 0.1)
    """

    def __init__(self, rate: float, burst: float | None = None, *, full: bool = True) -> None:
        if not 0 < rate < float("inf"):
            raise InputError(f"expected a rate above 0 calls per second, found {rate:g}")
        self.rate = rate
        self.burst = max(1.0, rate * BURST if burst is None else burst)
        self._saved = self.burst if full else 0.0
        self._at: float | None = None

    def take(self, wanted: int, now: float) -> int:
        """Take up to ``wanted`` permits and return their number."""
        if self._at is not None:
            self._saved = min(self.burst, self._saved + max(0.0, now - self._at) * self.rate)
        self._at = now if self._at is None else max(now, self._at)
        granted = min(wanted, int(self._saved + _NOISE))
        self._saved -= granted
        return granted

    def delay(self, now: float) -> float:
        """The seconds until the next permit."""
        since = 0.0 if self._at is None else max(0.0, now - self._at)
        return max(0.0, (1.0 - self._saved) / self.rate - since)


class RateLimiter:
    """Limits the rate of calls of one process; calls start in the order of their requests."""

    def __init__(
        self,
        rate: float,
        burst: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.bucket = TokenBucket(rate, burst)
        self._clock, self._sleep = clock, sleep
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = asyncio.Lock()

    async def permit(self) -> None:
        """Wait until a call may start."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # consecutive runs have their own loops
            self._loop, self._turn = loop, asyncio.Lock()
        async with self._turn:
            while not self.bucket.take(1, self._clock()):
                await self._sleep(self.bucket.delay(self._clock()))


def rates_of(given: Iterable[str], urls: Mapping[str, str]) -> dict[str, float]:
    """Read rates such as ``["http://host/v1=250/s"]`` as calls per second by address.

    ``urls`` maps other names of the known addresses to them: ``{"openai": "https://…/v1"}``. Units are ``/s`` (the
    default), ``/m`` and ``/h``.

    >>> rates_of(["openai=90/m"], {"openai": "https://api.openai.com/v1"})
    {'https://api.openai.com/v1': 1.5}
    """
    found = {}
    for text in given:
        name, _, rate = text.rpartition("=")
        match = _RATE.fullmatch(rate)
        if not name or match is None or not float(match["number"]):
            raise InputError(f"--rate {text}: expected ENDPOINT=NUMBER/s, such as openai=250/s")
        if name not in urls and name not in urls.values():
            known = ", ".join(dict.fromkeys([*urls, *urls.values()])) or "none"
            raise InputError(f"--rate {text}: no such endpoint in this run (endpoints: {known})")
        found[urls.get(name, name)] = float(match["number"]) / _PER[match["per"] or "s"]
    return found


_LEAST = 16


_SHARE = 1 / 4


_PAUSING = (4, 8)


_CLIMB, _PROBE = 2, 32


class ConcurrencyLimiter:
    """Slots for calls to one endpoint. ``limit`` is their current number, ``most`` the configured one."""

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
        """Wait for a slot; the lowest rank is first. Returns the generation, which ``pushed_back`` expects."""
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
        """Release the slot."""
        self.in_flight -= 1
        self._admit()

    def succeeded(self, generation: int) -> None:
        """Record a success: the limit grows by one for two successes, beyond the last push-back by one for 32."""
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
        """Record a refused or timed-out call: the limit halves if a quarter of the recent calls failed in this way.

        A rare failure changes nothing. Calls started before the last halving are ignored. ``pause`` is the wait that
        the endpoint requested, in seconds: if half of the last few calls were refused, no call starts before it has
        passed.
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
