"""The report of an evaluation (``Report``): estimates, scores, evidence and provenance.

A report is columnar: ids, and per metric a column of scores with reasons, evidence and usage. It is saved as strict
JSON in one file and loads back equal. Times, cached counts and durations are in one ``run`` block; everything else is
equal to the byte between two equal runs.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..core import wording
from ..core.errors import InputError
from ..core.printable import Printable
from ..core.records import Estimate, Json, Sample, Score, Usage
from ..stats.pooling import Column, passes
from .provenance import DatasetNote, MetricNote

if TYPE_CHECKING:
    import polars as pl


@dataclass(eq=False)
class Report(Printable):
    """Estimates, scores and their provenance. ``report.metrics["ndcg@10"]`` is the pooled value."""

    ids: list[str] = field(default_factory=list)
    columns: dict[str, Column] = field(default_factory=dict)
    notes: dict[str, MetricNote] = field(default_factory=dict)
    estimates: dict[str, Estimate] = field(default_factory=dict)
    slices: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    kind: str = "rag"
    system: str = ""
    dataset: DatasetNote = field(default_factory=DatasetNote)
    judge: str | None = None
    embedder: str | None = None
    policy: dict[str, Json] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    versions: dict[str, str] = field(default_factory=dict)
    run: dict[str, Json] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    k_values: tuple[int, ...] = ()

    @property
    def metrics(self) -> dict[str, float | None]:
        """The pooled value of each metric, under the requested names; None if nothing was scored."""
        return {label: one.value for label, one in self.estimates.items()}

    @property
    def coverage(self) -> dict[str, int]:
        """The number of scored samples of each metric."""
        return {label: one.n for label, one in self.estimates.items()}

    @property
    def n_samples(self) -> int:
        """The number of samples, scored or not."""
        return len(self.ids)

    @property
    def n_queries(self) -> int:
        """The number of queries with at least one score."""
        scored = np.zeros(len(self.ids), dtype=bool)
        for column in self.columns.values():
            scored |= ~np.isnan(column.values)
        return int(scored.sum())

    @property
    def per_sample(self) -> dict[str, dict[str, float | None]]:
        """``{id: {metric: value or None}}``."""
        lists = {label: _plain(column) for label, column in self.columns.items()}
        return {one: {label: lists[label][row] for label in lists} for row, one in enumerate(self.ids)}

    @property
    def per_query(self) -> dict[str, dict[str, float | None]]:
        """The same as ``per_sample``, under the name used in retrieval."""
        return self.per_sample

    @property
    def scores(self) -> list[Score]:
        """Every cell as a ``Score``, metric by metric."""
        return [self.score(row, label) for label in self.columns for row in range(len(self.ids))]

    @property
    def primary(self) -> float | None:
        """The pooled ndcg@10; None if it was not requested."""
        return self.primary_at(10)

    def primary_at(self, k: int) -> float | None:
        """The pooled ndcg@k; None if it was not requested."""
        return next(
            (self.estimates[label].value for label, note in self.notes.items() if note.name == f"ndcg@{k}"), None
        )

    def score(self, row: int, label: str) -> Score:
        """One cell: a metric on one sample."""
        column, note = self.columns[label], self.notes[label]
        status = column.status(row)
        value = float(column.values[row]) if status == "ok" else None
        passed = None
        if value is not None and note.threshold is not None:
            passed = passes(value, note.threshold, higher_is_better=note.higher_is_better)
        return Score(
            sample=self.ids[row],
            metric=label,
            value=value,
            status=status,
            reason=column.failed.get(row) or column.undefined.get(row),
            passed=passed,
            evidence=column.evidence.get(row, {}),
            parts=column.parts.get(row),
            usage=column.usage.get(row),
            requests=column.requests.get(row, []),
        )

    @property
    def failed_share(self) -> dict[str, float]:
        """failed / (ok + failed), by metric."""
        return {
            label: one.failed / (one.n + one.failed) if one.n + one.failed else 0.0
            for label, one in self.estimates.items()
        }

    @property
    def fingerprint(self) -> dict[str, Json]:
        """The settings that two reports must share to be compared; prices are not part of it."""
        from ..models.embedder import embedder_settings
        from ..models.judge import judge_settings

        return {
            "dataset": self.dataset.digest,
            "judge": None if self.judge is None else judge_settings(self.judge),
            "embedder": None if self.embedder is None else embedder_settings(self.embedder),
            "policy": dict(self.policy),
        }

    def __eq__(self, other: object) -> bool:
        """Whether the saved bytes are equal."""
        return isinstance(other, Report) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        return self.rendered("fragment")

    def markdown(self) -> str:
        """The report as Markdown."""
        return self.rendered("markdown")

    def latex(self) -> str:
        """The table of estimates as a LaTeX booktabs table."""
        return self.rendered("latex")

    def html(self) -> str:
        """The report as one self-contained HTML page."""
        return self.rendered("page")

    def to_polars(self) -> pl.DataFrame:
        """A polars data frame: one row per sample, one column per metric; null without a score."""
        import polars as pl

        return pl.DataFrame({"id": self.ids, **{label: _plain(column) for label, column in self.columns.items()}})

    def to_mlflow(self, *, run_name: str | None = None, experiment: str | None = None) -> str:
        """Log numbers, parameters and the report itself to MLflow (extra ``mlflow``), and return the id of the run.

        MLFLOW_TRACKING_URI names a server, or with MLFLOW_ALLOW_FILE_STORE=true a folder.
        """
        return self.rendered("mlflow", run_name=run_name, experiment=experiment)

    def to_json(self) -> bytes:
        """The report as strict JSON."""
        from .serialize import encode

        return encode(self)

    def save(self, path: str | PathLike[str], *, shape: str = "steelyard") -> None:
        """Write the report as JSON. ``shape="recall"`` writes the plain shape of means and per-query metrics.

        For a path that ends in ``/``, or an existing folder, ``report.json``, ``report.md`` and ``report.html`` are
        written, like by ``--out``; in another shape, only the JSON.
        """
        from .serialize import encode, encode_plain

        if shape not in {"steelyard", "recall"}:
            raise InputError(f"unknown shape {shape!r}: {wording.did_you_mean(shape, ['steelyard', 'recall'])}")
        target = Path(path)
        if target.is_dir() or fspath(path).endswith(("/", os.sep)):
            if shape == "steelyard":
                self.rendered("files", target)
                return
            target /= "report.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(target.name + ".partial")
        partial.write_bytes(encode(self) if shape == "steelyard" else encode_plain(self))
        partial.replace(target)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Report:
        """Read a saved report of either shape, or the folder that contains it; InputError describes an invalid file."""
        from .serialize import decode

        if Path(path).is_dir():
            path = Path(path) / "report.json"
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise InputError(error.strerror or "cannot be read", path=path) from None
        return decode(cls, data, path=path)


def _plain(column: Column) -> list[float | None]:
    return [None if math.isnan(value) else value for value in column.values.tolist()]


RetrievalEvalReport = Report
RagEvalReport = Report
"""The same class under names for retrieval and RAG evaluation."""
