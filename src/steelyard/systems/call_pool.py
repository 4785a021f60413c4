"""Call a function on many inputs with parallel workers, a deadline and retries.

An exception of a call is recorded as its result and does not end the run. A call that exceeds its deadline is
abandoned: its thread goes on, since a thread cannot be stopped, and its slot is free again. With one worker and no
deadline, calls are made in the thread of the caller, so that objects which must stay in one thread work.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from queue import Empty, SimpleQueue
from typing import Generic, NamedTuple, TypeVar

from ..core.async_bridge import begin, wait
from ..core.errors import AskFailed, InputError

In = TypeVar("In")
Out = TypeVar("Out")

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0


class CallResult(NamedTuple, Generic[Out]):
    """The result or the error of one input, the seconds of the last attempt, and the number of attempts."""

    at: int
    result: Out | None
    error: Exception | None
    seconds: float
    attempts: int


class CallPolicy(NamedTuple):
    """The number of parallel calls, the deadline of a call in seconds, and the number of retries."""

    workers: int = 1
    deadline: float | None = None
    retries: int = 0

    def checked(self) -> CallPolicy:
        """The policy itself; InputError for an invalid value."""
        if not isinstance(self.workers, int) or self.workers < 1:
            raise InputError(f"workers must be at least 1, not {self.workers!r}")
        if self.deadline is not None and not (isinstance(self.deadline, int | float) and self.deadline > 0):
            raise InputError(f"deadline must be above 0 seconds, not {self.deadline!r}")
        if not isinstance(self.retries, int) or self.retries < 0:
            raise InputError(f"retries must be at least 0, not {self.retries!r}")
        return self


PLAIN = CallPolicy()
"""One call after the other, without a deadline or retries."""


def call_all(inputs: Sequence[In], call: Callable[[In], Out], policy: CallPolicy = PLAIN) -> Iterator[CallResult[Out]]:
    """Call a function on every input; results in the order in which calls end.

    An awaitable result is awaited. AskFailed of a permanent kind (``rejected``, ``unauthorized``, …) is not
    retried.

    >>> [(one.result, one.error) for one in call_all([1, 2], lambda n: n * 2)]
    [(2, None), (4, None)]
    """
    policy = policy.checked()
    if policy.workers == 1 and policy.deadline is None:
        yield from _in_turn(inputs, call, policy.retries)
    else:
        yield from _WorkerPool(inputs, call, policy).results()


FINAL = frozenset(
    {"rejected", "unauthorized", "forbidden", "not_found", "not_run", "no_quota", "offline", "bad_output"}
)


def _retry_pause(error: Exception, attempts: int, retries: int) -> float | None:
    """Seconds until the next attempt; None if there is none."""
    if attempts > retries or (isinstance(error, AskFailed) and error.kind in FINAL):
        return None
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (attempts - 1))


def _in_turn(inputs: Sequence[In], call: Callable[[In], Out], retries: int) -> Iterator[CallResult[Out]]:
    for at, one in enumerate(inputs):
        attempts, pause = 0, 0.0
        while True:
            if pause:
                time.sleep(pause)
            attempts += 1
            started = time.perf_counter()
            try:
                result = call(one)
                if inspect.isawaitable(result):
                    result = wait(result)  # type: ignore[assignment]
            except Exception as error:  # noqa: BLE001 - an exception of a system is its result
                next_pause = _retry_pause(error, attempts, retries)
                if next_pause is not None:
                    pause = next_pause
                    continue
                yield CallResult(at, None, error, time.perf_counter() - started, attempts)
            else:
                yield CallResult(at, result, None, time.perf_counter() - started, attempts)
            break


class _Attempt(Generic[Out]):
    """One running call, in a thread of its own."""

    def __init__(self, at: int, number: int) -> None:
        self.at, self.number, self.started = at, number, time.perf_counter()
        self.abandoned = False
        self.result: Out | None = None
        self.error: Exception | None = None
        self.seconds = 0.0
        self._cancel: Callable[[], object] | None = None
        self._lock = threading.Lock()

    def run(self, call: Callable[[], Out], done: SimpleQueue[_Attempt[Out]]) -> None:
        result, error = None, None
        try:
            result = call()
            if inspect.isawaitable(result):
                future = begin(result)
                self._cancel = future.cancel
                if self.abandoned:
                    future.cancel()
                result = future.result()  # type: ignore[assignment]
        except Exception as raised:  # noqa: BLE001 - as above
            error = raised
        except BaseException as raised:  # noqa: BLE001 - SystemExit in a system must be recorded
            error = RuntimeError(f"{type(raised).__name__}: {raised}")
        with self._lock:
            if not self.abandoned:
                self.result, self.error, self.seconds = result, error, time.perf_counter() - self.started
        done.put(self)

    def abandon(self, deadline: float) -> None:
        with self._lock:
            self.abandoned, self.seconds = True, deadline
            self.error = AskFailed("timeout", f"no result within {deadline:g} s")
        if self._cancel is not None:
            self._cancel()


class _WorkerPool(Generic[In, Out]):
    """Threads that make calls, supervised by the thread of the caller."""

    def __init__(self, inputs: Sequence[In], call: Callable[[In], Out], policy: CallPolicy) -> None:
        self.inputs, self.call, self.policy = inputs, call, policy
        self.done: SimpleQueue[_Attempt[Out]] = SimpleQueue()
        self.fresh = iter(range(len(inputs)))
        self.later: list[tuple[float, int, int]] = []
        self.live: dict[int, _Attempt[Out]] = {}

    def results(self) -> Iterator[CallResult[Out]]:
        more = True
        while more or self.live or self.later:
            while more and len(self.live) < self.policy.workers:
                at = next(self.fresh, None)
                if at is None:
                    more = False
                else:
                    self._begin(at, 1)
            self._begin_again()
            for attempt in self._ended() if self.live or self.later else ():
                error = attempt.error
                if error is not None:
                    pause = _retry_pause(error, attempt.number, self.policy.retries)
                    if pause is not None:
                        heappush(self.later, (time.perf_counter() + pause, attempt.at, attempt.number + 1))
                        continue
                result = attempt.result if error is None else None
                yield CallResult(attempt.at, result, error, attempt.seconds, attempt.number)

    def _begin(self, at: int, number: int) -> None:
        attempt = self.live[at] = _Attempt(at, number)
        one = self.inputs[at]
        thread = threading.Thread(
            target=attempt.run, args=(lambda: self.call(one), self.done), name="steelyard-call", daemon=True
        )
        thread.start()

    def _begin_again(self) -> None:
        while self.later and len(self.live) < self.policy.workers and self.later[0][0] <= time.perf_counter():
            _, at, number = heappop(self.later)
            self._begin(at, number)

    def _ended(self) -> list[_Attempt[Out]]:
        """The attempts that ended or were abandoned; waits for one, or until a call can be started."""
        try:
            found = [self.done.get(timeout=self._seconds_to_wait())]
        except Empty:
            found = []
        ended = [one for one in found if not one.abandoned and self.live.pop(one.at, None) is not None]
        deadline = self.policy.deadline
        if deadline is not None:
            now = time.perf_counter()
            for one in [one for one in self.live.values() if now - one.started > deadline]:
                one.abandon(deadline)
                ended.append(self.live.pop(one.at))
        return ended

    def _seconds_to_wait(self) -> float | None:
        """Seconds until the next deadline or the end of a pause; None to wait for a result only."""
        moments = [when for when, _, _ in self.later[:1] if len(self.live) < self.policy.workers]
        if self.policy.deadline is not None:
            moments += [one.started + self.policy.deadline for one in self.live.values()]
        return max(0.0, min(moments) - time.perf_counter()) + 0.001 if moments else None
