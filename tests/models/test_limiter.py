"""Places at an endpoint: the limit, the order, and how it yields and climbs back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from steelyard.models.rate_limits import ConcurrencyLimiter
from tests.models.small_rules import by_key, cells, engine_of, so, texts, value
from tests.server import Server


def test_the_oldest_cell_goes_first_and_the_limit_holds() -> None:
    """Whatever order they come in, the least rank is served first."""

    async def scene() -> tuple[list[int], int]:
        limiter, order, most = ConcurrencyLimiter(2), list[int](), 0

        async def call(rank: int) -> None:
            nonlocal most
            await limiter.enter(rank)
            order.append(rank)
            most = max(most, limiter.in_flight)
            await asyncio.sleep(0.001)
            limiter.leave()

        await asyncio.gather(*(call(rank) for rank in (8, 9, 5, 1, 7, 3)))
        return order, most

    order, most = asyncio.run(scene())
    assert order == [8, 9, 1, 3, 5, 7]
    assert most == 2


def test_rare_push_backs_cost_nothing_and_many_halve() -> None:
    """One call in twenty turned away is an accident; a quarter is a message, told once per generation."""

    async def scene() -> tuple[int, int, int]:
        limiter = ConcurrencyLimiter(16)
        for number in range(200):
            (limiter.pushed_back if number % 20 == 0 else limiter.succeeded)(0)
        rare = limiter.limit
        for _ in range(16):
            limiter.pushed_back(0)
        halved = limiter.limit
        for _ in range(100):
            limiter.succeeded(1)
        return rare, halved, limiter.limit

    assert asyncio.run(scene()) == (16, 8, 16)


def test_the_limit_never_falls_below_one() -> None:
    """An endpoint that turns everything away is still asked one call at a time."""

    async def scene() -> int:
        limiter = ConcurrencyLimiter(16)
        for generation in range(10):
            for _ in range(20):
                limiter.pushed_back(generation)
        return limiter.limit

    assert asyncio.run(scene()) == 1


def test_a_pause_that_the_endpoint_asks_for_holds_all() -> None:
    """Where most calls are turned away, none starts before the pause is over."""

    async def scene() -> float:
        limiter = ConcurrencyLimiter(4)
        for _ in range(4):
            limiter.pushed_back(0, pause=0.1)
        started = time.perf_counter()
        await limiter.enter(0)
        return time.perf_counter() - started

    assert 0.09 <= asyncio.run(scene()) < 1.0


def test_a_cancelled_wait_leaves_no_place_taken() -> None:
    """A place that is granted while its call is being cancelled goes to the next."""

    async def scene() -> int:
        limiter = ConcurrencyLimiter(1)
        await limiter.enter(0)
        waiting = asyncio.ensure_future(limiter.enter(1))
        await asyncio.sleep(0)
        limiter.leave()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return limiter.in_flight

    assert asyncio.run(scene()) == 0


def test_a_server_with_two_places_is_found_out(serve: Callable[..., Server]) -> None:
    """Sixty samples, twenty at once, two allowed: all are scored, with few calls in vain and no long waits."""
    server = serve(latency=0.02, places=2, retry_after=None)
    engine = engine_of(server, concurrency=20, max_wait=60.0)
    started = time.perf_counter()
    found = by_key(engine.run(cells(so, texts(60))))
    took = time.perf_counter() - started
    assert all(value(one) in {0.0, 1.0} for one in found.values())
    assert len(found) == 60
    assert server.calls <= 120
    assert took <= 3 * 0.6 + 1.0  # a second for a machine that is busy with other tests
