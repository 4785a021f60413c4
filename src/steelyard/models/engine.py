"""The engine that runs rules against models: it takes cells and yields results as they finish.

Rules of this file: ``async`` is hidden behind ``run``, which is a plain generator and works in a script, a thread, and
inside a running event loop. The number of rules in progress is bounded, so that a million cells can be streamed. An
error in a cell fails only that cell; an error of the run (no key, an unreadable ledger) ends the run.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

from msgspec import Struct

from ..core.errors import AskFailed, BadReply, InputError, SteelyardError, check_range
from ..core.progress import Count, Progress
from ..core.records import Outcome, Undefined, Usage, Value
from ..core.requests import Ask, Request, Requests, outcome
from .budget import Budget
from .cell import Cell, CellTrace
from .cost_estimate import CostEstimate, estimate_cost
from .embedder import Embedder, embedder_of
from .embedding_client import EmbeddingClient
from .endpoint import Endpoint
from .judge import LLMJudge, judge_of
from .judge_client import JudgeClient
from .ledger import Ledger, ReplyStore
from .model_spec import LITELLM
from .rate_limits import PermitSource

__all__ = ["Cell", "CostEstimate", "Engine", "Progress", "Result"]

_TICK = 0.1
_FEW, _TOGETHER = 8, 0.02
_LEAST_LIVE = 64


class Result(Struct, frozen=True):
    """The result of a cell: an outcome or an error, its usage, and the ledger keys of its requests, in order."""

    key: object
    outcome: Outcome | None = None
    error: Exception | None = None
    usage: Usage = Usage()
    requests: list[str] = []
    flags: tuple[str, ...] = ()
    repeat: int = 0

    @property
    def traceback(self) -> str:
        """The traceback of a rule's own exception; empty for failed requests and bad replies."""
        if self.error is None or isinstance(self.error, AskFailed | BadReply):
            return ""
        return "".join(traceback.format_exception(self.error))


class Engine:
    """Runs rules against a judge and an embedder, with a ledger, limits and a budget.

    ``concurrency`` is the number of calls in flight per endpoint; ``deadline`` the seconds one call may take;
    ``max_wait`` the seconds one request may wait for its retries in all; ``ledger`` a path, ``":memory:"`` or a
    ``ReplyStore`` (default: STEELYARD_LEDGER, else ``./.steelyard/ledger.sqlite``); ``rate_limiters`` limit the rate of
    calls by address. ``usage`` is the sum over all runs, ``done``, ``undefined`` and ``failed`` count their cells, and
    ``notes`` list the parameters that endpoints refused.
    """

    def __init__(
        self,
        judge: LLMJudge | str | None = None,
        embedder: Embedder | str | None = None,
        *,
        ledger: ReplyStore | str | Path | None = None,
        concurrency: int = 16,
        budget: float | None = None,
        max_calls: int | None = None,
        offline: bool = False,
        deadline: float = 60.0,
        max_wait: float = 120.0,
        rate_limiters: Mapping[str, PermitSource] | None = None,
        progress: Progress | None = None,
    ) -> None:
        if concurrency < 1:
            raise InputError(f"concurrency must be at least 1, not {concurrency}")
        check_range("deadline", deadline, 0)
        check_range("max_wait", max_wait, 0)
        self.judge = None if judge is None else judge_of(judge)
        self.embedder = None if embedder is None else embedder_of(embedder)
        self._own_ledger = ledger is None or isinstance(ledger, str | Path)
        self.ledger: ReplyStore = Ledger(ledger) if ledger is None or isinstance(ledger, str | Path) else ledger
        self.concurrency, self.deadline, self.max_wait = concurrency, deadline, max_wait
        self.offline, self.progress, self.rate_limiters = offline, progress, dict(rate_limiters or {})
        self.usage = Usage()
        self.done = self.undefined = self.failed = 0
        self.notes: list[str] = []
        self._busy = False
        self.limit(budget, max_calls)

    def limit(self, budget: float | None, max_calls: int | None) -> None:
        """Set the cost and the number of calls allowed for the next run; InputError if a price is missing."""
        check_range("budget", budget, 0)
        check_range("max_calls", max_calls, 0)
        if budget is not None and self.judge is not None and self.judge.price is None:
            words = "give it per million tokens (--price IN,OUT, or price in its settings or name)"
            raise InputError(f"a budget needs the price of {self.judge.model}: {words}")
        self.budget = Budget(budget, max_calls)
        if budget is not None and self.embedder is not None and self.embedder.price is None and self.embedder.url:
            note = f"embeddings of {self.embedder.model} have no price and are not counted in the budget"
            self.notes += [note] if note not in self.notes else []

    def run(self, cells: Iterable[Cell]) -> Iterator[Result]:
        """Yield results as they finish, in no particular order. Cells are read only as fast as results are consumed."""
        if self._busy:
            raise InputError("this engine is already running; an engine handles one run at a time")
        work = _Run(self)
        self._busy = True
        try:
            yield from self._counted(work.through(cells))
        finally:
            self._busy = False
            self.notes += [note for note in work.stop() if note not in self.notes]
            (self.ledger.close if self._own_ledger else self.ledger.flush)()

    def estimate(self, cells: Iterable[Cell]) -> CostEstimate:
        """Estimate the requests of ``run`` without a call, from replies in the ledger and example replies."""
        return estimate_cost(cells, self.judge, self.embedder, self.ledger)

    def endpoint(self, address: str, key_env: str) -> Endpoint:
        """Make an endpoint with this engine's limits."""
        kind = Endpoint
        if address == LITELLM:
            from .litellm_endpoint import LitellmEndpoint

            kind = LitellmEndpoint
        limits = {"deadline": self.deadline, "max_wait": self.max_wait}
        return kind(
            address, key_env, concurrency=self.concurrency, rate_limiter=self.rate_limiters.get(address), **limits
        )

    def _counted(self, results: Iterator[Result | None]) -> Iterator[Result]:
        """Count the results and report them to ``progress``."""
        last = 0.0
        for result in results:
            if result is not None:
                self.done += 1
                self.undefined += isinstance(result.outcome, Undefined)
                self.failed += result.error is not None
                self.usage += result.usage
            if self.progress is not None and (now := time.monotonic()) - last >= _TICK:
                self._report_progress()
                last = now
            if result is not None:
                yield result
        self._report_progress()

    def _report_progress(self) -> None:
        if self.progress is not None:
            self.progress(Count(self.done, self.undefined, self.failed, self.usage))


class _Run:
    """One run: a thread with its own event loop, and the two queues between it and the caller."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.results: SimpleQueue[list[Result | BaseException]] = SimpleQueue()
        self.finished: list[Result | BaseException] = []
        self.cells: deque[tuple[int, Cell]] = deque()
        self.loop = asyncio.new_event_loop()
        self.tasks: set[asyncio.Task[None]] = set()
        self.turns: deque[asyncio.Future[None]] = deque()
        self.thread = threading.Thread(target=self._live, name="steelyard-engine", daemon=True)
        self.endpoints: dict[tuple[str, str], Endpoint] = {}
        judge, embedder, limits, offline = engine.judge, engine.embedder, (engine.ledger, engine.budget), engine.offline
        self.judge_client = (
            None if judge is None else JudgeClient(judge, self._endpoint(judge), *limits, offline=offline)
        )
        self.embedding_client = (
            None if embedder is None else EmbeddingClient(embedder, self._endpoint(embedder), *limits, offline=offline)
        )
        self.thread.start()

    def _endpoint(self, model: LLMJudge | Embedder) -> Endpoint:
        address = (model.url, model.key_env)
        if address not in self.endpoints:
            self.endpoints[address] = self.engine.endpoint(*address)
        return self.endpoints[address]

    def through(self, cells: Iterable[Cell]) -> Iterator[Result | None]:
        """Feed cells and yield results; yields None from time to time while no result is ready."""
        most = max(_LEAST_LIVE, 4 * self.engine.concurrency)
        source = iter(enumerate(cells))
        ready: deque[Result | BaseException] = deque()
        live, more = 0, True
        while True:
            while more and not ready and live < most and self.results.empty():
                more = self._feed(source)
                live += more
            if ready:
                result = ready.popleft()
                if isinstance(result, BaseException):
                    raise result
                yield result
                if more and live + len(ready) < most:  # one cell in for one result out
                    more = self._feed(source)
                    live += more
            elif live:
                finished = self._wait()
                live -= len(finished)
                ready.extend(finished)
                if not finished:
                    yield None
            elif not more:
                return

    def _feed(self, source: Iterator[tuple[int, Cell]]) -> bool:
        """Pass the next cell to the loop; False if there is none."""
        numbered = next(source, None)
        if numbered is not None:
            self.cells.append(numbered)
            if len(self.cells) == 1:
                self.loop.call_soon_threadsafe(self._admit)
        return numbered is not None

    def _wait(self) -> list[Result | BaseException]:
        """Wait for the next results; an empty list if none finishes within a moment."""
        try:
            return self.results.get(timeout=_TICK)
        except Empty:
            if not self.thread.is_alive():
                raise RuntimeError("the engine's thread has ended") from None
            return []

    def stop(self) -> list[str]:
        """End the thread, drop unfinished cells, and return the notes on refused parameters."""
        with suppress(RuntimeError):  # the loop has already ended
            self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        return [note for endpoint in self.endpoints.values() for note in endpoint.notes]

    def _live(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            self.loop.run_until_complete(self._wind_up())
        finally:
            self.loop.close()

    async def _wind_up(self) -> None:
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        for endpoint in self.endpoints.values():
            await endpoint.close()
        await asyncio.get_running_loop().shutdown_default_executor()

    def _admit(self) -> None:
        """Start the rules of waiting cells."""
        while self.cells:
            number, cell = self.cells.popleft()
            task = self.loop.create_task(self._conclude(number, cell))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def _conclude(self, number: int, cell: Cell) -> None:
        trace = CellTrace(number, cell.repeat, steps=not self.engine.budget.limited)
        found: Outcome | None = None
        error: Exception | None = None
        try:
            found = await self._drive(cell, trace)
        except _Fatal as fatal:
            self._finish(fatal.error)
            return
        except Exception as raised:  # noqa: BLE001 - a rule may raise anything, and it is this cell's failure alone
            error = raised
        except asyncio.CancelledError as raised:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            error = RuntimeError(f"the rule raised {raised!r}")
        except BaseException as interrupt:  # noqa: BLE001 - KeyboardInterrupt, pytest.fail: the caller's to decide
            self._finish(interrupt)
            return
        self._finish(Result(cell.key, found, error, trace.usage(), trace.requests, tuple(trace.flags), cell.repeat))

    def _finish(self, result: Result | BaseException) -> None:
        """Pass a result to the caller, together with others that finish soon, because waking a thread is expensive."""
        self.finished.append(result)
        if len(self.tasks) <= _FEW:
            self._hand_over()
        elif len(self.finished) == 1:
            self.loop.call_later(_TOGETHER, self._hand_over)

    def _hand_over(self) -> None:
        if self.finished:
            self.results.put(self.finished)
            self.finished = []

    async def _drive(self, cell: Cell, trace: CellTrace) -> Outcome:
        """Run a rule to its end."""
        await self._turn()
        flow = cell.start()
        try:
            wanted: Requests = next(flow)
            while True:
                try:
                    got = await self._answer(wanted, trace)
                    await self._turn()
                    trace.next_step()
                except _Fatal:
                    raise
                except Exception as error:  # noqa: BLE001 - the rule decides what an error means
                    wanted = flow.throw(error)
                else:
                    wanted = flow.send(got)
        except StopIteration as stop:
            found = outcome(stop.value)
        if isinstance(found, Value) and not math.isfinite(found.value):
            raise ValueError(f"the rule returned {found.value}")
        return found

    async def _turn(self) -> None:
        """Wait for this rule's turn: one rule continues in each round of the loop, so that calls are sent in between.

        Otherwise a call that is ready would wait for all rules whose answers arrived at the same moment.
        """
        turn: asyncio.Future[None] = self.loop.create_future()
        self.turns.append(turn)
        if len(self.turns) == 1:
            self.loop.call_soon(self._next_turn)
        await turn

    def _next_turn(self) -> None:
        turn = self.turns.popleft()
        if not turn.done():
            turn.set_result(None)
        if self.turns:
            self.loop.call_soon(self._next_turn)

    async def _answer(self, wanted: Requests, trace: CellTrace) -> object:
        if isinstance(wanted, list):
            parts = [trace.part() for _ in wanted]
            pairs = zip(wanted, parts, strict=True)
            replies = await asyncio.gather(*(self._one(one, part) for one, part in pairs), return_exceptions=True)
            for part in parts:
                trace.add(part)
            for reply in replies:
                if isinstance(reply, BaseException):
                    raise reply
            return replies
        return await self._one(wanted, trace)

    async def _one(self, wanted: Request, trace: CellTrace) -> object:
        try:
            return await self._asked(wanted, trace)
        except (AskFailed, BadReply):
            raise
        except SteelyardError as error:
            raise _Fatal(error) from None

    async def _asked(self, wanted: Request, trace: CellTrace) -> object:
        if isinstance(wanted, Ask):
            if self.judge_client is None:
                raise AskFailed("no_judge", "the rule needs a judge, and none was given")
            return await self.judge_client.ask(wanted, trace)
        if self.embedding_client is None:
            raise AskFailed("no_embedder", "the rule needs an embedder, and none was given")
        return await self.embedding_client.embed(wanted, trace)


class _Fatal(Exception):
    """Wraps an error that ends the run, not only the cell."""

    def __init__(self, error: SteelyardError) -> None:
        self.error = error
        super().__init__(error)
