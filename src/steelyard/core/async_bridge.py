"""Run awaitables from synchronous code: one event loop for the whole process, in its own thread.

Client libraries bind to the loop in which they were first used, so all awaitables of a process run in one loop. The
bridge also works when the caller is inside a running loop, because its own loop is a different one.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Awaitable
from concurrent.futures import Future

_LOCK = threading.Lock()
_LOOPS: list[asyncio.AbstractEventLoop] = []


def begin(awaitable: Awaitable[object]) -> Future[object]:
    """Start an awaitable in the loop; any thread can wait for the returned future or cancel it."""
    return asyncio.run_coroutine_threadsafe(_awaited(awaitable), _loop())


def wait(awaitable: Awaitable[object]) -> object:
    """Wait for an awaitable and return its result.

    >>> wait(asyncio.sleep(0, "done"))
    'done'
    """
    return begin(awaitable).result()


async def _awaited(awaitable: Awaitable[object]) -> object:
    return await awaitable


def _loop() -> asyncio.AbstractEventLoop:
    with _LOCK:
        if not _LOOPS:
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=_run_loop, args=(loop,), name="steelyard-loop", daemon=True)
            thread.start()
            _LOOPS.append(loop)
            atexit.register(_stop_loop, loop, thread)
        return _LOOPS[0]


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
    finally:
        loop.close()


def _stop_loop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    thread.join(1.0)
