"""From samples to a report: a ``Scorer`` holds the metrics and options of a run, plans it and makes its report.

Rules of this file: ``columns`` scores samples one by one, so that the cells of any part of them are those of all of
them at once; ``report`` does the work that needs all samples (ranking metrics, batch metrics, estimates, intervals). A
run in one process calls one after the other; a job scores its parts anywhere and makes one report of their cells.
"""

from __future__ import annotations

import inspect
import math
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..core.errors import InputError, WrongType, reason_of
from ..core.metric_names import Parameter
from ..core.records import Estimate, Outcome, Sample, Undefined, Value
from ..core.requests import outcome
from ..core.wording import pluralize
from ..datasets.dataset import digest_of
from ..metrics.lookup import RequestedMetric, check_threshold, requested_metrics
from ..metrics.registry import Metric
from ..metrics.score_columns import COLUMNS
from ..models.run_options import DEFAULT_OPTIONS, RunOptions
from ..reports.estimates import clusters_of, pool_report
from ..reports.metric_identity import find_label
from ..reports.provenance import DatasetNote, MetricNote, stamp, versions
from ..reports.report import Report
from ..stats.pooling import Column, estimate
from .plan import Plan, plan_of
from .required_fields import absent

if TYPE_CHECKING:
    from ..models.budget import SharedBudget
    from ..models.embedder import Embedder
    from ..models.judge import LLMJudge
    from .judged_scorer import JudgedScorer

DEFAULT_THRESHOLD = 0.5
_BLOCK = 32
"""Samples that all metrics score before the next ones: few enough that a text which one metric has split is still in
the memory of the next."""


class Scorer:
    """The metrics of a run with their limits, its models and options: all that a report needs besides samples.

    ``thresholds`` and ``pass_rates`` are limits by metric; ``by`` names the tags of slices, ``cluster`` the tag whose
    samples are resampled together. Raises InputError for an unknown metric, or a limit on none of the metrics.

    >>> scorer = Scorer(["exact_match"])
    >>> print(scorer.plan([Sample(id="q", response="Paris", reference="paris")]))
    exact_match [lexical] on 1 row
    >>> scorer.run([Sample(id="q", response="Paris", reference="paris")]).metrics
    {'exact_match': 1.0}
    """

    def __init__(
        self,
        metrics: Iterable[str | Metric | object],
        *,
        judge: LLMJudge | str | None = None,
        embedder: Embedder | str | None = None,
        thresholds: Mapping[str, float] | None = None,
        pass_rates: Mapping[str, float] | None = None,
        by: str | Sequence[str] | None = None,
        cluster: str | None = None,
        options: RunOptions = DEFAULT_OPTIONS,
    ) -> None:
        _check_judge(judge)
        named, self.batch = split_batch_metrics(metrics)
        self.requested = requested_metrics(named, judged=judge is not None)
        if not self.requested and not self.batch:
            raise InputError("no metrics requested")
        self.limits = {self._label(label): check_threshold(label, value) for label, value in (thresholds or {}).items()}
        self._check_labels("threshold", self.limits)
        self._check_rates({self._label(label): rate for label, rate in (pass_rates or {}).items()})
        self.judge, self.embedder, self.options = judge, embedder, options
        self.by, self.cluster = by, cluster

    @property
    def judged(self) -> list[RequestedMetric]:
        """The metrics that call a judge or an embedder."""
        return [one for one in self.requested if one.metric.kind == "judged" or one.metric.embeds]

    @cached_property
    def judged_scorer(self) -> JudgedScorer:
        """The engine of the run, which is made when it is first needed."""
        from .judged_scorer import JudgedScorer

        return JudgedScorer(judge=self.judge, embedder=self.embedder, options=self.options)

    def check(self) -> None:
        """InputError if no sample can be scored: a model, its key or the price for a budget is missing."""
        if self.judged:
            self.judged_scorer.columns(self.judged, [])

    def plan(self, samples: Sequence[Sample]) -> Plan:
        """The plan of ``run``: rows by metric, skipped rows with reasons, calls, tokens and cost. No call is made."""
        if self.judge is None and self.embedder is None:
            return Plan(plan_of(self.requested, samples))
        return self.judged_scorer.plan(self.requested, samples)

    def plans(self, samples: Sequence[Sample]) -> dict[str, Plan]:
        """The plan of each judge, by its name: here there is at most one."""
        return {"" if self.judge is None else str(self.judge): self.plan(samples)}

    def run(self, samples: Sequence[Sample], *, name: str = "", dataset: str = "") -> Report:
        """Score samples, pool the scores, and return the report. InputError if there are no samples."""
        report = self.score(samples, name=name, dataset=dataset)
        self.pool(report)
        return report

    def score(
        self, samples: Sequence[Sample], *, name: str = "", dataset: str = "", allowance: SharedBudget | None = None
    ) -> Report:
        """The report of ``run`` without its estimates (but for those of batch metrics): a caller may change its
        columns before ``pool``. ``allowance`` is what the run may spend (default: the limits of the options)."""
        started = time.time()
        rows = check_samples(samples)
        judged_scorer = self.judged_scorer if self.judged else None
        columns = self.columns(rows, judged_scorer, allowance=allowance)
        report = self.unpooled(rows, columns, name=name, dataset=dataset)
        if judged_scorer is not None:
            report.usage, report.warnings = judged_scorer.usage, judged_scorer.warnings
            report.run["ledger"] = judged_scorer.ledger
        report.run |= stamp(started)
        return report

    def _label(self, name: str) -> str:
        """The label of the metric that a name means; the name itself if it means none of them."""
        return find_label({one.label: _note(one, {}) for one in self.requested}, name) or name

    def _check_labels(self, what: str, labels: Iterable[str]) -> None:
        known = [one.label for one in self.requested]
        for label in labels:
            if label not in known:
                raise InputError(f"{what} for {label!r}, which is not requested (requested: {', '.join(known)})")

    def _check_rates(self, rates: Mapping[str, float]) -> None:
        """InputError for a pass rate outside [0, 1], or of a metric without a threshold, before any work."""
        if not self.batch:  # the keys that a batch metric reports are not known yet
            self._check_labels("pass rate", rates)
        for label, rate in rates.items():
            if not 0 <= rate <= 1:
                raise InputError(f"pass rate {rate:g} for {label}: must be in [0, 1]")
        for one in self.requested:
            if one.label in rates and _note(one, self.limits).threshold is None:
                raise InputError(f"a pass rate for {one.label} needs its threshold: --threshold {one.label}=…")

    def columns(
        self, rows: Sequence[Sample], judged_scorer: JudgedScorer | None, *, allowance: SharedBudget | None = None
    ) -> dict[str, Column]:
        """The cells of all metrics that score one sample at a time; without an engine, those that need none."""
        judged = self.judged
        alone = [one for one in self.requested if one.metric.kind != "ranking" and one not in judged]
        columns = {one.label: Column(np.full(len(rows), math.nan)) for one in alone}
        for start in range(0, len(rows), _BLOCK):
            block = range(start, min(start + _BLOCK, len(rows)))
            for one in alone:
                _score(one, rows, block, columns[one.label], strict=self.options.strict)
        if judged_scorer is not None and judged:
            columns |= judged_scorer.columns(judged, rows, allowance=allowance)
        return columns

    def report(self, rows: list[Sample], columns: Mapping[str, Column], *, name: str, dataset: str) -> Report:
        """The report of the cells, with its estimates."""
        report = self.unpooled(rows, columns, name=name, dataset=dataset)
        self.pool(report)
        return report

    def unpooled(self, rows: list[Sample], columns: Mapping[str, Column], *, name: str, dataset: str) -> Report:
        """The report of the cells, with ranking and batch metrics, before its scores are pooled."""
        options = self.options
        report = Report(
            kind="rag",
            system=name,
            ids=[sample.id for sample in rows],
            samples=rows,
            judge=None if self.judge is None else str(self.judge),
            embedder=None if self.embedder is None else str(self.embedder),
            dataset=DatasetNote(name=dataset, digest=digest_of(rows)),
            versions=versions(),
            policy={"repeats": options.repeats, "confidence": options.confidence, "seed": options.seed},
        )
        for one in self.requested:
            ranking = one.metric.kind == "ranking"
            report.columns[one.label] = _ranking_column(one.metric, rows) if ranking else columns[one.label]
            report.notes[one.label] = _note(one, self.limits)
        for metric in self.batch:
            _add_batch(report, metric, rows, confidence=options.confidence, seed=options.seed)
        return report

    def pool(self, report: Report) -> None:
        """Fill in the estimates of a report, over all samples and by slice."""
        pool_report(
            report,
            by=self.by,
            clusters=clusters_of(report, self.cluster),
            confidence=self.options.confidence,
            seed=self.options.seed,
        )


def check_samples(samples: Sequence[Sample]) -> list[Sample]:
    """The samples as a list; InputError if there are none."""
    if not samples:
        raise InputError("no samples: the input is empty")
    return list(samples)


def _check_judge(judge: object) -> None:
    from ..metrics.lexical.content_word_overlap import OverlapJudge

    if isinstance(judge, OverlapJudge):
        raise WrongType(
            "OverlapJudge answers no prompts: request the lexical.* metrics (lexical.faithfulness) without a judge, or "
            "give it to BenchmarkSuite.run_with_answers"
        )


def split_batch_metrics(metrics: Iterable[object]) -> tuple[list[str | Metric], list[object]]:
    """The names and metrics that score samples, and the rules of batch metrics, which score all samples at once."""
    named: list[str | Metric] = []
    batch: list[object] = []
    for one in [metrics] if isinstance(metrics, str) else metrics:
        if isinstance(one, Metric) and one.kind == "batch":
            batch.append(one.rule)
        elif isinstance(one, str | Metric):
            from_name = requested_metrics([one]) if isinstance(one, str) and ".py:" in one else []
            if from_name and from_name[0].metric.kind == "batch":
                batch.append(from_name[0].metric.rule)
            else:
                named.append(one)
        elif hasattr(one, "calculate_metric_scores"):
            batch.append((one() if isinstance(one, type) else one).calculate_metric_scores)
        elif callable(one) and (registered := _registered(one)) is not None:
            named.append(registered)
        else:
            raise WrongType(f"not a metric: {one!r} (a name, a metric, or an object with calculate_metric_scores)")
    return named, batch


def _registered(rule: Callable[..., object]) -> Metric | None:
    from ..metrics.registry import registered

    return next((one for one in registered().values() if one.rule is rule), None)


def _note(one: RequestedMetric, limits: Mapping[str, float]) -> MetricNote:
    metric = one.metric
    explicit = one.label in limits
    threshold = limits.get(one.label, DEFAULT_THRESHOLD if metric.bounds == (0.0, 1.0) else None)
    return MetricNote(
        name=str(metric),
        way=metric.way,
        revision=metric.revision,
        pool=metric.pool,
        higher_is_better=metric.higher_is_better,
        bounds=metric.bounds,
        threshold=threshold,
        gates=explicit,
        remedy=metric.hint,
    )


def apply(metric: Metric, sample: Sample) -> Outcome:
    """The result of a sample rule; ValueError if it is not a finite number."""
    result = outcome(metric.rule(sample, **metric.params))
    if isinstance(result, Value) and not math.isfinite(result.value):
        raise ValueError(f"the rule returned {result.value}")
    return result


def _score(one: RequestedMetric, rows: Sequence[Sample], block: Iterable[int], column: Column, *, strict: bool) -> None:
    for row in block:
        sample = rows[row]
        if reason := absent(one, sample):
            column.undefined[row] = reason
            continue
        try:
            fill(column, row, apply(one.metric, sample))
        except Exception as error:
            if strict:
                raise
            column.failed[row] = reason_of(error)
            column.evidence[row] = {"traceback": "".join(traceback.format_exception(error))}


def fill(column: Column, row: int, result: Outcome) -> None:
    """Put the result of a rule into its column."""
    if result.evidence:
        column.evidence[row] = result.evidence
    if isinstance(result, Undefined):
        column.undefined[row] = result.reason
        return
    column.values[row] = result.value
    if result.parts is not None:
        column.parts[row] = (float(result.parts[0]), float(result.parts[1]))


def _ranking_column(metric: Metric, rows: Sequence[Sample]) -> Column:
    """A ranking metric over the samples' own ``retrieved_ids`` and ``relevance``."""
    from ..ranking.trec.files import load_rankings

    column = Column(np.full(len(rows), math.nan))
    usable: dict[str, int] = {}
    for row, sample in enumerate(rows):
        if sample.retrieved_ids is None or not sample.relevance:
            column.undefined[row] = "no retrieved_ids" if sample.retrieved_ids is None else "no relevance"
        else:
            usable[sample.id] = row
    if not usable:
        return column
    run, qrels = {}, {}
    for one, row in usable.items():
        ids = list(dict.fromkeys(rows[row].retrieved_ids or ()))
        run[one] = {doc: float(len(ids) - at) for at, doc in enumerate(ids)}
        qrels[one] = rows[row].relevance or {}
    rankings = load_rankings(run, qrels, ties="given")
    values = np.asarray(metric.rule(rankings, **metric.params), dtype=np.float64)
    for one, value in zip(rankings.queries, values.tolist(), strict=True):
        column.values[usable[one]] = value
        if math.isnan(value):
            column.undefined[usable[one]] = "nothing relevant is judged for this query"
    return column


def _add_batch(report: Report, rule: object, rows: Sequence[Sample], *, confidence: float, seed: int) -> None:
    """Score all samples with a batch metric; its pooled keys become report keys as they are."""
    columns: dict[str, object] = {
        name: [sample.tags.get("question_type", "") if field == "tags" else getattr(sample, field) for sample in rows]
        for name, field in COLUMNS.items()
    }
    columns["gold_answers"] = [sample.references for sample in rows]
    columns["samples"] = list(rows)
    assert callable(rule)
    parameters = inspect.signature(rule).parameters
    every = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    result = rule(**{name: column for name, column in columns.items() if every or name in parameters})
    pooled, per_example = _batch_result(result, len(rows))
    for label, value in pooled.items():
        if label in report.columns:
            raise InputError(f"two metrics report the key {label!r}")
        cells = [row.get(label) for row in per_example] if per_example else [None] * len(rows)
        column = Column.of(
            [float(c) if isinstance(c, int | float) else math.nan for c in cells], "not scored by the metric"
        )
        report.columns[label] = column
        report.notes[label] = MetricNote(name=label, way="custom", bounds=None)
        own = estimate(column, metric=label, way="custom", bounds=None, confidence=confidence, seed=seed)
        if own.value is None or not math.isclose(own.value, value, rel_tol=1e-9, abs_tol=1e-12):
            own = Estimate(metric=label, value=value, n=own.n or len(rows), way="custom", pool="given", method="none")
        report.estimates[label] = own


def _batch_result(result: object, count: int) -> tuple[dict[str, float], list[Mapping[str, Parameter]]]:
    if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], Mapping)):
        raise WrongType("calculate_metric_scores must return (pooled mapping, list of per-example mappings)")
    pooled = {str(key): float(value) for key, value in result[0].items()}
    per_example = list(result[1] or [])
    if per_example and len(per_example) != count:
        rows, wanted = pluralize(len(per_example), "row"), pluralize(count, "sample")
        raise InputError(f"calculate_metric_scores returned {rows} for {wanted}")
    return pooled, per_example
