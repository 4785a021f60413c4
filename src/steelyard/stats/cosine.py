"""Cosine similarity of embeddings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.errors import BadReply


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """The cosine of the angle between two vectors, in [-1, 1]: ``a·b / (|a| |b|)``.

    Raises BadReply if it is undefined: vectors of unequal length, a zero vector, a number that is not finite. Such an
    embedding is an error of the endpoint, which must not count as a similarity of 0.

    >>> cosine([1.0, 0.0], [3.0, 0.0]), cosine([1.0, 0.0], [0.0, 2.0])
    (1.0, 0.0)
    >>> cosine([1.0, 0.0], [0.0, 0.0])
    Traceback (most recent call last):
    ...
    steelyard.core.errors.BadReply: embedding: a zero vector has no direction
    """
    if len(a) != len(b):
        raise BadReply("embedding", f"vectors of {len(a)} and {len(b)} numbers")
    left, right = _unit(a), _unit(b)
    return min(1.0, max(-1.0, float(left @ right)))


def _unit(vector: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    numbers = np.asarray(vector, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise BadReply("embedding", "a vector has a number that is not finite")
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest == 0.0:
        raise BadReply("embedding", "a zero vector has no direction")
    scaled = numbers / largest  # squares of very large or small numbers would leave the range of a float
    unit: np.ndarray[tuple[int], np.dtype[np.float64]] = scaled / np.linalg.norm(scaled)
    return unit
