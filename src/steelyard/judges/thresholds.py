"""Choice of a threshold on one half of the labels, measured on the other half."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..stats.agreement import balanced_accuracy, cohen_kappa
from ..stats.pooling import passes
from .calibration import ChosenThreshold

FEWEST = 3
"""Fewest distinct scores: with fewer values, scores are verdicts already."""


def choose_threshold(
    labels: Sequence[float | None],
    scores: Sequence[float | None],
    before: float,
    *,
    higher_is_better: bool = True,
    confidence: float = 0.95,
    seed: int = 0,
) -> ChosenThreshold | None:
    """Choose the threshold with the best balanced accuracy on a random half of the labels; measure it on the rest.

    ``labels`` are 0 or 1; pairs with a None are left out. Candidates lie midway between neighbouring scores; among
    equally good ones, the nearest to ``before`` (the threshold in use) is chosen. Returns None if scores are verdicts
    already, or if a half has labels of only one value. Measured on the half used for the choice, a threshold would look
    better than it is.

    >>> labels = [0.0, 1.0] * 20
    >>> found = choose_threshold(labels, [0.6 + 0.2 * one + 0.001 * at for at, one in enumerate(labels)], 0.5)
    >>> 0.63 < found.threshold < 0.81, found.balanced_accuracy.value, found.before.value
    (True, 1.0, 0.5)
    """
    pairs = [(one, score) for one, score in zip(labels, scores, strict=True) if one is not None and score is not None]
    if len({score for _, score in pairs}) < FEWEST:
        return None
    order = np.random.default_rng(seed).permutation(len(pairs)).tolist()
    first, second = ([pairs[at] for at in half] for half in (order[::2], order[1::2]))
    if any(len({one for one, _ in half}) < 2 for half in (first, second)):
        return None

    def verdicts(half: Sequence[tuple[float, float]], at: float) -> list[float]:
        return [float(passes(score, at, higher_is_better=higher_is_better)) for _, score in half]

    def balanced(at: float) -> float:
        pairs_of_verdicts = list(zip((one for one, _ in first), verdicts(first, at), strict=True))
        rates = [[one == other for one, other in pairs_of_verdicts if one == kind] for kind in (0.0, 1.0)]
        return float(sum(sum(rate) / len(rate) for rate in rates) / 2)

    levels = sorted({score for _, score in first})
    middles = [round((low + high) / 2, 6) for low, high in pairwise(levels)]
    if not middles:
        return None
    best = max(middles, key=lambda at: (balanced(at), -abs(at - before)))
    kept = [one for one, _ in second]
    return ChosenThreshold(
        best,
        len(first),
        len(second),
        balanced_accuracy(kept, verdicts(second, best), confidence=confidence, seed=seed),
        cohen_kappa(kept, verdicts(second, best), confidence=confidence, seed=seed),
        balanced_accuracy(kept, verdicts(second, before), confidence=confidence, seed=seed),
    )
