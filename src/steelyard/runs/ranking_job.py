"""Score run files in parts: each part is a piece of a file with whole queries; there is one report for each run.

A piece is cut where a query begins, so nothing is moved or sorted. The result of a part is a few numbers for each
judged document of its queries; measures, intervals and tests are computed from the merged results, as if the file had
been read at once. Workers read the run files in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import Struct

from ..core.errors import InputError
from ..core.progress import Count
from ..core.records import Json, Usage
from ..core.validation import decode_problem
from ..evaluate.evaluate_rankings import ranking_metrics, report_of
from ..io.storage import Folder
from ..ranking.join import ScannedRun, assemble
from ..ranking.policy import Policy
from ..ranking.qrels import QrelsTable
from ..ranking.trec.block_parser import NeedsSlowParser
from ..ranking.trec.files import load_qrels
from ..ranking.trec.run_scanner import RunPiece, RunScanner, Ungrouped, merge_pieces, split_run
from ..reports.report import Report
from .job_parts import FORMAT, Done, Manifest, RankingJob

if TYPE_CHECKING:
    from ..core.progress import Progress

PIECE = 256 << 20
"""Default size of a part, in bytes of a run file."""


class _Part(Struct):
    """The result of a piece: rows of the qrels with their ranks, and queries with the length of their rankings."""

    run_id: str
    rows: list[int]
    ranks: list[int]
    queries: list[int]
    retrieved: list[int]
    tied: list[int]
    ignored: list[str]
    duplicates: int


def plan_rankings(
    folder: Folder,
    runs: Sequence[Path],
    qrels: Path,
    metrics: Iterable[str],
    *,
    policy: Policy,
    confidence: float = 0.95,
    seed: int = 0,
    buckets: int | None = None,
) -> Manifest:
    """Plan a job: cut run files into about ``buckets`` pieces, unless the folder has a plan."""
    sizes = [_size(path) for path in runs]
    wanted = [one.label for one in ranking_metrics(metrics)]
    fingerprint: dict[str, Json] = {
        "runs": [[str(path.absolute()), size] for path, size in zip(runs, sizes, strict=True)],
        "qrels": str(qrels.absolute()),
        "metrics": list[Json](wanted),
        "policy": msgspec.to_builtins(policy),
    }
    if folder.read("manifest.json") is not None:
        return Manifest.at(folder).same(fingerprint, folder)
    each = max(1, sum(sizes) // buckets) if buckets else PIECE
    pieces: list[tuple[int, int, int]] = []
    for number, (path, size) in enumerate(zip(runs, sizes, strict=True)):
        cut = split_run(path, max(1, round(size / each)))
        if not cut:
            raise InputError("a compressed or empty file cannot be read in parts: decompress it first", path=path)
        pieces += [(number, piece.start, piece.end) for piece in cut]
    ranking = RankingJob(
        [str(path.absolute()) for path in runs], str(qrels.absolute()), wanted, policy, pieces, confidence, seed
    )
    count = len(pieces)
    manifest = Manifest(FORMAT, fingerprint, str(Path().absolute()), [1] * count, [0] * count, ranking=ranking)
    folder.write("manifest.json", msgspec.json.encode(manifest))
    return manifest


def rank_part(folder: Folder, ranking: RankingJob, part: int, progress: Progress | None = None) -> Done:
    """Join one piece with the qrels."""
    number, start, end = ranking.pieces[part]
    path = Path(ranking.runs[number])
    rows, policy = _load_qrels(ranking)
    try:
        found = RunScanner(rows, policy).piece(RunPiece(path, start, end).reader())
    except NeedsSlowParser as odd:
        raise _not_in_parts(path, odd) from None
    hits, queries = np.flatnonzero(found.ranks), np.flatnonzero(found.retrieved >= 0)
    kept = _Part(
        run_id=found.run_id,
        rows=hits.tolist(),
        ranks=found.ranks[hits].tolist(),
        queries=queries.tolist(),
        retrieved=found.retrieved[queries].tolist(),
        tied=np.flatnonzero(found.tied).tolist(),
        ignored=found.ignored,
        duplicates=found.duplicates,
    )
    folder.write(f"results/{part:05}.json", msgspec.json.encode(kept))
    done = Done(rows=len(queries), cells=1, undefined=0, failed=0, transient=0, usage=Usage())
    folder.write(f"done/{part:05}.json", msgspec.json.encode(done))
    if progress is not None:
        progress(Count(done=1))
    return done


def merge_rankings(folder: Folder) -> list[Report]:
    """The reports of the run files of a job, in order, equal to those of reading each file at once."""
    manifest = Manifest.at(folder)
    ranking = manifest.ranking
    if ranking is None:
        raise InputError("a job of samples, not of rankings", path=folder.name)
    manifest.check_results(folder)
    rows, policy = _load_qrels(ranking)
    asked = ranking_metrics(ranking.metrics)
    reports = []
    for number, path in enumerate(ranking.runs):
        parts = [part for part, (run, _, _) in enumerate(ranking.pieces) if run == number]
        try:
            found = merge_pieces(rows, _scanned_pieces(folder, parts, rows))
        except NeedsSlowParser as odd:
            raise _not_in_parts(Path(path), odd) from None
        rankings = assemble(rows, found, policy)
        report = report_of(
            rankings, asked, dataset=Path(ranking.qrels).name, confidence=ranking.confidence, seed=ranking.seed
        )
        report.system = rankings.run_id
        report.run = {"job": folder.name, "parts": len(parts)}
        reports.append(report)
    return reports


def _scanned_pieces(folder: Folder, parts: Iterable[int], rows: QrelsTable) -> Iterator[ScannedRun]:
    for part in parts:
        content = folder.read(f"results/{part:05}.json")
        assert content is not None
        found, place = ScannedRun.empty(rows), f"{folder.name}/results/{part:05}.json"
        try:
            kept = msgspec.json.decode(content, type=_Part)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(f"not the results of a part: {decode_problem(error)}", path=place) from None
        _check(kept, found, place)
        found.run_id, found.ignored, found.duplicates = kept.run_id, kept.ignored, kept.duplicates
        found.ranks[kept.rows] = kept.ranks
        found.retrieved[kept.queries] = kept.retrieved
        found.tied[kept.tied] = True
        yield found


def _check(kept: _Part, found: ScannedRun, path: str) -> None:
    """InputError if a file of results was made with other qrels or is damaged."""
    pairs = (("rows", kept.rows, kept.ranks, found.ranks), ("queries", kept.queries, kept.retrieved, found.retrieved))
    for name, places, values, whole in (*pairs, ("tied", kept.tied, kept.tied, found.tied)):
        if len(places) != len(values) or any(not 0 <= place < len(whole) for place in places):
            raise InputError("they do not match the qrels: run the part again", path=path, field=f"$.{name}")


def _load_qrels(ranking: RankingJob) -> tuple[QrelsTable, Policy]:
    policy = ranking.policy
    rows = load_qrels(ranking.qrels, "utf-8")
    return (rows.with_self() if policy.drop_self else rows), policy


def _not_in_parts(path: Path, odd: NeedsSlowParser) -> InputError:
    why = "the lines of a query are not adjacent" if isinstance(odd, Ungrouped) else "it has unexpected lines"
    return InputError(f"cannot be read in parts, {why}: run steelyard rank without --job for details", path=path)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise InputError((error.strerror or str(error)).lower(), path=path) from None
