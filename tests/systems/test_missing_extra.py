"""What the extra with BM25 is needed for says so before any work."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from steelyard.cli import invoke

LINE = "steelyard: bm25s is not installed: pip install 'steelyard[systems]'\n"


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The demo and a run are one line; a dry run prints its plan first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "bm25s", None)
    Path("docs").mkdir()
    Path("docs/a.txt").write_text("The tower was built in 1811.")
    Path("rows.jsonl").write_text('{"id": "q", "question": "When?", "ground_truth": "1811", "relevance": {"a": 1}}\n')
    Path("run.yaml").write_text("data: rows.jsonl\ncorpus: docs\nsystems: {bm25: {type: bm25}}\nmetrics: [mrr]\n")
    for command in (["demo"], ["run", "run.yaml"]):
        assert invoke(command) == 1
        assert capsys.readouterr() == ("", LINE)
    assert invoke(["run", "run.yaml", "--dry-run"]) == 1
    out, err = capsys.readouterr()
    assert ("bm25: 1 question" in out, err) == (True, LINE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs", "rows.jsonl", "run.yaml"]
