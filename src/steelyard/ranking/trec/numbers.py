"""Numbers out of fields of text, many at once, each the double nearest to what is written."""

from __future__ import annotations

from math import isfinite, isinf

import msgspec
import numpy as np

from ..qrels import FloatArray
from .blocks import LOW_BYTES, FieldColumn, NeedsSlowParser, Text, Words

HIGH_BYTES = ~LOW_BYTES[::-1]


def numbers_of(text: Text, column: FieldColumn) -> FloatArray:
    """The fields as numbers, each the double nearest to what is written; Odd where one is no number."""
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
    except msgspec.DecodeError:  # not as JSON writes numbers: +1, .5, 1., inf, or no number at all
        decoded = [_number_or_odd(field) for field in text.fields(column)]
    if len(decoded) != len(column.starts):  # 2,5 is two numbers to JSON
        raise NeedsSlowParser
    return np.fromiter(decoded, np.float64, len(decoded))


_NUMBERS = msgspec.json.Decoder(list[float])


def _number_or_odd(field: bytes) -> float:
    if (value := number(field.decode("utf-8", "replace"))) is None:
        raise NeedsSlowParser
    return value


def number(text: str) -> float | None:
    """A finite number as trec files write it; None for anything else, NaN and infinity among it.

    >>> number("1e-3"), number("high"), number("nan"), number("1e400"), number("1_000")
    (0.001, None, None, None, None)
    """
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) and "_" not in text and text.isascii() else None


def is_endless(text: str) -> bool:
    """Whether a text is an infinite number, or one too large to be held.

    >>> is_endless("-1e400"), is_endless("high")
    (True, False)
    """
    try:
        return isinf(float(text))
    except ValueError:
        return False


_ZEROS = np.uint64(0x3030303030303030)


def _fixed_point(text: Text, column: FieldColumn) -> FloatArray | None:
    """Numbers that are digits with one and the same number of decimals, eight digits at once; None for others.

    Up to fifteen digits are an exact double and so is the power of ten: their quotient is the nearest double.
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
            value = _eight(digits)
        else:
            value = _eight(digits) * np.uint64(10**decimals) + _eight(fraction)
            if not _are_digits(fraction):
                return None
    else:
        value = _eight(digits)
    if not _are_digits(digits):
        return None
    result = value / 10.0**decimals
    return np.where(negative, -result, result) if signed else result


def _are_digits(words: Words) -> bool:
    """Whether all bytes are at most nine: one above carries into its top bit."""
    return not np.bitwise_or.reduce(words | (words + np.uint64(0x7676767676767676))) & np.uint64(0x8080808080808080)


def _eight(digits: Words) -> Words:
    """Eight digits, the first in the lowest byte, as their number: pairs, then fours, then all."""
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
