"""Find numbers in running text, and spell equal values alike."""

from __future__ import annotations

import re
from functools import lru_cache

CURRENCIES = r"$\u00a2-\u00a5\u058f\u060b\u09f2\u09f3\u0e3f\u17db\u20a0-\u20c0"
"""The currency signs, as the inside of a character class."""

_CHAIN = re.compile(r"[0-9]+(?:[.,][0-9]+)*(?:e[-+]?[0-9]+\b)?")
_SIGN = re.compile(rf"(?:^|(?<=[\s(\[{{\"'=:;,/<>~{CURRENCIES}]))(?:-[{CURRENCIES}]?\.?|\.)$")
_FRONT = re.compile(rf"-?[{CURRENCIES}]?")
_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]+)?")
_GROUPED_BY_POINTS = re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+,[0-9]+")
_DECIMAL = re.compile(r"(?:0|[1-9][0-9]*)?\.[0-9]+")
_EITHER_WAY = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}")


def split_numbers(text: str) -> list[str]:
    """Split a text at its numbers: text, normalized number, text, normalized number, and so on.

    A number is a sign, digits with points and commas inside, and an exponent. A hyphen is a minus only if no word or
    number directly before it could be joined to it or reduced by it: ``-5``, ``(-5)``, ``-$5``, but not ``1990-1995``
    or ``covid-19``. The text must be in lower case, its digits ASCII.

    >>> split_numbers("from -$1,000.50 to .5, 1990-1995")
    ['from  ', '-1000.5', ' to  ', '0.5', ', ', '1990', '-', '1995', '']
    """
    pieces: list[str] = []
    at = 0
    for chain in _CHAIN.finditer(text):
        start, before = chain.start(), ""
        if start > at and not text[start - 1].isspace():
            sign = _SIGN.search(text, max(at, start - 3), start)
            if sign is not None:
                start, before = sign.start(), " "  # a space separates a signed number: "x=-5" is not "x-5"
        pieces += text[at:start] + before, normalize_number(text[start : chain.end()])
        at = chain.end()
    pieces.append(text[at:])
    return pieces


@lru_cache(maxsize=4096)
def normalize_number(number: str) -> str:
    """Normalize the spelling of an unambiguous number.

    Thousands separators and trailing zeros of decimals are removed. An ambiguous number is returned unchanged:
    ``1.000`` (one, or a thousand), ``1,5`` (one and a half, or two numbers), ``1.2.3``, ``007``.

    >>> [normalize_number(number) for number in ("1,000.50", "1,00,000", "1.234,56", "-$3.10", ".5", "1e-05")]
    ['1000.5', '100000', '1234.56', '-3.1', '0.5', '1e-5']
    >>> [normalize_number(number) for number in ("1.000", "1,5", "1.2.3", "007")]
    ['1.000', '1,5', '1.2.3', '007']
    """
    digits, _, exponent = number.partition("e")
    sign = "-" if digits.startswith("-") else ""
    digits = _FRONT.sub("", digits, count=1)
    if _GROUPED.fullmatch(digits):
        digits = digits.replace(",", "")
    elif _GROUPED_BY_POINTS.fullmatch(digits):
        digits = digits.replace(".", "").replace(",", ".")
    elif _EITHER_WAY.fullmatch(digits):
        return sign + digits + _power(exponent)
    if _DECIMAL.fullmatch(digits):
        whole, _, fraction = digits.partition(".")
        fraction = fraction.rstrip("0")
        digits = (whole or "0") + ("." + fraction if fraction else "")
    return (sign if digits != "0" else "") + digits + _power(exponent)


def _power(exponent: str) -> str:
    if not exponent:
        return ""
    minus = "-" if exponent.startswith("-") else ""
    return f"e{minus}{exponent.lstrip('+-').lstrip('0') or '0'}"
