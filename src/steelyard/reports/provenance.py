"""Provenance of a report's numbers: the metrics, the data, the versions, the run."""

from __future__ import annotations

import platform
import time
from datetime import UTC, datetime

import msgspec
import numpy as np
from msgspec import Struct

from ..core.records import COMMAND, Json, Way


class MetricNote(Struct, frozen=True, omit_defaults=True):
    """The note of a report on a metric: identifies the formula, and allows to refuse an invalid comparison."""

    name: str
    way: Way
    revision: int = 1
    pool: str = "mean"
    higher_is_better: bool = True
    bounds: tuple[float, float] | None = (0.0, 1.0)
    threshold: float | None = None
    gates: bool = False
    remedy: str = ""


class DatasetNote(Struct, frozen=True, omit_defaults=True):
    """The dataset that was scored."""

    name: str = ""
    version: str | None = None
    digest: str = ""


def versions() -> dict[str, str]:
    """The versions that may affect a number."""
    from ..core.version import VERSION

    return {"steelyard": VERSION, "python": platform.python_version(), "numpy": np.__version__}


def stamp(started: float) -> dict[str, Json]:
    """The start and the duration of a run, and its command, if it was started by one."""
    facts: dict[str, Json] = {
        "started": datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
        "seconds": round(time.time() - started, 3),
    }
    return {**facts, "command": COMMAND.get()} if COMMAND.get() else facts


def digest_json(value: object) -> str:
    """A short content hash of plain data, independent of the order of keys."""
    from hashlib import blake2b

    return blake2b(msgspec.json.encode(value, order="sorted"), digest_size=12).hexdigest()


FORMAT = "steelyard-report/1"
