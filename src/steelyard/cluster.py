"""A run in parts: planned once, scored anywhere, merged into the report that one process would have made.

    DIR/manifest.json                    the configuration, its fingerprint, how many samples each part has
    DIR/parts/00017-0.parquet            samples, by a hash of their id over a fixed number of buckets
    DIR/ledger/00017/<attempt>.jsonl     what was answered, a segment for every attempt
    DIR/results/00017.json               the cells of a part
    DIR/done/00017.json                  that it is done, and what failed

Rules of this file: ``run_part`` is all that a worker does, whoever starts it: it reads a part, runs one ordinary engine
and writes cells. Any part may be run by anybody at any time, and twice: nothing is locked, and what was answered is not
asked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from msgspec import structs

from .asking import cost_of
from .config import Config, settings
from .embedder import embedder_of
from .errors import InputError
from .folder import Folder
from .judge import LLMJudge, judge_of
from .judging import Judging, usage_of
from .pace import Pace, Pacing
from .parts import FORMAT, Done, Manifest, samples_of, write_parts
from .pool import Column
from .rank_cluster import rank_part
from .records import Json, Sample, Usage
from .report import Report
from .report_json import decode
from .run_config import dataset_in, embedder_in, judge_in, thresholds_in
from .samples import iter_samples
from .segments import Segments, compact
from .weighing import Weighing

if TYPE_CHECKING:
    from .engine import Progress

BUCKETS = 1024
_BY_ROW = ("undefined", "failed", "evidence", "parts", "requests", "draws")
TRANSIENT = frozenset(
    {
        *("rate_limited", "timeout", "connection", "server_error", "bad_answer", "not_run", "offline"),
        *("unauthorized", "forbidden", "not_found", "no_quota"),
    }
)
"""Kinds of failure that another attempt may mend."""


def plan(config: Config, folder: Folder, *, base: Path, buckets: int | None = None) -> Manifest:
    """Split the samples of a configuration, unless that is done. Who else plans the same writes the same.

    Of a job that is there, all may change that no cell depends on: prices, keys, limits, slices, outputs.
    """
    kept = structs.replace(config, data=[str(Path(path).absolute()) for path in config.data])
    if folder.read("manifest.json") is not None:
        manifest = Manifest.at(folder).same(fingerprint_of(config), folder)
        if buckets not in (None, len(manifest.rows)):
            raise InputError(f"the job has {len(manifest.rows)} buckets, not {buckets}", path=folder.name)
        if kept != manifest.config:
            manifest = structs.replace(manifest, config=kept)
            folder.write("manifest.json", msgspec.json.encode(manifest))
        return manifest
    buckets = BUCKETS if buckets is None else buckets
    if buckets < 1:
        raise InputError(f"a job has at least 1 bucket, not {buckets}")
    Weighing([one.name for one in settings(config)], judge=judge_in(config), thresholds=thresholds_in(config))
    samples = iter_samples(config.data, fields=config.fields or None, encoding=config.encoding)
    rows, files = write_parts(folder, samples, buckets)
    manifest = Manifest(FORMAT, fingerprint_of(config), str(base.absolute()), rows, files, config=kept)
    folder.write("manifest.json", msgspec.json.encode(manifest))
    return manifest


def fingerprint_of(config: Config) -> dict[str, Json]:
    """What the cells of a job depend on besides its samples."""
    judge, embedder = judge_in(config), embedder_in(config)
    weighing = Weighing([one.name for one in settings(config)], judge=judge)
    return {
        "metrics": [f"{one.metric} [{one.metric.way}, revision {one.metric.revision}]" for one in weighing.asked],
        "judge": None if judge is None else judge_of(judge).identity,
        "embedder": None if embedder is None else embedder_of(embedder).identity,
        "repeats": config.repeats,
        "fields": dict(config.fields),
    }


def run_part(
    folder: Folder,
    part: int,
    *,
    concurrency: int | None = None,
    paces: Mapping[str, Pacing] | None = None,
    progress: Progress | None = None,
) -> Done:
    """Score one part: one engine over its samples, with a ledger of its own. What was answered is not asked again."""
    manifest = Manifest.at(folder)
    if manifest.ranking is not None:
        return rank_part(folder, manifest.ranking, part, progress)
    config = manifest.settings
    samples = [sample for _, sample in samples_of(folder, manifest, part)]
    share = len(samples) / sum(manifest.rows)
    weighing = _weighing(config)
    ledger = Segments(folder, f"ledger/{part:05}")
    judging = Judging(
        judge=judge_in(config),
        embedder=embedder_in(config),
        ledger=ledger,
        concurrency=concurrency or config.workers,
        repeats=config.repeats,
        budget=None if config.budget is None else config.budget * share,
        max_calls=None if config.max_calls is None else int(config.max_calls * share),
        offline=config.offline,
        paces=paces,
        progress=progress,
    )
    try:
        columns = weighing.columns(samples, judging)
    finally:
        ledger.close()
    _claim(columns, len(samples), ledger, judging.judge)
    cells = Report(ids=[sample.id for sample in samples], columns=columns, warnings=judging.warnings)
    cells.usage = usage_of(columns.values())
    folder.write(f"results/{part:05}.json", cells.to_json())
    failures = [reason for column in columns.values() for reason in column.failed.values()]
    done = Done(
        rows=len(samples),
        cells=len(samples) * len(columns),
        undefined=sum(len(column.undefined) for column in columns.values()),
        failed=len(failures),
        transient=sum(reason.partition(":")[0] in TRANSIENT for reason in failures),
        usage=cells.usage,
    )
    folder.write(f"done/{part:05}.json", msgspec.json.encode(done))
    return done


def unfinished(folder: Folder, manifest: Manifest, parts: Sequence[int] | None = None) -> list[int]:
    """The parts that are not done, and those with failures that another attempt may mend."""
    there = set(folder.list("done"))
    left = []
    for part in manifest.parts if parts is None else parts:
        content = folder.read(f"done/{part:05}.json") if f"{part:05}.json" in there else None
        if content is None or msgspec.json.decode(content, type=Done).transient:
            left.append(part)
    return left


def merge(folder: Folder, config: Config | None = None) -> Report:
    """The report of a whole job, the same that one process makes. The ledgers of its parts are compacted."""
    manifest = Manifest.at(folder)
    config = manifest.settings if config is None else config
    manifest.check_results(folder)
    weighing = _weighing(config)
    total = sum(manifest.rows)
    rows: list[Sample] = [Sample()] * total
    columns: dict[str, Column] = {}
    warnings: dict[str, None] = {}
    usages: dict[Usage, Usage] = {}
    run: dict[str, float] = {"cached": 0, "seconds_asking": 0.0}
    for part in manifest.parts:
        content = folder.read(f"results/{part:05}.json")
        assert content is not None
        cells = decode(content, path=f"{folder.name}/results/{part:05}.json")
        places = []
        for row, sample in samples_of(folder, manifest, part):
            rows[row] = sample
            places.append(row)
        if cells.ids != [rows[row].id for row in places]:
            raise InputError(f"the cells of part {part} are of other samples: run it again", path=folder.name)
        for label, column in cells.columns.items():
            _put(columns.setdefault(label, Column(np.full(total, np.nan))), column, places, usages)
        warnings.update(dict.fromkeys(cells.warnings))
        for key in run:
            value = cells.run.get(key, 0)
            run[key] += value if isinstance(value, int | float) else 0
    if not all(sample.id for sample in rows):
        raise InputError(
            f"{sum(not one.id for one in rows)} samples are in no part: plan the job anew", path=folder.name
        )
    for column in columns.values():
        _in_order(column)
    report = weighing.report(rows, columns, name=config.name, dataset=dataset_in(config))
    report.usage, report.warnings = usage_of(columns[one.label] for one in weighing.judged), list(warnings)
    report.run = {"job": folder.name, "parts": len(manifest.parts), "ledger": folder.name, **run}
    for part in manifest.parts:
        compact(folder, f"ledger/{part:05}")
    return report


def _weighing(config: Config) -> Weighing:
    return Weighing(
        [one.name for one in settings(config)],
        judge=judge_in(config),
        embedder=embedder_in(config),
        thresholds=thresholds_in(config),
        by=config.by,
        cluster=config.cluster,
        repeats=config.repeats,
        confidence=config.confidence,
        seed=config.seed,
    )


def _put(column: Column, part: Column, rows: Sequence[int], usages: dict[Usage, Usage]) -> None:
    """Put the cells of a part in their places. Equal usages become one: a million cells must fit."""
    column.values[rows] = part.values
    for name in _BY_ROW:
        getattr(column, name).update({rows[row]: value for row, value in getattr(part, name).items()})
    column.usage.update({rows[row]: usages.setdefault(usage, usage) for row, usage in part.usage.items()})


def _in_order(column: Column) -> None:
    """Put the rows of a column that was put together of parts in their order."""
    for name in (*_BY_ROW, "usage"):
        setattr(column, name, dict(sorted(getattr(column, name).items())))


def _claim(columns: Mapping[str, Column], rows: int, ledger: Segments, judge: LLMJudge | None) -> None:
    """Charge cells with the replies that an earlier attempt paid for: the first cell that asked pays, as ever."""
    if judge is None:
        return
    for row in range(rows):
        for column in columns.values():
            entries = ledger.claimed(column.requests.get(row, ()))
            again = {entry.asked_again for entry in entries}
            for entry in entries:
                column.usage[row] += Usage(
                    calls=1,
                    cached=-(entry.key not in again),
                    prompt_tokens=entry.prompt_tokens,
                    completion_tokens=entry.completion_tokens,
                    estimated=int(entry.estimated),
                    cost=cost_of(judge, entry.prompt_tokens, entry.completion_tokens),
                    seconds=entry.seconds,
                )


def run_here(
    folder: Folder,
    parts: Sequence[int],
    *,
    concurrency: int | None = None,
    rates: Mapping[str, float] | None = None,
    progress: Progress | None = None,
) -> None:
    """Score parts in this process, one after the other."""
    paces = {url: Pace(rate) for url, rate in (rates or {}).items()}
    tally = Tally(progress)
    for part in parts:
        run_part(folder, part, concurrency=concurrency, paces=paces, progress=tally)
        tally.next_part()


class Tally:
    """Progress of several parts as that of one run."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.before = self.now = Count()

    def __call__(
        self, done: int, undefined: int, failed: int, calls: int, cached: int, tokens: int, cost: float | None
    ) -> None:
        """Told by the engine of one part."""
        self.now = self.before + Count(done, undefined, failed, calls, cached, tokens, cost)
        if self.progress is not None:
            self.progress(*self.now)

    def next_part(self) -> None:
        """The part that was told of is done."""
        self.before = self.now


class Count(NamedTuple):
    """What an engine tells of its progress."""

    done: int = 0
    undefined: int = 0
    failed: int = 0
    calls: int = 0
    cached: int = 0
    tokens: int = 0
    cost: float | None = None

    def __add__(self, other: Count) -> Count:  # type: ignore[override]
        """The counts of two runs together."""
        cost = None if self.cost is None and other.cost is None else (self.cost or 0.0) + (other.cost or 0.0)
        return Count(
            self.done + other.done,
            self.undefined + other.undefined,
            self.failed + other.failed,
            self.calls + other.calls,
            self.cached + other.cached,
            self.tokens + other.tokens,
            cost,
        )


def cells_of(manifest: Manifest, parts: Sequence[int]) -> int:
    """How many cells an engine has to score in some parts, at most; pieces of run files count as one each."""
    rows = sum(manifest.rows[part] for part in parts)
    config = manifest.config
    return rows if config is None else len(_weighing(config).judged) * config.repeats * rows
