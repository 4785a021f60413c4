"""Words for messages: suggestions for a misspelt name, and counts with their nouns."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from itertools import islice

_DIGITS = re.compile(r"([0-9]{1,300})")
_LIKE = 0.6
"""The likeness from which a name is suggested, of 1."""
_READ = 10_000
"""So many names are looked at for likeness."""


def nearest(name: str, known: Iterable[str], *, most: int = 3) -> list[str]:
    """The known names closest to a misspelt one, best first: those that differ in their numbers alone, by how much
    they differ, then the likest, of equals the one that comes first.

    >>> nearest("faithfullness", ["faithfulness", "ndcg", "map"])
    ['faithfulness']
    >>> nearest("q12", [f"q{number}" for number in range(1, 11)])
    ['q10', 'q9', 'q8']
    """
    folded = {item.casefold(): item for item in known}
    words, numbers = _apart(name.casefold())
    beside = []
    for item in folded if numbers else ():
        others, theirs = _apart(item)
        if others == words:
            beside.append(([abs(one - other) for one, other in zip(numbers, theirs, strict=True)], item))
    found = [item for _, item in sorted(beside, key=lambda one: one[0])[:most]]
    if len(found) < most:
        found += [item for item in _likest(name.casefold(), islice(folded, _READ)) if item not in found]
    return [folded[item] for item in found[:most]]


def _apart(text: str) -> tuple[list[str], list[int]]:
    """The words of a name and the numbers between them."""
    parts = _DIGITS.split(text)
    return parts[::2], [int(digits) for digits in parts[1::2]]


def _likest(name: str, known: Iterable[str]) -> list[str]:
    """The names that have most of their letters in common with one, most first."""
    matcher = difflib.SequenceMatcher(b=name)
    found = []
    for item in known:
        matcher.set_seq1(item)
        if matcher.real_quick_ratio() >= _LIKE and matcher.quick_ratio() >= _LIKE and matcher.ratio() >= _LIKE:
            found.append((matcher.ratio(), item))
    return [item for _, item in sorted(found, key=lambda one: -one[0])]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint for a miss: the nearest names, or all of them where none is near."""
    names = sorted(known)
    close = nearest(name, names)
    return f"did you mean {', '.join(close)}?" if close else f"choose from: {', '.join(names) or '(there are none)'}"


def pluralize(count: int, one: str, many: str = "") -> str:
    """A count and what it counts, in words that agree with it; ``many`` is the regular plural unless given.

    >>> pluralize(1, "query has", "queries have"), pluralize(2, "query has", "queries have")
    ('1 query has', '2 queries have')
    >>> pluralize(1, "query"), pluralize(2, "query"), pluralize(0, "row")
    ('1 query', '2 queries', '0 rows')
    """
    if count == 1:
        return f"1 {one}"
    return f"{count} {many or (f'{one[:-1]}ies' if one.endswith('y') else f'{one}s')}"
