"""What speaks against a sentence: numbers, dates, units and names that no passage holds, negations, opposites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from ...text.english_lexicon import NEGATING_PREFIXES, NEGATIONS, related_words
from .passage_index import Window, any_within
from .sentence_match import SentenceMatch

_AROUND = 12
"""Words around a window in which a negation or an opposite still belongs to it."""
_MONTH_STEMS = "januari februari march april may june juli august septemb octob novemb decemb"
_UNIT_STEMS = """
    percent percentag cent dollar euro pound yen usd eur gbp km kilomet mile meter metr foot feet inch cm mm yard
    kg kilogram gram lb ton tonn liter litr gallon acr hectar second minut hour day week month year decad centuri
    million billion trillion thousand hundr degre celsius fahrenheit mph knot watt kilowatt megawatt volt
"""
_MONTHS = frozenset(_MONTH_STEMS.split())
_UNITS = frozenset(_UNIT_STEMS.split())
_VAGUE = frozenset({"one", "first", "once"})
"""Number words that are mostly no numbers."""


class Flag(Struct, frozen=True, omit_defaults=True):
    """Words of the response that the passages do not bear out: what kind, which words, where; what stands instead."""

    kind: str
    text: str
    start: int
    end: int
    instead: str = ""


def mismatches(laid: SentenceMatch, window: Window) -> list[Flag]:
    """All flags of a sentence, in the order of its words; ``window`` is the stretch of a passage that bears it best."""
    found = [
        *_numbers(laid, window),
        *names(laid),
        *_opposites(laid, window),
        *_turned(laid),
        *_negation(laid, window),
    ]
    return sorted(found, key=lambda flag: (flag.start, flag.end))


def _numbers(laid: SentenceMatch, window: Window) -> Iterator[Flag]:
    numbers = laid.passages.numbers
    for at, number in enumerate(laid.numbers):
        if number is None:
            continue
        digits = laid.forms[at][0].isdigit()
        if number in numbers:
            if digits and (other := _other_unit(laid, at, numbers[number])):
                yield _flag(laid, "unit", at, other, through=at + 1)
        elif digits:
            year = len(number) == 4 and number.isdigit() and "1000" <= number <= "2100"
            yield _flag(laid, "date" if year else "number", at, _other_number(laid, number, window))
        elif laid.forms[at] not in _VAGUE:
            yield _flag(laid, "number word", at)


def _other_unit(laid: SentenceMatch, at: int, places: Sequence[int]) -> str:
    """The unit that the passages have after a number, where the sentence has another."""
    unit = laid.stems[at + 1] if at + 1 < len(laid) else ""
    theirs = [word for place in places if (word := laid.passages.line[place + 1]) in _UNITS]
    return theirs[0] or "" if unit in _UNITS and theirs and unit not in theirs else ""


def _other_number(laid: SentenceMatch, number: str, window: Window) -> str:
    """A number of as many digits near the window, which may be the right one."""
    wider = Window(window.first - _AROUND, window.last + _AROUND)
    return next(
        (
            other
            for other, places in laid.passages.numbers.items()
            if len(other) == len(number) and other not in laid.numbers and any_within(places, wider)
        ),
        "",
    )


def names(laid: SentenceMatch) -> Iterator[Flag]:
    """Capitalised words that no passage holds; the first word of a sentence is capitalised anyway, and so is every
    word of a heading."""
    text, start = laid.words.text, laid.words.start
    capital = {at for at in laid.core if text[start[laid.first + at]].isupper()}
    if len(capital) > 3 and len(capital) == len(laid.core):
        return
    for at in laid.missing:
        if at and at in capital and laid.numbers[at] is None:
            yield _flag(laid, "date" if laid.stems[at] in _MONTHS else "name", at)


def _opposites(laid: SentenceMatch, window: Window) -> Iterator[Flag]:
    """Content words that are not near the window while their opposite is."""
    opposite = related_words().opposite
    line = laid.passages.line[max(0, window.first - _AROUND) : window.last + _AROUND + 1]
    nearby, said = set(line), set(laid.stems)
    for at in laid.core:
        stem = laid.stems[at]
        if stem in nearby:
            continue
        known = (word for word in sorted(opposite.get(stem, ())) if word not in said)
        against = next((word for word in (*known, *_prefixed(stem)) if word in nearby), None)
        if against is not None:
            yield _flag(laid, "opposite", at, against)


def _prefixed(stem: str) -> Iterator[str]:
    """The stems of which a prefix makes the opposite of a stem, and the other way round."""
    for prefix in NEGATING_PREFIXES:
        if len(stem) > len(prefix) + 3 and stem.startswith(prefix):
            yield stem[len(prefix) :]
        if len(stem) > 4:
            yield prefix + stem


def _turned(laid: SentenceMatch) -> Iterator[Flag]:
    """Function words (before, more, up) whose opposite stands in their place, shortly before the same content word."""
    opposite, line = related_words().opposite, laid.passages.line
    core = set(laid.core)
    for at, stem in enumerate(laid.stems):
        against = opposite.get(stem)
        after = next((near for near in range(at + 1, min(at + 4, len(laid))) if near in core), None)
        if at in core or not against or after is None or laid.stems[after] not in laid.matches:
            continue
        before = [set(line[max(0, place - 3) : place]) for place in laid.matches[laid.stems[after]].positions]
        if any(stem in words for words in before):
            continue
        found = next((word for words in before for word in sorted(against) if word in words), None)
        if found is not None:
            yield _flag(laid, "opposite", at, found)


def _negation(laid: SentenceMatch, window: Window) -> Iterable[Flag]:
    """A negation in the sentence and none near the window."""
    said = [at for at in range(len(laid)) if negates(laid.forms, at)]
    around = laid.passages.forms(window, _AROUND)
    if said and not any(negates(around, at) for at in range(len(around))):
        return [_flag(laid, "negation", said[0])]
    return []


def negates(forms: Sequence[str], at: int) -> bool:
    """Whether a word is a negation, or what an apostrophe leaves of one.

    >>> forms = ["we", "don", "t", "know"]
    >>> [negates(forms, at) for at in range(4)]
    [False, False, True, False]
    """
    return forms[at] in NEGATIONS or (forms[at] == "t" and at > 0 and forms[at - 1].endswith("n"))


def _flag(laid: SentenceMatch, kind: str, at: int, instead: str = "", *, through: int | None = None) -> Flag:
    start = laid.words.start[laid.first + at]
    end = laid.words.end[laid.first + (at if through is None else through)]
    return Flag(kind, laid.words.text[start:end], start, end, instead)
