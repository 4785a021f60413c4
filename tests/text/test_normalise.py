"""The normalised form of answers."""

from __future__ import annotations

import json
import re
import string
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from steelyard.metrics.lexical.token_overlap import exact_match
from steelyard.text.tokens import normalize_answer, tokenize

SCRIPTS = "aZéß éあア漢ー๑ดีำקΣςж ح٣आज한 .,-−–'’!1,0.5$€😀\u200b\u0301"


def squad(text: str) -> str:
    """The published recipe, written out: lower case, ASCII punctuation out, articles out, white space collapsed."""
    text = "".join(character for character in text.lower() if character not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


@given(st.text(alphabet=string.ascii_letters + string.punctuation + " \t\n"))
def test_equals_squad_on_ascii_without_digits(text: str) -> None:
    """On English text without numbers the recipe is SQuAD's."""
    assert normalize_answer(text) == squad(text)


@given(st.text(alphabet=string.printable))
def test_equals_squad_on_ascii_with_numbers_off(text: str) -> None:
    """Switching the number rules off leaves SQuAD's recipe."""
    assert normalize_answer(text, numbers=False) == squad(text)


@given(st.text(alphabet=SCRIPTS))
def test_normalising_twice_changes_nothing(text: str) -> None:
    """The normal form is its own normal form."""
    once = normalize_answer(text, language="xx")

    assert normalize_answer(once, language="xx") == once


@given(st.text(alphabet="abcéжحआกดวあ漢한ー่ิ́ा "))
def test_letters_and_marks_survive(text: str) -> None:
    """No letter and no combining mark is dropped, in any script."""
    expected = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())

    assert "".join(normalize_answer(text, language="xx").split()) == "".join(expected.split())


@given(st.text(alphabet=SCRIPTS), st.text(alphabet=SCRIPTS))
def test_canonically_equal_texts_are_equal(text: str, other: str) -> None:
    """Composed and decomposed accents, and wide and narrow forms, do not count."""
    assert normalize_answer(unicodedata.normalize("NFD", text)) == normalize_answer(unicodedata.normalize("NFC", text))


def test_number_case_of_the_field(shared: Path) -> None:
    """L03: equal numbers match however they are written; unequal ones do not become equal by losing marks."""
    with (shared / "cases.jsonl").open(encoding="utf-8") as lines:
        cases = {case["id"]: case for case in map(json.loads, lines)}
    case = cases["L03"]

    assert case["check"]["match"] == [exact_match(a, b) for a, b in case["input"]["pairs"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,000,000.00", "1000000"),
        ("1.234,56", "1234.56"),
        ("12,34,567", "1234567"),
        ("0.500", "0.5"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("1.000", "1.000"),
        ("1,5", "1,5"),
        ("192.168.0.1", "192.168.0.1"),
        ("007", "007"),
        ("(-5)", "-5"),
        ("-$5", "-5"),
        ("$-5", "-5"),
        ("-0.0", "0"),
        ("10 - 5", "10 5"),
        ("1990-1995", "1990 1995"),
        ("1990–1995", "1990 1995"),
        ("10:30", "10 30"),
        ("covid-19", "covid19"),
        ("1e-05", "1e-5"),
        ("3.14kg", "3.14kg"),
        ("It is 5.", "it is 5"),
        ("٣٫١٤", "3.14"),
        ("١٬٠٠٠", "1000"),
        ("१२३", "123"),
        ("๑๙๖๗", "1967"),
        ("１，０００．５", "1000.5"),
        ("10² m", "10 2 m"),
        ("3½", "3 1 2"),
        ("H₂O", "h2o"),
    ],
)
def test_numbers(text: str, expected: str) -> None:
    """Numbers keep what distinguishes them and lose what does not."""
    assert normalize_answer(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don’t", "dont"),
        ("word—word", "word word"),
        ("ﬁne", "fine"),
        ("STRASSE Straße", "strasse strasse"),
        ("ὈΔΥΣΣΕΎΣ", "ὀδυσσεύσ"),
        ("👍 or👎", "👍 or 👎"),
        ("x≤5", "x ≤ 5"),
        ("می‌خواهم", "میخواهم"),
        ("zero\u200bwidth", "zero width"),
        ("نعم، غدًا؟", "نعم غدًا"),
        ("यह है।", "यह है"),
        ("カタカナ・ﾃｽﾄ", "カ タ カ ナ テ ス ト"),
        ("iPhone手机3", "iphone 手 机 3"),
        ("ไม่", "ไ ม่"),
        ("ស្រុក", "ស្ រុ ក"),
        ("မြန်မာ", "မြ န် မာ"),
        ("ສະບາຍດີ", "ສ ະ ບ າ ຍ ດີ"),
        ("한국어, 문장", "한국어 문장"),
        ("...", ""),
    ],
)
def test_scripts_and_signs(text: str, expected: str) -> None:
    """Punctuation goes, letters and meaningful signs stay, unspaced scripts come apart grapheme by grapheme."""
    assert normalize_answer(text) == expected


def test_language_overrides() -> None:
    """Articles are English ones, and the Turkish i has its own case."""
    assert normalize_answer("Il a an") == "il"
    assert normalize_answer("Il a an", language="fr") == "il a an"
    assert normalize_answer("The end", language="en-US") == "end"
    assert normalize_answer("IŞIK İzmir", language="tr") == "ışık izmir"


def test_tokens_are_the_words_of_the_normal_form() -> None:
    """One definition serves both."""
    text = "The answer: 今天 is 1,000!"

    assert tokenize(text) == normalize_answer(text).split() == ["answer", "今", "天", "is", "1000"]
