"""What to label next, sheets that lose nothing, and the labeller as a person drives it."""

from __future__ import annotations

import csv
import os
import re
import select
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from steelyard import calibrate, label
from steelyard.cli import invoke
from steelyard.core.errors import InputError
from steelyard.judges.annotations import Sheet, read_labels
from steelyard.judges.label_sampling import allocate, sheet_of
from steelyard.judges.label_terminal import label_in_terminal, page
from steelyard.reports.report import Report
from tests.judges.judged_reports import report

KINDS = [{"kind": "rare" if row % 20 == 0 else "often"} for row in range(200)]


def scored(n: int = 200) -> Report:
    """A report whose scores are spread evenly, with a common and a rare kind of question."""
    return report({"m": [row / n for row in range(n)]}, tags=KINDS[:n])


def test_a_draw_depends_on_ids_and_seed_alone() -> None:
    """Not on the order of the report; a longer draw begins with the shorter; another seed is another draw."""
    one = scored()
    turned = scored()
    turned.ids.reverse()
    first = [each.unit.sample for each in label(one, "m", 30)]
    assert first == [each.unit.sample for each in label(turned, "m", 30)]
    assert first[:10] == [each.unit.sample for each in label(one, "m", 10)]
    assert set(first) != {each.unit.sample for each in label(one, "m", 30, seed=1)}


def test_a_random_draw_is_uniform() -> None:
    """Over seeds every sample is drawn equally often (chi-square over 20 samples, 400 draws of 5)."""
    small = report({"m": [0.5] * 20})
    counts = Counter(each.unit.sample for seed in range(400) for each in label(small, "m", 5, seed=seed))
    assert len(counts) == 20
    assert sum((count - 100) ** 2 / 75 for count in counts.values()) < 43.8  # the 99.9 % point of 19 degrees


def test_strata_are_drawn_in_proportion_and_in_turns() -> None:
    """By score and slice; every stratum at least two; the first labels come from all strata."""
    draws = label(scored(), "m", 40, bins=4, by=["kind"])
    counts = Counter(each.stratum for each in draws)
    assert len(draws) == 40
    assert set(counts.values()) <= set(range(2, 12))
    assert counts["kind=rare"] == 2
    assert Counter(each.stratum for each in draws[:10]) == dict.fromkeys(counts, 2)
    assert sum({each.stratum: each.share for each in draws}.values()) == pytest.approx(1.0)
    for each in draws:
        rows = [one.unit.row for one in draws if one.stratum == each.stratum]
        if "score" in each.stratum:
            assert max(rows) - min(rows) <= 50


def test_slices_too_small_for_two_labels_are_put_together() -> None:
    """Ten kinds of one sample each become one stratum, so that none is left without labels."""
    tags = [{"kind": str(row) if row < 10 else "most"} for row in range(100)]
    draws = label(report({"m": [0.5] * 100}, tags=tags), "m", 20, by=["kind"])
    assert Counter(each.stratum for each in draws) == {"kind=most": 18, "(other)": 2}


def test_only_scored_samples_are_drawn() -> None:
    """What the judge failed on tells nothing of the judge."""
    draws = label(report({"m": [0.5, "timeout", 0.5, None]}), "m", 10)
    assert {each.unit.sample for each in draws} == {"q0", "q2"}
    with pytest.raises(InputError, match="m has no scores to label"):
        label(report({"m": ["timeout"]}), "m", 10)
    with pytest.raises(InputError, match="n=0, bins=1: both are at least 1"):
        label(scored(), "m", 0)
    with pytest.raises(InputError, match="no sample has the tag 'type'"):
        label(scored(), "m", 10, by=["type"])


@given(st.dictionaries(st.text(max_size=3), st.integers(2, 400), min_size=1, max_size=8), st.integers(1, 300))
@settings(deadline=None)
def test_every_stratum_gets_its_due(sizes: dict[str, int], n: int) -> None:
    """As many as asked for where two for each allow it, never more than there are, and near the exact share."""
    n = min(max(n, 2 * len(sizes)), sum(sizes.values()))
    wanted = allocate(sizes, n)
    assert sum(wanted.values()) == n
    assert all(2 <= wanted[name] <= sizes[name] for name in sizes)


def test_a_sheet_is_blind_and_comes_back_as_it_was(tmp_path: Path) -> None:
    """It shows what a person needs, nothing of the judge; formulas are text; other columns survive a save."""
    judged = scored(6)
    judged.samples = [
        one.__class__(id=one.id, user_input="=1+1", response='a\nb, "c"', retrieved_contexts=["x", "y"], reference="ü")
        for one in judged.samples
    ]
    for suffix in (".csv", ".tsv", ".jsonl"):
        sheet = sheet_of(judged, "m", label(judged, "m", 4, bins=2), tmp_path / f"sheet{suffix}")
        sheet.save()
        again = Sheet.read(sheet.path)
        again.rows[1]["value"] = "1"
        again.rows[1]["note"] = "odd"
        again.columns.append("note")
        again.save()
        whole = Sheet.read(sheet.path)
        assert [row["question"] for row in whole.rows] == ["=1+1"] * 4
        assert (whole.rows[1]["response"], whole.rows[1]["reference"]) == ('a\nb, "c"', "ü")
        assert "0.1" not in str(whole.rows)
        given = read_labels(sheet.path)
        assert [one.value for one in given] == [None, 1.0, None, None]
        assert (given[1].drawn, given[1].metric, given[1].system) == ("stratified", "m", "sys")
        assert given[1].share == 0.5
    assert "'=1+1" in (tmp_path / "sheet.csv").read_text(encoding="utf-8")


def test_what_strangers_wrote_cannot_move_the_cursor() -> None:
    """Escape sequences and marks that turn text round are shown, not sent."""
    shown = page({"sample": "a\x1b]0;x\x07", "response": "ok\x1b[2J\u202ekcab\r\nnext"}, None, 1, 2)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert r"ok\x1b[2J\u202ekcab" in shown
    assert "\n  next" in shown


def test_going_back_skipping_and_nonsense(tmp_path: Path) -> None:
    """b undoes the last answer, s leaves a gap, what is no label or out of range is asked again."""
    rows: list[dict[str, str | None]] = [{"sample": name, "value": None} for name in "abcd"]
    sheet = Sheet(tmp_path / "s.csv", ["sample", "value"], rows)
    answers = iter(["yes", "b", "no", "s", "2", "what", "", "0.5", "Q"])
    told: list[str] = []
    assert label_in_terminal(sheet, {}, ask=lambda prompt: next(answers), write=told.append) == 2
    assert [row["value"] for row in rows] == ["0", None, "0.5", None]
    assert [line for line in told if line.startswith("  ")] == [
        "  expected a number from 0 to 1, found 2",
        "  expected a number, yes or no, found 'what'",
    ]


class Terminal:
    """A program on a pseudo-terminal: what it shows, and the keys a person presses."""

    def __init__(self, *args: str, folder: Path) -> None:
        pty = pytest.importorskip("pty")
        self.main, inner = pty.openpty()
        self.program = subprocess.Popen(
            [sys.executable, "-m", "steelyard", *args],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            cwd=folder,
            env={**os.environ, "TERM": "dumb"},
            start_new_session=True,
        )
        os.close(inner)
        self.shown = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.program.poll() is None:
            self.program.kill()
        self.program.wait()
        os.close(self.main)

    def until(self, words: str, seconds: float = 60.0) -> str:
        """Read until the words are shown, and all that was shown before them since the last call."""
        end = time.monotonic() + seconds
        while words not in self.shown:
            assert time.monotonic() < end, f"never shown: {words!r}, but: {self.shown[-500:]!r}"
            if select.select([self.main], [], [], 0.2)[0]:
                try:
                    part = os.read(self.main, 65536)
                except OSError:  # the program has ended, and with it the terminal
                    part = b""
                assert part, f"it ended without {words!r}: {self.shown[-500:]!r}"
                self.shown += part.decode()
        before, self.shown = self.shown.split(words, 1)
        return before

    def press(self, keys: str) -> None:
        os.write(self.main, keys.encode())

    def end(self) -> int:
        return self.program.wait(60)


def values(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return [row["value"] for row in csv.DictReader(file)]


def test_a_person_labels_in_the_terminal(tmp_path: Path) -> None:
    """Drawn, shown, answered, saved after each answer, stopped, and gone on with where it was left."""
    scored(30).save(tmp_path / "report.json")
    command = ("label", "report.json", "--out", "labels.csv", "-n", "4", "--interactive", "--annotator", "ann")
    with Terminal(*command, folder=tmp_path) as terminal:
        shown = terminal.until("q quit]")
        assert re.search(r"1 of 4 · q\d+ · m", shown)
        assert "Question q" in shown
        terminal.press("y\n")
        terminal.until("2 of 4")
        terminal.until("q quit]")
        assert [bool(one) for one in values(tmp_path / "labels.csv")] == [True, False, False, False]
        terminal.press("maybe\n")
        terminal.until("expected a number, yes or no, found 'maybe'")
        terminal.until("q quit]")
        terminal.press("0.25\n")
        terminal.until("3 of 4")
        terminal.press("q\n")
        terminal.until("2 labelled, 2 left in labels.csv")
        assert terminal.end() == 0
    assert values(tmp_path / "labels.csv") == ["1", "0.25", "", ""]

    with Terminal(*command, folder=tmp_path) as terminal:
        terminal.until("1 of 2")
        terminal.until("q quit]")
        terminal.press("n\n")
        terminal.until("2 of 2")
        terminal.until("q quit]")
        terminal.press("\x04")  # the end of the input
        terminal.until("1 labelled, 1 left")
        assert terminal.end() == 0
    assert [(one.value, one.annotator) for one in read_labels(tmp_path / "labels.csv")] == [
        (1.0, "ann"), (0.25, "ann"), (0.0, "ann"), (None, "ann"),
    ]  # fmt: skip


def test_a_sheet_that_is_there_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody's labels are in it."""
    scored(30).save(tmp_path / "report.json")
    out = tmp_path / "labels.csv"
    assert invoke(["label", str(tmp_path), "--out", str(out), "-n", "5"]) == 0
    before = out.read_bytes()
    assert invoke(["label", str(tmp_path), "--out", str(out), "-n", "9"]) == 1
    assert "the sheet exists: resume it with --interactive" in capsys.readouterr().err
    assert out.read_bytes() == before
    assert len(np.unique([one.sample for one in read_labels(out)])) == 5


def test_claims_are_labelled_from_the_sheet_to_the_calibration(tmp_path: Path) -> None:
    """A sheet of claims shows each claim's words, and its labels find their claims again."""
    claims = [{"claim": f"Claim {at}", "verdict": "yes" if at % 3 else "no", "reason": ""} for at in range(4)]
    judged = report({"faithfulness": [0.5] * 10}, evidence={row: {"claims": claims} for row in range(10)})
    judged.save(tmp_path / "report.json")
    out = tmp_path / "claims.csv"
    assert invoke(["label", str(tmp_path), "--claims", "-n", "12", "--out", str(out)]) == 0
    sheet = Sheet.read(out)
    assert "Claim" in page(sheet.rows[0], None, 1, 12)
    answers = iter(["1", "0", "1", "1", "0", "1", "1", "1", "0", "1", "1", "1"])
    assert label_in_terminal(sheet, {}, ask=lambda prompt: next(answers), write=lambda line: None) == 12
    found = calibrate(judged, out)
    assert (found["faithfulness claims"].n, found["faithfulness claims"].total, found.warnings) == (12, 40, [])
    assert found["faithfulness claims"].mean.judged == 40
