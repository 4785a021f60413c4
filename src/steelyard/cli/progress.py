"""Progress of long work: one updated line on a terminal, else a line every few seconds; nothing for quick work."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from ..core.progress import Count
from ..core.wording import pluralize

QUIET_FOR = 1.0
EVERY = 5.0


def lasting(seconds: float) -> str:
    """A duration in words.

    >>> lasting(41.0), lasting(600.0), lasting(90000.0)
    ('41 s', '10.0 min', '25.0 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


class Progress:
    """A progress display on standard error, called by an engine with its counts of ``total`` cells."""

    def __init__(self, total: int | None = None) -> None:
        self.total = total
        self.terminal = sys.stderr.isatty()
        self.wrote = False
        self.pending: Count | None = None
        self._start()

    def _start(self) -> None:
        self.started = time.monotonic()
        self.printed = self.started + QUIET_FOR - EVERY if not self.terminal else 0.0

    def __enter__(self) -> Progress:
        """Start the clock, so that time for reading and planning does not count."""
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.wrote and self.pending is not None:
            self._show(self.pending, time.monotonic())
        if self.wrote and self.terminal:
            print(file=sys.stderr)

    def __call__(self, count: Count) -> None:
        """Show the counts, at most ten times a second; the final counts are always shown."""
        now = time.monotonic()
        pause = 0.1 if self.terminal else EVERY
        self.pending = count
        if now - self.started >= QUIET_FOR and now - self.printed >= pause:
            self._show(self.pending, now)

    def _show(self, state: Count, now: float) -> None:
        self.printed, self.pending = now, None
        line = self.line(state, now - self.started)
        if self.terminal:
            print(f"\r\x1b[2K{line}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)
        self.wrote = True

    def line(self, count: Count, seconds: float) -> str:
        """One line of progress.

        >>> from steelyard import Usage
        >>> Progress(total=200).line(Count(50, 1, 0, Usage(calls=90, cached=10, prompt_tokens=4200)), 10.0)
        '50/200 done, 1 undefined, 0 failed, 90 calls, 10 cached, 4200 tokens, 30 s left'
        """
        of, use = f"/{self.total}" if self.total else "", count.usage
        parts = [f"{count.done}{of} done", f"{count.undefined} undefined", f"{count.failed} failed"]
        if use.calls or use.cached:
            tokens = use.prompt_tokens + use.completion_tokens
            parts += [pluralize(use.calls, "call"), f"{use.cached} cached", pluralize(tokens, "token")]
        if use.cost is not None:
            parts.append(f"cost {use.cost:.4f}")
        if self.total and count.done:
            parts.append(f"{seconds / count.done * (self.total - count.done):.0f} s left")
        return ", ".join(parts)
