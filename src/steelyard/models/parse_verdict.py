"""Read labels and ratings from the words of a reply without typed fields.

Rules of this file: a label comes from a closed set and a rating from a declared range; anything else is a BadReply.
Nothing is clamped, completed or counted as the other label.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from ..core.errors import BadReply

_DRESS = " \t\r\n\"'`*_~“”‘’«»()[]{}<>.!?,;:"
_LOOSE = r"[\s\"'`*_~“”‘’«»()\[\]:=]"
_SEPARATORS = re.compile(r"[-_\s]+")


def read_label(text: str | None, options: Sequence[str]) -> str:
    """Read the one label of a closed set that a text gives, ignoring case, punctuation and explanations.

    >>> read_label("**Yes**", ["yes", "no"]), read_label("No - the date differs.", ["yes", "no"])
    ('yes', 'no')
    >>> read_label("yes/no", ["yes", "no"])
    Traceback (most recent call last):
    ...
    steelyard.core.errors.BadReply: wrong_schema: not one of: yes, no
    """
    label = find_label(text, tuple(options))
    if label is None:
        raise BadReply("wrong_schema", f"not one of: {', '.join(options)}", text)
    return label


def find_label(text: str | None, options: tuple[str, ...]) -> str | None:
    """Like ``read_label``, but None if there is no label or more than one.

    The text is the label, or begins with it (``yes, because …``), or names it (``Verdict: yes``; the last counts).
    """
    if text is None:
        return None
    known = {_folded(option): option for option in options}
    if (whole := known.get(_folded(text))) is not None:
        return whole
    begins, named = _label_patterns(options)
    if (start := begins.match(text)) is not None and _folded(start[1]) in known:
        rest = _folded(text[start.end() :])
        second = any(rest == label or rest.startswith(label + " ") for label in known)
        return None if second else known[_folded(start[1])]
    hits = list(named.finditer(text))
    return known[_folded(hits[-1][1])] if hits else None


def _folded(text: str) -> str:
    return _SEPARATORS.sub(" ", text.strip(_DRESS).casefold()).strip()


@lru_cache(maxsize=256)
def _label_patterns(options: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    longest_first = sorted(options, key=len, reverse=True)
    one = "|".join(r"[-_\s]+".join(map(re.escape, _folded(option).split(" "))) for option in longest_first)
    ends = r"(?:[.,;:!\n]|\s+[-–—]+\s|[–—]|\s+(?:because|since|as)\b)"
    begins = re.compile(rf"{_LOOSE}*({one})(?!\w)[\"'`*_~“”’»)\]]*\s*?{ends}", re.IGNORECASE)
    anchor = r"\b(?:verdict|answer|label|judge?ment|conclusion|decision|classification)\b(?:\s+is\b)?"
    named = re.compile(rf"{anchor}{_LOOSE}*({one})(?![\w/|]|\s+(?:or|and)\b)", re.IGNORECASE)
    return begins, named


_NUMBER = r"[-+−]?(?:\d++(?:\.\d++)?+|\.\d++)"
_OUT_OF = rf"(?:{_LOOSE}*(?:/|out\s+of)\s*({_NUMBER}))?+"
_NO_RANGE = r"(?!\s*(?:[-–]|to\b|or\b|and\b)\s*\d|\s*%|\w)"
_CLOSES = r"(?=\s*(?:[.,;:!?)\]*\"'”’\n]|$))"
_NAMED = r"\b(?:score|rating|grade|mark)\b(?:\s*\([^()\n]*\))?(?:\s+(?:is|of|was))?"
_RATINGS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_NAMED}{_LOOSE}*(?:[-–—]\s+)?({_NUMBER}){_OUT_OF}{_NO_RANGE}",
        rf"\b(?:rated?|deserves|(?:give|score)\s+(?:it|this|that))\b(?:\s+\w+){{0,3}}?\s+({_NUMBER}){_OUT_OF}{_CLOSES}",
        rf"(?<![\w.])({_NUMBER})\s*(?:/|out\s+of)\s*({_NUMBER}){_CLOSES}",
    )
)
_BARE = re.compile(rf"({_NUMBER}){_OUT_OF}")


def read_rating(text: str | None, low: float, high: float) -> float:
    """Read the rating in [low, high] of a text: ``Score: 4``, ``8/10``, ``I rate this an 8``, or a number alone.

    A named rating has precedence over a fraction, and the last of several of one kind counts. A rating outside the
    range, or out of another number than ``high``, is a BadReply, as is a text without a rating.

    >>> read_rating("There are 5 claims and 2 are supported. Score: 4", 0, 10)
    4.0
    >>> read_rating("On a scale of 0 to 10 this deserves 7.", 0, 10)
    7.0
    >>> read_rating("Score: 11", 0, 10)
    Traceback (most recent call last):
    ...
    steelyard.core.errors.BadReply: wrong_schema: rating 11 is not in 0 to 10
    """
    hit = _rating_in(text or "")
    if hit is None:
        raise BadReply("wrong_schema", f"no rating from {low:g} to {high:g}", text)
    value = _number(hit[1])
    if hit[2] is not None and _number(hit[2]) != high:
        raise BadReply("wrong_schema", f"a rating out of {hit[2]}, expected one out of {high:g}", text)
    if not low <= value <= high:
        raise BadReply("wrong_schema", f"rating {value:g} is not in {low:g} to {high:g}", text)
    return value


def _rating_in(text: str) -> re.Match[str] | None:
    if (alone := _BARE.fullmatch(text.strip(_DRESS.replace(".", "")).rstrip("."))) is not None:
        return alone
    for pattern in _RATINGS:
        if hits := list(pattern.finditer(text)):
            return hits[-1]
    return None


def _number(text: str) -> float:
    return float(text.replace("−", "-"))


_REFUSAL = re.compile(
    r"\s*(?:(?:i(?:'|’)?m|i am)\s+(?:really\s+|very\s+|so\s+)?(?:sorry|afraid)\b"
    r"|(?:sorry|apologies|i apologi[sz]e)\b"
    r"|(?:as an ai\b|i)[^.\n]{0,40}?\b(?:can(?:'|’)t|cannot|can not|won(?:'|’)t|will not|unable to|not able to)\s+"
    r"(?:help|assist|comply|fulfil|continue|provide|answer|evaluate|do (?:that|this)|respond|engage))",
    re.IGNORECASE,
)


def is_refusal(text: str) -> bool:
    """Whether a text without any JSON begins like a refusal.

    >>> is_refusal("I'm sorry, but I can't help with that request."), is_refusal("No. The date differs.")
    (True, False)
    """
    return _REFUSAL.match(text) is not None
