"""Krippendorff's alpha: the agreement of any number of raters, with missing values.

alpha = 1 - observed / expected disagreement, over all pairs of values that two raters gave to one unit. It is 1 for
full agreement, 0 for agreement by chance, and below 0 for less agreement than by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, Unpack, get_args

import numpy as np

from ..core.errors import InputError
from .agreement import Agreement, IntervalOptions, Label, measure
from .resampling import FloatArray, SumStatistic

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
Sums: TypeAlias = Callable[[FloatArray], FloatArray]

MOST_VALUES = 60
"""The most distinct values that the nominal and the ordinal level support."""


def krippendorff_alpha(
    ratings: Sequence[Sequence[Label]], level: Level = "nominal", **options: Unpack[IntervalOptions]
) -> Agreement:
    """Krippendorff's alpha (2004, 2011): one row per rater, one column per unit, None or NaN for a missing value.

    Disagreement of two values is 1 (``nominal``), the squared distance of their mean ranks (``ordinal``; numbers in
    their order), or their squared difference (``interval``). ``n`` counts units with two values or more, ``excluded``
    the others; units are resampled. Undefined if all values are equal; no interval at 1.

    >>> round(krippendorff_alpha([[1, 1, 2, None], [1, 1, 2, 2], [1, 2, 2, 2]]).value, 6)
    0.666667
    """
    if level not in get_args(Level):
        raise InputError(f"unknown level {level!r}: expected one of {', '.join(get_args(Level))}", field="level")
    table = _numbers(ratings, level)
    paired = (~np.isnan(table)).sum(axis=1) >= 2
    excluded = int((~paired).sum())
    rows = table[paired]
    values = np.unique(rows[~np.isnan(rows)])
    if len(values) == 1:
        return Agreement(None, n=len(rows), excluded=excluded, reason="all values are equal")
    if level != "interval" and len(values) > MOST_VALUES:
        raise InputError(
            f"{len(values)} distinct values: expected at most {MOST_VALUES}, or the interval level", field="level"
        )
    tags = options.get("cluster")
    if tags is not None:
        if len(tags) != len(table):
            raise InputError(f"{len(tags)} tags for {len(table)} units", field="cluster")
        options["cluster"] = [tags[unit] for unit in np.flatnonzero(paired).tolist()]
    if level == "interval":
        parts, finish = _moments(rows), _alpha_from_moments
    else:
        parts = _coincidences(rows, values)
        finish = _alpha_of_ranks if level == "ordinal" else _alpha_of_categories
    return measure(SumStatistic(f"alpha ({level})", _identity, finish), parts, excluded, options)


def _identity(parts: FloatArray) -> FloatArray:
    return parts


def _numbers(ratings: Sequence[Sequence[Label]], level: Level) -> FloatArray:
    """Units x raters, NaN for a missing value; names are allowed only at the nominal level."""
    if len({len(row) for row in ratings}) > 1:
        raise InputError("every rater has one place per unit: found rows of unequal length")
    names = sorted({value for row in ratings for value in row if isinstance(value, str)})
    if names and level != "nominal":
        raise InputError(f"the {level} level needs numbers, found {names[0]!r}")
    if names and any(value is not None and not isinstance(value, str) for row in ratings for value in row):
        raise InputError("found both names and numbers among the values")
    number: dict[Label, float] = {name: float(place) for place, name in enumerate(names)}
    cells = [[np.nan if value is None else number.get(value, value) for value in row] for row in ratings]
    return np.array(cells, dtype=np.float64).T


def _moments(rows: FloatArray) -> FloatArray:
    """Per unit: summed disagreement, count, sum of squares and sum of its values."""
    there = ~np.isnan(rows)
    count = there.sum(axis=1)
    centred = np.where(there, rows - np.nanmean(rows), 0.0)  # sums of squares of centred numbers lose no digits
    total, squares = centred.sum(axis=1), (centred**2).sum(axis=1)
    return np.column_stack([2 * (count * squares - total**2) / (count - 1), count, squares, total])


def _alpha_from_moments(sums: FloatArray) -> FloatArray:
    disagreement, count, squares, total = np.moveaxis(sums, -1, 0)
    return _alpha(disagreement, 2 * (count * squares - total**2), count, squares)


def _coincidences(rows: FloatArray, values: FloatArray) -> FloatArray:
    """Per unit: the number of pairs of raters with categories c and d, over the number of its raters less one."""
    counts = (rows[:, :, None] == values).sum(axis=1).astype(np.float64)
    pairs = counts[:, :, None] * counts[:, None, :]
    diagonal = np.arange(len(values))
    pairs[:, diagonal, diagonal] -= counts
    pairs /= (counts.sum(axis=1) - 1)[:, None, None]
    flat: FloatArray = pairs.reshape(len(rows), len(values) ** 2)
    return flat


def _table(sums: FloatArray) -> FloatArray:
    k = round(sums.shape[-1] ** 0.5)
    return sums.reshape(*sums.shape[:-1], k, k)


def _alpha_of_categories(sums: FloatArray) -> FloatArray:
    table = _table(sums)
    sizes = table.sum(axis=-1)
    count = sizes.sum(axis=-1)
    disagreement = count - np.trace(table, axis1=-2, axis2=-1)
    return _alpha(disagreement, count**2 - (sizes**2).sum(axis=-1), count, count)


def _alpha_of_ranks(sums: FloatArray) -> FloatArray:
    table = _table(sums)
    sizes = table.sum(axis=-1)
    count = sizes.sum(axis=-1)
    ranks = np.cumsum(sizes, axis=-1) - sizes / 2 - count[..., None] / 2  # mean ranks, 0 in the middle
    squares, total = (sizes * ranks**2).sum(axis=-1), (sizes * ranks).sum(axis=-1)
    products = (table * ranks[..., :, None] * ranks[..., None, :]).sum(axis=(-1, -2))
    return _alpha(2 * (squares - products), 2 * (count * squares - total**2), count, squares)


def _alpha(disagreement: FloatArray, by_chance: FloatArray, count: FloatArray, scale: FloatArray) -> FloatArray:
    """Alpha from disagreement summed over pairs within units and over all pairs of values; NaN if no two differ."""
    return np.where(by_chance > 1e-12 * count * scale, 1 - (count - 1) * disagreement / by_chance, np.nan)
