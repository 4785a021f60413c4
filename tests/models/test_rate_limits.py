"""Calls a second: permits by a clock of the test's own, and an endpoint that is asked at a pace."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import pytest
from hypothesis import given, settings, strategies as st
from msgspec import Struct

from steelyard import evaluate_rag
from steelyard.core.errors import InputError
from steelyard.core.requests import Flow, Prompt, ask
from steelyard.models.engine import Cell, Engine
from steelyard.models.rate_limits import RateLimiter, TokenBucket, rates_of
from tests.server import Reply, Server


class Verdict(Struct):
    verdict: Literal["yes", "no"]


def so(text: str) -> Flow:
    reply = yield from ask(Prompt("Is it so?"), Verdict, text=text)
    return float(reply.verdict == "yes")


def most_in_a_second(times: Sequence[float]) -> int:
    """The largest number of moments in any second."""
    ordered = sorted(times)
    return max(bisect_left(ordered, start + 1.0) - at for at, start in enumerate(ordered))


@settings(deadline=None)
@given(
    st.floats(0.5, 500),
    st.floats(1, 50),
    st.lists(st.tuples(st.floats(0, 2), st.integers(1, 40)), min_size=1, max_size=40),
)
def test_no_second_has_more_than_rate_and_burst(rate: float, burst: float, asked: list[tuple[float, int]]) -> None:
    """However calls come, no stretch of time sees more than its share of the rate and one burst."""
    bucket, now = TokenBucket(rate, burst), 0.0
    granted: list[tuple[float, int]] = []
    for pause, wanted in asked:
        now += pause
        granted.append((now, bucket.take(wanted, now)))
    for first in range(len(granted)):
        total = 0
        for moment, count in granted[first:]:
            total += count
            assert total <= rate * (moment - granted[first][0]) + burst + 1e-6


def test_a_bucket_gives_what_it_promises() -> None:
    """After its delay there is a permit; a clock that goes back gives none for nothing."""
    bucket = TokenBucket(rate=4, burst=1)
    assert [bucket.take(1, 10.0), bucket.take(1, 10.0)] == [1, 0]
    assert bucket.delay(10.0) == pytest.approx(0.25)
    assert bucket.take(1, 10.0 + bucket.delay(10.0)) == 1
    assert [bucket.take(1, 3.0), bucket.take(1, 10.3), bucket.take(1, 10.51)] == [0, 0, 1]
    assert TokenBucket(rate=100, full=False).take(5, 7.0) == 0


def test_a_pace_keeps_the_order_and_the_rate() -> None:
    """Ten calls a second, one at once: the n-th of those who wait starts after n tenths of a second."""
    now, started = [0.0], []

    async def sleep(seconds: float) -> None:
        now[0] += seconds

    async def call(pace: RateLimiter, number: int) -> None:
        await pace.permit()
        started.append((number, round(now[0], 6)))

    async def calls(pace: RateLimiter) -> None:
        await asyncio.gather(*(call(pace, number) for number in range(5)))

    pace = RateLimiter(10, burst=1, clock=lambda: now[0], sleep=sleep)
    asyncio.run(calls(pace))
    assert started == [(number, round(number / 10, 6)) for number in range(5)]
    now[0] = 100.0
    started.clear()
    asyncio.run(calls(pace))  # another loop, and a second burst of one
    assert started == [(number, 100 + round(number / 10, 6)) for number in range(5)]


def test_an_endpoint_is_asked_at_its_rate(serve: Callable[..., Server]) -> None:
    """Forty places, and still no second with more than the rate and the burst; other endpoints are not held up."""
    server = serve()
    engine = Engine(
        server.judge, ledger=":memory:", concurrency=40, rate_limiters={server.url: RateLimiter(50, burst=5)}
    )
    results = list(engine.run(Cell(number, partial(so, f"text {number}")) for number in range(90)))
    assert all(result.error is None for result in results)
    assert server.calls == 90
    assert most_in_a_second(server.times) <= 50 + 5 + 10  # ten more for calls that were held up on their way
    assert server.times[-1] - server.times[0] > 1.5


def test_push_backs_are_heeded_beside_a_rate(serve: Callable[..., Server]) -> None:
    """What the endpoint turns away is asked again after the pause it names, and every repetition needs its permit."""
    turned = {"left": 6}

    def answer(body: object) -> object:
        if turned["left"]:
            turned["left"] -= 1
            return Reply({"error": {"message": "slow down"}}, 429, {"Retry-After": "0.2"})
        return '{"verdict": "yes"}'

    server = serve(answer=answer)
    engine = Engine(
        server.judge, ledger=":memory:", concurrency=8, rate_limiters={server.url: RateLimiter(200, burst=2)}
    )
    results = list(engine.run(Cell(number, partial(so, f"text {number}")) for number in range(12)))
    assert all(result.error is None for result in results)
    assert server.calls == 18
    assert most_in_a_second(server.times) <= 200


def test_evaluate_rag_takes_rates(serve: Callable[..., Server]) -> None:
    """From Python a rate stands by the address of the endpoint."""
    server = serve()
    rows = [{"user_input": f"q{n}", "response": "An answer.", "retrieved_contexts": [f"c{n}"]} for n in range(5)]
    report = evaluate_rag(
        rows, metrics=["context_relevancy"], judge=server.judge, ledger=":memory:", rates={server.url: 1000.0}
    )
    assert report.estimates["context_relevancy"].n == 5
    with pytest.raises(InputError, match="above 0"):
        evaluate_rag(rows, metrics=["context_relevancy"], judge=server.judge, rates={server.url: 0.0})


@pytest.mark.parametrize("text", ["250/s", "openai=", "openai=fast", "openai=0/s", "openai=5/d", "openai=-1/s"])
def test_a_rate_that_is_none_is_told(text: str) -> None:
    """One line with what was expected."""
    with pytest.raises(InputError, match="expected ENDPOINT=NUMBER/s"):
        rates_of([text], {"openai": "https://api.openai.com/v1"})


def test_a_rate_for_nobody_is_told() -> None:
    """An endpoint that is not asked has no rate; those that are, are listed."""
    with pytest.raises(InputError, match=r"no such endpoint in this run \(endpoints: h:1, http://h:1/v1\)"):
        rates_of(["openai=5/s"], {"h:1": "http://h:1/v1"})
    assert rates_of(["http://h:1/v1=90/m", "h:1=2"], {"h:1": "http://h:1/v1"}) == {"http://h:1/v1": 2.0}
