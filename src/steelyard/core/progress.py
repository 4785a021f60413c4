"""Progress of a job that runs in parts: the counts of finished parts are added to those of the running part."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .records import costs

if TYPE_CHECKING:
    from ..models.engine import Progress


class Count(NamedTuple):
    """The counts that an engine reports as progress."""

    done: int = 0
    undefined: int = 0
    failed: int = 0
    calls: int = 0
    cached: int = 0
    tokens: int = 0
    cost: float | None = None

    def __add__(self, other: Count) -> Count:  # type: ignore[override]
        """The sum of the counts of two runs."""
        return Count(
            self.done + other.done,
            self.undefined + other.undefined,
            self.failed + other.failed,
            self.calls + other.calls,
            self.cached + other.cached,
            self.tokens + other.tokens,
            costs(self.cost, other.cost),
        )


class PartProgress:
    """Reports several consecutive runs as one: counts never fall."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.before = self.now = Count()

    def __call__(
        self, done: int, undefined: int, failed: int, calls: int, cached: int, tokens: int, cost: float | None
    ) -> None:
        """Report the counts of the running part; the callback gets them with those of all finished parts."""
        self.now = self.before + Count(done, undefined, failed, calls, cached, tokens, cost)
        if self.progress is not None:
            self.progress(*self.now)

    def next_part(self) -> None:
        """Mark the running part as finished."""
        self.before = self.now
