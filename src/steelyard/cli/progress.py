"""Progress on long work: a bar on a terminal, a line every few seconds elsewhere, nothing for quick work."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from ..core.progress import Count
from ..core.wording import pluralize

QUIET_FOR = 1.0
EVERY = 5.0


def lasting(seconds: float) -> str:
    """A time as people say it.

    >>> lasting(41.0), lasting(600.0), lasting(90000.0)
    ('41 s', '10.0 min', '25.0 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


class Progress:
    """Called by an engine as it goes; writes to standard error only.

    ``done`` of ``total`` cells, of which ``undefined`` and ``failed``; ``calls`` made and ``cached``; tokens and cost.
    """

    def __init__(self, total: int | None = None) -> None:
        self.total = total
        self.terminal = sys.stderr.isatty()
        self.wrote = False
        self.unsaid: Count | None = None
        self._start()

    def _start(self) -> None:
        self.started = time.monotonic()
        self.printed = self.started + QUIET_FOR - EVERY if not self.terminal else 0.0

    def __enter__(self) -> Progress:
        """Start the clock: the time for reading and planning before the work does not count."""
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.wrote and self.unsaid is not None:
            self._show(self.unsaid, time.monotonic())
        if self.wrote and self.terminal:
            print(file=sys.stderr)

    def __call__(
        self,
        done: int,
        undefined: int = 0,
        failed: int = 0,
        calls: int = 0,
        cached: int = 0,
        tokens: int = 0,
        cost: float | None = None,
    ) -> None:
        """Show how far the work is, at most as often as a reader can follow; the last word is shown at the end."""
        now = time.monotonic()
        pause = 0.1 if self.terminal else EVERY
        self.unsaid = Count(done, undefined, failed, calls, cached, tokens, cost)
        if now - self.started >= QUIET_FOR and now - self.printed >= pause:
            self._show(self.unsaid, now)

    def _show(self, state: Count, now: float) -> None:
        self.printed, self.unsaid = now, None
        line = self.line(*state, now - self.started)
        if self.terminal:
            print(f"\r\x1b[2K{line}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)
        self.wrote = True

    def line(
        self,
        done: int,
        undefined: int,
        failed: int,
        calls: int,
        cached: int,
        tokens: int,
        cost: float | None,
        seconds: float,
    ) -> str:
        """The words of one state.

        >>> Progress(total=200).line(50, 1, 0, 90, 10, 4200, None, 10.0)
        '50/200 done, 1 undefined, 0 failed, 90 calls, 10 cached, 4200 tokens, 30 s left'
        """
        of = f"/{self.total}" if self.total else ""
        parts = [f"{done}{of} done", f"{undefined} undefined", f"{failed} failed"]
        if calls or cached:
            parts += [pluralize(calls, "call"), f"{cached} cached", pluralize(tokens, "token")]
        if cost is not None:
            parts.append(f"cost {cost:.4f}")
        if self.total and done:
            parts.append(f"{seconds / done * (self.total - done):.0f} s left")
        return ", ".join(parts)
