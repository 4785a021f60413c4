"""Sign flips for randomisation tests: all patterns, or a seeded random sample.

Swapping two systems within a pair flips the sign of the pair's difference, so a test compares the sums of the
differences under many patterns of signs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError
from .resampling import FloatArray, random_bytes

IntArray: TypeAlias = NDArray[np.int64]

BITS = 40
"""Differences are rounded to this many bits of the largest, so that sums are whole numbers, equal sums are equal
in any order, and no rounding noise makes or breaks a tie."""


def to_integers(differences: FloatArray) -> tuple[IntArray, FloatArray]:
    """Differences as integer multiples of a unit: a fixed small fraction of the largest in their column."""
    bits = min(BITS, 62 - len(differences).bit_length())  # so that the sum of all still fits
    largest = np.abs(differences).max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0) / 2.0**bits
    return np.rint(differences / unit).astype(np.int64), unit


def all_sums(whole: IntArray) -> IntArray:
    """The sums of the rows under every pattern of signs."""
    sums = np.zeros((1, *whole.shape[1:]), dtype=np.int64)
    for step in whole:
        sums = np.concatenate([sums - step, sums + step])
    return sums


def random_sums(whole: IntArray, resamples: int, seed: int) -> IntArray:
    """The sums of the rows under random signs: resamples x columns.

    Eight rows are processed at a time: a random byte selects the rows that keep their sign, and is the index into a
    table of the 256 possible partial sums. That costs one addition for eight rows, and whole numbers add up exactly.
    """
    if resamples < 1:
        raise InputError(f"must be at least 1, found {resamples}", field="resamples")
    columns = whole.shape[1]
    sums = np.zeros((resamples, columns), dtype=np.int64)
    if not columns:
        return sums
    whole = np.vstack([whole, np.zeros((-len(whole) % 8, columns), dtype=np.int64)])
    octets = whole.reshape(-1, 8, columns)
    draw = random_bytes(seed)
    part = np.empty_like(sums)
    for start in range(0, len(octets), 64):
        block = octets[start : start + 64]
        tables = np.zeros((len(block), 1, columns), dtype=np.int64)
        for row in range(8):
            step = block[:, row : row + 1]
            tables = np.concatenate([tables - step, tables + step], axis=1)
        for table, picks in zip(tables, draw(len(block), resamples), strict=True):
            np.take(table, picks, axis=0, out=part, mode="clip")
            sums += part
    return sums


def all_patterns(count: int) -> Iterator[NDArray[np.bool_]]:
    """Every way to swap ``count`` pairs; True means swapped."""
    positions = np.arange(count)
    for pattern in range(2**count):
        yield (pattern >> positions & 1).astype(bool)


def random_patterns(count: int, resamples: int, seed: int) -> Iterator[NDArray[np.bool_]]:
    """Random ways to swap ``count`` pairs, each swapped or not with equal chance."""
    for row in random_bytes(seed)(resamples, -(-count // 8)):
        yield np.unpackbits(row, count=count).astype(bool)
