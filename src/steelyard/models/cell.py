"""A cell of the table of samples and metrics: what is to be run, what it asked, what that cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from ..core.records import Usage
from ..core.requests import Flow


class Cell(Struct, frozen=True):
    """One rule on one sample. ``start`` makes the rule's generator; ``repeat`` tells equal cells apart."""

    key: object
    start: Callable[[], Flow]
    repeat: int = 0


_STEP = 1 << 40


class CellTrace:
    """The running account of one cell: its place in every queue, its draw, what it asked, what that cost.

    Within the bounded number of cells that are alive, first requests go before second ones (``steps``), so that at
    the end of a run few places stand empty while long rules finish alone. Where money may run out, cells are instead
    finished in their order.
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
        """An account for one of several requests that are answered together; to be added when it is."""
        return CellTrace(self.rank, self.repeat)

    def next_step(self) -> None:
        """The rule has got its replies and asks on."""
        self.rank += self._step

    def asked(self, keys: Iterable[str], flags: Iterable[str] = ()) -> None:
        """Ledger keys of a request, in the order of asking."""
        self.requests.extend(keys)
        self.flags.update(dict.fromkeys(flags))

    def paid(
        self, *, prompt: int, completion: int, cost: float | None, seconds: float, estimated: bool, unpriced: bool
    ) -> None:
        """One call."""
        self.calls += 1
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        self.estimated += estimated
        self.unpriced += unpriced
        self.seconds += seconds
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost

    def add(self, other: CellTrace) -> None:
        """The account of a request that was answered together with others."""
        self.asked(other.requests, other.flags)
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
        """The account so far."""
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
