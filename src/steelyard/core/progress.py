"""Progress of a run: its counts, and those of consecutive runs as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from .records import Usage


class Count(NamedTuple):
    """The counts of a run so far: cells that are done, those of them that are undefined or failed, and their usage."""

    done: int = 0
    undefined: int = 0
    failed: int = 0
    usage: Usage = Usage()

    def __add__(self, other: Count) -> Count:  # type: ignore[override]
        """The sum of the counts of two runs."""
        return Count(
            self.done + other.done,
            self.undefined + other.undefined,
            self.failed + other.failed,
            self.usage + other.usage,
        )


Progress: TypeAlias = Callable[[Count], None]
"""A callback that gets the counts of a run, at most ten times a second, and once at its end."""


class PartProgress:
    """Reports several consecutive runs as one: counts never fall."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.before = self.now = Count()

    def __call__(self, count: Count) -> None:
        """Report the counts of the running part; the callback gets them with those of all finished parts."""
        self.now = self.before + count
        if self.progress is not None:
            self.progress(self.now)

    def next_part(self) -> None:
        """Mark the running part as finished."""
        self.before = self.now
