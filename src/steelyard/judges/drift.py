"""Did the judge move? A set of samples that was judged once, judged again by a new model or a new revision of a prompt.

The samples are the same, so whatever differs is the judge's doing. Where people have labelled some of them, it also
shows which of the two judges agrees with them more often.
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
"""So many samples that moved are kept."""


class BesidePeople(Struct, frozen=True):
    """How often each judge's verdict is people's, over the ``n`` samples labelled and scored by both; paired p."""

    before: float
    after: float
    n: int
    p: float | None


class Moved(Struct, frozen=True):
    """One metric, judged twice. ``delta`` holds means, interval, p and flips; ``movers`` the samples that moved most.

    ``same`` is how often the two verdicts are equal, ``ranks`` how far the two order samples alike (Spearman).
    ``moved`` says that the change is significant and larger than the tolerance.
    """

    metric: str
    delta: MetricDelta
    moved: bool
    same: Agreement | None
    ranks: Agreement
    people: BesidePeople | None = None
    movers: list[Change] = field(default_factory=list)

    def words(self) -> str:
        """What happened, in words."""
        if self.delta.delta is None:
            return "nothing to compare"
        if not self.moved:
            return "no detectable drift" + (", below judge noise" if self.delta.below_noise else "")
        lower = (self.delta.current or 0.0) < (self.delta.baseline or 0.0)
        return "scores lower" if lower else "scores higher"


class Drift(Printable, Struct, frozen=True, kw_only=True):
    """An anchor set judged twice: what changed between the two, and what moved."""

    changed: list[str]
    metrics: dict[str, Moved] = field(default_factory=dict)
    n_samples: int = 0
    alpha: float = 0.05
    tolerance: float = 0.0
    confidence: float = 0.95

    @property
    def moved(self) -> list[str]:
        """The metrics that moved."""
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
    """The anchor's samples and judged metrics again, by another judge or by what the same one is now."""
    asked, repeats = _again(anchor)
    notes = {label: anchor.notes[label] for label in asked}
    gates = {label: note.threshold for label, note in notes.items() if note.gates and note.threshold is not None}
    return evaluate_rag(
        anchor.samples,
        metrics=asked,
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
    """What ``rejudge`` would ask and cost. Nothing is asked."""
    asked, repeats = _again(anchor)
    return plan_rag(
        anchor.samples, metrics=asked, judge=judge, embedder=anchor.embedder, ledger=ledger, repeats=repeats
    )


def check_labels(anchor: Report, labels: Sequence[HumanLabel], metric: str | None = None) -> None:
    """InputError where labels are about no metric or no sample of the anchor: before anything is asked."""
    asked, _ = _again(anchor)
    for label, group in _by_metric(anchor, labels, metric or (asked[0] if len(asked) == 1 else "")).items():
        join(anchor, label, group)


def _again(anchor: Report) -> tuple[list[str], int]:
    """The metrics of an anchor that ask a judge, and how often."""
    asked = [label for label, note in anchor.notes.items() if note.way == "judged"]
    if not asked:
        raise InputError("no metric of the report uses a judge, so drift cannot be measured")
    if len(anchor.samples) < len(anchor.ids):
        raise InputError("the report does not contain its samples, which are needed to score them again")
    repeats = anchor.policy.get("repeats")
    return asked, repeats if isinstance(repeats, int) else 1


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
    """What moved between two judgements of the same samples: paired differences, tests and flips, metric by metric.

    A metric has moved if its mean differs by more than ``tolerance`` and the paired test, with Holm's
    adjustment over the metrics, is significant at ``alpha``. Other data or another way of measuring is an InputError.
    ``labels`` are people's, as ``calibrate`` takes them; those that name no metric are about ``metric`` (default: the
    only one that both reports judged).
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
    people: Mapping[str, BesidePeople] = {}
    if labels is not None:
        about = metric or (shared[0] if len(shared) == 1 else "")
        people = _people(anchor, current, read_labels(labels, scale=scale), about, shared, seed)
    metrics = {}
    for one in compared.deltas:
        both = _both(anchor, current, one.metric)
        sure = one.p_adjusted is not None and one.p_adjusted <= alpha
        metrics[one.metric] = Moved(
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
    """What is not the same of the two ways of judging."""
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


def _both(anchor: Report, current: Report, label: str) -> tuple[FloatArray, FloatArray]:
    """The two scores of each sample of the anchor."""
    where = {one: row for row, one in enumerate(current.ids)}
    rows = [where.get(one, -1) for one in anchor.ids]
    return anchor.columns[label].values, np.append(current.columns[label].values, np.nan)[rows]


def _movers(ids: Sequence[str], before: FloatArray, after: FloatArray) -> list[Change]:
    """The samples whose scores differ most, largest difference first."""
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


def _by_metric(anchor: Report, labels: Sequence[HumanLabel], about: str) -> dict[str, list[HumanLabel]]:
    """Labels of samples by the metric that they are about."""
    found: dict[str, list[HumanLabel]] = {}
    for label in labels:
        if not label.claim:
            found.setdefault(label_of(anchor, label.metric or about), []).append(label)
    return found


def _people(
    anchor: Report, current: Report, labels: Sequence[HumanLabel], about: str, shared: Sequence[str], seed: int
) -> Mapping[str, BesidePeople]:
    """For each metric that people labelled, how often either judge's verdict is theirs."""
    found = {}
    for metric, group in _by_metric(anchor, labels, about).items():
        note = anchor.notes[metric]
        limit = note.threshold
        if metric not in shared or limit is None:
            continue
        joined = join(anchor, metric, group)
        before, after = _both(anchor, current, metric)
        rows = [row for row in joined.rows if not np.isnan(before[row]) and not np.isnan(after[row])]
        said, one, other = (
            np.array([passes(float(side[row]), limit, higher_is_better=note.higher_is_better) for row in rows])
            for side in (joined.mean, before, after)
        )
        if rows:
            hits = (one == said).astype(np.float64), (other == said).astype(np.float64)
            test = paired_test(hits[1], hits[0], seed=seed)
            found[metric] = BesidePeople(float(hits[0].mean()), float(hits[1].mean()), len(rows), test.p)
    return found
