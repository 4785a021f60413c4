"""A report in MLflow: names that it takes, and a real run in a store of files where MLflow is installed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard import evaluate_rag, evaluate_run
from steelyard.core.errors import MissingExtra
from steelyard.core.records import Estimate
from steelyard.render.mlflow import numbers, parameters

ROWS = [{"id": str(row), "answer": "a" if row % 4 else "b", "ground_truth": "a"} for row in range(8)]

LOGGING = """
import json, sys
import mlflow
from steelyard import Report
report = Report.load(sys.argv[1])
mlflow.set_tracking_uri(sys.argv[2])
made = report.to_mlflow(experiment="gate")
with mlflow.start_run() as active:
    assert report.to_mlflow() == active.info.run_id
run = mlflow.get_run(made)
found = {item.path for item in mlflow.MlflowClient().list_artifacts(made, "steelyard")}
name = mlflow.get_experiment(run.info.experiment_id).name
told = [dict(run.data.metrics), dict(run.data.params), sorted(found), run.info.run_name, run.info.status, name]
print(json.dumps(told))
"""


def test_a_run_of_mlflow_holds_the_numbers_and_the_report(tmp_path: Path) -> None:
    """Values with their ends and n, what was weighed, and the three files; an active run is used and left open."""
    pytest.importorskip("mlflow", reason="MLflow is not installed: pip install 'steelyard[mlflow]'")
    report = evaluate_rag(ROWS, metrics=["exact_match"], name="bm25")
    report.save(tmp_path / "report.json")
    done = subprocess.run(
        [sys.executable, "-c", LOGGING, str(tmp_path / "report.json"), (tmp_path / "runs").as_uri()],
        env={**os.environ, "MLFLOW_ALLOW_FILE_STORE": "true"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    metrics, params, files, name, status, experiment = json.loads(done.stdout.splitlines()[-1])
    assert metrics == numbers(report.estimates)
    assert params == parameters(report)
    assert files == ["steelyard/report.html", "steelyard/report.json", "steelyard/report.md"]
    assert (name, status, experiment) == ("bm25", "FINISHED", "gate")


def test_a_store_that_cannot_be_used_is_told_in_a_line(tmp_path: Path) -> None:
    """A server that is not there, a folder that MLflow does not take unasked: one line that says what to set."""
    pytest.importorskip("mlflow", reason="MLflow is not installed: pip install 'steelyard[mlflow]'")
    evaluate_rag(ROWS, metrics=["exact_match"]).save(tmp_path / "report.json")
    for place in ("http://127.0.0.1:9", (tmp_path / "runs").as_uri()):
        done = subprocess.run(
            [sys.executable, "-c", LOGGING, str(tmp_path / "report.json"), place],
            env={**os.environ, "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        told = done.stderr.splitlines()[-1]
        assert told.startswith(
            f"steelyard.core.errors.InputError: MLflow cannot store a run in {place}: set MLFLOW_TRACKING_URI"
        )
        assert "During handling" not in done.stderr


def test_names_that_mlflow_takes() -> None:
    """No sign but letters, digits and _-./: and blanks; two metrics never share a name."""
    labels = ["ndcg@10", "rubric(criteria=coherence)", "rubric[criteria=coherence]", "快@1"]
    found = numbers({label: Estimate(metric=label, value=0.5, n=4, low=0.1, high=0.9) for label in labels})
    assert all(re.fullmatch(r"[\w\-./ :]+", name, re.ASCII) for name in found)
    assert [name for name in found if name.endswith(".n")] == [
        "ndcg_at_10.n",
        "rubric_criteria_coherence.n",
        "rubric_criteria_coherence_2.n",
        "at_1.n",
    ]
    assert numbers({"m": Estimate(metric="m", value=None, n=0)}) == {"m.n": 0.0, "m.undefined": 0.0, "m.failed": 0.0}


def test_parameters_tell_what_must_be_equal() -> None:
    """Equal data and policy give an equal fingerprint; different policy gives another one."""
    run, qrels = {"q": {"a": 1.0}}, {"q": {"a": 1}}
    one, same, other = (parameters(evaluate_run(run, qrels, ["map"], missing=how)) for how in ("zero", "zero", "skip"))
    assert one == same
    assert one["fingerprint"] != other["fingerprint"]
    assert (one["policy.missing"], other["policy.missing"]) == ("zero", "skip")


def test_without_mlflow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing extra is one line."""
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingExtra, match=re.escape("mlflow is not installed: pip install 'steelyard[mlflow]'")):
        evaluate_rag(ROWS, metrics=["exact_match"]).to_mlflow()
