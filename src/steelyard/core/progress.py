"""Progress of work in parts: what was done before is added to what is told of the part at work."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .records import costs

if TYPE_CHECKING:
    from ..models.engine import Progress


class Count(NamedTuple):
    """What an engine tells of its progress."""

    done: int = 0
    undefined: int = 0
    failed: int = 0
    calls: int = 0
    cached: int = 0
    tokens: int = 0
    cost: float | None = None

    def __add__(self, other: Count) -> Count:  # type: ignore[override]
        """The counts of two runs together."""
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
    """Progress of several runs, one after the other, as that of one: counts never fall."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.before = self.now = Count()

    def __call__(
        self, done: int, undefined: int, failed: int, calls: int, cached: int, tokens: int, cost: float | None
    ) -> None:
        """Told by whoever does a part: the counts of that part alone."""
        self.now = self.before + Count(done, undefined, failed, calls, cached, tokens, cost)
        if self.progress is not None:
            self.progress(*self.now)

    def next_part(self) -> None:
        """The part that was told of is done."""
        self.before = self.now
