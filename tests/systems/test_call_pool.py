"""Calling: places, deadlines, retries, awaitables."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from steelyard.core.errors import AskFailed, InputError
from steelyard.systems.call_pool import CallPolicy, call_all


def test_errors_are_results() -> None:
    """What one call raises does not touch the others."""
    found = {one.at: one for one in call_all([1, 0, 2], lambda n: 2 // n)}
    assert [found[at].result for at in range(3)] == [2, None, 1]
    assert isinstance(found[1].error, ZeroDivisionError)


@pytest.mark.parametrize("patience", [CallPolicy(1, None, 2), CallPolicy(3, 5.0, 2)])
def test_failed_calls_are_made_again(patience: CallPolicy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that fails twice is made three times; the number of attempts is told."""
    monkeypatch.setattr("steelyard.systems.call_pool.FIRST_PAUSE", 0.001)
    tries: dict[str, int] = {}

    def call(name: str) -> str:
        tries[name] = tries.get(name, 0) + 1
        if name == "shaky" and tries[name] < 3:
            raise ConnectionError("no")
        return name

    found = {one.at: one for one in call_all(["steady", "shaky"], call, patience)}
    assert [(found[at].result, found[at].attempts) for at in range(2)] == [("steady", 1), ("shaky", 3)]


@pytest.mark.parametrize("patience", [CallPolicy(1, None, 3), CallPolicy(1, 5.0, 3)])
def test_what_no_retry_can_mend_is_final(patience: CallPolicy) -> None:
    """A refusal is not asked for again."""

    def call(_: int) -> int:
        raise AskFailed("rejected", "HTTP 400")

    (found,) = call_all([1], call, patience)
    assert found.attempts == 1


def test_a_hanging_call_is_given_up() -> None:
    """A call beyond its deadline fails, its place is free again, and nobody waits for it."""
    release = threading.Event()

    def call(n: int) -> int:
        if n == 1:
            release.wait(30)
        return n

    started = time.perf_counter()
    found = {one.at: one for one in call_all([0, 1, 2, 3], call, CallPolicy(1, 0.15))}
    release.set()
    assert time.perf_counter() - started < 5
    assert [found[at].result for at in range(4)] == [0, None, 2, 3]
    assert str(found[1].error) == "timeout: no result within 0.15 s"


def test_as_many_at_once_as_there_are_places() -> None:
    """Four places are used, and no fifth."""
    live = most = 0
    lock = threading.Lock()

    def call(_: int) -> None:
        nonlocal live, most
        with lock:
            live += 1
            most = max(most, live)
        time.sleep(0.02)
        with lock:
            live -= 1

    assert len(list(call_all(range(12), call, CallPolicy(4)))) == 12
    assert most == 4


def test_awaitables_are_awaited_in_one_loop() -> None:
    """Asynchronous functions work, all in the same loop, also where a loop is running."""
    loops = set()

    async def call(n: int) -> int:
        loops.add(id(asyncio.get_running_loop()))
        await asyncio.sleep(0)
        return n

    assert [one.result for one in call_all([1, 2], call)] == [1, 2]

    async def inside() -> list[object]:
        return sorted(one.result for one in call_all([1, 2], call, CallPolicy(2)))  # type: ignore[type-var]

    assert asyncio.run(inside()) == [1, 2]
    assert len(loops) == 1


def test_a_hanging_coroutine_is_cancelled() -> None:
    """A coroutine beyond its deadline is not left running."""
    cancelled = threading.Event()

    async def call(_: int) -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    (found,) = call_all([1], call, CallPolicy(1, 0.1))
    assert isinstance(found.error, AskFailed)
    assert cancelled.wait(5)


def test_an_exit_in_a_system_is_its_failure() -> None:
    """sys.exit in a worker ends one call."""

    def call(_: int) -> None:
        raise SystemExit(3)

    (found,) = call_all([1], call, CallPolicy(2))
    assert "SystemExit: 3" in str(found.error)


@pytest.mark.parametrize("patience", [CallPolicy(0), CallPolicy(1, 0.0), CallPolicy(1, None, -1)])
def test_impossible_patience(patience: CallPolicy) -> None:
    """Numbers that mean nothing are errors before any call."""
    with pytest.raises(InputError):
        list(call_all([1], lambda n: n, patience))
