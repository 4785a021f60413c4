"""Lists of English words: related words, opposites, negations, numerals, small talk.

The lists are short and contain the commonest words; a word in none of them is compared by its form alone. They do not
affect text in other languages.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ..core.package import RESOURCES

_NEGATIONS = """
    ain cannot denied denies deny fail failed fails hardly lack lacked lacks neither never no nobody none nor not
    nothing rarely refuse refused unable without
"""
_CLITICS = """
    ain aren couldn d didn doesn don hadn hasn haven isn let ll m mustn re s shouldn t ve wasn weren won wouldn
    nd rd st th
"""
_SMALL_TALK = """
    absolutely actually agree agreed amazing awesome believe bet cool course definitely enjoy ever exactly favorite
    favourite fun funny glad good great guess guy guys ha haha haven hear heard hello hey hi hmm hope interesting kind
    know like lol lot lots love loved maybe mean nice nope oh ok okay perhaps pretty question really right sorry stuff
    sure tell thank thanks thing things think try want well wish wonder wow yeah yep yes yup
"""
_CARDINALS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty
"""
_ORDINALS = """
    zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
"""
_TENS = "thirty forty fifty sixty seventy eighty ninety"

NEGATIONS = frozenset(_NEGATIONS.split())
"""Words that negate a statement; ``n't`` is found by its ``t``."""

CLITICS = NEGATIONS | frozenset(_CLITICS.split())
"""Negations and the fragments that apostrophes and numbers leave: words without content of their own."""

SMALL_TALK = frozenset(_SMALL_TALK.split())
"""Words of conversation and opinion, which make no claim about the subject."""

NUMERALS: dict[str, str] = {
    "once": "1",
    "twice": "2",
    "double": "2",
    "triple": "3",
    "half": "0.5",
    "dozen": "12",
    "hundred": "100",
    "thousand": "1000",
    "million": "1000000",
    "billion": "1000000000",
    "trillion": "1000000000000",
    **{word: str(value) for value, word in enumerate(_CARDINALS.split())},
    **{word: str(value) for value, word in enumerate(_ORDINALS.split())},
    **{word: str(value) for value, word in zip(range(30, 100, 10), _TENS.split(), strict=True)},
}
"""Numbers in words."""

NEGATING_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "de", "mis", "anti", "sub")
"""Prefixes that turn a word into its opposite."""


class RelatedWords(NamedTuple):
    """Stems of similar meaning and of opposite meaning, by stem."""

    alike: dict[str, frozenset[str]]
    opposite: dict[str, frozenset[str]]


@cache
def related_words() -> RelatedWords:
    """The groups of related words in ``resources/english.txt``.

    >>> "small" in related_words().opposite["big"], "larg" in related_words().alike["big"]
    (True, True)
    """
    from .tokens import stem

    alike: dict[str, set[str]] = {}
    opposite: dict[str, set[str]] = {}
    text = RESOURCES.joinpath("english.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        sides = [stem(side.split(), "en") for side in line.split("|")]
        for side in sides:
            others = {word for other in sides if other is not side for word in other}
            for word in side:
                alike.setdefault(word, set()).update(set(side) - {word})
                opposite.setdefault(word, set()).update(others - {word})
    opposites = {word: frozenset(found - alike[word]) for word, found in opposite.items()}
    return RelatedWords({word: frozenset(found) for word, found in alike.items()}, opposites)
