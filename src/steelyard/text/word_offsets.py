"""Words of a text with their offsets, so that words shared by two texts can be shown in both.

Rules of this file: every letter and digit of a text belongs to a word, and offsets refer to the text as given. Words
are compared by their form: case folded, without Latin accents, stemmed, numbers by value.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from .english_lexicon import CLITICS, NUMERALS
from .numbers import normalize_number
from .scripts import graphemes
from .tokens import ENGLISH, stem

_ASCII = re.compile(r"[0-9]+(?:[.,][0-9]+)*|[A-Za-z]+")
_SHAPE = re.compile(r"d+(?:[.,]d+)*|[am]+|(?:um*)+")
_ACCENTS = re.compile(r"(?<=[a-z])[\u0300-\u036f]+")
_SUFFIXES = frozenset({"st", "nd", "rd", "th", "s"})
"""Suffixes that follow a number: 19th, 1980s."""
_SUFFIXED = re.compile("[0-9](?:st|nd|rd|th|s)(?![a-z])", re.IGNORECASE)


class Words(NamedTuple):
    """The words of a text as columns, in order.

    ``forms`` are lower-case; ``stems`` are the compared forms (numbers by value); ``numbers`` has the value of a number
    in digits or in words, else None; ``content`` is true for content words; ``start`` and ``end`` are the offsets.
    """

    text: str
    forms: list[str]
    stems: list[str]
    numbers: list[str | None]
    content: list[bool]
    start: list[int]
    end: list[int]

    def __len__(self) -> int:
        return len(self.forms)


class WordForm(NamedTuple):
    """The form of a word, its stem, its value as a number, and whether it is a content word."""

    form: str
    stem: str
    number: str | None
    content: bool


class _CharacterKinds(dict[int, str]):
    """One letter for the kind of each character: a letter, m mark, d digit, u letter of an unspaced script."""

    def __missing__(self, code: int) -> str:
        self[code] = kind = self._kind(chr(code))
        return kind

    @staticmethod
    def _kind(character: str) -> str:
        category = unicodedata.category(character)
        if character in ".,":
            return character
        if category == "Nd":
            return "d"
        if category[0] == "M" or character in "\u200c\u200d":
            return "m"
        if category[0] in "LN":
            return "u" if graphemes(character) else "a"
        return " "


_CHARACTER_KINDS = _CharacterKinds()


def words_with_offsets(text: str) -> Words:
    """The words of a text with their offsets.

    Text in a script without spaces yields its pairs of neighbouring graphemes, which overlap.

    >>> found = words_with_offsets("In 1,850 cafés")
    >>> found.stems, [text[a:b] for text in [found.text] for a, b in zip(found.start, found.end)]
    (['in', '1850', 'cafe'], ['In', '1,850', 'cafés'])
    >>> words_with_offsets("退款期限").forms
    ['退款', '款期', '期限']
    """
    offsets, found = _offsets_and_forms(text)
    return Words(
        text,
        [one.form for one in found],
        [one.stem for one in found],
        [one.number for one in found],
        [one.content for one in found],
        [a for a, _ in offsets],
        [b for _, b in offsets],
    )


def word_forms(text: str) -> list[WordForm]:
    """The forms of the words of a text without their offsets, which is faster.

    >>> [one.stem for one in word_forms("In 1,850 cafes")]
    ['in', '1850', 'cafe']
    """
    if not text.isascii() or _SUFFIXED.search(text):
        return _offsets_and_forms(text)[1]
    return list(map(_FORMS.__getitem__, _ASCII.findall(text)))


def _offsets_and_forms(text: str) -> tuple[list[tuple[int, int]], list[WordForm]]:
    offsets = [match.span() for match in _ASCII.finditer(text)] if text.isascii() else _offsets(text)
    found = [_FORMS[text[a:b]] for a, b in offsets]
    suffixed = [
        at
        for at, one in enumerate(found)
        if one.form in _SUFFIXES and at and found[at - 1].number is not None and offsets[at - 1][1] == offsets[at][0]
    ]
    for at in reversed(suffixed):
        offsets[at - 1 : at + 1] = [(offsets[at - 1][0], offsets[at][1])]
        del found[at]
    return offsets, found


def _offsets(text: str) -> list[tuple[int, int]]:
    offsets: list[tuple[int, int]] = []
    for match in _SHAPE.finditer(text.translate(_CHARACTER_KINDS)):
        a, b = match.span()
        if match[0][0] == "u":
            starts = [a + at for at, kind in enumerate(match[0]) if kind == "u"]
            bounds = [*starts, b]
            pairs = list(zip(starts, bounds[2:], strict=False))
            offsets += pairs or [(a, b)]
        else:
            offsets.append((a, b))
    return offsets


def _form(word: str) -> WordForm:
    form = word.lower()
    if not word.isascii():
        form = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", word).casefold())
        form = unicodedata.normalize("NFC", _ACCENTS.sub("", form))
    if unicodedata.category(word[0]) == "Nd":
        digits = "".join(str(unicodedata.digit(c)) if unicodedata.category(c) == "Nd" else c for c in word)
        value = normalize_number(digits)
        return WordForm(value, stem([value])[0], value, True)
    carries = (len(form) > 1 or not form.isascii()) and form not in ENGLISH and form not in CLITICS
    return WordForm(form, stem([form])[0], NUMERALS.get(form), carries)


class _FormCache(dict[str, WordForm]):
    """A cache of word forms, which is cleared when it has too many entries."""

    def __missing__(self, word: str) -> WordForm:
        if len(self) > 1 << 17:
            self.clear()
        self[word] = form = _form(word)
        return form


_FORMS = _FormCache()
