"""A report as an MLflow run: metrics, parameters, and the report files as artifacts."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from ..core.errors import InputError, MissingExtra
from ..core.records import Estimate
from ..reports.provenance import digest_json
from ..reports.report import Report
from .files import write

PARTS = ("low", "high", "n", "undefined", "failed", "pass_rate")
"""What is logged of an estimate beside its value, as ``NAME.PART``."""

_LONGEST = 500
"""Characters of a parameter that every server takes."""

_DETAIL = 160  # characters of what MLflow says


def log(report: Report, *, run_name: str | None = None, experiment: str | None = None) -> str:
    """Log a report to the tracking server that MLflow is set to; the id of the run.

    An active run is used; otherwise a run is started and ended. Every metric is logged with its value and, where known,
    ``.low``, ``.high``, ``.n``, ``.undefined``, ``.failed`` and ``.pass_rate``. ``ndcg@10`` is ``ndcg_at_10``, since
    MLflow does not accept ``@``. Parameters describe system, data and policy; ``report.json``, ``.md``
    and ``.html`` are the artifacts.

    Raises MissingExtra without MLflow, and InputError if the tracking server cannot be used: the environment variable
    MLFLOW_TRACKING_URI or ``mlflow.set_tracking_uri`` names it. ``mlflow-skinny`` cannot store runs in a database, the
    default of MLflow: use a server, or with MLFLOW_ALLOW_FILE_STORE=true a folder
    (``file:./mlruns``).
    """
    mlflow = _mlflow()
    active = mlflow.active_run()
    if active is not None:
        return _logged(mlflow, report, active)
    try:
        if experiment is not None:
            mlflow.set_experiment(experiment)
        started = mlflow.start_run(run_name=run_name or report.system or None)
    except (mlflow.exceptions.MlflowException, ImportError) as error:
        raise InputError(
            f"MLflow cannot store a run in {mlflow.get_tracking_uri()}: set MLFLOW_TRACKING_URI to a server"
            f" (http://localhost:5000), or with MLFLOW_ALLOW_FILE_STORE=true to a folder (file:./mlruns):"
            f" {str(error).partition('. ')[0].strip()[:_DETAIL]}"
        ) from None
    with started as run:
        return _logged(mlflow, report, run)


def _mlflow() -> ModuleType:
    try:
        return import_module("mlflow")
    except ImportError as error:
        raise MissingExtra(error.name or "mlflow", extra="mlflow") from None


def _logged(mlflow: ModuleType, report: Report, run: Any) -> str:  # noqa: ANN401 - MLflow is known when it is installed
    """Log into the run, which is the active one."""
    mlflow.log_params(parameters(report))
    mlflow.log_metrics(numbers(report.estimates))
    with tempfile.TemporaryDirectory() as folder:
        write(report, folder)
        mlflow.log_artifacts(folder, "steelyard")
    return str(run.info.run_id)


def numbers(estimates: Mapping[str, Estimate]) -> dict[str, float]:
    """The numbers of estimates under names that MLflow takes; what is not there is left out.

    >>> list(numbers({"ndcg@10": Estimate(metric="ndcg@10", value=0.5, n=8, low=0.25)}))
    ['ndcg_at_10', 'ndcg_at_10.low', 'ndcg_at_10.n', 'ndcg_at_10.undefined', 'ndcg_at_10.failed']
    """
    found = dict[str, float]()
    taken = set[str]()
    for label, one in estimates.items():
        name = plain = re.sub(r"[^\w\-. :/]+", "_", label.replace("@", "_at_"), flags=re.ASCII).strip("_")
        again = 1
        while name in taken:
            again += 1
            name = f"{plain}_{again}"
        taken.add(name)
        parts = {name: one.value, **{f"{name}.{part}": getattr(one, part) for part in PARTS}}
        found |= {key: float(value) for key, value in parts.items() if value is not None}
    return found


def parameters(report: Report) -> dict[str, str]:
    """Parameters of the run: system, data, judge, embedder, policy, versions, and a digest of what must be equal for
    two reports to be compared."""
    found = {
        "system": report.system,
        "dataset": report.dataset.name,
        "dataset_digest": report.dataset.digest,
        "samples": str(report.n_samples),
        "judge": report.judge,
        "embedder": report.embedder,
        "fingerprint": digest_json(report.fingerprint),
        **{f"policy.{key}": None if value is None else str(value) for key, value in report.policy.items()},
        **{f"version.{key}": value for key, value in report.versions.items()},
    }
    return {key: value[:_LONGEST] for key, value in found.items() if value}
