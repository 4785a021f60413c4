"""Store of reports: one file each, named by its content, and an append-only index for the trend."""

from __future__ import annotations

from hashlib import blake2b
from os import PathLike, fspath
from pathlib import Path

import msgspec
from msgspec import Struct, field

from ..core.errors import InputError
from ..core.records import Estimate
from ..core.validation import decode_problem
from .report import Report

DEFAULT = ".steelyard/runs"
LAST = 20
"""The maximal number of runs in a trend."""


class StoredReport(Struct, frozen=True, omit_defaults=True):
    """One line of the index: a report's digest, start, system, tag, dataset and estimates."""

    digest: str
    started: str
    system: str = ""
    tag: str = ""
    dataset: str = ""
    estimates: dict[str, Estimate] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The start, the system and the tag, in one line."""
        return " · ".join(filter(None, (self.started[:16].replace("T", " "), self.system, self.tag)))


class Store:
    """A folder of reports.

    >>> from tempfile import TemporaryDirectory
    >>> from steelyard import evaluate_rag
    >>> with TemporaryDirectory() as folder:
    ...     store = Store(folder)
    ...     kept = store.keep(evaluate_rag([{"response": "a", "reference": "a"}], metrics=["em"]), tag="main")
    ...     store.find("latest:main").metrics
    {'em': 1.0}
    """

    def __init__(self, folder: str | PathLike[str] = DEFAULT) -> None:
        self.folder = Path(folder)

    @property
    def index(self) -> Path:
        """The index file."""
        return self.folder / "index.jsonl"

    def keep(self, report: Report, *, tag: str = "") -> Path:
        """Write a report and its line of the index, and return the path of the report."""
        content = report.to_json()
        digest = blake2b(content, digest_size=8).hexdigest()
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{digest}.json"
        report.save(path)
        line = StoredReport(
            digest,
            str(report.run.get("started", "")),
            report.system,
            tag,
            report.dataset.digest,
            report.estimates,
        )
        with self.index.open("ab") as index:
            index.write(msgspec.json.encode(line) + b"\n")
        return path

    def lines(self) -> list[StoredReport]:
        """Read the index, oldest line first. A last line that was cut off by a kill is left out."""
        if not self.index.is_file():
            return []
        decoder, found = msgspec.json.Decoder(StoredReport), []
        content = self.index.read_bytes()
        whole = content.split(b"\n")
        for number, line in enumerate(whole, 1):
            if not line.strip():
                continue
            try:
                found.append(decoder.decode(line))
            except msgspec.DecodeError as error:
                if number == len(whole):
                    break
                raise InputError(
                    f"not a line of the index: {decode_problem(error)}", path=self.index, line=number
                ) from None
        return found

    def trend(self, report: Report) -> dict[str, list[tuple[str, Estimate]]]:
        """The names and estimates of stored runs on the same data, by metric of the report, oldest first.

        Metrics with fewer than two stored runs are left out; at most the last twenty runs are returned.
        """
        same = [line for line in self.lines() if report.dataset.digest and line.dataset == report.dataset.digest]
        found = {}
        for label in report.estimates:
            stored = [(line.name, line.estimates[label]) for line in same if label in line.estimates]
            runs = [(name, one) for name, one in stored if one.way == report.estimates[label].way]
            if len(runs) > 1:
                found[label] = runs[-LAST:]
        return found

    def find(self, name: str) -> Report:
        """Load the report named by ``latest``, ``latest:TAG``, or a digest or its beginning."""
        lines = self.lines()
        word, _, tag = name.partition(":")
        if not lines:
            nothing = f"no report is stored in {self.folder}"
            raise InputError(nothing if word == "latest" else f"no such file or folder, and {nothing}", path=name)
        if word == "latest":
            fitting = [line for line in lines if not tag or line.tag == tag]
            known = ", ".join(sorted({line.tag for line in lines if line.tag})) or "none"
            if not fitting:
                raise InputError(f"no report is stored with the tag {tag!r} (tags here: {known})")
        else:
            fitting = [line for line in lines if line.digest.startswith(name)]
            if len({line.digest for line in fitting}) != 1:
                count = len({line.digest for line in fitting})
                raise InputError(
                    f"no such file or folder, and {count} reports in {self.folder} begin with it: a report is a file, a"
                    " folder, latest, latest:TAG or a digest",
                    path=name,
                )
        return Report.load(self.folder / f"{fitting[-1].digest}.json")


def report_at(place: str | PathLike[str], *, store: str | PathLike[str] = DEFAULT) -> Report:
    """Load a report by its file, its folder, or its name in a store (``latest:main``)."""
    path = Path(place)
    if not fspath(place).strip():
        raise InputError("expected a report's file, folder or name (latest:main), found an empty name")
    if path.is_dir() or path.is_file() or path.suffix == ".json":
        return Report.load(path)
    return Store(store).find(str(place))
