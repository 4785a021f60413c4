"""A run in parts: planned once, scored anywhere, merged into the report that one process would have made.

    DIR/manifest.json                    the configuration, its fingerprint, the number of samples of each part
    DIR/parts/00017-0.parquet            samples, by a hash of their id over a fixed number of buckets
    DIR/ledger/00017/<attempt>.jsonl     cached replies, a segment for every attempt
    DIR/results/00017.json               the cells of a part
    DIR/done/00017.json                  the counts of a finished part, with its failures

Rules of this file: ``run_part`` does all the work of a worker: it reads a part, runs one ordinary engine and writes
cells. Any process may run any part at any time, even twice: nothing is locked, and cached replies are not requested
again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from .config import Config
from .job_parts import FORMAT, Done, Manifest, samples_of, write_parts
from .ranking_job import rank_part
from .run_config import dataset_in, options_in, scorer_of

if TYPE_CHECKING:
    from ..core.progress import Progress

A_PART, MOST_PARTS = 200, 1024  # about how many samples a part has, and how many parts a job has at most
TRANSIENT = frozenset(
    {
        *("rate_limited", "timeout", "connection", "server_error", "bad_answer", "not_run", "offline"),
        *("unauthorized", "forbidden", "not_found", "no_quota"),
    }
)
"""Kinds of failure that another attempt may not repeat."""


def plan(config: Config, folder: Folder, *, base: Path, buckets: int | None = None, least: int = 1) -> Manifest:
    """Split the samples of a configuration, unless that is done. Equal plans write equal files.

    Without ``buckets`` a part gets some 200 samples, and there are at least ``least`` parts: one for every worker. In
    the configuration of an existing job, all settings may change on which no cell depends: prices, keys, limits,
    slices, outputs.
    """
    scorer = scorer_of(config)
    absolute = structs.replace(config, data=[str(Path(path).absolute()) for path in config.data])
    if folder.read("manifest.json") is not None:
        manifest = Manifest.at(folder).same(fingerprint_of(config, scorer), folder)
        if buckets not in (None, len(manifest.rows)):
            raise InputError(f"the job has {pluralize(len(manifest.rows), 'bucket')}, not {buckets}", path=folder.name)
        if absolute != manifest.config:
            manifest = structs.replace(manifest, config=absolute)
            folder.write("manifest.json", msgspec.json.encode(manifest))
        return manifest
    if buckets is not None and buckets < 1:
        raise InputError(f"a job has at least 1 bucket, not {buckets}")
    read = partial(iter_samples, config.data, fields=config.fields or None, encoding=config.encoding)
    if buckets is None:
        buckets = max(least, parts_for(sum(1 for _ in read())))
    rows, files = write_parts(folder, read(), buckets)
    manifest = Manifest(FORMAT, fingerprint_of(config, scorer), str(base.absolute()), rows, files, config=absolute)
    folder.write("manifest.json", msgspec.json.encode(manifest))
    return manifest


def parts_for(samples: int) -> int:
    """The default number of parts of a job.

    >>> parts_for(0), parts_for(200), parts_for(401), parts_for(100_000), parts_for(1_000_000)
    (1, 1, 3, 500, 1024)
    """
    return min(max(1, -(-samples // A_PART)), MOST_PARTS)


def fingerprint_of(config: Config, scorer: Scorer) -> dict[str, Json]:
    """All that the cells of a job depend on besides its samples."""
    judge, embedder = scorer.judge, scorer.embedder
    return {
        "metrics": [
            f"{one.label}: {one.metric} [{one.metric.way}, revision {one.metric.revision}]" for one in scorer.requested
        ],
        "judge": None if judge is None else judge_of(judge).identity,
        "embedder": None if embedder is None else embedder_of(embedder).identity,
        "repeats": config.repeats,
        "fields": dict(config.fields),
        **_data(config),
    }


def _data(config: Config) -> dict[str, Json]:
    """The digest of the files of samples; nothing if they are not here: each part has its own copy of its samples."""
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
    rate_limiters: Mapping[str, PermitSource] | None = None,
    progress: Progress | None = None,
) -> Done:
    """Score one part: one engine over its samples, with a ledger of its own. Cached replies are not requested again."""
    manifest = Manifest.at(folder)
    if manifest.ranking is not None:
        return rank_part(folder, manifest.ranking, part, progress)
    config = manifest.settings
    samples = [sample for _, sample in samples_of(folder, manifest, part)]
    share = len(samples) / sum(manifest.rows)
    ledger = Segments(folder, f"ledger/{part:05}")
    options = replace(
        options_in(config, Path(), progress=progress),
        concurrency=concurrency or config.concurrency,
        budget=None if config.budget is None else config.budget * share,
        max_calls=None if config.max_calls is None else int(config.max_calls * share),
        ledger=ledger,
    )
    scorer = scorer_of(config, options)
    judged_scorer = JudgedScorer(
        judge=scorer.judge, embedder=scorer.embedder, options=options, rate_limiters=rate_limiters
    )
    try:
        columns = scorer.columns(samples, judged_scorer)
    finally:
        ledger.close()
    _claim(columns, len(samples), ledger, judged_scorer.judge)
    cells = Report(ids=[sample.id for sample in samples], columns=columns, warnings=judged_scorer.warnings)
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
    """The parts that are not done, and those with failures that another attempt may not repeat."""
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
    scorer = scorer_of(config)
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
            raise InputError(f"the cells of part {part} belong to other samples: run it again", path=folder.name)
        _check_cells(cells, scorer, f"{folder.name}/results/{part:05}.json")
        for label, column in cells.columns.items():
            _put(columns.setdefault(label, Column(np.full(total, np.nan))), column, places, usages)
        warnings.update(dict.fromkeys(cells.warnings))
        seconds += cells.usage.seconds
    if not all(sample.id for sample in rows):
        lost = pluralize(sum(not one.id for one in rows), "sample is", "samples are")
        raise InputError(f"{lost} in no part: plan the job again", path=folder.name)
    for column in columns.values():
        _in_order(column)
    report = scorer.report(rows, columns, name=config.name, dataset=dataset_in(config))
    report.usage = structs.replace(usage_of(columns[one.label] for one in scorer.judged), seconds=seconds)
    report.warnings = list(warnings)
    report.run = {"job": folder.name, "parts": len(manifest.parts), "ledger": folder.name}
    for part in manifest.parts:
        compact(folder, f"ledger/{part:05}")
    return report


def _check_cells(cells: Report, scorer: Scorer, path: str) -> None:
    """InputError if a file of results was made by another job, or is damaged."""
    wanted = {one.label: one.metric for one in scorer.requested if one.metric.kind != "ranking"}
    if cells.columns.keys() != wanted.keys():
        found, expected = (", ".join(map(repr, sorted(labels))) or "none" for labels in (cells.columns, wanted))
        raise InputError(f"expected cells of {expected}, found {found}: run it again", path=path, field="$.columns")
    for label, column in cells.columns.items():
        # The rule of a user may exceed its bounds, which are the default ones unless the user sets others.
        bounds = wanted[label].bounds if is_ours(wanted[label].rule) else None
        check_column(column, len(cells.ids), bounds, path, f"$.columns.{label}")


def _put(column: Column, part: Column, rows: Sequence[int], usages: dict[Usage, Usage]) -> None:
    """Put the cells of a part into their rows. Equal usages become one object: a million cells must fit into memory."""
    column.values[rows] = part.values
    for row, usage in part.usage.items():
        part.usage[row] = usages.setdefault(usage, usage)
    for name in BY_ROW:
        getattr(column, name).update({rows[row]: value for row, value in getattr(part, name).items()})


def _in_order(column: Column) -> None:
    """Sort the rows of a column that was made of parts."""
    for name in BY_ROW:
        setattr(column, name, dict(sorted(getattr(column, name).items())))


def _claim(columns: Mapping[str, Column], rows: int, ledger: Segments, judge: LLMJudge | None) -> None:
    """Charge cells with the replies that an earlier attempt paid for: the first cell that requested one pays for it."""
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
    rate_limiters = {url: RateLimiter(rate) for url, rate in (rates or {}).items()}
    part_progress = PartProgress(progress)
    for part in parts:
        run_part(folder, part, concurrency=concurrency, rate_limiters=rate_limiters, progress=part_progress)
        part_progress.next_part()


def cells_of(manifest: Manifest, parts: Sequence[int]) -> int:
    """The most cells that an engine scores in some parts; a piece of a run file counts as one."""
    rows = sum(manifest.rows[part] for part in parts)
    config = manifest.config
    return rows if config is None else len(scorer_of(config).judged) * config.repeats * rows
