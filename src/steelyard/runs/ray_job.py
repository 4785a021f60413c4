"""Run a job on Ray: a driver submits parts, workers run them, and one rate limiter serves all workers.

Only tasks and one actor of Ray are used. A task calls ``run_part``; its state is in the folder of the job, so a lost
task can be started again on any node. The limiter grants permits to workers with waiting calls; the same call reports
progress and returns whether to stop. The limiter has no state that must survive: after a restart it has no permits, and
the workers report their progress again.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from ..core.errors import MissingExtra, SteelyardError, Stopped
from ..core.progress import Count
from ..core.wording import pluralize
from ..io.storage import Folder, folder_at
from ..models.rate_limits import TokenBucket
from .job import cells_of, run_part
from .job_parts import Done, Manifest

if TYPE_CHECKING:
    from ..core.progress import Progress

RETRIES = 5
_REPORT_INTERVAL = 0.5  # seconds between two progress reports of a worker
_LEAST_DELAY = 0.02  # seconds before a worker requests permits again, for all calls that wait by then
_GRACE = 15.0  # seconds for cancelled workers to finish
_STORE = 100 << 20  # bytes of Ray's object store, which a job does not use


class Lease(NamedTuple):
    """The number of calls that may start now, the seconds before the next request, and whether to stop."""

    granted: int
    delay: float
    stop: bool


class ClusterRateLimiter:
    """The rate limits of endpoints, the progress of parts, and whether the job must stop. It runs as an actor."""

    def __init__(self, rates: Mapping[str, float]) -> None:
        self.buckets = {url: TokenBucket(rate, full=False) for url, rate in rates.items()}
        self.counts: dict[int, Count] = {}
        self.stopped = False

    def lease(self, part: int, url: str | None, wanted: int, count: Count | None) -> Lease:
        """Grant permits for waiting calls; without an address only record progress."""
        if count is not None:
            self.counts[part] = count
        if url is None or self.stopped:
            return Lease(0, 0.0, self.stopped)
        bucket, now = self.buckets[url], time.monotonic()
        granted = bucket.take(wanted, now)
        return Lease(granted, max(_LEAST_DELAY, bucket.delay(now)), self.stopped)

    def look(self, stop: bool) -> dict[int, Count]:
        """The progress of parts. The driver passes ``stop`` each time, so it survives a restart."""
        self.stopped = stop
        return self.counts


class ProgressLine:
    """The connection of a worker to the limiter."""

    def __init__(self, limiter: Any, part: int) -> None:  # noqa: ANN401 - an actor of Ray has no type
        self.limiter, self.part = limiter, part
        self._asked: object = None
        self._told = 0.0

    def listen(self) -> None:
        """Raise Stopped before any work if the job was stopped while this part waited."""
        import ray

        with suppress(ray.exceptions.RayError):  # a limiter that is restarting reports it later
            if ray.get(self.limiter.lease.remote(self.part, None, 0, None)).stop:
                raise Stopped("the job was stopped")

    def __call__(self, count: Count) -> None:
        """Pass progress on from time to time, without waiting; raise Stopped if the job must stop."""
        import ray

        if self._asked is not None and ray.wait([self._asked], timeout=0)[0]:
            answered, self._asked = self._asked, None
            with suppress(ray.exceptions.RayError):  # the limiter is just being restarted
                if ray.get(answered).stop:
                    raise Stopped("the job was stopped")
        if self._asked is None and time.monotonic() - self._told >= _REPORT_INTERVAL:
            self._told = time.monotonic()
            self._asked = self.limiter.lease.remote(self.part, None, 0, count)


class Leases:
    """The rate limiter of one endpoint in a worker: requests permits for all waiting calls together."""

    def __init__(self, line: ProgressLine, url: str) -> None:
        self.line, self.url = line, url
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._asking: asyncio.Task[None] | None = None

    async def permit(self) -> None:
        """Wait until a call may start."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.append(turn)
        if self._asking is None:
            self._asking = loop.create_task(self._ask())
        await turn

    async def _ask(self) -> None:
        try:
            while wanted := [turn for turn in self._waiting if not turn.done()]:
                self._waiting = deque(wanted)
                await self._share_out(wanted)
        except Exception as error:  # noqa: BLE001 - Ray has many; every waiting call fails
            lost = error if isinstance(error, Stopped) else Stopped(f"the rate limiter of the job stopped: {error}")
            for turn in self._waiting:
                if not turn.done():
                    turn.set_exception(lost)
        finally:
            self._asking = None

    async def _share_out(self, wanted: Sequence[asyncio.Future[None]]) -> None:
        lease = await self.line.limiter.lease.remote(self.line.part, self.url, len(wanted), None)
        if lease.stop:
            raise Stopped("the job was stopped")
        for turn in wanted[: lease.granted]:
            if not turn.done():
                turn.set_result(None)
        if lease.granted < len(wanted):
            await asyncio.sleep(lease.delay)


def work(name: str, part: int, concurrency: int, urls: Sequence[str], limiter: Any) -> Done:  # noqa: ANN401
    """Run one part, in a worker."""
    line = ProgressLine(limiter, part)
    line.listen()
    rate_limiters = {url: Leases(line, url) for url in urls}
    return run_part(folder_at(name), part, concurrency=concurrency, rate_limiters=rate_limiters, progress=line)


def check_ray() -> None:
    """MissingExtra if Ray is not installed."""
    if find_spec("ray") is None:
        raise MissingExtra("ray", extra="ray")


def run_on_ray(
    folder: Folder,
    parts: Sequence[int],
    *,
    address: str = "local",
    workers: int | None = None,
    concurrency: int = 16,
    rates: Mapping[str, float] | None = None,
    progress: Progress | None = None,
) -> None:
    """Score parts of a job on a cluster; raises Stopped if some parts failed. Ctrl-C cancels running parts."""
    check_ray()
    manifest = Manifest.at(folder)
    with _connected(address):
        driver = _Driver(folder, manifest, workers, concurrency, rates or {}, progress)
        try:
            driver.run(deque(parts))
        except BaseException:
            driver.cancel()
            raise


@contextmanager
def _connected(address: str) -> Iterator[None]:
    """Connect to a cluster; an existing connection is used and left open."""
    import ray

    if ray.is_initialized():
        yield
        return
    _reach(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    local: dict[str, Any] = {"include_dashboard": False, "object_store_memory": _STORE} if address == "local" else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **local)
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise Stopped(f"no Ray cluster at {address}: {str(error).splitlines()[0]}") from None
    try:
        yield
    finally:
        ray.shutdown()


def _reach(address: str) -> None:
    """Raise Stopped if no server listens at HOST:PORT, because Ray itself would retry for minutes."""
    parts = urlsplit(address if "://" in address else f"//{address}")
    if ":" not in parts.netloc:
        return
    try:
        socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10).close()
    except (OSError, ValueError) as error:
        raise Stopped(f"no Ray cluster at {address}: {str(error).lower()}") from None


class _Driver:
    """Submits parts, a bounded number at a time, and reports progress."""

    def __init__(
        self,
        folder: Folder,
        manifest: Manifest,
        workers: int | None,
        concurrency: int,
        rates: Mapping[str, float],
        progress: Progress | None,
    ) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self.folder, self.manifest, self.workers, self.progress = folder, manifest, workers, progress
        self.settings = (concurrency, list(rates))
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self.limiter = (
            ray.remote(ClusterRateLimiter)
            .options(num_cpus=0, max_restarts=-1, max_task_retries=-1, scheduling_strategy=here)
            .remote(dict(rates))
        )
        self.task = ray.remote(work).options(num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD")
        self.live: dict[Any, int] = {}
        self.finished = Count()
        self.counts: dict[int, Count] = {}
        self.lost: dict[int, str] = {}
        self._asked: Any = None

    def run(self, todo: deque[int]) -> None:
        import ray

        while todo or self.live:
            while todo and len(self.live) < self.window():
                part = todo.popleft()
                self.live[self.task.remote(self.folder.name, part, *self.settings, self.limiter)] = part
            ready, _ = ray.wait(list(self.live), timeout=0.1)
            for ref in ready:
                self.take(self.live.pop(ref), ref)
            self.tell()
        if self.lost:
            some = "; ".join(f"part {part}: {why}" for part, why in sorted(self.lost.items())[:5])
            raise Stopped(f"{pluralize(len(self.lost), 'part')} failed ({some}); start the job again to resume")

    def window(self) -> int:
        """The number of submitted parts: one for each worker, or two for each processor, so that none is idle."""
        import ray

        return self.workers or max(2, 2 * int(ray.cluster_resources().get("CPU", 0)))

    def take(self, part: int, ref: object) -> None:
        """Record the result of a part that ended."""
        import ray

        try:
            done: Done = ray.get(ref)
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, SteelyardError):
                raise error.cause from None
            self.lost[part] = str(error.cause).splitlines()[0]
        except ray.exceptions.RayError as error:
            self.lost[part] = str(error).splitlines()[0]
        else:
            self.finished += Count(cells_of(self.manifest, [part]), done.undefined, done.failed, done.usage)
        self.counts.pop(part, None)

    def tell(self, *, stop: bool = False) -> None:
        """Request the progress of parts from the limiter and report the sum."""
        import ray

        if self._asked is not None and ray.wait([self._asked], timeout=0)[0]:
            answered, self._asked = self._asked, None
            with suppress(ray.exceptions.RayError):
                live = set(self.live.values())
                self.counts = {part: count for part, count in ray.get(answered).items() if part in live}
        if self._asked is None or stop:
            self._asked = self.limiter.look.remote(stop)
        if self.progress is not None:
            total = self.finished
            for count in self.counts.values():
                total += count
            self.progress(total)

    def cancel(self) -> None:
        """Stop running parts; received replies stay in the ledger."""
        import ray

        with suppress(ray.exceptions.RayError):
            self.tell(stop=True)
            if self.live:  # an interrupt amid an import would spoil a worker for the next task: it is asked to stop
                _, left = ray.wait(list(self.live), num_returns=len(self.live), timeout=_GRACE)
                for ref in left:
                    ray.cancel(ref, force=True, recursive=False)
