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
from functools import partial
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from ..core.errors import InputError
from ..core.package import is_ours
from ..core.progress import PartProgress
from ..core.records import Json, Sample, Usage
from ..core.wording import pluralize
from ..evaluate.judged_scorer import JudgedScorer, usage_of
from ..evaluate.scorer import Scorer
from ..io.samples import iter_samples
from ..io.storage import Folder
from ..models.embedder import embedder_of
from ..models.judge import LLMJudge, judge_of
from ..models.judge_client import cost_of
from ..models.ledger_segments import Segments, compact
from ..models.rate_limits import PermitSource, RateLimiter
from ..reports.report import Report
from ..reports.serialize import decode
from ..reports.validate import BY_ROW, check_column
from ..stats.pooling import Column
from .config import Config, settings
from .job_parts import FORMAT, Done, Manifest, samples_of, write_parts
from .ranking_job import rank_part
from .run_config import dataset_in, embedder_in, judge_in, scorer_of

if TYPE_CHECKING:
    from ..models.engine import Progress

A_PART, MOST_PARTS = 200, 1024  # samples that a part has, about, and parts that a job has at most, if not told
TRANSIENT = frozenset(
    {
        *("rate_limited", "timeout", "connection", "server_error", "bad_answer", "not_run", "offline"),
        *("unauthorized", "forbidden", "not_found", "no_quota"),
    }
)
"""Kinds of failure that another attempt may mend."""


def plan(config: Config, folder: Folder, *, base: Path, buckets: int | None = None, least: int = 1) -> Manifest:
    """Split the samples of a configuration, unless that is done. Who else plans the same writes the same.

    Without ``buckets`` a part gets some 200 samples, and there are at least ``least`` parts: one for everybody who is
    to do some. Of a job that is there, all may change that no cell depends on: prices, keys, limits, slices, outputs.
    """
    kept = structs.replace(config, data=[str(Path(path).absolute()) for path in config.data])
    if folder.read("manifest.json") is not None:
        manifest = Manifest.at(folder).same(fingerprint_of(config), folder)
        if buckets not in (None, len(manifest.rows)):
            raise InputError(f"the job has {pluralize(len(manifest.rows), 'bucket')}, not {buckets}", path=folder.name)
        if kept != manifest.config:
            manifest = structs.replace(manifest, config=kept)
            folder.write("manifest.json", msgspec.json.encode(manifest))
        return manifest
    if buckets is not None and buckets < 1:
        raise InputError(f"a job has at least 1 bucket, not {buckets}")
    scorer_of(config)
    read = partial(iter_samples, config.data, fields=config.fields or None, encoding=config.encoding)
    if buckets is None:
        buckets = max(least, parts_for(sum(1 for _ in read())))
    rows, files = write_parts(folder, read(), buckets)
    manifest = Manifest(FORMAT, fingerprint_of(config), str(base.absolute()), rows, files, config=kept)
    folder.write("manifest.json", msgspec.json.encode(manifest))
    return manifest


def parts_for(samples: int) -> int:
    """How many parts a job has if nobody says.

    >>> parts_for(0), parts_for(200), parts_for(401), parts_for(100_000), parts_for(1_000_000)
    (1, 1, 3, 500, 1024)
    """
    return min(max(1, -(-samples // A_PART)), MOST_PARTS)


def fingerprint_of(config: Config) -> dict[str, Json]:
    """What the cells of a job depend on besides its samples."""
    judge, embedder = judge_in(config), embedder_in(config)
    weighing = Scorer([one.name for one in settings(config)], judge=judge)
    return {
        "metrics": [
            f"{one.label}: {one.metric} [{one.metric.way}, revision {one.metric.revision}]" for one in weighing.asked
        ],
        "judge": None if judge is None else judge_of(judge).identity,
        "embedder": None if embedder is None else embedder_of(embedder).identity,
        "repeats": config.repeats,
        "fields": dict(config.fields),
        **_data(config),
    }


def _data(config: Config) -> dict[str, Json]:
    """What tells the files of samples apart; nothing where they are no files, or not here: a part has its own copy."""
    paths = [Path(path) for path in config.data]
    if not all(path.is_file() for path in paths):
        return {}
    digest = blake2b(digest_size=16)
    for path in paths:
        with path.open("rb") as file:
            digest.update(file_digest(file, blake2b).digest())
    return {"data": digest.hexdigest()}


def run_part(
    folder: Folder,
    part: int,
    *,
    concurrency: int | None = None,
    paces: Mapping[str, PermitSource] | None = None,
    progress: Progress | None = None,
) -> Done:
    """Score one part: one engine over its samples, with a ledger of its own. What was answered is not asked again."""
    manifest = Manifest.at(folder)
    if manifest.ranking is not None:
        return rank_part(folder, manifest.ranking, part, progress)
    config = manifest.settings
    samples = [sample for _, sample in samples_of(folder, manifest, part)]
    share = len(samples) / sum(manifest.rows)
    weighing = scorer_of(config)
    ledger = Segments(folder, f"ledger/{part:05}")
    judging = JudgedScorer(
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
        if content is None or Done.left(content):
            left.append(part)
    return left


def merge(folder: Folder, config: Config | None = None) -> Report:
    """The report of a whole job, the same that one process makes. The ledgers of its parts are compacted."""
    manifest = Manifest.at(folder)
    config = manifest.settings if config is None else config
    manifest.check_results(folder)
    weighing = scorer_of(config)
    total = sum(manifest.rows)
    rows: list[Sample] = [Sample()] * total
    columns: dict[str, Column] = {}
    warnings: dict[str, None] = {}
    usages: dict[Usage, Usage] = {}
    seconds = 0.0
    for part in manifest.parts:
        content = folder.read(f"results/{part:05}.json")
        assert content is not None
        cells = decode(Report, content, path=f"{folder.name}/results/{part:05}.json")
        places = []
        for row, sample in samples_of(folder, manifest, part):
            rows[row] = sample
            places.append(row)
        if cells.ids != [rows[row].id for row in places]:
            raise InputError(f"the cells of part {part} are of other samples: run it again", path=folder.name)
        _check_cells(cells, weighing, f"{folder.name}/results/{part:05}.json")
        for label, column in cells.columns.items():
            _put(columns.setdefault(label, Column(np.full(total, np.nan))), column, places, usages)
        warnings.update(dict.fromkeys(cells.warnings))
        seconds += cells.usage.seconds
    if not all(sample.id for sample in rows):
        lost = pluralize(sum(not one.id for one in rows), "sample is", "samples are")
        raise InputError(f"{lost} in no part: plan the job anew", path=folder.name)
    for column in columns.values():
        _in_order(column)
    report = weighing.report(rows, columns, name=config.name, dataset=dataset_in(config))
    report.usage = structs.replace(usage_of(columns[one.label] for one in weighing.judged), seconds=seconds)
    report.warnings = list(warnings)
    report.run = {"job": folder.name, "parts": len(manifest.parts), "ledger": folder.name}
    for part in manifest.parts:
        compact(folder, f"ledger/{part:05}")
    return report


def _check_cells(cells: Report, weighing: Scorer, path: str) -> None:
    """InputError where a file of results was made by another job, or is damaged."""
    wanted = {one.label: one.metric for one in weighing.asked if one.metric.kind != "ranking"}
    if cells.columns.keys() != wanted.keys():
        found, expected = (", ".join(map(repr, sorted(labels))) or "none" for labels in (cells.columns, wanted))
        raise InputError(f"expected cells of {expected}, found {found}: run it again", path=path, field="$.columns")
    for label, column in cells.columns.items():
        # A rule of the user's may go beyond the bounds that it has unless it says otherwise.
        bounds = wanted[label].bounds if is_ours(wanted[label].rule) else None
        check_column(column, len(cells.ids), bounds, path, f"$.columns.{label}")


def _put(column: Column, part: Column, rows: Sequence[int], usages: dict[Usage, Usage]) -> None:
    """Put the cells of a part in their places. Equal usages become one: a million cells must fit."""
    column.values[rows] = part.values
    for row, usage in part.usage.items():
        part.usage[row] = usages.setdefault(usage, usage)
    for name in BY_ROW:
        getattr(column, name).update({rows[row]: value for row, value in getattr(part, name).items()})


def _in_order(column: Column) -> None:
    """Put the rows of a column that was put together of parts in their order."""
    for name in BY_ROW:
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
                    unpriced=int(judge.costs_unknown),
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
    paces = {url: RateLimiter(rate) for url, rate in (rates or {}).items()}
    tally = PartProgress(progress)
    for part in parts:
        run_part(folder, part, concurrency=concurrency, paces=paces, progress=tally)
        tally.next_part()


def cells_of(manifest: Manifest, parts: Sequence[int]) -> int:
    """How many cells an engine has to score in some parts, at most; pieces of run files count as one each."""
    rows = sum(manifest.rows[part] for part in parts)
    config = manifest.config
    return rows if config is None else len(scorer_of(config).judged) * config.repeats * rows
