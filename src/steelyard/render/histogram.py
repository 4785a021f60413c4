"""A histogram as one path of an SVG: small enough to stand in every row of a table, and made without a library."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]

WIDTH, HEIGHT, BINS = 168, 36, 24


class Histogram(NamedTuple):
    """The bars as an SVG path, in a box of WIDTH by HEIGHT, and the same in words."""

    path: str
    low: float
    high: float
    words: str


def histogram(values: FloatArray, bounds: tuple[float, float] | None = None) -> Histogram | None:
    """Bars over the range of the metric (of the values, where it has none); None without values.

    A bin with anything in it is seen, however high the others are.

    >>> found = histogram(np.array([0.0, 0.0, 1.0]), (0.0, 1.0))
    >>> found.path
    'M0 36v-36h6v36zM161 36v-18h6v18z'
    >>> found.words
    'from 0 to 1: 3 scores, 2 in the lowest of 24 bins, 1 in the highest, median 0'
    """
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    low, high = value_range(values, bounds)
    counts, _ = np.histogram(values, bins=BINS, range=(low, high))
    step, most = WIDTH / BINS, int(counts.max())
    bars = []
    for at, count in enumerate(counts.tolist()):
        if count:
            height = max(2.0, HEIGHT * count / most)
            bars.append(f"M{at * step:g} {HEIGHT}v-{height:.4g}h{step - 1:g}v{height:.4g}z")
    scores = "score" if len(values) == 1 else "scores"
    words = (
        f"from {low:g} to {high:g}: {len(values):,} {scores}, {counts[0]:,} in the lowest of {BINS} bins, "
        f"{counts[-1]:,} in the highest, median {np.median(values):.3g}"
    )
    return Histogram("".join(bars), low, high, words)


def place(value: float, low: float, high: float, width: float = WIDTH) -> float:
    """Where a value lies on a line of ``width``, kept within it.

    >>> place(0.25, 0.0, 1.0, 100)
    25.0
    """
    share = (value - low) / (high - low) if high > low else 0.5
    return round(width * min(1.0, max(0.0, share)), 2)


def value_range(values: FloatArray, bounds: tuple[float, float] | None) -> tuple[float, float]:
    """The range of a metric; of its values where it has none, or where they leave it."""
    low, high = float(values.min()), float(values.max())
    if bounds is not None and bounds[0] <= low and high <= bounds[1]:
        return bounds
    return (low, high) if high > low else (low - 0.5, math.nextafter(low + 0.5, math.inf))
