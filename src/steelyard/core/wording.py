"""Parts of messages: suggestions for a misspelled name, and counts with their nouns."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from itertools import islice

_DIGITS = re.compile(r"([0-9]{1,300})")
_MIN_SIMILARITY = 0.6
"""The least similarity, out of 1, of a suggested name."""
_MOST_COMPARED = 10_000
"""The number of names that are compared for similarity."""


def nearest(name: str, known: Iterable[str], *, most: int = 3) -> list[str]:
    """The known names closest to a misspelled one, best first.

    Names that differ in their numbers alone come first, the smallest difference first; then the most similar names.
    Ties keep the order of ``known``.

    >>> nearest("faithfullness", ["faithfulness", "ndcg", "map"])
    ['faithfulness']
    >>> nearest("q12", [f"q{number}" for number in range(1, 11)])
    ['q10', 'q9', 'q8']
    """
    folded = {item.casefold(): item for item in known}
    words, numbers = _words_and_numbers(name.casefold())
    same_words = []
    for item in folded if numbers else ():
        other_words, other_numbers = _words_and_numbers(item)
        if other_words == words:
            same_words.append(([abs(one - other) for one, other in zip(numbers, other_numbers, strict=True)], item))
    found = [item for _, item in sorted(same_words, key=lambda one: one[0])[:most]]
    if len(found) < most:
        found += [item for item in _most_similar(name.casefold(), islice(folded, _MOST_COMPARED)) if item not in found]
    return [folded[item] for item in found[:most]]


def _words_and_numbers(text: str) -> tuple[list[str], list[int]]:
    """The words of a name and the numbers between them."""
    parts = _DIGITS.split(text)
    return parts[::2], [int(digits) for digits in parts[1::2]]


def _most_similar(name: str, known: Iterable[str]) -> list[str]:
    """The names that share enough of their letters with ``name``, the most similar first."""
    matcher = difflib.SequenceMatcher(b=name)
    least = _MIN_SIMILARITY
    found = []
    for item in known:
        matcher.set_seq1(item)
        if matcher.real_quick_ratio() >= least and matcher.quick_ratio() >= least and matcher.ratio() >= least:
            found.append((matcher.ratio(), item))
    return [item for _, item in sorted(found, key=lambda one: -one[0])]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint for an unknown name: the nearest known names, or all of them if none is near."""
    names = sorted(known)
    close = nearest(name, names)
    return f"did you mean {', '.join(close)}?" if close else f"choose from: {', '.join(names) or '(there are none)'}"


def pluralize(count: int, one: str, many: str = "") -> str:
    """A count with its noun in singular or plural; ``many`` is the regular plural unless given.

    >>> pluralize(1, "query has", "queries have"), pluralize(2, "query has", "queries have")
    ('1 query has', '2 queries have')
    >>> pluralize(1, "query"), pluralize(2, "query"), pluralize(0, "row")
    ('1 query', '2 queries', '0 rows')
    """
    if count == 1:
        return f"1 {one}"
    return f"{count} {many or (f'{one[:-1]}ies' if one.endswith('y') else f'{one}s')}"
