"""Strengths of systems from pairwise wins: the model of Bradley and Terry (1952).

System i beats j with probability ``1 / (1 + exp(s_j - s_i))``. A tie is half a win for both. One extra tie is added for
every pair that was compared, so that a system with only wins or only losses has a finite strength.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from msgspec import Struct

from ..core.errors import InputError
from .resampling import FloatArray, SumStatistic, resample, sums_by_unit, units_of

STEPS, CLOSE = 2_000, 1e-10


class Strength(Struct, frozen=True):
    """One system: log-odds around a mean of 0, with interval; ``beats`` is its chance against a random other system."""

    system: str
    value: float
    low: float
    high: float
    beats: float


def strengths(wins: FloatArray) -> FloatArray:
    """Strengths from a table of wins, where ``wins[..., i, j]`` counts the wins of i over j; for any leading axes.

    Maximum likelihood by Hunter's MM steps (2004): each system's odds become its wins over the sum of meetings divided
    by both odds. Shape (…, k, k) in, (…, k) out, each row with mean 0.

    >>> found = strengths(np.array([[0.0, 6.0], [2.0, 0.0]]))
    >>> round(float(np.exp(found[0] - found[1])), 3)
    2.6
    """
    table = np.asarray(wins, dtype=np.float64)
    if table.ndim < 2 or table.shape[-1] != table.shape[-2] or (table < 0).any():
        raise InputError(f"expected a square table of wins, found shape {table.shape}")
    met = table + np.swapaxes(table, -1, -2)
    table = table + (met > 0) / 2
    met = met + (met > 0)
    won = table.sum(axis=-1)
    odds = np.ones_like(won)
    for _ in range(STEPS):
        below = (met / (odds[..., :, None] + odds[..., None, :])).sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            new = np.where(below > 0, won / below, 1.0)
        new = new / np.exp(np.log(new).mean(axis=-1, keepdims=True))
        done = float(np.abs(np.log(new / odds)).max()) < CLOSE
        odds = new
        if done:
            break
    found: FloatArray = np.log(odds)
    return found


def bradley_terry(
    names: Sequence[str],
    games: Sequence[tuple[int, int, float, Hashable]],
    *,
    confidence: float = 0.95,
    resamples: int = 1_000,
    seed: int = 0,
) -> list[Strength]:
    """The strength of every system, strongest first, with percentile intervals over resampled samples.

    ``games`` are (first, second, points of the first: 1, 1/2 or 0, sample); games on one sample are drawn together.

    >>> games = [(0, 1, 1.0, n) for n in range(30)] + [(1, 2, 0.5, n) for n in range(30)]
    >>> [one.system for one in bradley_terry(["x", "y", "z"], games)][0]
    'x'
    """
    k = len(names)
    codes, units = units_of([sample for *_, sample in games], len(games))
    cells = np.zeros((len(games), k * k))
    for row, (first, second, got, _) in enumerate(games):
        cells[row, first * k + second] += got
        cells[row, second * k + first] += 1 - got
    rule = SumStatistic("wins", lambda rows: rows, lambda sums: sums)
    sums = sums_by_unit(rule, cells, codes, units)
    value = strengths(sums.sum(axis=0).reshape(k, k))

    def replicate(weights: FloatArray) -> FloatArray:
        # One sum per cell, in a fixed order: equal seeds give equal numbers whatever library adds.
        drawn = np.stack([(weights * column).sum(axis=1) for column in sums.T], axis=1)
        return strengths(drawn.reshape(len(weights), k, k))

    tail = (1 - confidence) / 2
    low, high = np.quantile(resample(replicate, units, resamples, seed), [tail, 1 - tail], axis=0)
    chances = 1 / (1 + np.exp(value[None, :] - value[:, None]))
    beats = (chances.sum(axis=1) - 0.5) / max(k - 1, 1)
    order = sorted(range(k), key=lambda at: (-value[at], at))
    return [Strength(names[at], float(value[at]), float(low[at]), float(high[at]), float(beats[at])) for at in order]
