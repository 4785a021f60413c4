"""The GitHub action: its steps run as a runner would run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from steelyard import evaluate_rag

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
WORKFLOW = yaml.safe_load((ROOT / "examples" / "github-workflow.yml").read_text(encoding="utf-8"))
ROWS = [{"id": str(row), "question": "q", "answer": "a", "ground_truth": "a", "question_type": "x"} for row in range(8)]


def steps() -> dict[str, dict[str, object]]:
    """The action's steps by name."""
    return {step["name"]: step for step in ACTION["runs"]["steps"]}


def run_compare(tmp_path: Path, **inputs: str) -> tuple[str, dict[str, str]]:
    """Run the Compare step in bash with the environment that the inputs make; what it printed and its outputs."""
    given = {name: one.get("default", "") for name, one in ACTION["inputs"].items()} | inputs
    environment = {**os.environ, "GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary.md"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    environment |= {
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": "someone/something",
        "GITHUB_RUN_ID": "17",
        "BASELINE": given["baseline"],
        "CURRENT": given["current"],
        "TOLERANCE": given["tolerance"],
        "SIGNIFICANT": given["significant"],
        "BY": given["by"],
    }
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", str(steps()["Compare"]["run"])],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = (tmp_path / "output").read_text().split()
    return done.stdout, dict(line.split("=") for line in lines)


@pytest.mark.parametrize(("answer", "code"), [("a", "0"), ("b", "2")])
@pytest.mark.long
def test_the_steps_of_the_action(tmp_path: Path, answer: str, code: str) -> None:
    """A good change passes; a bad one leaves annotations, a comment, JUnit and the exit code."""
    evaluate_rag(ROWS, metrics=["exact_match"]).save(tmp_path / "before" / "report.json")
    after = [{**row, "answer": answer} for row in ROWS]
    evaluate_rag(after, metrics=["exact_match"]).save(tmp_path / "after" / "report.json")
    printed, outputs = run_compare(tmp_path, baseline="before", current="after", by="question_type", significant="true")
    assert outputs == {"exit-code": code}
    assert ("::error title=steelyard: regression::exact_match" in printed) == (code == "2")
    assert (tmp_path / "steelyard-comment.md").read_text().startswith("<!-- steelyard comparison -->")
    assert "(https://github.com/someone/something/actions/runs/17)" in (tmp_path / "steelyard-comment.md").read_text()
    assert "<!doctype html>" in (tmp_path / "steelyard-comparison.html").read_text()
    assert (tmp_path / "summary.md").read_text() == (tmp_path / "steelyard-comment.md").read_text()
    assert "<testsuite" in (tmp_path / "steelyard-junit.xml").read_text()


def test_no_step_pastes_an_input_into_a_script() -> None:
    """Inputs reach scripts through the environment, so that none can become code."""
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"], step["name"]


def test_the_example_workflow_uses_inputs_that_exist() -> None:
    """Its commands are verbs of ours, and what it gives the action are inputs of the action."""
    (job,) = WORKFLOW["jobs"].values()
    (use,) = [step["with"] for step in job["steps"] if str(step.get("uses", "")).startswith("steelyard/")]
    assert set(use) <= set(ACTION["inputs"])
    assert any("steelyard eval" in step.get("run", "") for step in job["steps"])
