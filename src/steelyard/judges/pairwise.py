"""Pairwise comparison of systems: a judge compares their answers to each question, in both orders.

A judge with a position bias prefers the same position in both orders, so its two verdicts on a pair disagree. Such a
pair is a tie, and the position bias is reported. These ties affect both systems equally, so the share of wins among
decided pairs is not biased.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from ..core.errors import InputError
from ..core.printable import Printable
from ..core.progress import PartProgress
from ..core.records import Sample, Usage
from ..core.wording import pluralize
from ..evaluate.evaluate_samples import evaluate_rag, plan_rag
from ..evaluate.plan import Plan
from ..io.samples import read_samples
from ..metrics.judged.preference import OTHER
from ..models.budget import SharedBudget
from ..reports.estimates import check_tag
from ..reports.report import Report
from ..stats.bradley_terry import Strength, bradley_terry
from ..stats.intervals import interval
from ..stats.pooling import groups
from .calibration import Share

if TYPE_CHECKING:
    from ..models.engine import Progress
    from ..models.judge import LLMJudge

Outcome: TypeAlias = Literal["win", "tie", "loss"]
VALUE: Mapping[str, float] = {"win": 1.0, "tie": 0.5, "loss": 0.0}


class PairVerdict(Struct, frozen=True):
    """The verdict on one sample: the outcome for the first system, and the preferred position in each order.

    ``first`` is the verdict with the first system in first position, ``second`` with it in second position. A and B are
    positions; the third value is tie.
    """

    sample: str
    outcome: Outcome
    first: str
    second: str

    @property
    def lean(self) -> float:
        """The preference for the first position (1) or the second (-1), regardless of the system."""
        return sum({"A": 0.5, "B": -0.5}.get(one, 0.0) for one in (self.first, self.second))


class PairComparison(Struct, frozen=True, kw_only=True):
    """Comparison of two systems on the same samples.

    ``win_rate`` is wins / (wins + losses), over decided pairs; ``score`` counts ties as half. ``position_bias`` is the
    rate of the first position minus the rate of the second, in [-1, 1]; ``consistent`` is the share of pairs with the
    same verdict in both orders. ``one_order`` holds the win rates that the first order alone and the second order alone
    would give; their distance is the error that the comparison in both orders avoids.
    """

    a: str
    b: str
    n: int = 0
    win: int = 0
    tie: int = 0
    loss: int = 0
    undefined: int = 0
    failed: int = 0
    win_rate: Share = Share(None)
    score: Share = Share(None)
    position_bias: Share = Share(None)
    consistent: Share = Share(None)
    one_order: tuple[float | None, float | None] = (None, None)
    slices: dict[str, PairComparison] = field(default_factory=dict)
    verdicts: list[PairVerdict] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def words(self) -> str:
        """Name the better system, if the interval of the win rate excludes one half."""
        low, high = self.win_rate.low, self.win_rate.high
        if low is None or high is None:
            return "no decided pair" if self.n else "nothing was compared"
        return (
            f"{self.a} is better" if low > 0.5 else f"{self.b} is better" if high < 0.5 else "no detectable difference"
        )


class Preference(Printable, Struct, frozen=True, kw_only=True):
    """Comparisons of all pairs of systems, and the strengths of more than two systems."""

    systems: list[str]
    judge: str
    duels: list[PairComparison]
    strengths: list[Strength] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    usage: Usage = Usage()
    confidence: float = 0.95

    @property
    def failed_share(self) -> float:
        """failed / (compared + failed), over all pairs of systems."""
        failed, n = sum(one.failed for one in self.duels), sum(one.n for one in self.duels)
        return failed / (n + failed) if n + failed else 0.0


def prefer(
    systems: Mapping[str, object],
    judge: LLMJudge | str,
    *,
    fields: Mapping[str, str] | None = None,
    by: str | Sequence[str] | None = None,
    limit: int | None = None,
    concurrency: int = 16,
    budget: float | None = None,
    max_calls: int | None = None,
    ledger: str | Path | None = None,
    offline: bool = False,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Preference:
    """Compare the responses of two or more systems, each pair in both orders.

    ``systems`` maps names to samples (any input of ``read_samples``) or to reports with samples. Samples are paired by
    id, and samples with the same id must have the same question. ``by`` slices by tags; ``limit`` uses only the first
    samples. The judge does not see the names of the systems.

    >>> from steelyard import script
    >>> judge = script(lambda ask: {"reason": "longer", "better": "tie" if "1900" in ask.prompt else "A"})
    >>> rows = [{"id": str(n), "question": f"When was {n}?", "answer": "In 1811"} for n in range(8)]
    >>> found = prefer({"x": rows, "y": [{**row, "answer": "Long ago"} for row in rows]}, judge).duels[0]
    >>> found.win, found.tie, found.loss, found.position_bias.value, found.win_rate.value
    (0, 8, 0, 1.0, None)
    """
    tags = (by,) if isinstance(by, str) else tuple(by or ())
    samples, paired = _all_pairs(systems, fields, limit, tags)
    tally, allowance = PartProgress(progress), SharedBudget(budget, max_calls)
    duels, warnings, usage, judge_name = [], list[str](), Usage(), ""
    for (a, b), pairs in paired.items():
        lost = len(samples[a]) + len(samples[b]) - 2 * len(pairs)
        if lost:
            one, many = "sample is in one system only and is", "samples are in one system only and are"
            warnings.append(f"{a}, {b}: {pluralize(lost, one, many)} left out")
        report = evaluate_rag(
            pairs,
            metrics=["preference"],
            judge=judge,
            concurrency=concurrency,
            budget=allowance.budget,
            max_calls=allowance.max_calls,
            ledger=ledger,
            offline=offline,
            progress=tally,
        )
        tally.next_part()
        usage, judge_name = usage + report.usage, report.judge or judge_name
        allowance.spend(report.usage)
        duels.append(_pair_comparison(a, b, report, tags, confidence, seed))
        warnings += [warning for warning in report.warnings if warning not in warnings]
    return Preference(
        systems=list(systems),
        judge=judge_name,
        duels=duels,
        strengths=_strengths(list(systems), duels, confidence, seed) if len(systems) > 2 else [],
        warnings=warnings,
        usage=usage,
        confidence=confidence,
    )


def plan_prefer(
    systems: Mapping[str, object],
    judge: LLMJudge | str,
    *,
    fields: Mapping[str, str] | None = None,
    by: str | Sequence[str] | None = None,
    limit: int | None = None,
    ledger: str | Path | None = None,
) -> dict[tuple[str, str], Plan]:
    """Plan the calls and the cost of ``prefer`` for each pair of systems, without making any call."""
    _, paired = _all_pairs(systems, fields, limit, (by,) if isinstance(by, str) else tuple(by or ()))
    return {
        names: plan_rag(pairs, metrics=["preference"], judge=judge, ledger=ledger) for names, pairs in paired.items()
    }


def _all_pairs(
    systems: Mapping[str, object], fields: Mapping[str, str] | None, limit: int | None, tags: Sequence[str]
) -> tuple[dict[str, dict[str, Sample]], dict[tuple[str, str], list[Sample]]]:
    """Return the samples of each system and of each pair of systems, all checked before any call."""
    if len(systems) < 2:
        raise InputError("at least two systems are needed")
    if limit is not None and limit < 1:
        raise InputError(f"limit={limit}: must be at least 1")
    samples = {name: _samples(source, fields, limit) for name, source in systems.items()}
    if empty := [name for name, rows in samples.items() if not rows]:
        raise InputError(f"{empty[0]} has no samples")
    paired = {(a, b): _paired(a, samples[a], b, samples[b]) for a, b in combinations(samples, 2)}
    for pairs in paired.values():
        for tag in tags:
            check_tag(tag, [sample.tags for sample in pairs])
    return samples, paired


def _samples(source: object, fields: Mapping[str, str] | None, limit: int | None) -> dict[str, Sample]:
    rows = source.samples if isinstance(source, Report) else read_samples(source, fields=fields)
    return {sample.id: sample for sample in rows[:limit]}


def _paired(a: str, mine: Mapping[str, Sample], b: str, theirs: Mapping[str, Sample]) -> list[Sample]:
    """Return the samples that both systems answered, with the other response in the metadata for the metric."""
    pairs = []
    for one, sample in mine.items():
        other = theirs.get(one)
        if other is None:
            continue
        asked, too = sample.user_input, other.user_input
        if asked is not None and too is not None and asked.strip() != too.strip():
            raise InputError(f"{one} has different questions in {a} and {b}: pairs must have the same id and question")
        pairs.append(
            replace(
                sample,
                user_input=asked if asked is not None else too,
                reference=sample.reference if sample.reference is not None else other.reference,
                tags={**other.tags, **sample.tags},
                metadata={OTHER: other.response},
            )
        )
    if not pairs:
        raise InputError(f"{a} and {b} have no sample id in common")
    return pairs


def _pair_comparison(
    a: str, b: str, report: Report, tags: Sequence[str], confidence: float, seed: int
) -> PairComparison:
    column = report.columns["preference"]
    verdicts = {}
    for row, one in enumerate(report.ids):
        if not math.isnan(column.values[row]):
            evidence = column.evidence[row]
            first, second = cast("list[str]", evidence["better"])
            verdicts[row] = PairVerdict(one, cast("Outcome", evidence["outcome"]), first, second)
    total = _count_verdicts(a, b, list(verdicts.values()), confidence, seed)
    slices = {}
    carried = [sample.tags for sample in report.samples]
    for tag in tags:
        for value, rows in groups(carried, tag).items():
            kept = [verdicts[row] for row in rows if row in verdicts]
            slices[f"{tag}={value}"] = _count_verdicts(a, b, kept, confidence, seed)
    return replace(
        total,
        undefined=len(column.undefined),
        failed=len(column.failed),
        slices=slices,
        verdicts=list(verdicts.values()),
        reasons=list(dict.fromkeys(column.failed.values()))[:3],
    )


def _count_verdicts(a: str, b: str, verdicts: Sequence[PairVerdict], confidence: float, seed: int) -> PairComparison:
    counts = {kind: sum(one.outcome == kind for one in verdicts) for kind in VALUE}

    def share(values: Sequence[float], lowest: float = 0.0) -> Share:
        """Return the mean with an interval cut to possible means; Student's interval of few values may exceed them."""
        if not values:
            return Share(None)
        found = Share.of(math.fsum(values) / len(values), interval(values, confidence=confidence, seed=seed))
        if found.low is None or found.high is None:
            return found
        return replace(found, low=max(found.low, lowest), high=min(found.high, 1.0))

    first = [one.first == "A" for one in verdicts if one.first != "tie"]
    second = [one.second == "B" for one in verdicts if one.second != "tie"]
    return PairComparison(
        a=a,
        b=b,
        n=len(verdicts),
        win=counts["win"],
        tie=counts["tie"],
        loss=counts["loss"],
        win_rate=share([VALUE[one.outcome] for one in verdicts if one.outcome != "tie"]),
        score=share([VALUE[one.outcome] for one in verdicts]),
        position_bias=share([one.lean for one in verdicts], lowest=-1.0),
        consistent=share([float(_orders_agree(one)) for one in verdicts]),
        one_order=(float(np.mean(first)) if first else None, float(np.mean(second)) if second else None),
    )


def _orders_agree(one: PairVerdict) -> bool:
    return (one.first, one.second) in {("A", "B"), ("B", "A"), ("tie", "tie")}


def _strengths(systems: Sequence[str], duels: Sequence[PairComparison], confidence: float, seed: int) -> list[Strength]:
    place = {name: at for at, name in enumerate(systems)}
    games = [(place[duel.a], place[duel.b], VALUE[one.outcome], one.sample) for duel in duels for one in duel.verdicts]
    return bradley_terry(systems, games, confidence=confidence, seed=seed) if games else []
