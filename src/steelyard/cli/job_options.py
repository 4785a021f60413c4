"""The options of a job in parts, which ``run`` and ``rank`` share."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.errors import InputError
from ..core.wording import pluralize
from .output import print_outcome
from .progress import Progress

if TYPE_CHECKING:
    from ..io.storage import Folder
    from ..runs.config import Config
    from ..runs.job_parts import Manifest


class Job:
    """The options of a job, checked."""

    def __init__(
        self,
        place: str | None,
        *,
        buckets: int | None,
        part: str | None,
        cluster: str | None,
        workers: int | None,
        split_only: bool,
    ) -> None:
        others = {"--buckets": buckets, "--part": part, "--cluster": cluster, "--split-only": split_only or None}
        if place is None and (given := [name for name, value in others.items() if value is not None]):
            raise InputError(f"{given[0]} needs --job: the folder of the parts")
        if workers is not None and (cluster is None or workers < 1):
            raise InputError("--workers is the number of workers of a --cluster, at least 1; without one, use --part")
        if part is not None and cluster is not None:
            raise InputError("--part and --cluster contradict each other: a cluster runs all parts")
        self.place, self.buckets, self.workers, self.split_only = place or "", buckets, workers, split_only
        self.share = None if part is None else share_of(part)
        self.address = None if cluster is None else address_of(cluster)

    def run(
        self,
        config: Config,
        *,
        base: Path,
        rates: Mapping[str, float],
        output_format: str = "table",
        scale: float = 1.0,
    ) -> int:
        """Split the samples of a configuration, run the parts of this process, and merge if no others are left."""
        from ..runs.job import merge, plan
        from ..runs.run_config import apply_gates

        folder = self.folder()
        least = self.workers or (1 if self.share is None else self.share[1])
        manifest = plan(config, folder, base=base, buckets=self.buckets, least=least)
        if not self.done(folder, manifest, concurrency=config.concurrency, rates=rates):
            return 0
        if self.address is not None:  # the libraries of Ray leave too little memory for a large report
            merging = [sys.executable, "-m", "steelyard", "merge", self.place, "--format", output_format]
            return subprocess.run([*merging, "--scale", str(scale)], check=False).returncode  # noqa: S603 - our own
        return print_outcome(
            apply_gates(merge(folder, config), config, base / config.outputs.dir), output_format, scale=scale
        )

    def folder(self) -> Folder:
        """The folder of the job; an error if Ray is needed and missing, before anything is planned."""
        from ..io.storage import folder_at

        if self.address is not None:
            from ..runs.ray_job import check_ray

            check_ray()
        return folder_at(self.place)

    def done(
        self, folder: Folder, manifest: Manifest, *, concurrency: int = 16, rates: Mapping[str, float] | None = None
    ) -> bool:
        """Run the parts of this process; whether the whole job is then done."""
        from ..runs.job import cells_of, run_here, unfinished

        if self.split_only:
            rows = pluralize(sum(manifest.rows), "sample" if manifest.config else "piece")
            print(f"{rows} in {pluralize(len(manifest.parts), 'part')}")
            return False
        parts, rates = manifest.parts, dict(rates or {})
        if self.share is not None:
            mine, of = self.share
            parts = parts[mine - 1 :: of]
            if not parts:
                only = pluralize(len(manifest.parts), "part")
                print(f"nothing to do for share {mine} of {of}: the job has only {only}", file=sys.stderr)
                return False
            rates = {url: rate / of for url, rate in rates.items()}
        left = unfinished(folder, manifest, parts)
        print(f"{len(left)} of {pluralize(len(parts), 'part')} to do", file=sys.stderr)
        with Progress(cells_of(manifest, left)) as progress:
            if self.address is None:
                run_here(folder, left, concurrency=concurrency, rates=rates, progress=progress)
            elif left:
                from ..runs.ray_job import run_on_ray

                run_on_ray(
                    folder,
                    left,
                    address=self.address,
                    workers=self.workers,
                    concurrency=concurrency,
                    rates=rates,
                    progress=progress,
                )
        if self.share is not None:
            print(f"share {self.share[0]} of {self.share[1]} is done; when all are: steelyard merge {self.place}")
        return self.share is None


def share_of(text: str) -> tuple[int, int]:
    """``17/1024`` as numbers.

    >>> share_of("3/8")
    (3, 8)
    """
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise InputError(f"--part {text}: expected I/N, from 1/N to N/N, such as 3/8")
    return int(match[1]), int(match[2])


def address_of(text: str) -> str:
    """Where a cluster is: ``ray`` is this machine.

    >>> address_of("ray"), address_of("ray:auto"), address_of("ray:ray://head:10001")
    ('local', 'auto', 'ray://head:10001')
    """
    engine, _, address = text.partition(":")
    if engine != "ray":
        raise InputError(f"--cluster {text}: expected ray or ray:ADDRESS")
    return address or "local"
