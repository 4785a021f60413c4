"""Several judges on the same samples: one report of their combined scores.

Every judge scores by itself; then the scores of each sample are combined. ``mean`` takes the mean score. ``majority``
and ``unanimous`` take verdicts, whether a score reaches the threshold, and give 1 for a pass and 0 for a fail (the
other way round if lower is better): the verdict of more than half of the judges, or a pass only if all judges pass. A
judge that failed has no vote: a majority that the others form by themselves counts, a mean does not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace as dataclass_replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from ..core.errors import InputError
from ..core.progress import PartProgress
from ..core.records import Json, Sample, Usage
from ..metrics.registry import Metric
from ..models.budget import SharedBudget
from ..models.judge import LLMJudge, judge_of
from ..models.run_options import DEFAULT_OPTIONS, RunOptions
from ..reports.estimates import clusters_of, pool_report
from ..reports.provenance import MetricNote, stamp
from ..reports.report import Report
from ..stats.pooling import Column, passes
from .plan import Plan
from .scorer import Scorer, check_samples

if TYPE_CHECKING:
    from ..core.progress import Progress
    from ..models.embedder import Embedder

RULES = ("mean", "majority", "unanimous")
NOTHING_JUDGED = "no metric needs a judge: a jury has nothing to score"
KEY = "jury"
"""The key under which the evidence of a combined score holds the score of each judge."""


class JuryScorer:
    """A ``Scorer`` with several judges: the metrics that need no judge are scored once, the others by every judge.

    Raises InputError for fewer than two judges, the same judge twice, or an unknown rule.
    """

    def __init__(
        self,
        metrics: Iterable[str | Metric | object],
        judges: Sequence[LLMJudge | str],
        *,
        rule: str = "mean",
        embedder: Embedder | str | None = None,
        thresholds: Mapping[str, float] | None = None,
        pass_rates: Mapping[str, float] | None = None,
        by: str | Sequence[str] | None = None,
        cluster: str | None = None,
        options: RunOptions = DEFAULT_OPTIONS,
    ) -> None:
        from .judged_scorer import JudgedScorer

        self.judges, self.rule = check_judges(judges, rule), rule
        self._progress = PartProgress(options.progress)
        if options.progress is not None:
            options = dataclass_replace(options, progress=self._progress)
        self._scorer = Scorer(
            metrics,
            judge=self.judges[0],
            embedder=embedder,
            thresholds=thresholds,
            pass_rates=pass_rates,
            by=by,
            cluster=cluster,
            options=options,
        )
        self._judged_scorers = [
            self._scorer.judged_scorer,
            *(JudgedScorer(judge=one, embedder=embedder, options=options) for one in self.judges[1:]),
        ]

    def plans(self, samples: Sequence[Sample]) -> dict[str, Plan]:
        """The plan of each judge, by its name."""
        requested = self._scorer.requested
        return {
            str(judge): one.plan(requested, samples)
            for judge, one in zip(self.judges, self._judged_scorers, strict=True)
        }

    def plan(self, samples: Sequence[Sample]) -> Plan:
        """The plan of all judges together."""
        return reduce(add, self.plans(samples).values())

    def run(self, samples: Sequence[Sample], *, name: str = "", dataset: str = "") -> Report:
        """Score samples by every judge, combine the scores, pool them, and return the report."""
        started = time.time()
        scorer, rows = self._scorer, check_samples(samples)
        if not any(one.metric.way == "judged" for one in scorer.requested):
            raise InputError(NOTHING_JUDGED)
        allowance = SharedBudget(scorer.options.budget, scorer.options.max_calls)
        columns, reports = scorer.columns(rows, None), list[Report]()
        for judge, one in zip(self.judges, self._judged_scorers, strict=True):
            judged = one.columns(scorer.judged, rows, allowance=allowance)
            self._progress.next_part()
            allowance.spend(one.usage)
            first = reports[0] if reports else scorer.unpooled(rows, columns | judged, name=name, dataset=dataset)
            reports.append(
                dataclass_replace(
                    first,
                    columns={**first.columns, **judged},
                    judge=str(judge),
                    usage=one.usage,
                    warnings=one.warnings,
                    run={"ledger": one.ledger},
                )
            )
        reports[0].run |= stamp(started)
        return combine(
            reports,
            rule=self.rule,
            by=scorer.by,
            cluster=scorer.cluster,
            confidence=scorer.options.confidence,
            seed=scorer.options.seed,
        )


def check_judges(judges: Sequence[LLMJudge | str], rule: str) -> list[LLMJudge]:
    """The judges of a jury; InputError for fewer than two, the same one twice, or an unknown rule."""
    seats = [judge_of(one) for one in judges]
    if len({one.identity for one in seats}) < len(seats):
        raise InputError("the same judge twice: a jury needs different ones (--repeats calls one judge several times)")
    if len(seats) < 2:
        raise InputError("a jury needs two judges or more")
    check_rule(rule)
    return seats


def check_rule(rule: str) -> None:
    """InputError for an unknown rule."""
    if rule not in RULES:
        raise InputError(f"rule={rule!r}: expected {', '.join(RULES)}")


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
    """The report of several judges: each scores by itself, and ``rule`` combines their scores.

    ``evaluate`` is ``evaluate_rag`` with all but the judge filled in (by the mean, ``evaluate_rag(judge=[…])`` makes
    the same report). It is called with ``judge``, with ``budget`` and ``max_calls``, of which each judge gets the rest
    that the judges before it left, and with ``progress`` if that is given.

    >>> from functools import partial
    >>> from steelyard import evaluate_rag, script
    >>> def lenient(ask): return {"reason": "fine", "rating": 5}
    >>> def strict(ask): return {"reason": "no", "rating": 2}
    >>> rows = [{"id": "a", "response": "Ada"}]
    >>> evaluate = partial(evaluate_rag, rows, metrics=["rubric(criteria=coherence)"])
    >>> evaluate_by_jury(evaluate, [script(lenient), script(strict)]).metrics
    {'rubric(criteria=coherence)': 0.625}
    """
    reports: list[Report] = []
    part_progress, allowance = PartProgress(progress), SharedBudget(budget, max_calls)
    shown = {} if progress is None else {"progress": part_progress}
    for judge in check_judges(judges, rule):
        report = evaluate(judge=judge, budget=allowance.budget, max_calls=allowance.max_calls, **shown)
        part_progress.next_part()
        reports.append(report)
        allowance.spend(report.usage)
    return combine(reports, rule=rule, by=by, cluster=cluster, confidence=confidence, seed=seed)


def combine(
    reports: Sequence[Report],
    *,
    rule: str = "mean",
    by: str | Sequence[str] | None = None,
    cluster: str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Report:
    """One report from the reports of several judges on the same samples; its estimates are pooled here.

    The columns of metrics without a judge are those of the first report.
    """
    check_rule(rule)
    first = reports[0]
    if any(one.ids != first.ids or list(one.columns) != list(first.columns) for one in reports):
        raise InputError("the judges of a jury score the same samples by the same metrics")
    names = [one.judge or f"judge {number}" for number, one in enumerate(reports, 1)]
    judged = [label for label, note in first.notes.items() if note.way == "judged"]
    if not judged:
        raise InputError(NOTHING_JUDGED)
    combined = Report(
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
        combined.notes[label] = note
        if label in judged:
            if rule != "mean":
                combined.notes[label] = replace(note, bounds=(0.0, 1.0), threshold=_limit(note))
            combined.columns[label] = _column(
                dict(zip(names, (one.columns[label] for one in reports), strict=True)), note, rule
            )
        else:
            combined.columns[label] = column
            if (note.pool == "given" or note.way == "custom") and label in first.estimates:
                combined.estimates[label] = first.estimates[label]
    pool_report(combined, by=by, clusters=clusters_of(combined, cluster), confidence=confidence, seed=seed)
    return combined


def _cost(usage: Usage) -> dict[str, Json]:
    counts: dict[str, Json] = {
        "calls": usage.calls + usage.cached,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
    }
    return counts if usage.cost is None else {**counts, "cost": usage.cost}


def _column(judges: Mapping[str, Column], note: MetricNote, rule: str) -> Column:
    """The columns of all judges as one."""
    rows = len(next(iter(judges.values())).values)
    combined = Column(np.full(rows, math.nan))
    for row in range(rows):
        votes = {name: None if math.isnan(one.values[row]) else float(one.values[row]) for name, one in judges.items()}
        value = verdict(list(votes.values()), note, rule)
        if value is not None:
            combined.values[row] = value
        else:
            _explain_missing(combined, row, judges)
        combined.evidence[row] = {KEY: {name: _evidence(one, row) for name, one in judges.items()}}
        usages = [one.usage[row] for one in judges.values() if row in one.usage]
        if usages:
            combined.usage[row] = sum(usages, Usage())
        if requests := [key for one in judges.values() for key in one.requests.get(row, [])]:
            combined.requests[row] = requests
        draws = [one.draws[row] for one in judges.values() if row in one.draws]
        if len(draws) == len(judges) and value is not None:
            combined.draws[row] = [verdict(one, note, rule) for one in zip(*draws, strict=True)]
    return combined


def verdict(votes: Sequence[float | None], note: MetricNote, rule: str) -> float | None:
    """The combined score of several judges' scores (None: no score); None if they have none."""
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
        raise InputError(f"{note.name} has no threshold: give one, or combine by the mean")
    return note.threshold


def _explain_missing(combined: Column, row: int, judges: Mapping[str, Column]) -> None:
    """Fill in the reason for a missing score: a judge failed, a judge has no score, or they are split."""
    failed = {name: one.failed[row] for name, one in judges.items() if row in one.failed}
    undefined = {name: one.undefined[row] for name, one in judges.items() if row in one.undefined}
    for reasons, target in ((failed, combined.failed), (undefined, combined.undefined)):
        if reasons:
            name, reason = next(iter(reasons.items()))
            some = f" ({len(reasons)} of {len(judges)} judges, first {name})" if len(judges) > 1 else ""
            target[row] = f"{reason}{some}"
            return
    combined.undefined[row] = "no majority: the judges are split"


def _evidence(column: Column, row: int) -> dict[str, Json]:
    """The score of one judge on one sample, as the evidence of the combined score holds it."""
    value = column.values[row]
    score: dict[str, Json] = {"value": None if math.isnan(value) else float(value)}
    if reason := column.failed.get(row) or column.undefined.get(row):
        score["reason"] = reason
    if evidence := column.evidence.get(row):
        score["evidence"] = evidence
    return score
