"""Judge noise: the variation of scores between repeated, equal requests to a judge.

``--repeats N`` stores every draw of every score. The differences between draws of one sample are noise of the judge.
They determine by how much two runs of the same system differ, and so which differences are meaningless.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ..stats.distributions import normal_quantile
from ..stats.pooling import Column, passes
from ..stats.power import pass_hat_k
from .report import Report

MOST = 10
"""The maximal number of flaky samples listed."""


class Flaky(Struct, frozen=True):
    """A sample with passing and failing draws, with all draws; the most evenly split samples come first."""

    sample: str
    draws: list[float]


class Noise(Struct, frozen=True, kw_only=True):
    """The draws of one metric.

    ``within`` is the standard deviation between draws of one sample (pooled over samples), ``share`` its part of the
    variance of single draws: 0 if equal requests get equal answers, 1 if all variation is random. ``floor`` is the
    difference between the means of two runs of the same system, each with this number of draws, that judge noise alone
    exceeds once in 20 times (at 95 %). ``moving`` is the number of samples with different draws.

    With a threshold: ``flaky`` is the number of samples that pass in some draws and fail in others; ``pass_rate`` is
    the mean share of passed draws, ``pass_all`` the chance that all of the ``draws`` pass (pass^k with k draws),
    ``majority`` the share of samples that pass in more than half of their draws.
    """

    metric: str
    draws: int
    n: int
    within: float
    share: float | None
    floor: float
    moving: int
    threshold: float | None = None
    flaky: int = 0
    pass_rate: float | None = None
    pass_all: float | None = None
    majority: float | None = None
    worst: list[Flaky] = []


def noise(report: Report, *, confidence: float = 0.95) -> dict[str, Noise]:
    """Compute the noise of every metric with repeated draws; samples with fewer than two draws are left out.

    >>> from steelyard import evaluate_rag
    >>> from steelyard.models.judge import script
    >>> noise(evaluate_rag([{"response": "a", "reference": "a"}], metrics=["exact_match"]))
    {}
    """
    found = {}
    for label, column in report.columns.items():
        rows = drawn(column)
        if rows:
            note = report.notes[label]
            found[label] = _noise(
                label,
                [report.ids[row] for row in rows],
                list(rows.values()),
                note.threshold,
                note.higher_is_better,
                confidence,
            )
    return found


def drawn(column: Column) -> dict[int, list[float]]:
    """The draws with values, of each row that has at least two."""
    by_row = {row: [one for one in draws if one is not None] for row, draws in sorted(column.draws.items())}
    return {row: draws for row, draws in by_row.items() if len(draws) >= 2}


def _noise(
    label: str,
    ids: Sequence[str],
    rows: Sequence[Sequence[float]],
    threshold: float | None,
    higher_is_better: bool,
    confidence: float,
) -> Noise:
    within = spread(rows)
    means = np.array([math.fsum(draws) / len(draws) for draws in rows])
    per_mean = float(np.mean([within / len(draws) for draws in rows]))
    between = max(float(means.var(ddof=1)) - per_mean, 0.0) if len(rows) > 1 else 0.0
    summary = Noise(
        metric=label,
        draws=max(map(len, rows)),
        n=len(rows),
        within=math.sqrt(within),
        share=within / (within + between) if within + between > 0 else None,
        floor=normal_quantile((1 + confidence) / 2) * math.sqrt(2 * per_mean / len(rows)),
        moving=sum(max(draws) - min(draws) > 1e-9 for draws in rows),
    )
    if threshold is None:
        return summary
    verdicts = [[passes(one, threshold, higher_is_better=higher_is_better) for one in draws] for draws in rows]
    k = min(map(len, rows))
    every = [pass_hat_k(sum(one), len(one), k) for one in verdicts]
    split = [at for at, one in enumerate(verdicts) if 0 < sum(one) < len(one)]
    split.sort(key=lambda at: (abs(sum(verdicts[at]) / len(verdicts[at]) - 0.5), at))
    return replace(
        summary,
        threshold=threshold,
        flaky=len(split),
        pass_rate=float(np.mean([sum(one) / len(one) for one in verdicts])),
        pass_all=float(np.mean([one for one in every if one is not None])),
        majority=float(np.mean([2 * sum(one) > len(one) for one in verdicts])),
        worst=[Flaky(ids[at], list(rows[at])) for at in split[:MOST]],
    )


def spread(rows: Sequence[Sequence[float]]) -> float:
    """The variance between draws of one row, pooled over rows: squared deviations from row means / degrees of freedom.

    >>> spread([[0.0, 1.0], [1.0, 1.0]])
    0.25
    """
    squares = math.fsum(float(np.var(draws)) * len(draws) for draws in rows)
    freedom = sum(len(draws) - 1 for draws in rows)
    return squares / freedom if freedom else 0.0


def delta_floor(
    before: Mapping[int, Sequence[float]],
    after: Mapping[int, Sequence[float]],
    pairs: Sequence[tuple[int, int]],
    *,
    confidence: float = 0.95,
) -> float | None:
    """The largest mean difference over ``pairs`` of rows from the judge's noise alone; None without repeated draws.

    ``z * sqrt((variance before / draws + variance after / draws) / n)``, with variances pooled over the pairs. If one
    side has a single draw, its noise is assumed to equal that of the other.

    >>> draws = {row: [0.0, 1.0] for row in range(100)}
    >>> round(delta_floor(draws, draws, [(row, row) for row in range(100)]), 3)
    0.139
    """
    if not pairs:
        return None
    sides = [
        [side[row] for row in rows if row in side]
        for side, rows in zip((before, after), zip(*pairs, strict=True), strict=True)
    ]
    if not any(sides):
        return None
    known = [(spread(rows), float(np.mean([len(draws) for draws in rows]))) if rows else None for rows in sides]
    other = next(one for one in known if one is not None)
    variances = [one[0] / one[1] if one is not None else other[0] for one in known]
    return normal_quantile((1 + confidence) / 2) * math.sqrt(sum(variances) / len(pairs))
