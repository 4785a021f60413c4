"""A metric in one new file is known everywhere: in the list, in reports, in their analysis of failures, in the docs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "steelyard"
NEW = '''"""The share of a reference's words that a response spells backwards."""

from __future__ import annotations

from ...core.records import Sample
from ..registry import metric


@metric(
    needs=("response", "reference"),
    aliases=("mirrored",),
    source="Doe 2026",
    hint="turn the answers around",
    stage="answer",
    stage_rank=500,
    explained_by="reference",
)
def backwards(sample: Sample) -> float:
    """1 if the response is the reference spelled backwards, else 0. In [0, 1]."""
    return float((sample.response or "")[::-1] == sample.references[0])
'''
USE = """
from steelyard import Report, evaluate_rag, get_metric
from steelyard.metrics.lookup import every
from steelyard.render.metric_catalogue import documentation
from steelyard.reports.explain import reason_of
from steelyard.reports.failure_analysis import analyse_failures

assert "backwards" in [one.name for one in every()]
assert str(get_metric("mirrored")) == "backwards"
assert "backwards" in documentation()
rows = [{"id": str(n), "response": "sirap" if n else "Rome", "reference": "paris"} for n in range(5)]
report = evaluate_rag(rows, metrics=["backwards", "exact_match"])
assert report.metrics["backwards"] == 0.8
report.save("report.json")
for one in (report, Report.load("report.json")):
    found = analyse_failures(one)
    assert found.by["answer"].startswith("backwards"), found.by
    assert {(cell.answer, cell.n) for cell in found.cells} == {("right", 4), ("wrong", 1)}
    assert "Rome" in reason_of(one, 0, "backwards")
low = evaluate_rag(rows[:1], metrics=["backwards"])
assert "turn the answers around" in str(low), str(low)
assert "turn the answers around" in low.markdown()
"""


def test_a_metric_in_one_new_file_is_known_everywhere(tmp_path: Path) -> None:
    """The file is put beside the built-in metrics of a copy of the package; nothing else is touched."""
    copy = tmp_path / "tree" / "steelyard"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "demo"))
    (copy / "metrics" / "lexical" / "backwards.py").write_text(NEW, encoding="utf-8")
    environment = {"PYTHONPATH": str(copy.parent), "PATH": ""}
    line = [sys.executable, "-c", USE]
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    listed = [sys.executable, "-m", "steelyard", "metrics"]
    shown = subprocess.run(listed, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "backwards" in shown.stdout
