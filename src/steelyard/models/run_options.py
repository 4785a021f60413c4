"""The options of one evaluation run, which every step of the run shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..core.progress import Progress
    from .ledger import ReplyStore


@dataclass(frozen=True)
class RunOptions:
    """The options of the model calls of a run, and of the pooling of its scores.

    ``concurrency`` is the number of calls in flight, ``repeats`` the number of replies of a judge for one score,
    ``budget`` and ``max_calls`` end the run before it spends more, ``ledger`` caches replies (a path, ``":memory:"``
    or a store), ``offline`` forbids calls, ``strict`` raises the first failure, ``rates`` are the maximal calls per
    second by the address of an endpoint. ``confidence`` and ``seed`` are those of the intervals. ``progress`` is called
    during the run.
    """

    concurrency: int = 16
    repeats: int = 1
    budget: float | None = None
    max_calls: int | None = None
    ledger: ReplyStore | str | Path | None = None
    offline: bool = False
    strict: bool = False
    rates: Mapping[str, float] = field(default_factory=dict)
    confidence: float = 0.95
    seed: int = 0
    progress: Progress | None = None


DEFAULT_OPTIONS = RunOptions()
