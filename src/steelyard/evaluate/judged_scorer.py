"""Judged metrics over samples: cells in, columns out, through one engine."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from ..core.errors import AskFailed, BadReply, InputError, reason_of
from ..core.records import Json, Sample, Undefined, Usage, Value
from ..core.requests import Flow
from ..metrics.lookup import RequestedMetric
from ..models.budget import SharedBudget
from ..models.embedder import Embedder, embedder_of
from ..models.engine import Cell, Engine, Result
from ..models.judge import LLMJudge, judge_of
from ..models.ledger import ledger_path
from ..models.rate_limits import PermitSource, RateLimiter
from ..models.run_options import DEFAULT_OPTIONS, RunOptions
from ..stats.pooling import Column
from .plan import Asking, Plan, plan_of
from .required_fields import absent


class Key(NamedTuple):
    """The position of a cell: the numbers of its metric, its sample and its repeat."""

    metric: int
    row: int
    repeat: int


class JudgedScorer:
    """One engine with a judge, an embedder and the options of a run; holds the usage and the warnings of the run.

    ``rate_limiters`` limit the rate of calls by address (default: made from the rates of the options).
    """

    def __init__(
        self,
        *,
        judge: LLMJudge | str | None,
        embedder: Embedder | str | None,
        options: RunOptions = DEFAULT_OPTIONS,
        rate_limiters: Mapping[str, PermitSource] | None = None,
    ) -> None:
        if options.repeats < 1:
            raise InputError(f"repeats must be at least 1, not {options.repeats}")
        self.judge = None if judge is None else judge_of(judge)
        self.embedder = None if embedder is None else embedder_of(embedder)
        self.options, self.repeats = options, options.repeats
        self.usage, self.warnings = Usage(), list[str]()
        ledger = options.ledger
        self.ledger = str(ledger_path(ledger)) if ledger is None or isinstance(ledger, str | Path) else ""
        self._engine = Engine(
            self.judge,
            self.embedder,
            ledger=ledger,
            concurrency=options.concurrency,
            offline=options.offline,
            rate_limiters={url: RateLimiter(rate) for url, rate in options.rates.items()}
            if rate_limiters is None
            else rate_limiters,
            progress=options.progress,
        )

    def columns(
        self, requested: Sequence[RequestedMetric], rows: Sequence[Sample], *, allowance: SharedBudget | None = None
    ) -> dict[str, Column]:
        """Score every metric on every sample; a failure is one cell and never touches another.

        ``allowance`` is what this run may spend (default: the limits of the options).
        """
        limits = SharedBudget(self.options.budget, self.options.max_calls) if allowance is None else allowance
        self._engine.limit(limits.budget, limits.max_calls)
        self._check(requested)
        columns = [Column(np.full(len(rows), math.nan)) for _ in requested]
        waiting: dict[tuple[int, int], list[Result | None]] = {}
        for result in self._engine.run(self._cells(requested, rows, columns)):
            key = result.key
            assert isinstance(key, Key)
            if self.options.strict and result.error is not None:
                raise result.error
            draws = waiting.setdefault((key.metric, key.row), [None] * self.repeats)
            draws[key.repeat] = result
            if all(draw is not None for draw in draws):
                del waiting[key.metric, key.row]
                _settle(columns[key.metric], key.row, [draw for draw in draws if draw is not None])
        self.usage = usage_of(columns)
        self.warnings = list(self._engine.notes)
        return {one.label: column for one, column in zip(requested, columns, strict=True)}

    def plan(self, requested: Sequence[RequestedMetric], rows: Sequence[Sample]) -> Plan:
        """The plan of ``columns``: no call is made."""
        judged = [one for one in requested if one.metric.kind == "judged"]
        if not judged:
            return Plan(plan_of(requested, rows))
        self._check(judged)
        cells = self._cells(judged, rows, [Column(np.full(len(rows), math.nan)) for _ in judged])
        cost = self._engine.estimate(cells)
        skipped = {
            (judged[key.metric].label, key.row): reason for key, reason in cost.skipped.items() if isinstance(key, Key)
        }
        return Plan(
            plan_of(requested, rows, skipped), cost.usage, unpriced=self._unpriced(cost.usage), unbounded=cost.unbounded
        )

    def _unpriced(self, usage: Usage) -> frozenset[Asking]:
        """The models that would be called at an unknown price."""
        unknown: set[Asking] = set()
        if usage.calls and self.judge is not None and self.judge.costs_unknown:
            unknown.add("judge")
        if usage.embedded and self.embedder is not None and self.embedder.costs_unknown:
            unknown.add("embedder")
        return frozenset(unknown)

    def _check(self, requested: Sequence[RequestedMetric]) -> None:
        """InputError if a metric needs a judge or an embedder that is missing, before the first request."""
        for one in requested:
            if one.metric.way == "judged" and self.judge is None:
                raise InputError(f"{one.label} [judged] needs a judge, such as --judge openai:gpt-4o-mini (judge=)")
            if one.metric.embeds and self.embedder is None:
                raise InputError(
                    f"{one.label} needs an embedder, such as --embedder openai:text-embedding-3-small or"
                    " --embedder local (embedder=)"
                )

    def _cells(
        self, requested: Sequence[RequestedMetric], rows: Sequence[Sample], columns: Sequence[Column]
    ) -> Iterator[Cell]:
        """The cells, sample by sample: metrics with equal requests about a sample then make them at the same time."""
        for row, sample in enumerate(rows):
            for at, one in enumerate(requested):
                if reason := absent(one, sample):
                    columns[at].undefined[row] = reason
                    continue
                start = cast("Callable[[], Flow]", partial(one.metric.rule, sample, **one.metric.params))
                for repeat in range(self.repeats):
                    yield Cell(Key(at, row, repeat), start, repeat)


def usage_of(columns: Iterable[Column]) -> Usage:
    """The usage of all cells, summed row by row: the cost is then the same in whatever order the cells finished."""
    return sum((column.usage[row] for column in columns for row in sorted(column.usage)), Usage())


def _settle(column: Column, row: int, draws: Sequence[Result]) -> None:
    """Put the draws of one cell into its column: their mean, or the reason why there is none."""
    usage, requests = Usage(), list[str]()
    for draw in draws:
        usage += draw.usage
        requests += draw.requests
    if requests:
        column.requests[row] = requests
    column.usage[row] = usage
    flags = list(dict.fromkeys(flag for draw in draws for flag in draw.flags))
    evidence: dict[str, Json] = {"flags": list[Json](flags)} if flags else {}
    failed = next((draw for draw in draws if draw.error is not None), None)
    if failed is not None and failed.error is not None:
        count = sum(draw.error is not None for draw in draws)
        of = f" ({count} of {len(draws)} draws)" if len(draws) > 1 else ""
        column.failed[row] = reason_of(failed.error) + of
        column.evidence[row] = evidence | _failure(failed.error)
        return
    outcomes = [draw.outcome for draw in draws]
    values = [one for one in outcomes if isinstance(one, Value)]
    first = values[0] if values else next(one for one in outcomes if isinstance(one, Undefined))
    own = first.evidence.get("flags")
    if isinstance(own, list):
        evidence["flags"] = list(dict.fromkeys([*own, *flags]))
    if evidence | first.evidence:
        column.evidence[row] = {**first.evidence, **evidence}
    if len(draws) > 1:
        column.draws[row] = [float(one.value) if isinstance(one, Value) else None for one in outcomes]
    if not values:
        assert isinstance(first, Undefined)
        column.undefined[row] = first.reason
        return
    column.values[row] = math.fsum(one.value for one in values) / len(values)
    parts = [one.parts for one in values if one.parts is not None]
    if len(parts) == len(values):
        column.parts[row] = (float(sum(part[0] for part in parts)), float(sum(part[1] for part in parts)))


def _failure(error: Exception) -> dict[str, Json]:
    if isinstance(error, BadReply):
        return {"reply": error.reply}
    if isinstance(error, AskFailed):
        return {}
    return {"traceback": "".join(traceback.format_exception(error))}
