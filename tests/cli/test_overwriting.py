"""What a person may have worked on is not written over, and no verb writes over what it reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard import evaluate_rag
from steelyard.cli import invoke
from steelyard.io.samples import read_samples

TOWERS = "The tower on the reef was built of granite by Robert Stevenson in 1811. It is still in use today."


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with documents, samples and a report, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    for number in range(4):
        (tmp_path / "docs" / f"{number}.txt").write_text(TOWERS.replace("1811", str(1811 + 20 * number)))
    (tmp_path / "rows.jsonl").write_text('{"id": "a", "question": "Who?", "answer": "Ada", "ground_truth": "ada"}\n')
    evaluate_rag("rows.jsonl", metrics=["em"]).save("report/report.json")
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """The one line with which a command is refused."""
    capsys.readouterr()
    assert invoke(list(args)) == 1
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    return err


def test_a_set_is_replaced_by_its_own_job_alone(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same command goes on; another one, or the same after somebody edited the set, needs ``--overwrite``."""
    made = ["synth", "docs", "--out", "set", "--kind", "cloze", "-n"]
    assert invoke([*made, "1"]) == 0
    assert invoke([*made, "1"]) == 0
    samples = files / "set" / "samples.jsonl"
    before = samples.read_bytes()
    assert "the folder already contains a set: replace it with --overwrite" in refused(capsys, *made, "2")
    assert "the folder already contains a set" in refused(capsys, *made, "1", "--seed", "5")
    samples.write_bytes(before.replace(b'"user_input":"', b'"user_input":"Now: '))
    assert "the folder already contains a set" in refused(capsys, *made, "1")
    assert read_samples(samples)[0].user_input.startswith("Now: ")
    assert invoke([*made, "1", "--overwrite"]) == 0
    assert samples.read_bytes() == before


def test_converting_does_not_replace(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that holds something stays, a blank one does not matter; a folder that is a set stays too."""
    (files / "mine.csv").write_text("id\nx\n")
    assert "mine.csv: the file exists: overwrite it with --overwrite" in refused(
        capsys, "convert", "rows.jsonl", "mine.csv"
    )
    assert (files / "mine.csv").read_text() == "id\nx\n"
    assert invoke(["convert", "rows.jsonl", "mine.csv", "--overwrite"]) == 0
    (files / "blank.csv").touch()
    assert invoke(["convert", "rows.jsonl", "blank.csv"]) == 0
    (files / "beir").mkdir()
    (files / "beir" / "queries.jsonl").write_text('{"_id": "q", "text": "?"}\n')
    assert "the folder already contains a set" in refused(capsys, "convert", "rows.jsonl", "beir", "--to", "beir")


def test_repaired_labels_do_not_replace(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``check --repair`` onto the set itself is refused before anything is looked at."""
    before = (files / "rows.jsonl").read_bytes()
    args = ["check", "rows.jsonl", "--corpus", "docs", "--repair", "rows.jsonl"]
    assert "the file exists" in refused(capsys, *args)
    assert (files / "rows.jsonl").read_bytes() == before


def test_a_review_replaces_its_own_items_alone(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the set, and before the first decision no file that is there."""
    (files / "good.jsonl").write_text('{"id": "b"}\n')
    assert "--out is an input of this command" in refused(capsys, "review", "rows.jsonl", "--out", "rows.jsonl")
    assert "the file exists" in refused(capsys, "review", "rows.jsonl", "--out", "good.jsonl")
    monkeypatch.setattr("sys.stdin.readline", lambda: "a\n", raising=False)
    assert invoke(["review", "rows.jsonl", "--out", "good.jsonl", "--overwrite"]) == 0
    assert invoke(["review", "rows.jsonl", "--out", "good.jsonl"]) == 0
    assert [one.id for one in read_samples("good.jsonl")] == ["a"]


@pytest.mark.parametrize(
    "args",
    [
        ["show", "report", "--format", "md", "--out", "report/report.json"],
        ["calibrate", "report", "labels.csv", "--out", "labels.csv"],
        ["prefer", "rows.jsonl", "report", "--judge", "http://127.0.0.1:9/v1#m", "--out", "rows.jsonl"],
        ["drift", "report", "report/report.json", "--out", "report"],
        ["eval", "rows.jsonl", "-m", "em", "--baseline", "report", "--out", "report"],
        ["eval", "rows.jsonl", "-m", "em", "--baseline", "report/report.json", "--out", "report"],
    ],
)
def test_what_is_read_is_not_written_over(files: Path, capsys: pytest.CaptureFixture[str], args: list[str]) -> None:
    """One line, and everything stays as it is."""
    (files / "labels.csv").write_text("id,value\na,1\n")
    before = {path: path.read_bytes() for path in files.rglob("*") if path.is_file()}
    assert "--out is an input of this command: name another file or folder" in refused(capsys, *args)
    assert before == {path: path.read_bytes() for path in files.rglob("*") if path.is_file()}
