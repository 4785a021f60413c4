"""Calibration of a judge: agreement with human labels, and corrected estimates for all samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from msgspec.structs import replace

from ..core.errors import InputError
from ..reports.estimates import check_tag, clusters_of
from ..reports.metric_identity import label_of
from ..reports.provenance import MetricNote
from ..reports.report import Report
from ..stats import agreement
from ..stats.agreement import Agreement, IntervalOptions
from ..stats.intervals import difference_interval, interval
from ..stats.krippendorff import krippendorff_alpha
from ..stats.pooling import FloatArray, groups, passes
from ..stats.ppi import Corrected, corrected_difference, corrected_mean
from .annotations import HumanLabel, read_labels
from .calibration import Calibration, HumanCeiling, MetricCalibration, Share
from .paired_labels import PairedLabels, by_system, check_baseline, join, sampling_warnings
from .thresholds import choose_threshold

DEFAULT_THRESHOLD = 0.5


def calibrate(
    report: Report,
    labels: object,
    *,
    metric: str | None = None,
    baseline: Report | None = None,
    baseline_labels: object = None,
    threshold: float | None = None,
    scale: tuple[float, float] | None = None,
    by: str | Sequence[str] | None = None,
    cluster: str | None = None,
    drawn: str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Calibration:
    """Measure the agreement of a judge with people, and correct its estimates with a few labelled samples.

    ``labels`` are read by ``read_labels``: one or several files, a table, mappings, or ``{sample: value}``. Each label
    has a sample, a value, and optionally a metric (default: ``metric``, or the only metric of the report), a claim and
    an annotator. ``scale`` is the range of the ratings (``(1, 5)``), which are mapped to [0, 1].

    A verdict is whether a value reaches ``threshold`` (default: the threshold of the report, else 0.5). The majority of
    several people counts; if they are split, the sample is left out of comparisons of verdicts. Bias is also reported
    for each value of the tags ``by``. With a ``baseline`` report and its labels (``baseline_labels``, or labels with a
    ``system``), the difference of the two systems is corrected too, over samples that are labelled for both.

    Corrected estimates assume that the labelled samples are a random sample of all, or random within strata (as drawn
    by ``steelyard label``). Labels without a method of sampling are assumed to be random, with a warning;
    ``drawn="random"`` confirms it.

    >>> from steelyard import evaluate_rag
    >>> rows = [{"id": str(n), "response": "Paris" if n % 3 else "Rome", "reference": "Paris"} for n in range(400)]
    >>> report = evaluate_rag(rows, metrics=["exact_match"])
    >>> people = {str(n): float(n % 3 > 0 and n % 10 != 4) for n in range(100)}
    >>> found = calibrate(report, people, drawn="random")["exact_match"]
    >>> round(found.agreement["accuracy"].value, 2), found.confusion.counts
    (0.93, ((34, 7), (0, 59)))
    >>> round(found.mean.uncorrected, 3), round(found.mean.alone, 3), round(found.mean.value, 3)
    (0.665, 0.59, 0.594)
    """
    if drawn not in {None, "random"}:
        raise InputError(f"drawn={drawn!r}: expected 'random', or labels that say how they were drawn")
    given = read_labels(labels, scale=scale)
    others = read_labels(baseline_labels, scale=scale) if baseline_labels is not None else []
    if baseline is not None and baseline_labels is None:
        given, others = by_system(given, report, baseline)
    if baseline is not None:
        check_baseline(report, baseline, others)
    if all(label.value is None for label in given):
        raise InputError("no labels: no row has a value yet" if given else "no labels: the input is empty")
    how = _Options(threshold, (by,) if isinstance(by, str) else tuple(by or ()), cluster, drawn, confidence, seed)
    metrics, warnings = dict[str, MetricCalibration](), list[str]()
    for (label, claims), group in _grouped(report, given, metric).items():
        joined = join(report, label, group, claims=claims)
        pair = None
        name = f"{label} claims" if claims else label
        if baseline is not None:
            pair = _pair(baseline, others, label, metric, claims=claims)
            if pair is None and not claims:
                warnings.append(f"{name}: no difference: the second system has no such metric, or no labels of it")
        metrics[name] = _calibrated(report, label, joined, pair, how, claims=claims)
        warnings += [f"{name}: {warning}" for warning in sampling_warnings(joined, drawn)]
    return Calibration(
        system=report.system,
        baseline="" if baseline is None else baseline.system or "baseline",
        judge=report.judge,
        metrics=metrics,
        warnings=warnings,
        confidence=confidence,
    )


class _Options:
    """The options that every metric shares."""

    def __init__(
        self,
        threshold: float | None,
        by: tuple[str, ...],
        cluster: str | None,
        drawn: str | None,
        confidence: float,
        seed: int,
    ) -> None:
        self.threshold, self.by, self.cluster, self.drawn = threshold, by, cluster, drawn
        self.confidence, self.seed = confidence, seed


def _interval_options(how: _Options) -> IntervalOptions:
    return {"confidence": how.confidence, "seed": how.seed}


def _grouped(
    report: Report, labels: Sequence[HumanLabel], metric: str | None
) -> dict[tuple[str, bool], list[HumanLabel]]:
    """Group labels by metric, with claims separate from samples."""
    found: dict[tuple[str, bool], list[HumanLabel]] = {}
    for label in labels:
        found.setdefault((label.metric or metric or "", bool(label.claim)), []).append(label)
    grouped: dict[tuple[str, bool], list[HumanLabel]] = {}
    wanted = None if metric is None else label_of(report, metric)
    for (name, claims), group in found.items():
        column = label_of(report, name)
        if wanted is None or column == wanted:
            grouped.setdefault((column, claims), []).extend(group)
    if not grouped:
        raise InputError(f"no label refers to {metric}")
    return grouped


def _pair(
    baseline: Report, labels: Sequence[HumanLabel], label: str, metric: str | None, *, claims: bool
) -> tuple[Report, PairedLabels] | None:
    if claims or label not in baseline.columns:
        return None
    group = _grouped(baseline, labels, metric).get((label, False))
    return None if group is None else (baseline, join(baseline, label, group))


def _calibrated(
    report: Report,
    label: str,
    joined: PairedLabels,
    pair: tuple[Report, PairedLabels] | None,
    how: _Options,
    *,
    claims: bool,
) -> MetricCalibration:
    note = report.notes[label]
    limit = how.threshold if how.threshold is not None else note.threshold
    limit = 0.5 if claims else limit if limit is not None or note.bounds is None else DEFAULT_THRESHOLD
    _check_scale(joined, note)
    if limit is not None:
        low, high = note.bounds or (-math.inf, math.inf)
        if not low <= limit <= high:
            raise InputError(f"threshold {limit:g} for {label}: must be in [{low:g}, {high:g}]")
    if not joined.rows:
        what, shown = "claim" if claims else "sample", ", ".join(joined.unknown_units[:3])
        raise InputError(f"no label refers to a {what} of the report; the labels have {shown}")
    tags = None if how.cluster is None else clusters_of(report, how.cluster)
    cluster = [unit.sample for unit in joined.units] if claims else None
    if tags is not None:
        cluster = [tags[unit.row] for unit in joined.units]
    rows = joined.rows
    options = _interval_options(how)
    if cluster is not None:
        options["cluster"] = [cluster[row] for row in rows]
    people, scores = joined.mean[rows], joined.scores[rows]
    found = MetricCalibration(
        metric=label,
        way=note.way,
        unit="claim" if claims else "sample",
        threshold=limit,
        total=len(joined.units),
        n=len(rows),
        unscored=int(np.isnan(scores).sum()),
        annotators=joined.annotators,
    )
    plain = _without_nan(people), _without_nan(scores)
    measures: dict[str, Agreement] = {}
    fields: dict[str, object] = {}
    if limit is not None:
        human_verdicts = _verdicts(joined, rows, limit, note)
        judge_verdicts = [None if math.isnan(one) else _passes(one, limit, note) for one in scores.tolist()]
        measures |= _verdict_agreement(human_verdicts, judge_verdicts, options)
        fields |= {
            "kappa_maximum": agreement.kappa_maximum(human_verdicts, judge_verdicts),
            "confusion": agreement.confusion(human_verdicts, judge_verdicts),
            "people_rate": _rate(human_verdicts, judge_verdicts, 0, options),
            "judge_rate": _rate(human_verdicts, judge_verdicts, 1, options),
            "ceiling": _ceiling(joined, rows, judge_verdicts, limit, note, how),
            "chosen": choose_threshold(
                human_verdicts,
                plain[1],
                limit,
                higher_is_better=note.higher_is_better,
                confidence=how.confidence,
                seed=how.seed,
            ),
        }
        measures["auc"] = agreement.roc_auc(
            human_verdicts, [_higher_is_better(one, note) for one in plain[1]], **options
        )
    graded = any(one not in {0.0, 1.0} for one in people.tolist())
    if graded or limit is None:
        measures["alpha"] = krippendorff_alpha(plain, "interval", **options)
    measures["spearman"] = agreement.spearman(*plain, **options)
    measures["kendall"] = agreement.kendall_tau(*plain, **options)
    fields |= {
        "agreement": measures,
        "bias": _bias(scores, people, options),
        "bias_by": _bias_by(report, joined, rows, options, how),
        **_corrections(joined, pair, limit, note, cluster, how),
    }
    made = replace(found, **fields)
    return replace(made, notes=_notes(made, claims=claims))


def _check_scale(joined: PairedLabels, note: MetricNote) -> None:
    if note.bounds is None:
        return
    low, high = note.bounds
    for row in joined.rows:
        if not low <= joined.mean[row] <= high:
            raise InputError(
                f"the label {joined.mean[row]:g} of {joined.units[row].sample} is outside {low:g} to {high:g}:"
                " give the range of the ratings (scale=(1, 5), --scale 1-5)"
            )


def _without_nan(values: FloatArray) -> list[float | None]:
    return [None if math.isnan(one) else one for one in values.tolist()]


def _passes(value: float, limit: float, note: MetricNote) -> float:
    return float(passes(value, limit, higher_is_better=note.higher_is_better))


def _higher_is_better(value: float | None, note: MetricNote) -> float | None:
    return value if value is None or note.higher_is_better else -value


def _verdicts(joined: PairedLabels, rows: Sequence[int], limit: float, note: MetricNote) -> list[float | None]:
    """Return the majority verdict of the annotators on each unit; None if they are split."""
    verdicts: list[float | None] = []
    for row in rows:
        human_verdicts = [
            _passes(float(one[row]), limit, note) for one in joined.people.values() if not math.isnan(one[row])
        ]
        share = sum(human_verdicts) / len(human_verdicts)
        verdicts.append(None if share == 0.5 else float(share > 0.5))
    return verdicts


def _verdict_agreement(
    human_verdicts: Sequence[float | None], judge_verdicts: Sequence[float | None], options: IntervalOptions
) -> dict[str, Agreement]:
    return {
        "accuracy": agreement.accuracy(human_verdicts, judge_verdicts, **options),
        "balanced accuracy": agreement.balanced_accuracy(human_verdicts, judge_verdicts, **options),
        "kappa": agreement.cohen_kappa(human_verdicts, judge_verdicts, **options),
        "alpha": krippendorff_alpha([human_verdicts, judge_verdicts], "nominal", **options),
    }


def _rate(
    human_verdicts: Sequence[float | None], judge_verdicts: Sequence[float | None], side: int, options: IntervalOptions
) -> Share | None:
    """Return the pass rate by people (side 0) or by the judge (side 1), over units with a verdict of both."""
    kept = [row for row, pair in enumerate(zip(human_verdicts, judge_verdicts, strict=True)) if None not in pair]
    if not kept:
        return None
    values = np.array([(human_verdicts, judge_verdicts)[side][row] for row in kept], dtype=np.float64)
    return Share.of(float(values.mean()), interval(values, **_over(options, kept)))


def _over(options: IntervalOptions, kept: Sequence[int]) -> IntervalOptions:
    tags = options.get("cluster")
    return options if tags is None else {**options, "cluster": [tags[row] for row in kept]}


def _bias(scores: FloatArray, people: FloatArray, options: IntervalOptions) -> Share | None:
    there = np.flatnonzero(~(np.isnan(scores) | np.isnan(people))).tolist()
    if not there:
        return None
    found = difference_interval(scores[there], people[there], **_over(options, there))
    return Share.of(float((scores[there] - people[there]).mean()), found)


def _bias_by(
    report: Report, joined: PairedLabels, rows: Sequence[int], options: IntervalOptions, how: _Options
) -> dict[str, Share]:
    tags = [sample.tags for sample in report.samples]
    found = {}
    for tag in how.by:
        check_tag(tag, tags)
        for value, members in groups([tags[joined.units[row].row] for row in rows], tag).items():
            kept = [rows[at] for at in members]
            one = _bias(joined.scores[kept], joined.mean[kept], _over(options, members))
            if one is not None:
                found[f"{tag}={value}"] = one
    return found


def _ceiling(
    joined: PairedLabels,
    rows: Sequence[int],
    judge_verdicts: Sequence[float | None],
    limit: float,
    note: MetricNote,
    how: _Options,
) -> HumanCeiling | None:
    """Measure the agreement among people, and of the judge with each of them, over units with several labels."""
    alike, shared, ratings = [], [], []
    for row, verdict in zip(rows, judge_verdicts, strict=True):
        human_verdicts = [
            None if math.isnan(one[row]) else _passes(float(one[row]), limit, note) for one in joined.people.values()
        ]
        there = [one for one in human_verdicts if one is not None]
        if len(there) < 2:
            continue
        ratings.append(human_verdicts)
        pairs = list(combinations(there, 2))
        alike.append((sum(one == other for one, other in pairs), len(pairs)))
        if verdict is not None:
            shared.append((sum(one == verdict for one in there), len(there)))
    if not alike:
        return None
    options = _interval_options(how)
    alpha = krippendorff_alpha([list(one) for one in zip(*ratings, strict=True)], "nominal", **options)
    return HumanCeiling(len(joined.people), len(alike), _ratio(alike, options), _ratio(shared, options), alpha)


def _ratio(parts: Sequence[tuple[float, float]], options: IntervalOptions) -> Share:
    if not parts:
        return Share(None)
    rows = np.array(parts, dtype=np.float64)
    total = rows.sum(axis=0)
    return Share.of(float(total[0] / total[1]), interval(rows, statistic="ratio", **options))


def _corrections(
    joined: PairedLabels,
    pair: tuple[Report, PairedLabels] | None,
    limit: float | None,
    note: MetricNote,
    cluster: Sequence[str] | None,
    how: _Options,
) -> dict[str, Corrected]:
    strata, shares = (joined.strata, joined.shares) if joined.shares else (None, None)
    options = {"strata": strata, "shares": shares, "cluster": cluster, "confidence": how.confidence}
    found = {"mean": corrected_mean(joined.mean, joined.scores, **options)}  # type: ignore[arg-type]
    sides = [(joined.mean, joined.scores)]
    if pair is not None:
        sides.append(_aligned(joined, pair[1]))
        (mine, ours), (theirs, others) = sides
        found["difference"] = corrected_difference(mine, ours, theirs, others, **options)  # type: ignore[arg-type]
    if limit is not None:
        passed = [[_passed(values, limit, note) for values in side] for side in sides]
        found["pass_rate"] = corrected_mean(*passed[0], **options)  # type: ignore[arg-type]
        if pair is not None:
            found["pass_difference"] = corrected_difference(*passed[0], *passed[1], **options)  # type: ignore[arg-type]
    return found


def _aligned(joined: PairedLabels, other: PairedLabels) -> tuple[FloatArray, FloatArray]:
    """Return labels and scores of the other system in the order of the first one's units; NaN for missing units."""
    place_of = {unit.sample: place for place, unit in enumerate(other.units)}
    places = [place_of.get(unit.sample, -1) for unit in joined.units]
    labels, scores = (np.append(values, math.nan)[places] for values in (other.mean, other.scores))
    return labels, scores


def _passed(values: FloatArray, limit: float, note: MetricNote) -> FloatArray:
    gaps = np.round(values - limit, 9)
    passed = gaps >= 0 if note.higher_is_better else gaps <= 0
    return np.where(np.isnan(values), math.nan, passed.astype(np.float64))


def _notes(found: MetricCalibration, *, claims: bool) -> list[str]:
    """Explain numbers that are easily misread."""
    notes = []
    hit, rate, kappa = found.agreement.get("accuracy"), found.people_rate, found.agreement.get("kappa")
    if hit is not None and hit.value is not None and rate is not None and rate.value is not None:
        commonest = max(rate.value, 1 - rate.value)
        word = "pass" if rate.value >= 0.5 else "fail"
        if hit.value <= commonest + 1e-9:
            too = " too" if hit.value >= commonest - 1e-9 else ""
            notes.append(
                f"no better than a constant: always answering {word} agrees with people on {commonest:.3f}{too}"
            )
        elif kappa is not None and kappa.low is not None and kappa.low <= 0:
            notes.append(f"not significantly better than always answering {word}, which agrees on {commonest:.3f}")
    if found.unscored:
        what = "claims" if claims else "samples"
        notes.append(f"{found.unscored} labelled {what} have no score from the judge and are left out")
    if found.mean.reason:
        notes.append(f"no corrected estimate: {found.mean.reason}")
    return notes
