"""Misspelt questions: seeded typing errors, at most one per word and none in numbers."""

from __future__ import annotations

import random
import re

_WORD = re.compile(r"[^\W\d_]{4,}")
SHARE = 0.25
"""Share of misspelt words among words of four or more letters; at least one word is misspelt."""


def misspelt(text: str, draw: random.Random) -> str:
    """Misspell some words of a text: swap two letters, leave one out, or double one.

    A text without a word of four or more letters is returned unchanged.

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
    variants = [word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:]]
    if word[at] != word[at + 1]:
        variants.append(word[:at] + word[at + 1] + word[at] + word[at + 2 :])
    return draw.choice(variants)
