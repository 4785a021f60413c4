"""Calling what is weighed, many times: places, deadlines, retries. It knows no system, only a function.

Rules of this file: what a call raises is its result, never the run's end. A call that exceeds its deadline is given
up: its thread is left behind, since a thread cannot be stopped, and its place is free again. With one place and no
deadline, calls are made in the caller's own thread, so that objects which belong to a thread work.
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
    """What became of one input: a result or an error, the seconds of the last attempt, and how many there were."""

    at: int
    result: Out | None
    error: Exception | None
    seconds: float
    attempts: int


class CallPolicy(NamedTuple):
    """How many calls at once, how long each may take, and how often a failed one is made again."""

    workers: int = 1
    deadline: float | None = None
    retries: int = 0

    def checked(self) -> CallPolicy:
        """Itself, or InputError."""
        if not isinstance(self.workers, int) or self.workers < 1:
            raise InputError(f"workers must be at least 1, not {self.workers!r}")
        if self.deadline is not None and not (isinstance(self.deadline, int | float) and self.deadline > 0):
            raise InputError(f"deadline must be above 0 seconds, not {self.deadline!r}")
        if not isinstance(self.retries, int) or self.retries < 0:
            raise InputError(f"retries must be at least 0, not {self.retries!r}")
        return self


PLAIN = CallPolicy()
"""One after the other, however long it takes, once."""


def call_all(
    inputs: Sequence[In], call: Callable[[In], Out], patience: CallPolicy = PLAIN
) -> Iterator[CallResult[Out]]:
    """Call a function on every input; results as they come, in no particular order.

    An awaitable result is awaited. AskFailed of a kind that no retry can mend (``rejected``, ``unauthorized``, …) is
    not retried.

    >>> [(one.result, one.error) for one in call_all([1, 2], lambda n: n * 2)]
    [(2, None), (4, None)]
    """
    patience = patience.checked()
    if patience.workers == 1 and patience.deadline is None:
        yield from _in_turn(inputs, call, patience.retries)
    else:
        yield from _Crew(inputs, call, patience).results()


FINAL = frozenset(
    {"rejected", "unauthorized", "forbidden", "not_found", "not_run", "no_quota", "offline", "bad_output"}
)


def _again(error: Exception, attempts: int, retries: int) -> float | None:
    """Seconds to wait before the next attempt; None where there is none."""
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
            except Exception as error:  # noqa: BLE001 - whatever a system raises is its result
                again = _again(error, attempts, retries)
                if again is not None:
                    pause = again
                    continue
                yield CallResult(at, None, error, time.perf_counter() - started, attempts)
            else:
                yield CallResult(at, result, None, time.perf_counter() - started, attempts)
            break


class _Attempt(Generic[Out]):
    """One call on its way, in a thread of its own."""

    def __init__(self, at: int, number: int) -> None:
        self.at, self.number, self.started = at, number, time.perf_counter()
        self.given_up = False
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
                if self.given_up:
                    future.cancel()
                result = future.result()  # type: ignore[assignment]
        except Exception as raised:  # noqa: BLE001 - as above
            error = raised
        except BaseException as raised:  # noqa: BLE001 - SystemExit in a system must not end a thread unheard
            error = RuntimeError(f"{type(raised).__name__}: {raised}")
        with self._lock:
            if not self.given_up:
                self.result, self.error, self.seconds = result, error, time.perf_counter() - self.started
        done.put(self)

    def give_up(self, deadline: float) -> None:
        with self._lock:
            self.given_up, self.seconds = True, deadline
            self.error = AskFailed("timeout", f"no result within {deadline:g} s")
        if self._cancel is not None:
            self._cancel()


class _Crew(Generic[In, Out]):
    """Threads that call, watched by the caller's own."""

    def __init__(self, inputs: Sequence[In], call: Callable[[In], Out], patience: CallPolicy) -> None:
        self.inputs, self.call, self.patience = inputs, call, patience
        self.done: SimpleQueue[_Attempt[Out]] = SimpleQueue()
        self.fresh = iter(range(len(inputs)))
        self.later: list[tuple[float, int, int]] = []
        self.live: dict[int, _Attempt[Out]] = {}

    def results(self) -> Iterator[CallResult[Out]]:
        more = True
        while more or self.live or self.later:
            while more and len(self.live) < self.patience.workers:
                at = next(self.fresh, None)
                if at is None:
                    more = False
                else:
                    self._begin(at, 1)
            self._begin_again()
            for attempt in self._ended() if self.live or self.later else ():
                error = attempt.error
                if error is not None:
                    pause = _again(error, attempt.number, self.patience.retries)
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
        while self.later and len(self.live) < self.patience.workers and self.later[0][0] <= time.perf_counter():
            _, at, number = heappop(self.later)
            self._begin(at, number)

    def _ended(self) -> list[_Attempt[Out]]:
        """The attempts that ended, or were given up; waits until there is one, or something else to do."""
        try:
            found = [self.done.get(timeout=self._until_something())]
        except Empty:
            found = []
        ended = [one for one in found if not one.given_up and self.live.pop(one.at, None) is not None]
        deadline = self.patience.deadline
        if deadline is not None:
            now = time.perf_counter()
            for one in [one for one in self.live.values() if now - one.started > deadline]:
                one.give_up(deadline)
                ended.append(self.live.pop(one.at))
        return ended

    def _until_something(self) -> float | None:
        """Seconds until a deadline passes or a pause ends; None where only a result can come."""
        moments = [when for when, _, _ in self.later[:1] if len(self.live) < self.patience.workers]
        if self.patience.deadline is not None:
            moments += [one.started + self.patience.deadline for one in self.live.values()]
        return max(0.0, min(moments) - time.perf_counter()) + 0.001 if moments else None
