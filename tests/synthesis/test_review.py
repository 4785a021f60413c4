"""A person looks at items: decisions are kept at once, a review goes on, and the set itself is not touched."""

from __future__ import annotations

import io
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.cli import invoke
from steelyard.core.errors import InputError
from steelyard.core.records import Sample, Span
from steelyard.io.samples import read_samples, write_samples
from steelyard.runs.demo import load_demo
from steelyard.synthesis.generate import synthesize
from steelyard.synthesis.review import Review, page


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A set of four items."""
    synthesize(load_demo().corpus, 4, kinds=["cloze"], out=tmp_path / "set")
    return tmp_path / "set"


def typing(*lines: str) -> Callable[[str], str | None]:
    """Somebody who types these lines, and then nothing more."""
    left = list(lines)
    return lambda prompt: left.pop(0) if left else None


def quiet(_: str) -> None:
    """Nobody looks."""


def test_a_whole_review(folder: Path) -> None:
    """Accept, edit, reject and skip; accepted items are written with their edits."""
    before = (folder / "samples.jsonl").read_bytes()
    with Review(folder) as review:
        left = review.walk(read=typing("a", "e", "A better question?", "", "r", "unclear", "s"), write=quiet)
        assert (left, str(review).split(";")[0]) == (1, "2 accepted (1 edited), 1 rejected, 1 left")
    kept = read_samples(folder / "reviewed.jsonl")
    samples = read_samples(folder / "samples.jsonl")
    assert kept[0] == samples[0]
    assert (kept[1].user_input, kept[1].reference) == ("A better question?", samples[1].reference)
    assert kept[1].relevant_spans == samples[1].relevant_spans
    assert (folder / "samples.jsonl").read_bytes() == before
    assert b'"note":"unclear"' in (folder / "review.jsonl").read_bytes()


def test_a_review_goes_on(folder: Path) -> None:
    """What was decided is not asked again, also when the last line was cut off by a kill."""
    with Review(folder) as review:
        review.walk(read=typing("a"), write=quiet)
    with (folder / "review.jsonl").open("ab") as log:
        log.write(b'{"id":"q2","verd')
    shown: list[str] = []
    with Review(folder) as review:
        assert review.left == 3
        assert review.walk(read=typing("r", "", "a", "a"), write=shown.append) == 0
    assert "q1" not in "".join(shown)
    assert len(read_samples(folder / "reviewed.jsonl")) == 3


def test_decisions_are_on_what_was_looked_at(folder: Path) -> None:
    """A set that was made anew under the same ids is looked at anew."""
    with Review(folder) as review:
        review.walk(read=typing("a", "r", "no", "a", "a"), write=quiet)
        assert (review.left, review.stale) == (0, 0)
    synthesize(load_demo().corpus, 4, kinds=["cloze"], out=folder, seed=1)
    with Review(folder) as again:
        assert (again.left, again.stale) == (4, 4)
        assert "4 earlier decisions are for items no longer in the set" in str(again)


def test_back_and_other_keys(folder: Path) -> None:
    """The last item can be looked at again, and the last decision counts; an unknown key is explained."""
    shown: list[str] = []
    with Review(folder) as review:
        review.walk(read=typing("b", "a", "x", "b", "r", "", "q"), write=shown.append)
        assert [decision.verdict for decision in review.decisions.values()] == ["reject"]
    assert "a, e, r, s, b or q, please" in shown
    with Review(folder) as again:
        assert [decision.verdict for decision in again.decisions.values()] == ["reject"]


def test_a_damaged_log_is_told(folder: Path) -> None:
    """A line that is no decision is an error with its place, and nothing is overwritten."""
    (folder / "review.jsonl").write_text('{"id": "q1"}\n')
    with pytest.raises(InputError, match=r"review\.jsonl:1: not a decision"):
        Review(folder)


def test_a_log_that_cannot_be_written_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A disk that refuses ends in a line with the path, not in a traceback."""
    (folder / "review.jsonl").mkdir()
    monkeypatch.setattr("sys.stdin", io.StringIO("a\n"))
    assert invoke(["review", str(folder)]) == 1
    assert capsys.readouterr().err == f"steelyard: {folder / 'review.jsonl'}: is a directory\n"


def test_a_file_of_samples(tmp_path: Path) -> None:
    """Any samples can be reviewed; the files stand beside them under their name."""
    write_samples(tmp_path / "mine.jsonl", [Sample(id="1", user_input="Who?", reference="Ada")])
    with Review(tmp_path / "mine.jsonl") as review:
        review.walk(read=typing("a"), write=quiet)
    assert {path.name for path in tmp_path.iterdir()} == {"mine.jsonl", "mine.review.jsonl", "mine.reviewed.jsonl"}


def test_the_page_shows_the_evidence() -> None:
    """Question, answer, and the source with the evidence marked; what is far from it is left out."""
    source = "Before. " * 100 + "The tower was built of granite. " + "After. " * 100
    span = Span("d1", text="built of granite")
    sample = Sample(
        id="q1",
        user_input="Of what?",
        reference="granite",
        reference_contexts=[source],
        relevance={"d1": 1.0},
        relevant_spans=[span],
        tags={"question_type": "single"},
    )
    shown = page(sample, 3, 10)
    assert "▶built of granite◀" in " ".join(shown.split())
    assert "question: Of what?" in shown
    assert "3 of 10 done   question_type: single" in shown
    assert "source d1: … " in shown
    assert len(shown) < len(source)
    assert "(none: not answerable)" in page(Sample(id="q", user_input="?"), 0, 1)


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        ({"question_type": "known_item", "answerable": "true"}, "(none: a known item has no answer)"),
        ({"question_type": "unanswerable", "answerable": "false"}, "(none: not answerable)"),
        ({"question_type": "single", "answerable": "true"}, "(none is given)"),
    ],
)
def test_the_page_says_why_there_is_no_answer(tags: dict[str, str], words: str) -> None:
    """What has no answer is unanswerable only where it is said to be."""
    assert f"answer:   {words}" in page(Sample(id="q1", user_input="Who?", tags=tags), 0, 1)


def test_text_cannot_steer_the_terminal() -> None:
    """Control characters of documents are not printed."""
    shown = page(Sample(id="q", user_input="a\x1b[2Jb", reference_contexts=["x\x07y"]), 0, 1)
    assert "\x1b" not in shown
    assert "\x07" not in shown


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_in_a_terminal(folder: Path) -> None:
    """A person at a terminal sees the source, types, hangs up in the middle, comes again, and ends the review."""
    first = Terminal([sys.executable, "-m", "steelyard", "review", str(folder)])
    assert "▶" in first.until("> ")
    first.type("a")
    assert "1 of 4 done" in first.until("> ")
    first.type("e")
    first.until("question [")
    first.until("> ")
    first.type("Which word was left out?")
    first.until("answer [")
    first.until("> ")
    first.type("")
    assert "2 of 4 done" in first.until("[q]uit > ")
    first.hang_up()
    second = Terminal([sys.executable, "-m", "steelyard", "review", str(folder)])
    assert "2 of 4 done" in second.until("[q]uit > ")
    second.type("r")
    second.until("why (may be blank) > ")
    second.type("unclear")
    second.until("[q]uit > ")
    second.type("a")
    assert "3 accepted (1 edited), 1 rejected, 0 left" in second.until("reviewed.jsonl")
    assert second.end() == 0
    kept = read_samples(folder / "reviewed.jsonl")
    assert [sample.id for sample in kept] == ["q1", "q2", "q4"]
    assert kept[1].user_input == "Which word was left out?"


class Terminal:
    """A process at the other end of a pseudo-terminal."""

    def __init__(self, command: list[str]) -> None:
        import pty

        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        self.seen = ""

    def until(self, words: str, seconds: float = 60.0) -> str:
        """What is printed up to some words."""
        deadline = time.monotonic() + seconds
        while words not in self.seen:
            ready, _, _ = select.select([self.ours], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"no {words!r} in {self.seen!r}"
            try:
                self.seen += os.read(self.ours, 4096).decode("utf-8", "replace")
            except OSError:  # the process has closed its end
                assert words in self.seen, f"no {words!r} in {self.seen!r}"
        before, found, self.seen = self.seen.partition(words)
        return before + found

    def type(self, line: str) -> None:
        """A line and the return key."""
        os.write(self.ours, f"{line}\n".encode())

    def hang_up(self) -> None:
        """Close the window."""
        os.close(self.ours)
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """The exit code, when it has ended by itself."""
        code = self.process.wait(60)
        os.close(self.ours)
        return code


def test_from_the_command_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """steelyard review reads keys from the terminal; items that are left make exit code 3."""
    monkeypatch.setattr("sys.stdin", io.StringIO("a\nr\nno\n"))
    assert invoke(["review", str(folder)]) == 3
    assert "1 accepted (0 edited), 1 rejected, 2 left" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO("a\na\n"))
    assert invoke(["review", str(folder), "--out", str(folder / "good.jsonl")]) == 0
    assert len(read_samples(folder / "good.jsonl")) == 3
