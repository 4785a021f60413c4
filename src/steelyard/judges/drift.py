"""Drift of a judge: the same samples scored twice, by another model or with another revision of a prompt.

The samples are equal, so any difference is caused by the judge. Human labels of some samples also show which of the two
judges agrees with people more often.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field

from ..core.errors import InputError, check_range
from ..core.printable import Printable
from ..evaluate.evaluate_samples import evaluate_rag, plan_rag
from ..evaluate.plan import Plan
from ..reports.compare import NOISE, compare
from ..reports.comparison import Change, MetricDelta
from ..reports.metric_identity import label_of
from ..reports.report import Report
from ..stats.agreement import Agreement, accuracy, spearman
from ..stats.pooling import FloatArray, passes
from ..stats.significance import paired_test
from .annotations import HumanLabel, read_labels
from .paired_labels import join

if TYPE_CHECKING:
    from ..models.engine import Progress
    from ..models.judge import LLMJudge

MOST = 10
"""Largest number of changed samples in the result."""


class HumanAgreement(Struct, frozen=True):
    """Agreement of each judge's verdicts with people, over ``n`` samples with a label and both scores; paired p."""

    before: float
    after: float
    n: int
    p: float | None


class MetricDrift(Struct, frozen=True):
    """One metric, scored twice. ``delta`` holds means, interval, p and flips; ``movers`` the samples that changed most.

    ``same`` is the share of equal verdicts, ``ranks`` the rank correlation of the scores (Spearman). ``moved`` is true
    if the change is significant and larger than the tolerance.
    """

    metric: str
    delta: MetricDelta
    moved: bool
    same: Agreement | None
    ranks: Agreement
    people: HumanAgreement | None = None
    movers: list[Change] = field(default_factory=list)

    def words(self) -> str:
        """Describe the change."""
        if self.delta.delta is None:
            return "nothing to compare"
        if not self.moved:
            return "no detectable drift" + (", below judge noise" if self.delta.below_noise else "")
        lower = (self.delta.current or 0.0) < (self.delta.baseline or 0.0)
        return "scores lower" if lower else "scores higher"


class Drift(Printable, Struct, frozen=True, kw_only=True):
    """Result of a drift analysis: differences between the two judges, and the change of each metric."""

    changed: list[str]
    metrics: dict[str, MetricDrift] = field(default_factory=dict)
    n_samples: int = 0
    alpha: float = 0.05
    tolerance: float = 0.0
    confidence: float = 0.95

    @property
    def moved(self) -> list[str]:
        """The metrics that drifted."""
        return [name for name, one in self.metrics.items() if one.moved]


def rejudge(
    anchor: Report,
    judge: LLMJudge | str,
    *,
    concurrency: int = 16,
    budget: float | None = None,
    max_calls: int | None = None,
    ledger: str | Path | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Score the judged metrics of the anchor's samples again, with another judge or the current version of the same."""
    metrics, repeats = _judged_metrics(anchor)
    notes = {label: anchor.notes[label] for label in metrics}
    gates = {label: note.threshold for label, note in notes.items() if note.gates and note.threshold is not None}
    return evaluate_rag(
        anchor.samples,
        metrics=metrics,
        judge=judge,
        embedder=anchor.embedder,
        thresholds=gates,
        concurrency=concurrency,
        repeats=repeats,
        budget=budget,
        max_calls=max_calls,
        ledger=ledger,
        offline=offline,
        name=anchor.system,
        dataset=anchor.dataset.name,
        progress=progress,
    )


def plan_rejudge(anchor: Report, judge: LLMJudge | str, *, ledger: str | Path | None = None) -> Plan:
    """Plan the calls and the cost of ``rejudge`` without making any call."""
    metrics, repeats = _judged_metrics(anchor)
    return plan_rag(
        anchor.samples, metrics=metrics, judge=judge, embedder=anchor.embedder, ledger=ledger, repeats=repeats
    )


def check_labels(anchor: Report, labels: Sequence[HumanLabel], metric: str | None = None) -> None:
    """Raise InputError, before any call, if labels refer to no metric or no sample of the anchor."""
    metrics, _ = _judged_metrics(anchor)
    for label, group in _by_metric(anchor, labels, metric or (metrics[0] if len(metrics) == 1 else "")).items():
        join(anchor, label, group)


def _judged_metrics(anchor: Report) -> tuple[list[str], int]:
    """Return the judged metrics of an anchor, and its number of repeats."""
    metrics = [label for label, note in anchor.notes.items() if note.way == "judged"]
    if not metrics:
        raise InputError("no metric of the report uses a judge, so drift cannot be measured")
    if len(anchor.samples) < len(anchor.ids):
        raise InputError("the report does not contain its samples, which are needed to score them again")
    repeats = anchor.policy.get("repeats")
    return metrics, repeats if isinstance(repeats, int) else 1


def drift(
    anchor: Report,
    current: Report,
    *,
    labels: object = None,
    metric: str | None = None,
    scale: tuple[float, float] | None = None,
    tolerance: float = 0.0,
    alpha: float = 0.05,
    confidence: float = 0.95,
    seed: int = 0,
) -> Drift:
    """Compare two judgings of the same samples by metric: paired differences, tests and flips.

    A metric has drifted if its mean differs by more than ``tolerance`` and the paired test, with Holm's adjustment over
    the metrics, is significant at ``alpha``. Different data or a different kind of metric raises InputError. ``labels``
    are human labels, as in ``calibrate``; labels without a metric belong to ``metric`` (default: the only metric judged
    in both reports).
    """
    check_range("tolerance", tolerance, 0)
    shared = [
        label
        for label, note in anchor.notes.items()
        if label in current.notes and note.way == current.notes[label].way == "judged"
    ]
    if not shared:
        raise InputError("the two reports share no judged metric")
    if anchor.dataset.digest != current.dataset.digest:
        raise InputError(
            f"different dataset: {anchor.dataset.digest or 'none'} in the anchor, {current.dataset.digest or 'none'}"
            " now; drift compares scores of the same samples"
        )
    compared = compare(
        current, anchor, 0.0, alpha=alpha, metrics=shared, max_failed=1.0, confidence=confidence, seed=seed
    )
    people: Mapping[str, HumanAgreement] = {}
    if labels is not None:
        default_metric = metric or (shared[0] if len(shared) == 1 else "")
        people = _people(anchor, current, read_labels(labels, scale=scale), default_metric, shared, seed)
    metrics = {}
    for one in compared.deltas:
        both = _paired_scores(anchor, current, one.metric)
        sure = one.p_adjusted is not None and one.p_adjusted <= alpha
        metrics[one.metric] = MetricDrift(
            metric=one.metric,
            delta=one,
            moved=sure and one.delta is not None and abs(one.delta) > tolerance,
            same=_same(anchor, one.metric, both),
            ranks=spearman(both[0].tolist(), both[1].tolist(), confidence=confidence, seed=seed),
            people=people.get(one.metric),
            movers=_movers(anchor.ids, *both),
        )
    return Drift(
        changed=_changed(anchor, current, shared),
        metrics=metrics,
        n_samples=len(anchor.ids),
        alpha=alpha,
        tolerance=tolerance,
        confidence=confidence,
    )


def _changed(anchor: Report, current: Report, shared: Sequence[str]) -> list[str]:
    """List the differences between the two judges and their metrics."""
    lines = []
    for what, before, after in (
        ("judge", anchor.judge, current.judge),
        ("embedder", anchor.embedder, current.embedder),
        ("steelyard", anchor.versions.get("steelyard"), current.versions.get("steelyard")),
    ):
        if before != after:
            lines.append(f"{what}: {before or 'none'} → {after or 'none'}")
    for label in shared:
        was, now = anchor.notes[label], current.notes[label]
        if was.revision != now.revision:
            lines.append(f"{label}: revision {was.revision} → {now.revision}")
        if was.name != now.name:
            lines.append(f"{label}: {was.name} → {now.name}")
    return lines


def _paired_scores(anchor: Report, current: Report, label: str) -> tuple[FloatArray, FloatArray]:
    """Return both scores of each sample of the anchor."""
    row_of = {one: row for row, one in enumerate(current.ids)}
    rows = [row_of.get(one, -1) for one in anchor.ids]
    return anchor.columns[label].values, np.append(current.columns[label].values, np.nan)[rows]


def _movers(ids: Sequence[str], before: FloatArray, after: FloatArray) -> list[Change]:
    """Return the samples with the largest differences of scores, largest first."""
    gaps = np.nan_to_num(np.abs(after - before))
    order = [int(row) for row in np.argsort(-gaps, kind="stable")[:MOST] if gaps[row] > NOISE]
    return [Change(ids[row], float(before[row]), float(after[row])) for row in order]


def _same(anchor: Report, label: str, both: tuple[FloatArray, FloatArray]) -> Agreement | None:
    note = anchor.notes[label]
    limit = note.threshold
    if limit is None:
        return None

    def verdict(value: float) -> float | None:
        if math.isnan(value):
            return None
        return float(passes(value, limit, higher_is_better=note.higher_is_better))

    before, after = ([verdict(value) for value in side.tolist()] for side in both)
    return accuracy(before, after)


def _by_metric(anchor: Report, labels: Sequence[HumanLabel], default_metric: str) -> dict[str, list[HumanLabel]]:
    """Group labels of samples by metric."""
    found: dict[str, list[HumanLabel]] = {}
    for label in labels:
        if not label.claim:
            found.setdefault(label_of(anchor, label.metric or default_metric), []).append(label)
    return found


def _people(
    anchor: Report, current: Report, labels: Sequence[HumanLabel], default_metric: str, shared: Sequence[str], seed: int
) -> Mapping[str, HumanAgreement]:
    """Measure the agreement of both judges with people, for each labelled metric."""
    found = {}
    for metric, group in _by_metric(anchor, labels, default_metric).items():
        note = anchor.notes[metric]
        limit = note.threshold
        if metric not in shared or limit is None:
            continue
        joined = join(anchor, metric, group)
        before, after = _paired_scores(anchor, current, metric)
        rows = [row for row in joined.rows if not np.isnan(before[row]) and not np.isnan(after[row])]
        labelled, one, other = (
            np.array([passes(float(side[row]), limit, higher_is_better=note.higher_is_better) for row in rows])
            for side in (joined.mean, before, after)
        )
        if rows:
            hits = (one == labelled).astype(np.float64), (other == labelled).astype(np.float64)
            test = paired_test(hits[1], hits[0], seed=seed)
            found[metric] = HumanAgreement(float(hits[0].mean()), float(hits[1].mean()), len(rows), test.p)
    return found
