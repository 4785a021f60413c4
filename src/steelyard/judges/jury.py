"""Several judges on the same samples: one report of what they find together, and what each adds.

Every judge scores by itself; then the verdicts on each sample are put together. ``mean`` takes the mean score.
``majority`` and ``unanimous`` take verdicts, whether a score reaches the threshold, and give 1 for a pass and 0 for a
fail (the other way round where lower is better): what more than half of the seats say, or a pass only if all say so. A
judge that failed is no vote: a majority that stands without it stands, a mean does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InputError
from ..core.progress import PartProgress
from ..core.records import Json, Usage
from ..models.budget import SharedBudget
from ..models.judge import LLMJudge, judge_of
from ..reports.estimates import clusters_of, pool_report
from ..reports.provenance import MetricNote
from ..reports.report import Report
from ..stats.agreement import Agreement, accuracy
from ..stats.krippendorff import krippendorff_alpha
from ..stats.pooling import Column, passes

if TYPE_CHECKING:
    from ..models.engine import Progress

RULES = ("mean", "majority", "unanimous")
KEY = "jury"
"""Under which key the evidence of a jury's score holds what each judge said."""


class Seat(Struct, frozen=True):
    """One judge: its own pooled value by metric, how it moves the jury's (with it minus without it), what it cost.

    ``agrees`` is how often its verdict is that of most of the others, ``n`` over how many samples.
    """

    judge: str
    values: dict[str, float | None]
    influence: dict[str, float | None]
    agrees: dict[str, Agreement]
    usage: Usage


class Panel(Struct, frozen=True):
    """A jury: its rule, its seats, and by metric Krippendorff's alpha between the judges."""

    rule: str
    seats: list[Seat]
    alpha: dict[str, Agreement]


def evaluate_by_jury(
    evaluate: Callable[..., Report],
    judges: Sequence[LLMJudge | str],
    *,
    rule: str = "mean",
    budget: float | None = None,
    max_calls: int | None = None,
    by: str | Sequence[str] | None = None,
    cluster: str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Report:
    """The report of several judges: each is asked by itself, and what they say is put together.

    ``evaluate`` is ``evaluate_rag`` with all but the judge filled in; it is called with ``judge``, ``budget`` and
    ``max_calls``, of which later judges get what earlier ones left, and with ``progress`` where that is told.

    >>> from functools import partial
    >>> from steelyard import evaluate_rag, script
    >>> def lenient(ask): return {"reason": "fine", "rating": 5}
    >>> def strict(ask): return {"reason": "no", "rating": 2}
    >>> rows = [{"id": "a", "response": "Ada"}]
    >>> evaluate = partial(evaluate_rag, rows, metrics=["rubric(criteria=coherence)"])
    >>> evaluate_by_jury(evaluate, [script(lenient), script(strict)]).metrics
    {'rubric(criteria=coherence)': 0.625}
    """
    seats = [judge_of(one) for one in judges]
    if len({one.identity for one in seats}) < len(seats):
        raise InputError("the same judge twice: a jury needs different ones (--repeats asks one several times)")
    if len(seats) < 2:
        raise InputError("a jury needs two judges or more")
    if rule not in RULES:
        raise InputError(f"jury={rule!r}: expected {', '.join(RULES)}")
    reports: list[Report] = []
    tally, allowance = PartProgress(progress), SharedBudget(budget, max_calls)
    told = {} if progress is None else {"progress": tally}
    for seat in seats:
        report = evaluate(judge=seat, budget=allowance.budget, max_calls=allowance.max_calls, **told)
        tally.next_part()
        reports.append(report)
        allowance.spend(report.usage)
    return together(reports, rule=rule, by=by, cluster=cluster, confidence=confidence, seed=seed)


def together(
    reports: Sequence[Report],
    *,
    rule: str = "mean",
    by: str | Sequence[str] | None = None,
    cluster: str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Report:
    """One report from those of several judges on the same samples. What asked no judge is taken from the first."""
    if rule not in RULES:
        raise InputError(f"jury={rule!r}: expected {', '.join(RULES)}")
    first = reports[0]
    if any(one.ids != first.ids or list(one.columns) != list(first.columns) for one in reports):
        raise InputError("the judges of a jury score the same samples by the same metrics")
    names = [one.judge or f"judge {number}" for number, one in enumerate(reports, 1)]
    asked = [label for label, note in first.notes.items() if note.way == "judged"]
    if not asked:
        raise InputError("no metric asks a judge: a jury has nothing to do")
    made = Report(
        kind=first.kind,
        system=first.system,
        ids=first.ids,
        samples=first.samples,
        judge=f"{rule} of {', '.join(names)}",
        embedder=first.embedder,
        dataset=first.dataset,
        versions=first.versions,
        policy={**first.policy, KEY: rule},
        warnings=list(dict.fromkeys(warning for one in reports for warning in one.warnings)),
        run={**first.run, "judges": {name: _cost(one.usage) for name, one in zip(names, reports, strict=True)}},
        usage=sum((one.usage for one in reports), Usage()),
        k_values=first.k_values,
    )
    for label, column in first.columns.items():
        note = first.notes[label]
        made.notes[label] = note
        if label in asked:
            if rule != "mean":
                made.notes[label] = replace(note, bounds=(0.0, 1.0), threshold=_limit(note))
            made.columns[label] = _column(
                dict(zip(names, (one.columns[label] for one in reports), strict=True)), note, rule
            )
        else:
            made.columns[label] = column
            if note.pool == "given" or note.way == "custom":
                made.estimates[label] = first.estimates[label]
    pool_report(made, by=by, clusters=clusters_of(made, cluster), confidence=confidence, seed=seed)
    return made


def _cost(usage: Usage) -> dict[str, Json]:
    told: dict[str, Json] = {
        "calls": usage.calls + usage.cached,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
    }
    return told if usage.cost is None else {**told, "cost": usage.cost}


def _column(seats: Mapping[str, Column], note: MetricNote, rule: str) -> Column:
    """The columns of all judges as one."""
    rows = len(next(iter(seats.values())).values)
    made = Column(np.full(rows, math.nan))
    for row in range(rows):
        votes = {name: None if math.isnan(one.values[row]) else float(one.values[row]) for name, one in seats.items()}
        value = _verdict(list(votes.values()), note, rule)
        if value is not None:
            made.values[row] = value
        else:
            _without(made, row, seats)
        made.evidence[row] = {KEY: {name: _said(one, row) for name, one in seats.items()}}
        usages = [one.usage[row] for one in seats.values() if row in one.usage]
        if usages:
            made.usage[row] = sum(usages, Usage())
        if asked := [key for one in seats.values() for key in one.requests.get(row, [])]:
            made.requests[row] = asked
        draws = [one.draws[row] for one in seats.values() if row in one.draws]
        if len(draws) == len(seats) and value is not None:
            made.draws[row] = [_verdict(one, note, rule) for one in zip(*draws, strict=True)]
    return made


def _verdict(votes: Sequence[float | None], note: MetricNote, rule: str) -> float | None:
    """What a jury finds from its judges' scores (None: no score); None where it finds nothing."""
    there = [one for one in votes if one is not None]
    if rule == "mean":
        return math.fsum(there) / len(there) if len(there) == len(votes) else None
    passed = sum(passes(one, _limit(note), higher_is_better=note.higher_is_better) for one in there)
    failed = len(there) - passed
    good, bad = (1.0, 0.0) if note.higher_is_better else (0.0, 1.0)
    if rule == "unanimous":
        return bad if failed else good if passed == len(votes) else None
    return good if 2 * passed > len(votes) else bad if 2 * failed > len(votes) else None


def _limit(note: MetricNote) -> float:
    if note.threshold is None:
        raise InputError(f"{note.name} has no threshold: give one, or let the jury take the mean")
    return note.threshold


def _without(made: Column, row: int, seats: Mapping[str, Column]) -> None:
    """Say why a jury found nothing: a judge failed, a judge had nothing to say, or they are split."""
    failed = {name: one.failed[row] for name, one in seats.items() if row in one.failed}
    undefined = {name: one.undefined[row] for name, one in seats.items() if row in one.undefined}
    for reasons, target in ((failed, made.failed), (undefined, made.undefined)):
        if reasons:
            name, reason = next(iter(reasons.items()))
            some = f" ({len(reasons)} of {len(seats)} judges, first {name})" if len(seats) > 1 else ""
            target[row] = f"{reason}{some}"
            return
    made.undefined[row] = "no majority: the judges are split"


def _said(column: Column, row: int) -> dict[str, Json]:
    value = column.values[row]
    told: dict[str, Json] = {"value": None if math.isnan(value) else float(value)}
    if reason := column.failed.get(row) or column.undefined.get(row):
        told["reason"] = reason
    if evidence := column.evidence.get(row):
        told["evidence"] = evidence
    return told


def panel(report: Report) -> Panel | None:
    """Who sat on the jury of a report, and what each added; None where there was none.

    All of it comes from the evidence, so a saved report tells it too.
    """
    rule = str(report.policy.get(KEY))
    labels = [label for label in report.columns if _votes(report.columns[label])]
    if rule not in RULES or not labels:
        return None
    seats: list[str] = list(dict.fromkeys(name for label in labels for name in _votes(report.columns[label])))
    costs = report.run.get("judges")
    found = []
    for name in seats:
        values, influence, agrees = dict[str, float | None](), dict[str, float | None](), dict[str, Agreement]()
        for label in labels:
            votes, note = _votes(report.columns[label]), report.notes[label]
            values[label] = _mean(votes[name])
            influence[label] = _influence(votes, name, note, rule)
            agrees[label] = _agrees(votes, name, note)
        cost = costs.get(name) if isinstance(costs, dict) else None
        found.append(Seat(name, values, influence, agrees, _usage(cost)))
    alpha = {label: _alpha(_votes(report.columns[label])) for label in labels}
    return Panel(rule, found, alpha)


Votes: TypeAlias = dict[str, list[float | None]]


def _votes(column: Column) -> Votes:
    """The scores of each judge, by row; empty where the column is no jury's."""
    found: Votes = {}
    for row in range(len(column.values)):
        told = column.evidence.get(row, {}).get(KEY)
        for name, said in told.items() if isinstance(told, dict) else ():
            value = said.get("value") if isinstance(said, dict) else None
            votes = found.setdefault(name, [None] * len(column.values))
            votes[row] = float(value) if isinstance(value, int | float) else None
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    there = [one for one in values if one is not None]
    return math.fsum(there) / len(there) if there else None


def _influence(votes: Votes, name: str, note: MetricNote, rule: str) -> float | None:
    """The jury's mean with a judge less its mean without, over the samples on which both find something."""
    moved = []
    for row in range(len(votes[name])):
        every = _verdict([one[row] for one in votes.values()], note, rule)
        rest = _verdict([one[row] for other, one in votes.items() if other != name], note, rule)
        if every is not None and rest is not None:
            moved.append(every - rest)
    return math.fsum(moved) / len(moved) if moved else None


def _agrees(votes: Votes, name: str, note: MetricNote) -> Agreement:
    """How often a judge's verdict is that of most of the others."""
    alone = [_verdict([one], note, "majority") for one in votes[name]]
    others = [one for other, one in votes.items() if other != name]
    most = [_verdict([one[row] for one in others], note, "majority") for row in range(len(alone))]
    return accuracy(most, alone)


def _alpha(votes: Votes) -> Agreement:
    ratings = list(votes.values())
    if sum(sum(one[row] is not None for one in ratings) > 1 for row in range(len(ratings[0]))) == 0:
        return Agreement(None, reason="no sample has two scores")
    return krippendorff_alpha(ratings, "interval")


def _usage(cost: Json) -> Usage:
    if not isinstance(cost, dict):
        return Usage()
    told = {name: cost.get(name) or 0 for name in ("calls", "prompt_tokens", "completion_tokens")}
    price = cost.get("cost")
    return Usage(**told, cost=float(price) if isinstance(price, int | float) else None)  # type: ignore[arg-type]
