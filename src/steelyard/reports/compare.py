"""Compare two reports, paired by sample id, and find regressions.

Two reports are compared only if the same data was scored in the same way; otherwise the comparison has blockers and no
verdict. Every delta has its n, interval and adjusted p, and is signed so that negative is worse. A metric that lost all
its scored samples is a regression, whatever the mean of the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from ..core.errors import InputError, UnknownName, check_range
from ..core.wording import did_you_mean
from ..stats.intervals import difference_interval
from ..stats.pooling import Column, FloatArray, groups, passes, rows_of, statistic_for
from ..stats.power import detectable_effect
from ..stats.significance import holm, paired_test, sign_counts
from .blockers import blockers
from .comparison import Change, Comparison, MetricDelta, Verdict
from .estimates import check_tag, clusters_of
from .explain import reason_of
from .judge_noise import delta_floor, drawn
from .metric_identity import find_label, under_names_of
from .provenance import MetricNote
from .report import Report

NOISE = 1e-9
"""A smaller change counts as rounding."""

WORST = 10


def compare(
    current: Report,
    baseline: Report,
    tolerance: float = 0.01,
    *,
    alpha: float = 0.05,
    significant: bool = False,
    metrics: Sequence[str] | None = None,
    tolerances: Mapping[str, float] | None = None,
    by: str | Sequence[str] | None = None,
    cluster: str | None = None,
    max_failed: float = 0.0,
    confidence: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare two reports, paired by sample id.

    A regression is a drop of more than ``tolerance`` (absolute; ``tolerances`` per metric), or a metric without scored
    samples. With ``significant``, a drop must also be significant at ``alpha`` after Holm's adjustment over metrics and
    slices. Slices are compared for the tags in ``by``. More than ``max_failed`` failures, or another dataset, judge,
    policy, metric revision or way are blockers: the result then has no verdict, and ``passed`` is False. A different
    judge or embedder that no compared metric uses is not a blocker, nor is another price. A metric with two names
    (``P@5``, ``precision@5``) is compared under its name in ``current``.

    >>> from steelyard import evaluate_run
    >>> qrels = {"q1": {"d1": 1}, "q2": {"d2": 1}}
    >>> before = evaluate_run({"q1": {"d1": 2, "d9": 1}, "q2": {"d2": 2}}, qrels, ["mrr"])
    >>> after = evaluate_run({"q1": {"d1": 1, "d9": 2}, "q2": {"d2": 2}}, qrels, ["mrr"])
    >>> found = compare(after, before)
    >>> found.passed, found.deltas[0].delta, found.deltas[0].n
    (False, -0.25, 2)
    """
    _check_numbers(tolerance, tolerances, alpha, max_failed)
    baseline = under_names_of(current, baseline)
    labels = _labels(current, baseline, metrics)
    limits = _limits({**baseline.notes, **current.notes}, labels, tolerances)
    baseline_rows = {one: row for row, one in enumerate(baseline.ids)}
    pairs = [(baseline_rows[one], row) for row, one in enumerate(current.ids) if one in baseline_rows]
    current_ids = set(current.ids)
    deltas = []
    for part, part_pairs in _parts(current, pairs, by).items():
        clusters = _clusters(current, cluster, part_pairs)
        for label in labels:
            limit = limits.get(label, tolerance)
            deltas.append(_delta(current, baseline, label, part, part_pairs, limit, clusters, confidence, seed))
    adjusted = holm([one.p for one in deltas])
    deltas = [
        _with_verdict(one, p, alpha=alpha, significant=significant) for one, p in zip(deltas, adjusted, strict=True)
    ]
    against = blockers(current, baseline, labels, max_failed)
    if not any(one.delta is not None or one.regression for one in deltas):
        against.append("nothing to compare: no sample has a score for the same metric in both reports")
    return Comparison(
        baseline=baseline.system or "baseline",
        current=current.system or "current",
        blockers=against,
        deltas=deltas,
        notes=_notes(current, baseline, labels),
        n_paired=len(pairs),
        only_baseline=[one for one in baseline.ids if one not in current_ids],
        only_current=[one for one in current.ids if one not in baseline_rows],
        alpha=alpha,
        significant=significant,
        confidence=confidence,
    )


def _check_numbers(tolerance: float, tolerances: Mapping[str, float] | None, alpha: float, max_failed: float) -> None:
    for name, value in {"tolerance": tolerance, **(tolerances or {})}.items():
        check_range(name if name == "tolerance" else f"tolerance of {name}", value, 0)
    if not 0 < alpha < 1:
        raise InputError(f"alpha={alpha}: must be in (0, 1)")
    check_range("max_failed", max_failed, 0, 1)


def _labels(current: Report, baseline: Report, metrics: Sequence[str] | None) -> list[str]:
    known = list(dict.fromkeys([*baseline.columns, *current.columns]))
    notes, requested = {**baseline.notes, **current.notes}, []
    for name in metrics or ():
        label = find_label(notes, name)
        if label is None:
            raise UnknownName(f"no metric {name!r} in the reports: {did_you_mean(name, known)}")
        requested.append(label)
    return list(dict.fromkeys(requested)) or known


def _limits(
    notes: Mapping[str, MetricNote], labels: Sequence[str], tolerances: Mapping[str, float] | None
) -> dict[str, float]:
    """The tolerances by the metrics' labels in the comparison."""
    found = {}
    for name, limit in (tolerances or {}).items():
        label = find_label(notes, name)
        if label not in labels:
            raise UnknownName(f"no metric {name!r} for the tolerance: {did_you_mean(name, labels)}")
        found[str(label)] = limit
    return found


def _parts(
    current: Report, pairs: list[tuple[int, int]], by: str | Sequence[str] | None
) -> dict[str, list[tuple[int, int]]]:
    parts = {"": pairs}
    tags = [sample.tags for sample in current.samples]
    for tag in [by] if isinstance(by, str) else by or ():
        check_tag(tag, tags)
        rows = {row: pair for pair in pairs for row in [pair[1]]}
        for value, members in groups(tags, tag).items():
            parts[f"{tag}={value}"] = [rows[row] for row in members if row in rows]
    return parts


def _clusters(current: Report, cluster: str | None, pairs: list[tuple[int, int]]) -> list[str] | None:
    every = clusters_of(current, cluster)
    return None if every is None else [every[row] for _, row in pairs]


def _delta(
    current: Report,
    baseline: Report,
    label: str,
    part: str,
    pairs: list[tuple[int, int]],
    tolerance: float,
    clusters: list[str] | None,
    confidence: float,
    seed: int,
) -> MetricDelta:
    before, after = baseline.columns.get(label), current.columns.get(label)
    note = current.notes.get(label) or baseline.notes[label]
    plain = MetricDelta(
        metric=label, slice=part, way=note.way, higher_is_better=note.higher_is_better, tolerance=tolerance
    )
    if before is None or after is None:
        return replace(plain, verdict="new" if before is None else "lost", regression=after is None)
    old = before.values[[pair[0] for pair in pairs]] if pairs else np.empty(0)
    new = after.values[[pair[1] for pair in pairs]] if pairs else np.empty(0)
    scored_old, scored_new = ~np.isnan(old), ~np.isnan(new)
    both = np.flatnonzero(scored_old & scored_new)
    plain = replace(
        plain, n=len(both), unscored_baseline=int((~scored_old).sum()), unscored_current=int((~scored_new).sum())
    )
    if not len(both):
        if scored_old.any() and not scored_new.any():
            return replace(plain, verdict="lost", regression=True)
        return replace(plain, verdict="new") if scored_new.any() else plain
    statistic = statistic_for(note.pool)
    rows_old = rows_of(before, [pairs[at][0] for at in both.tolist()], note.pool, label)
    rows_new = rows_of(after, [pairs[at][1] for at in both.tolist()], note.pool, label)
    clusters_of_pairs = None if clusters is None else [clusters[at] for at in both.tolist()]
    sign = 1.0 if note.higher_is_better else -1.0
    spread = difference_interval(
        rows_new, rows_old, statistic=statistic, confidence=confidence, seed=seed, cluster=clusters_of_pairs
    )
    test = paired_test(rows_new, rows_old, statistic=statistic, seed=seed, cluster=clusters_of_pairs)
    signs = sign_counts(sign * new[both], sign * old[both], tolerance=NOISE)
    ends = [None if end is None else sign * end for end in (spread.low, spread.high)]
    value_old, value_new = float(statistic(rows_old)), float(statistic(rows_new))
    flips = _flips(old[both], new[both], note)
    return replace(
        plain,
        baseline=value_old,
        current=value_new,
        delta=sign * (value_new - value_old),
        low=ends[0] if sign > 0 else ends[1],
        high=ends[1] if sign > 0 else ends[0],
        p=test.p,
        test=test.method,
        win=signs.win,
        tie=signs.tie,
        loss=signs.loss,
        detectable=_detectable(new[both] - old[both], note),
        noise=_noise(before, after, [pairs[at] for at in both.tolist()], note, confidence),
        to_fail=flips[0],
        to_pass=flips[1],
        worst=_worst(current, label, pairs, both.tolist(), old, new, sign),
    )


def _detectable(differences: FloatArray, note: MetricNote) -> float | None:
    """The smallest detectable difference; None if it exceeds the metric's range."""
    if len(differences) < 2:
        return None
    spread = float(differences.std(ddof=1))
    least = detectable_effect(len(differences), spread if spread > NOISE else 0.0)
    room = math.inf if note.bounds is None else note.bounds[1] - note.bounds[0]
    return least if least is not None and least <= room else None


def _noise(
    before: Column, after: Column, pairs: list[tuple[int, int]], note: MetricNote, confidence: float
) -> float | None:
    if note.pool != "mean" or not (before.draws or after.draws):
        return None
    return delta_floor(drawn(before), drawn(after), pairs, confidence=confidence)


def _flips(
    old: FloatArray,
    new: FloatArray,
    note: MetricNote,
) -> tuple[int, int]:
    if note.threshold is None:
        return 0, 0
    limit, up = note.threshold, note.higher_is_better
    states = [
        (passes(a, limit, higher_is_better=up), passes(b, limit, higher_is_better=up))
        for a, b in zip(old.tolist(), new.tolist(), strict=True)
    ]
    return states.count((True, False)), states.count((False, True))


def _worst(
    current: Report,
    label: str,
    pairs: list[tuple[int, int]],
    both: list[int],
    old: FloatArray,
    new: FloatArray,
    sign: float,
) -> list[Change]:
    """The samples with the largest losses, largest first, ties in the order of the report."""
    losses = sorted((sign * float(new[at] - old[at]), at) for at in both if sign * (new[at] - old[at]) < -NOISE)
    rows = [(pairs[at][1], float(old[at]), float(new[at])) for _, at in losses[:WORST]]
    return [Change(current.ids[row], before, now, reason_of(current, row, label)) for row, before, now in rows]


def _with_verdict(one: MetricDelta, adjusted: float | None, *, alpha: float, significant: bool) -> MetricDelta:
    if one.verdict in {"lost", "new"} or one.delta is None:
        return one
    sure = not significant or (adjusted is not None and adjusted <= alpha)
    worse = one.delta < -(one.tolerance + NOISE) and sure
    better = one.delta > one.tolerance + NOISE and sure
    verdict: Verdict = "worse" if worse else "better" if better else "same"
    return replace(one, p_adjusted=adjusted, verdict=verdict, regression=worse)


def _notes(current: Report, baseline: Report, labels: Sequence[str]) -> list[str]:
    """Notes on changed coverage and on failures, which are not blockers."""
    lines = []
    for label in labels:
        before, after = baseline.estimates.get(label), current.estimates.get(label)
        if before is not None and after is not None and before.n != after.n:
            lines.append(f"{label}: {before.n} scored before, {after.n} now")
        if after is not None and after.failed:
            row, reason = next(iter(current.columns[label].failed.items()))
            lines.append(f"{label}: {after.failed} failed, first {current.ids[row]}: {reason}")
    return lines
