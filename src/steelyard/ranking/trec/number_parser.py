"""Parse fields of text to numbers, many at once, each to the double nearest to the written value."""

from __future__ import annotations

from math import isfinite, isinf

import msgspec
import numpy as np

from ..qrels import FloatArray
from .block_parser import LOW_BYTES, FieldColumn, NeedsSlowParser, TextBuffer, WordArray

HIGH_BYTES = ~LOW_BYTES[::-1]


def parse_column(text: TextBuffer, column: FieldColumn) -> FloatArray:
    """The fields as numbers, each the double nearest to the written value; NeedsSlowParser if one is not a number."""
    if not len(column.starts):
        return np.empty(0)
    if (fixed := _fixed_point(text, column)) is not None:
        return fixed
    width = int(column.sizes.max())
    if width > 64:
        raise NeedsSlowParser
    row = np.dtype((np.void, width + 1))
    table = np.ndarray((len(text.buffer) - width,), row, text.buffer, strides=(1,))[column.starts]
    shown = table.view(np.uint8).reshape(-1, width + 1)
    shown = np.where(np.arange(width + 1) < column.sizes[:, None], shown, np.uint8(32))
    shown[:, -1] = 44
    try:
        decoded = _NUMBERS.decode(b"[" + shown.tobytes()[:-1] + b"]")
    except msgspec.DecodeError:  # not a number in JSON's notation: +1, .5, 1., inf, or no number at all
        decoded = [_parse_or_fail(field) for field in text.fields(column)]
    if len(decoded) != len(column.starts):  # JSON reads 2,5 as two numbers
        raise NeedsSlowParser
    return np.fromiter(decoded, np.float64, len(decoded))


_NUMBERS = msgspec.json.Decoder(list[float])


def _parse_or_fail(field: bytes) -> float:
    if (value := parse_number(field.decode("utf-8", "replace"))) is None:
        raise NeedsSlowParser
    return value


def parse_number(text: str) -> float | None:
    """Parse a finite number of a TREC file; None for any other text, including NaN and infinity.

    >>> parse_number("1e-3"), parse_number("high"), parse_number("nan"), parse_number("1e400"), parse_number("1_000")
    (0.001, None, None, None, None)
    """
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) and "_" not in text and text.isascii() else None


def is_infinite(text: str) -> bool:
    """Whether a text is an infinite number, or a number too large for a double.

    >>> is_infinite("-1e400"), is_infinite("high")
    (True, False)
    """
    try:
        return isinf(float(text))
    except ValueError:
        return False


_ZEROS = np.uint64(0x3030303030303030)


def _fixed_point(text: TextBuffer, column: FieldColumn) -> FloatArray | None:
    """Parse numbers that all have the same number of decimals, eight digits at once; None for any other column.

    Up to fifteen digits are an exact double and so is the power of ten, so their quotient is the nearest double.
    """
    first = text.field(column, 0)
    decimals = len(first) - 1 - first.rfind(b".") if b"." in first else 0
    points = int(decimals > 0)
    sizes = column.sizes - (decimals + points)
    if signed := first.startswith(b"-"):
        negative = text.bytes[column.starts] == 45
        sizes -= negative
    longest = int(sizes.max())
    if longest > 8 or decimals > 7 or int(sizes.min()) < 1:
        return None
    ends = column.starts + column.sizes
    digits = text.words[ends - (decimals + points + 8)]
    digits ^= _ZEROS
    digits &= HIGH_BYTES[sizes]
    if points:
        fraction = text.words[ends - 8]
        if ((fraction >> np.uint64(8 * (7 - decimals))).astype(np.uint8) != 46).any():
            return None
        fraction ^= _ZEROS
        fraction &= HIGH_BYTES[decimals]
        if longest + decimals <= 8:
            digits >>= np.uint64(8 * decimals)
            digits |= fraction
            value = _parse_eight_digits(digits)
        else:
            value = _parse_eight_digits(digits) * np.uint64(10**decimals) + _parse_eight_digits(fraction)
            if not _are_digits(fraction):
                return None
    else:
        value = _parse_eight_digits(digits)
    if not _are_digits(digits):
        return None
    result = value / 10.0**decimals
    return np.where(negative, -result, result) if signed else result


def _are_digits(words: WordArray) -> bool:
    """Whether all bytes are at most nine: a larger one carries into its top bit."""
    return not np.bitwise_or.reduce(words | (words + np.uint64(0x7676767676767676))) & np.uint64(0x8080808080808080)


def _parse_eight_digits(digits: WordArray) -> WordArray:
    """The number of eight digits, the first in the lowest byte: combined to pairs, then fours, then eight."""
    pairs = digits * np.uint64(10)
    pairs += digits >> np.uint64(8)
    mask = np.uint64(0x000000FF000000FF)
    left = pairs & mask
    left *= np.uint64(0x000F424000000064)
    pairs >>= np.uint64(16)
    pairs &= mask
    pairs *= np.uint64(0x0000271000000001)
    left += pairs
    left >>= np.uint64(32)
    return left
