"""How many calls a second one endpoint gets, whoever makes them.

Rules of this file: it knows no HTTP and no clock of its own; who asks says what time it is. A permit is for a call
that starts now: none is promised for later, so that a process that was held up has nothing to catch up with, and in no
second are there more than the rate and the burst.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Protocol

from ..core.errors import InputError

BURST = 0.1
"""Seconds' worth of calls that may start at once after a pause, if not said otherwise."""

_PER = {"s": 1.0, "m": 60.0, "h": 3600.0}
_RATE = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?:/(?P<per>[smh]))?")
_NOISE = 1e-9


class Pacing(Protocol):
    """Whoever says when the next call may start."""

    async def permit(self) -> None:
        """Wait until a call may start; raises what ends the run."""


class Bucket:
    """Permits that come in at ``rate`` a second, of which ``burst`` can be saved up.

    >>> bucket = Bucket(rate=10, burst=2)
    >>> [bucket.take(5, now) for now in (0.0, 0.05, 0.1, 9.0)], round(bucket.delay(9.0), 3)
    ([2, 0, 1, 2], 0.1)
    """

    def __init__(self, rate: float, burst: float | None = None, *, full: bool = True) -> None:
        if not 0 < rate < float("inf"):
            raise InputError(f"a rate must be above 0 calls a second, not {rate:g}")
        self.rate = rate
        self.burst = max(1.0, rate * BURST if burst is None else burst)
        self._saved = self.burst if full else 0.0
        self._at: float | None = None

    def take(self, wanted: int, now: float) -> int:
        """As many of the wanted permits as there are."""
        if self._at is not None:
            self._saved = min(self.burst, self._saved + max(0.0, now - self._at) * self.rate)
        self._at = now if self._at is None else max(now, self._at)
        granted = min(wanted, int(self._saved + _NOISE))
        self._saved -= granted
        return granted

    def delay(self, now: float) -> float:
        """Seconds until there is a permit again."""
        since = 0.0 if self._at is None else max(0.0, now - self._at)
        return max(0.0, (1.0 - self._saved) / self.rate - since)


class Pace:
    """The pace of one process: calls start in the order in which they asked."""

    def __init__(
        self,
        rate: float,
        burst: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.bucket = Bucket(rate, burst)
        self._clock, self._sleep = clock, sleep
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = asyncio.Lock()

    async def permit(self) -> None:
        """Wait until a call may start."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # one run after the other, each with a loop of its own
            self._loop, self._turn = loop, asyncio.Lock()
        async with self._turn:
            while not self.bucket.take(1, self._clock()):
                await self._sleep(self.bucket.delay(self._clock()))


def rates_of(given: Iterable[str], urls: Mapping[str, str]) -> dict[str, float]:
    """``["http://host/v1=250/s"]`` as calls a second by address.

    ``urls`` are the addresses that are known, by what else they may be called: ``{"openai": "https://…/v1"}``. Units
    are ``/s`` (also where none is given), ``/m`` and ``/h``.

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
            raise InputError(f"--rate {text}: no such endpoint is asked (endpoints here: {known})")
        found[urls.get(name, name)] = float(match["number"]) / _PER[match["per"] or "s"]
    return found
