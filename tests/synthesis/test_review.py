"""A person looks at items: decisions are kept at once, a review goes on, and the set itself is not touched."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.cli import invoke
from steelyard.demo import load
from steelyard.errors import InputError
from steelyard.records import Sample, Span
from steelyard.review import Review, page
from steelyard.samples import read_samples, write_samples
from steelyard.synthesize import synthesize


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A set of four items."""
    synthesize(load().corpus, 4, kinds=["cloze"], out=tmp_path / "set")
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
    assert "(none: it is not answerable)" in page(Sample(id="q", user_input="?"), 0, 1)


def test_text_cannot_steer_the_terminal() -> None:
    """Control characters of documents are not printed."""
    shown = page(Sample(id="q", user_input="a\x1b[2Jb", reference_contexts=["x\x07y"]), 0, 1)
    assert "\x1b" not in shown
    assert "\x07" not in shown


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
