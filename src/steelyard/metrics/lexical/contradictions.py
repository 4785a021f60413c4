"""Contradictions of a sentence: numbers, dates, units and names that no passage contains, negations, opposites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from ...text.english_lexicon import NEGATING_PREFIXES, NEGATIONS, related_words
from .passage_index import Window, any_within
from .sentence_match import SentenceMatch

_AROUND = 12
"""The distance from a window, in words, within which a negation or an opposite still belongs to it."""
_MONTH_STEMS = "januari februari march april may june juli august septemb octob novemb decemb"
_UNIT_STEMS = """
    percent percentag cent dollar euro pound yen usd eur gbp km kilomet mile meter metr foot feet inch cm mm yard
    kg kilogram gram lb ton tonn liter litr gallon acr hectar second minut hour day week month year decad centuri
    million billion trillion thousand hundr degre celsius fahrenheit mph knot watt kilowatt megawatt volt
"""
_MONTHS = frozenset(_MONTH_STEMS.split())
_UNITS = frozenset(_UNIT_STEMS.split())
_VAGUE = frozenset({"one", "first", "once"})
"""Number words that seldom mean a number."""


class Flag(Struct, frozen=True, omit_defaults=True):
    """Words of the response that the passages do not support: kind, text and offsets, and the passage's own words."""

    kind: str
    text: str
    start: int
    end: int
    instead: str = ""


def mismatches(sentence: SentenceMatch, window: Window) -> list[Flag]:
    """All flags of a sentence, in the order of its words; ``window`` is the stretch of a passage that matches best."""
    found = [
        *_numbers(sentence, window),
        *names(sentence),
        *_opposites(sentence, window),
        *_turned(sentence),
        *_negation(sentence, window),
    ]
    return sorted(found, key=lambda flag: (flag.start, flag.end))


def _numbers(sentence: SentenceMatch, window: Window) -> Iterator[Flag]:
    numbers = sentence.passages.numbers
    for at, number in enumerate(sentence.numbers):
        if number is None:
            continue
        digits = sentence.forms[at][0].isdigit()
        if number in numbers:
            if digits and (other := _other_unit(sentence, at, numbers[number])):
                yield _flag(sentence, "unit", at, other, through=at + 1)
        elif digits:
            year = len(number) == 4 and number.isdigit() and "1000" <= number <= "2100"
            yield _flag(sentence, "date" if year else "number", at, _other_number(sentence, number, window))
        elif sentence.forms[at] not in _VAGUE:
            yield _flag(sentence, "number word", at)


def _other_unit(sentence: SentenceMatch, at: int, places: Sequence[int]) -> str:
    """The unit after a number in the passages, if the sentence has another unit."""
    unit = sentence.stems[at + 1] if at + 1 < len(sentence) else ""
    theirs = [word for place in places if (word := sentence.passages.line[place + 1]) in _UNITS]
    return theirs[0] or "" if unit in _UNITS and theirs and unit not in theirs else ""


def _other_number(sentence: SentenceMatch, number: str, window: Window) -> str:
    """A number with the same count of digits near the window, which may be the correct one."""
    wider = Window(window.first - _AROUND, window.last + _AROUND)
    return next(
        (
            other
            for other, places in sentence.passages.numbers.items()
            if len(other) == len(number) and other not in sentence.numbers and any_within(places, wider)
        ),
        "",
    )


def names(sentence: SentenceMatch) -> Iterator[Flag]:
    """Capitalised words that no passage contains, except the first word of a sentence and the words of a heading, which
    are always capitalised."""
    text, start = sentence.words.text, sentence.words.start
    capital = {at for at in sentence.core if text[start[sentence.first + at]].isupper()}
    if len(capital) > 3 and len(capital) == len(sentence.core):
        return
    for at in sentence.missing:
        if at and at in capital and sentence.numbers[at] is None:
            yield _flag(sentence, "date" if sentence.stems[at] in _MONTHS else "name", at)


def _opposites(sentence: SentenceMatch, window: Window) -> Iterator[Flag]:
    """Content words that are not near the window although their opposite is."""
    opposite = related_words().opposite
    line = sentence.passages.line[max(0, window.first - _AROUND) : window.last + _AROUND + 1]
    nearby, in_sentence = set(line), set(sentence.stems)
    for at in sentence.core:
        stem = sentence.stems[at]
        if stem in nearby:
            continue
        known = (word for word in sorted(opposite.get(stem, ())) if word not in in_sentence)
        against = next((word for word in (*known, *_prefixed(stem)) if word in nearby), None)
        if against is not None:
            yield _flag(sentence, "opposite", at, against)


def _prefixed(stem: str) -> Iterator[str]:
    """The stems that differ from a stem by a negating prefix, in either direction."""
    for prefix in NEGATING_PREFIXES:
        if len(stem) > len(prefix) + 3 and stem.startswith(prefix):
            yield stem[len(prefix) :]
        if len(stem) > 4:
            yield prefix + stem


def _turned(sentence: SentenceMatch) -> Iterator[Flag]:
    """Function words (before, more, up) whose opposite is in a passage, shortly before the same content word."""
    opposite, line = related_words().opposite, sentence.passages.line
    core = set(sentence.core)
    for at, stem in enumerate(sentence.stems):
        against = opposite.get(stem)
        after = next((near for near in range(at + 1, min(at + 4, len(sentence))) if near in core), None)
        if at in core or not against or after is None or sentence.stems[after] not in sentence.matches:
            continue
        before = [set(line[max(0, place - 3) : place]) for place in sentence.matches[sentence.stems[after]].positions]
        if any(stem in words for words in before):
            continue
        found = next((word for words in before for word in sorted(against) if word in words), None)
        if found is not None:
            yield _flag(sentence, "opposite", at, found)


def _negation(sentence: SentenceMatch, window: Window) -> Iterable[Flag]:
    """A negation in the sentence if there is none near the window."""
    negations = [at for at in range(len(sentence)) if negates(sentence.forms, at)]
    around = sentence.passages.forms(window, _AROUND)
    if negations and not any(negates(around, at) for at in range(len(around))):
        return [_flag(sentence, "negation", negations[0])]
    return []


def negates(forms: Sequence[str], at: int) -> bool:
    """Whether a word is a negation, or the part of one after an apostrophe.

    >>> forms = ["we", "don", "t", "know"]
    >>> [negates(forms, at) for at in range(4)]
    [False, False, True, False]
    """
    return forms[at] in NEGATIONS or (forms[at] == "t" and at > 0 and forms[at - 1].endswith("n"))


def _flag(sentence: SentenceMatch, kind: str, at: int, instead: str = "", *, through: int | None = None) -> Flag:
    start = sentence.words.start[sentence.first + at]
    end = sentence.words.end[sentence.first + (at if through is None else through)]
    return Flag(kind, sentence.words.text[start:end], start, end, instead)
