"""A cell of the table of samples and metrics: the rule to run, its requests and their cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from ..core.records import Usage
from ..core.requests import Flow


class Cell(Struct, frozen=True):
    """One rule on one sample. ``start`` makes the rule's generator; ``repeat`` distinguishes repeats of one cell."""

    key: object
    start: Callable[[], Flow]
    repeat: int = 0


_STEP = 1 << 40


class CellTrace:
    """The running record of one cell: its rank in every queue, its repeat, its requests and their cost.

    Among the cells in progress, first requests are sent before second ones (``steps``), so that few slots are idle at
    the end of a run while long rules finish. If the run has a budget, cells are finished in their order instead.
    """

    def __init__(self, number: int, repeat: int = 0, *, steps: bool = True) -> None:
        self.rank, self.repeat = number, repeat
        self._step = _STEP if steps else 0
        self.requests: list[str] = []
        self.flags: dict[str, None] = {}
        self.calls = self.cached = self.prompt_tokens = self.completion_tokens = self.embedded = self.estimated = 0
        self.unpriced = 0
        self.cost: float | None = None
        self.seconds = 0.0

    def part(self) -> CellTrace:
        """Make a record for one of several concurrent requests; ``add`` it when the request is answered."""
        return CellTrace(self.rank, self.repeat)

    def next_step(self) -> None:
        """Lower the priority of the cell: its rule received its replies and continues."""
        self.rank += self._step

    def add_requests(self, keys: Iterable[str], flags: Iterable[str] = ()) -> None:
        """Record the ledger keys of a request, in order."""
        self.requests.extend(keys)
        self.flags.update(dict.fromkeys(flags))

    def paid(
        self, *, prompt: int, completion: int, cost: float | None, seconds: float, estimated: bool, unpriced: bool
    ) -> None:
        """Record one call and its cost."""
        self.calls += 1
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        self.estimated += estimated
        self.unpriced += unpriced
        self.seconds += seconds
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost

    def add(self, other: CellTrace) -> None:
        """Add the record of one of several concurrent requests."""
        self.add_requests(other.requests, other.flags)
        self.calls += other.calls
        self.cached += other.cached
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        self.embedded += other.embedded
        self.estimated += other.estimated
        self.unpriced += other.unpriced
        self.seconds += other.seconds
        if other.cost is not None:
            self.cost = (self.cost or 0.0) + other.cost

    def usage(self) -> Usage:
        """The usage so far."""
        return Usage(
            calls=self.calls,
            cached=self.cached,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            embedded=self.embedded,
            estimated=self.estimated,
            cost=self.cost,
            seconds=self.seconds,
            unpriced=self.unpriced,
        )
