"""Words, content words, stems, and scripts."""

from __future__ import annotations

import re
import string
import unicodedata

import pytest
from hypothesis import given, strategies as st

from steelyard.text.scripts import _LETTERS, _MARKS, join_graphemes, script, space_graphemes
from steelyard.text.tokens import content_words, stem, words

LONGEST = 20_000


@given(st.text(alphabet=string.printable))
def test_ascii_words_are_runs_of_letters_and_digits(text: str) -> None:
    """On ASCII text the words are those of the ROUGE scorers."""
    assert words(text) == [word for word in re.split("[^a-z0-9]+", text.lower()) if word]


def test_words_of_other_scripts() -> None:
    """Marks stay with their letters, symbols stand alone, digits are equal by value."""
    assert words("मौसम, अच्छा!") == ["मौसम", "अच्छा"]
    assert words("Crème brûlée—5€ 😀") == ["crème", "brûlée", "5", "😀"]
    assert words("٣ كتب") == ["3", "كتب"]
    assert words("東京tower") == ["東", "京", "tower"]


def test_content_words_leave_out_stop_words_and_single_characters() -> None:
    """What is left is what the overlap measures count; a word may occur twice."""
    assert content_words("Is it the case that I don't like X, the case of 42?") == ["case", "like", "case", "42"]
    assert content_words("not never no") == ["not", "never", "no"]


def test_content_words_of_unspaced_scripts_are_pairs() -> None:
    """Without spaces every two neighbours stand for a word; a lone grapheme for itself; other scripts do not mix in."""
    assert content_words("退款 iPhone手机 水") == ["退款", "iphone", "手机", "水"]
    assert content_words("ดีมาก") == ["ดีม", "มา", "าก"]


def test_content_words_of_a_long_text() -> None:
    """A text too long to be remembered gives the same words."""
    text = "river bank " * LONGEST

    assert content_words(text) == ["river", "bank"] * LONGEST


@pytest.mark.parametrize(
    ("tokens", "language", "expected"),
    [
        (["connections", "connected"], None, ["connect", "connect"]),
        (["книги", "книгами"], None, ["книг", "книг"]),
        (["häuser"], "de", ["haus"]),
        (["häuser"], "german", ["haus"]),
        (["天气", "안녕"], None, ["天气", "안녕"]),
        (["runs"], "zh", ["runs"]),
        ([], None, []),
    ],
)
def test_stems(tokens: list[str], language: str | None, expected: list[str]) -> None:
    """The language given decides, else the script of each token; without a stemmer a token is its own stem."""
    assert stem(tokens, language) == expected


def test_stems_of_mixed_scripts() -> None:
    """Each token is stemmed in the language of its script."""
    assert stem(["running", "книги", "天"]) == ["run", "книг", "天"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada 1843", "latin"),
        ("Ада", "cyrillic"),
        ("Ελλάδα", "greek"),
        ("الطقس", "arabic"),
        ("שלום", "hebrew"),
        ("मौसम", "devanagari"),
        ("สวัสดี", "thai"),
        ("ສະບາຍດີ", "lao"),
        ("ភាសាខ្មែរ", "khmer"),
        ("မြန်မာ", "myanmar"),
        ("北京", "han"),
        ("東京の天気", "kana"),
        ("ｶﾀｶﾅ", "kana"),
        ("한국어", "hangul"),
        ("ＡＢＣ", "latin"),
        ("1843 !", ""),
    ],
)
def test_script(text: str, expected: str) -> None:
    """The script of most letters."""
    assert script(text) == expected


def test_character_classes_agree_with_unicode() -> None:
    """Every letter of the unspaced scripts is a base, and every mark of theirs a mark, as Unicode has it."""
    letter, mark = re.compile(f"[{_LETTERS}]"), re.compile(f"[{_MARKS}]")
    blocks = (
        (0x0E00, 0x0EFF),
        (0x1000, 0x109F),
        (0x1780, 0x17FF),
        (0x3040, 0x30FF),
        (0x4E00, 0x9FFF),
        (0xAA60, 0xAA7F),
    )
    for code in (code for first, last in blocks for code in range(first, last + 1)):
        character = chr(code)
        category = unicodedata.category(character)
        if unicodedata.normalize("NFKC", character) == character and category != "Cn":
            assert (letter.match(character) is not None) == category.startswith("L"), hex(code)
            assert (mark.match(character) is not None) == category.startswith("M"), hex(code)


@given(st.lists(st.text(alphabet="あ漢ดี้กอ", min_size=1), max_size=5))
def test_joined_undoes_spaced(pieces: list[str]) -> None:
    """Graphemes that were set apart come together again."""
    text = "".join(pieces)

    assert join_graphemes(" ".join(space_graphemes(text).split())) == text
