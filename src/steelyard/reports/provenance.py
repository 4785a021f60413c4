"""What a report says of where its numbers come from: the metrics, the data, the versions, the run."""

from __future__ import annotations

import platform
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import Struct

from ..core.records import COMMAND, Json, Way

if TYPE_CHECKING:
    pass

if TYPE_CHECKING:
    pass


class MetricNote(Struct, frozen=True, omit_defaults=True):
    """What a report says of a metric: enough to know the formula and to refuse a wrong comparison."""

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
    """Which data was weighed."""

    name: str = ""
    version: str | None = None
    digest: str = ""


def versions() -> dict[str, str]:
    """The versions that a number may depend on."""
    from ..core.version import VERSION

    return {"steelyard": VERSION, "python": platform.python_version(), "numpy": np.__version__}


def stamp(started: float) -> dict[str, Json]:
    """When a run started, how long it took, and the command that asked for it, where one did."""
    told: dict[str, Json] = {
        "started": datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
        "seconds": round(time.time() - started, 3),
    }
    return {**told, "command": COMMAND.get()} if COMMAND.get() else told


def digest_json(value: object) -> str:
    """A short content hash of plain data, independent of the order of keys."""
    from hashlib import blake2b

    return blake2b(msgspec.json.encode(value, order="sorted"), digest_size=12).hexdigest()


FORMAT = "steelyard-report/1"
