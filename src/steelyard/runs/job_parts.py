"""The parts of a job: samples by a hash of their id, in Parquet, and the manifest of the job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from io import BytesIO

import msgspec
from msgspec import Struct

from ..core.errors import InputError
from ..core.records import Json, Sample, Usage
from ..core.validation import decode_problem
from ..core.wording import pluralize
from ..io.storage import Folder
from ..ranking.policy import Policy
from .config import Config

FORMAT = "steelyard-job/1"
_BUFFER, _OVERHEAD = 64 << 20, 300  # bytes in memory before they are written, and bytes of overhead for each text


class RankingJob(Struct, frozen=True):
    """Run files in ``pieces``: number of the run, first and last byte."""

    runs: list[str]
    qrels: str
    metrics: list[str]
    policy: Policy
    pieces: list[tuple[int, int, int]]
    confidence: float = 0.95
    seed: int = 0


class Manifest(Struct, frozen=True):
    """A job of samples, by its configuration, or of run files. ``rows`` and ``files`` count those of each part."""

    format: str
    fingerprint: dict[str, Json]
    base: str
    rows: list[int]
    files: list[int]
    config: Config | None = None
    ranking: RankingJob | None = None

    @classmethod
    def at(cls, folder: Folder) -> Manifest:
        """The manifest in the folder of a job."""
        content = folder.read("manifest.json")
        if content is None:
            raise InputError("no job in this folder: plan one with steelyard run CONFIG --job", path=folder.name)
        try:
            manifest = msgspec.json.decode(content, type=Manifest)
        except msgspec.DecodeError as error:
            raise InputError(
                f"not the manifest of a job: {decode_problem(error)}", path=f"{folder.name}/manifest.json"
            ) from None
        if manifest.format != FORMAT:
            raise InputError(f"written in {manifest.format!r}; this version reads {FORMAT!r}", path=folder.name)
        return manifest

    @property
    def parts(self) -> list[int]:
        """The parts that have samples."""
        return [part for part, rows in enumerate(self.rows) if rows]

    @property
    def settings(self) -> Config:
        """The configuration of a job of samples."""
        if self.config is None:
            raise InputError("a job of rankings, not of samples")
        return self.config

    def same(self, fingerprint: Mapping[str, Json], folder: Folder) -> Manifest:
        """The manifest itself; InputError if it is that of another job."""
        wanted = msgspec.to_builtins(fingerprint)
        if other := [name for name, value in wanted.items() if self.fingerprint.get(name) != value]:
            words = " and ".join(other)
            raise InputError(f"this folder holds a job with different {words}: name another folder", path=folder.name)
        return self

    def check_results(self, folder: Folder) -> None:
        """InputError if a part has no results."""
        there = set(folder.list("results"))
        if missing := [part for part in self.parts if f"{part:05}.json" not in there]:
            some = ", ".join(f"{part:05}" for part in missing[:10]) + (", …" if len(missing) > 10 else "")
            which = f"{len(missing)} of {pluralize(len(self.parts), 'part')}"
            raise InputError(f"job incomplete, {which} to do: {some}", path=folder.name)


class Done(Struct, frozen=True):
    """The counts of a finished part: its cells and failures; ``transient`` ones may succeed in another attempt."""

    rows: int
    cells: int
    undefined: int
    failed: int
    transient: int
    usage: Usage

    @staticmethod
    def left(content: bytes) -> bool:
        """Whether a part is to be done again: another attempt may succeed, or the file of its counts is damaged."""
        try:
            return msgspec.json.decode(content, type=Done).transient > 0
        except (msgspec.DecodeError, UnicodeDecodeError):
            return True


def write_parts(folder: Folder, samples: Iterable[Sample], buckets: int) -> tuple[list[int], list[int]]:
    """Split samples over buckets; the number of samples and of files of each. Memory holds a few samples at a time."""
    rows, files = [0] * buckets, [0] * buckets
    waiting: dict[int, list[tuple[int, str, str]]] = {}
    size = 0

    def write() -> None:
        for part, lines in waiting.items():
            folder.write(_place(part, files[part]), _table(lines))
            files[part] += 1
        waiting.clear()

    for row, sample in enumerate(samples):
        part, text = bucket_of(sample.id, buckets), _text(sample)
        waiting.setdefault(part, []).append((row, sample.id, text))
        rows[part] += 1
        size += len(text) + _OVERHEAD
        if size >= _BUFFER:
            write()
            size = 0
    write()
    if not any(rows):
        raise InputError("no samples: the input is empty")
    return rows, files


def bucket_of(sample: str, buckets: int) -> int:
    """The part that a sample belongs to, by a hash of its id.

    >>> bucket_of("q1", 1024) == bucket_of("q1", 1024) != bucket_of("q2", 1024)
    True
    """
    digest = blake2b(sample.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % buckets


def samples_of(folder: Folder, manifest: Manifest, part: int) -> Iterator[tuple[int, Sample]]:
    """The samples of a part with their rows in the whole job, in order."""
    import polars as pl

    decoder = msgspec.json.Decoder(Sample)
    count = 0
    for number in range(manifest.files[part]):
        place = _place(part, number)
        if (content := folder.read(place)) is None:
            raise InputError("a part of the job is missing: plan the job again", path=f"{folder.name}/{place}")
        try:
            for row, text in pl.read_parquet(BytesIO(content), columns=["row", "sample"]).iter_rows():
                yield row, decoder.decode(text)
                count += 1
        except (pl.exceptions.PolarsError, msgspec.DecodeError, TypeError) as error:
            words = (str(error).splitlines() or ["damaged"])[0]
            message = f"not a part of a job: {words}: plan the job again"
            raise InputError(message, path=f"{folder.name}/{place}") from None
    if count != manifest.rows[part]:
        raise InputError(
            f"part {part} has {pluralize(count, 'sample')}, expected {manifest.rows[part]} as in the manifest",
            path=folder.name,
        )


def _place(part: int, number: int) -> str:
    return f"parts/{part:05}-{number}.parquet"


def _text(sample: Sample) -> str:
    try:
        return msgspec.json.encode(sample).decode()
    except (UnicodeEncodeError, OverflowError) as error:
        raise InputError(f"cannot be written: {error}", field=f"sample {sample.id!r}") from None


def _table(lines: Sequence[tuple[int, str, str]]) -> bytes:
    import polars as pl

    content = BytesIO()
    columns = {"row": pl.Int64, "id": pl.String, "sample": pl.String}
    pl.DataFrame(lines, schema=columns, orient="row").write_parquet(content, compression="zstd")
    return content.getvalue()
