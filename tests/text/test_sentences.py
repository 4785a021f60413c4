"""Sentences and their places."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from steelyard.text.sentences import sentence_spans, sentences


def test_case_of_the_field(shared: Path) -> None:
    """L05: sentences of several scripts, abbreviations, list items, no terminal mark."""
    with (shared / "cases.jsonl").open(encoding="utf-8") as lines:
        cases = {case["id"]: case for case in map(json.loads, lines)}
    case = cases["L05"]

    assert case["check"]["counts"] == [len(sentences(text)) for text in case["input"]["texts"]]


@pytest.mark.parametrize(
    "expected",
    [
        ["The U.S.", "The law passed."],
        ["In the U.S. Government buildings are grey."],
        ["George W. Bush was president.", "He left at 5 p.m. and slept."],
        ["J. K. Rowling wrote it.", "See Fig. 3 and No. 5.", "No.", "He said so."],
        ['"Really?" he asked.', '"Yes."', "She left."],
        ["It grew 3.5 % (see p. 12).", "Then it fell."],
        ["Apple Inc.", "He bought it."],
        ["It works.[1]", "So does this.[2][3]", "Yes"],
        ["Wait... what?", "Nothing…", "Nothing!"],
        ["**Bold.**", "Plain."],
        ["Τι κάνεις;", "Καλά είμαι."],
        ["Он родился в 1799 г.", "А. С. Пушкин — поэт."],
        ["यह घर है।", "वह पेड़ है।"],
        ["한국어 문장입니다.", "또 하나!"],
        ["¿Dónde está?", "¡Aquí!"],
        ["הרכבת יצאה.", "מתי היא תגיע?"],
        ["ဒီမှာ ရှိတယ်။", "ဟုတ်ကဲ့။"],
        ["Es kostet z.B. Geld, d.h. Euro.", "Ja."],
        ["use a; then b"],
    ],
)
def test_sentences(expected: list[str]) -> None:
    """Joined by a blank, the sentences come apart again."""
    assert sentences(" ".join(expected)) == expected


def test_marks_that_need_no_space() -> None:
    """Chinese, Japanese and Urdu marks end a sentence wherever they stand."""
    assert sentences("今天下雨。明天放晴！真的？！是。") == ["今天下雨。", "明天放晴！", "真的？！", "是。"]
    assert sentences("「行く。」彼は言った。") == ["「行く。」", "彼は言った。"]


def test_lines() -> None:
    """A line that continues in lower case continues the sentence; headings, items and paragraphs stand alone."""
    text = "# Heading\n\nA wrapped line\ncontinues here. Next:\n1. First item\n2. second item\n\nlast one"

    assert sentences(text) == [
        "# Heading",
        "A wrapped line\ncontinues here.",
        "Next:",
        "1. First item",
        "2. second item",
        "last one",
    ]
    assert sentences("one\r\ntwo\r\n\r\nthree") == ["one\r\ntwo", "three"]


@pytest.mark.parametrize(("text", "expected"), [("", 0), (" \n ", 0), ("...", 1), ("👍", 1), ("---\nYes.\n---", 1)])
def test_text_is_never_lost(text: str, expected: int) -> None:
    """Blank text has no sentence, any other has; marks alone belong to the sentence beside them."""
    assert len(sentences(text)) == expected


@given(st.text(alphabet="aB1 .!?。؟\n\"'-)(é漢A."))
def test_spans_cover_all_that_is_not_blank(text: str) -> None:
    """Spans are in order, do not overlap, are trimmed, and leave out white space only."""
    at = 0
    for start, end in sentence_spans(text):
        assert at <= start < end
        assert not text[at:start].strip()
        assert text[start:end] == text[start:end].strip()
        at = end
    assert not text[at:].strip()


def test_time_is_linear() -> None:
    """A long text of abbreviations and wrapped lines takes no quadratic time."""
    start = time.process_time()
    sentences("e.g. a.b. " * 20_000 + "\nlower case line" * 20_000)

    assert time.process_time() - start < 5
