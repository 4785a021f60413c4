"""Index of retrieved passages: one line of word stems, with the positions of each stem."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ...text.word_offsets import Words, words_with_offsets


class Window(NamedTuple):
    """A stretch of the line, from its first to its last position; empty if ``last`` is before ``first``."""

    first: int
    last: int


class PassageIndex(NamedTuple):
    """Retrieved passages as one line of stems, a gap (None) after each.

    ``bases`` holds the first position of each passage, ``places`` the positions of each stem, ``numbers`` the positions
    of each number by its value, ``begins`` the stems by their first four letters.
    """

    words: tuple[Words, ...]
    line: list[str | None]
    bases: list[int]
    places: dict[str, list[int]]
    numbers: dict[str, list[int]]
    begins: dict[str, list[str]]

    @property
    def length(self) -> int:
        """The number of words in all passages."""
        return len(self.line) - len(self.bases)

    def source(self, position: int) -> tuple[int, int, int]:
        """The passage (from 0), and the start and end characters, of the word at a position of the line."""
        passage = bisect_right(self.bases, position) - 1
        at = position - self.bases[passage]
        return passage, self.words[passage].start[at], self.words[passage].end[at]

    def bounds(self, position: int) -> Window:
        """The stretch of the passage that contains a position, including its gap."""
        passage = bisect_right(self.bases, position)
        end = self.bases[passage] if passage < len(self.bases) else len(self.line)
        return Window(self.bases[passage - 1], end - 1)

    def forms(self, window: Window, around: int) -> list[str]:
        """The forms of the words in a window and of ``around`` words on each side, within the passage."""
        if window.last < window.first:
            return []
        passage = bisect_right(self.bases, window.first) - 1
        base = self.bases[passage]
        return self.words[passage].forms[max(0, window.first - base - around) : window.last - base + around + 1]


@lru_cache(maxsize=16)
def passages_of(contexts: tuple[str, ...]) -> PassageIndex:
    """Index passages; the index is cached, since several answers and metrics use the same passages.

    >>> passages_of(("A boat. Two boats.", "A ship.")).places["boat"]
    [1, 3]
    """
    words = tuple(words_with_offsets(text) for text in contexts)
    line: list[str | None] = []
    bases: list[int] = []
    places: dict[str, list[int]] = {}
    numbers: dict[str, list[int]] = {}
    for one in words:
        bases.append(len(line))
        for at, stem in enumerate(one.stems, len(line)):
            if stem in places:
                places[stem].append(at)
            else:
                places[stem] = [at]
        for at, number in enumerate(one.numbers, len(line)):
            if number is not None:
                numbers.setdefault(number, []).append(at)
        line += one.stems
        line.append(None)
    begins: dict[str, list[str]] = {}
    for stem in places:
        if len(stem) >= 4:
            begins.setdefault(stem[:4], []).append(stem)
    return PassageIndex(words, line, bases, places, numbers, begins)


def within(positions: Sequence[int], window: Window) -> Sequence[int]:
    """The sorted positions that are in a window."""
    if window.last < window.first:
        return ()
    return positions[bisect_right(positions, window.first - 1) : bisect_right(positions, window.last)]


def any_within(positions: Sequence[int], window: Window) -> bool:
    """Whether any of the sorted positions is in a window."""
    at = bisect_right(positions, window.first - 1)
    return at < len(positions) and positions[at] <= window.last
