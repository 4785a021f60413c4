"""Writing systems: the script of a text, and the graphemes of scripts that are written without spaces.

Python's ``re`` does not support script or mark properties, so the few ranges that matter are listed here.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache

_LETTERS = (
    r"\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46"  # Thai
    r"\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd\u0ec0-\u0ec6\u0edc-\u0edf"  # Lao
    r"\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e"  # Myanmar
    r"\ua9e0-\ua9e4\ua9e6-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa76\uaa7a\uaa7e\uaa7f"
    r"\u1780-\u17b3\u17d7\u17dc"  # Khmer
    r"\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\U0001b000-\U0001b167"  # Kana
    r"\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c"  # Han: iteration marks, numerals
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
)
"""Letters of the scripts that are written without spaces between words."""

_MARKS = (
    r"\u0300-\u036f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece"
    r"\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d"
    r"\ua9e5\uaa7b-\uaa7d\u17b4-\u17d3\u17dd\u3099\u309a"
)
"""Combining marks that follow those letters."""

# NFKC splits Thai and Lao AM into a mark and a vowel sign; the vowel sign still belongs to its consonant.
_GRAPHEME = rf"[{_LETTERS}][{_MARKS}]*(?:(?<=\u0e4d)\u0e32|(?<=\u0ecd)\u0eb2)?"
_STRETCH = rf"((?:{_GRAPHEME})+)"
_BETWEEN = rf"(?<=[{_LETTERS}{_MARKS}]) (?=[{_LETTERS}])"

_SCRIPTS = {"cjk": "han", "ideographic": "han", "hiragana": "kana", "katakana": "kana", "katakana-hiragana": "kana"}
_WIDTHS = {"fullwidth", "halfwidth"}


@cache
def _pattern(source: str) -> re.Pattern[str]:
    """Compile a pattern at its first use: such classes are slow to compile, and ASCII text never needs them."""
    return re.compile(source)


def space_graphemes(text: str) -> str:
    """Put spaces around every grapheme of the unspaced scripts (Han, Kana, Thai, Lao, Khmer, Myanmar).

    >>> space_graphemes("iPhone手机").split()
    ['iPhone', '手', '机']
    >>> space_graphemes("วันนี้").split()
    ['วั', 'น', 'นี้']
    """
    return text if text.isascii() else _pattern(_GRAPHEME).sub(r" \g<0> ", text)


def join_graphemes(text: str) -> str:
    """Remove single spaces between graphemes of the unspaced scripts: the inverse of ``space_graphemes``.

    >>> join_graphemes("今 天 good 天 气")
    '今天 good 天气'
    """
    return text if text.isascii() else _pattern(_BETWEEN).sub("", text)


def graphemes(text: str) -> list[str]:
    """The graphemes of the unspaced scripts in a text; each is a letter with its marks.

    >>> graphemes("ดี now")
    ['ดี']
    """
    return _pattern(_GRAPHEME).findall(text)


def split_unspaced(text: str) -> list[str]:
    """Split a text into parts in other scripts and in unspaced scripts, alternating; the first and last may be empty.

    >>> split_unspaced("iPhone手机")
    ['iPhone', '手机', '']
    """
    return _pattern(_STRETCH).split(text)


@lru_cache(maxsize=4096)
def _script_of(character: str) -> str:
    if not unicodedata.category(character).startswith("L"):
        return ""
    first, *others = unicodedata.name(character, "").lower().split(" ")
    if first in _WIDTHS and others:
        first = others[0]
    return _SCRIPTS.get(first, first)


def script(text: str) -> str:
    """The script of most letters of a text, as a lower-case English word; empty if there is no letter.

    Japanese, which mixes Han and Kana, is ``kana``.

    >>> [script(text) for text in ("Ada", "Ελλάδα", "東京は晴れ", "北京", "한국어", "42")]
    ['latin', 'greek', 'kana', 'han', 'hangul', '']
    """
    letters: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if name := _script_of(character):
            letters[name] += count
    if letters["kana"]:
        letters["kana"] += letters.pop("han", 0)
    name, count = max(letters.items(), key=lambda item: item[1], default=("", 0))
    return name if count else ""
