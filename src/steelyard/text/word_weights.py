"""Weights of words by rarity: rare words have higher weights."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import msgspec

from ..core.package import RESOURCES

UNKNOWN = 0.85
"""The weight of words that the table does not have: names, terms, words of languages other than English."""


@cache
def _table() -> dict[str, float]:
    text = RESOURCES.joinpath("commonness.json").read_bytes()
    weights: dict[str, str] = msgspec.json.decode(text)["weights"]
    return {stem: float(value) for value, stems in weights.items() for stem in stems.split()}


def weight(stem: str) -> float:
    """The weight of a stem from 0 to 1: the inverse document frequency of common English stems, on a log scale.

    >>> weight("the") < weight("citi") < weight("zebra")
    True
    """
    return _table().get(stem, UNKNOWN)


def weights_of(stems: Iterable[str]) -> list[tuple[str, float]]:
    """Stems with their weights.

    >>> weights_of(["zebra"]) == [("zebra", weight("zebra"))]
    True
    """
    known = _table().get
    return [(stem, known(stem, UNKNOWN)) for stem in stems]
