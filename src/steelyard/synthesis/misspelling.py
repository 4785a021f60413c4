"""Questions as hasty people type them: seeded slips of the keyboard, never in numbers, never two in a word."""

from __future__ import annotations

import random
import re

_WORD = re.compile(r"[^\W\d_]{4,}")
SHARE = 0.25
"""Of the words of four letters and more; at least one."""


def misspelt(text: str, draw: random.Random) -> str:
    """A text with some of its words misspelt: two letters swapped, one left out, one doubled.

    A text without a word of four letters stays as it is.

    >>> misspelt("Who built the tower of granite?", random.Random(1))
    'Who buit the tower of granite?'
    """
    found = [match for match in _WORD.finditer(text) if match[0].isalpha()]
    chosen = draw.sample(found, max(1, round(SHARE * len(found)))) if found else []
    for match in sorted(chosen, key=lambda one: -one.start()):
        text = text[: match.start()] + _slip(match[0], draw) + text[match.end() :]
    return text


def _slip(word: str, draw: random.Random) -> str:
    at = draw.randrange(1, len(word) - 1)
    ways = [word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:]]
    if word[at] != word[at + 1]:
        ways.append(word[:at] + word[at + 1] + word[at] + word[at + 2 :])
    return draw.choice(ways)
