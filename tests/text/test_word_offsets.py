"""Words with places, in any script."""

from __future__ import annotations

import pytest

from steelyard.text.tokens import content_words
from steelyard.text.word_offsets import words_with_offsets

TEXTS = [
    "Dr. Ruiz paid $3.50 in St. Ives; he left at 5 p.m.",
    "Река затопила нижний город.",
    "Η Αθήνα είναι πρωτεύουσα.",
    "غمر النهرُ المدينةَ في مارس",
    "הנהר הציף את העיר",
    "नदी ने शहर को डुबो दिया",
    "แม่น้ำท่วมเมือง",
    "三月河水淹没了下城区。",
    "ローマは一日にして成らず",
    "강이 마을을 덮쳤다",
]


@pytest.mark.parametrize("text", TEXTS)
def test_every_letter_belongs_to_a_word(text: str) -> None:
    """Places cover all letters and digits, and no white space."""
    words = words_with_offsets(text)
    covered = {at for a, b in zip(words.start, words.end, strict=True) for at in range(a, b)}
    assert {at for at, letter in enumerate(text) if letter.isalnum()} <= covered
    assert not any(text[at].isspace() for at in covered)


def test_numbers_compare_by_value() -> None:
    """Digits of any script, words and ordinals are one number."""
    words = words_with_offsets("1,850 ١٨٥٠ nineteenth 19th 1980s")
    assert words.numbers == ["1850", "1850", "19", "19", "1980"]
    assert words.text[words.start[3] : words.end[3]] == "19th"


def test_marks_stay_with_their_letters() -> None:
    """Devanagari vowel signs are not lost, Latin accents are folded."""
    assert words_with_offsets("शहर नदी").forms == ["शहर", "नदी"]
    assert words_with_offsets("Pokémon café").forms == ["pokemon", "cafe"]


def test_unspaced_scripts_give_pairs() -> None:
    """The pairs of graphemes are those of content_words."""
    assert words_with_offsets("退款期限").forms == content_words("退款期限")
    assert words_with_offsets("天").forms == ["天"]


def test_nothing() -> None:
    """A text without letters has no words."""
    assert len(words_with_offsets("… — !")) == 0
    assert len(words_with_offsets("")) == 0
