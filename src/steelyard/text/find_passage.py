"""Find a passage in its source, even if white space, the composition of accents or a few words differ."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_PIECE = re.compile(r"\s+|\S+")
_SHORTEST_OVERLAP = 20
"""Characters that the end of one passage and the start of another must share to count as the same text."""


class TextRange(NamedTuple):
    """The characters ``start`` to ``end`` of a text."""

    start: int
    end: int

    @property
    def length(self) -> int:
        """The number of characters."""
        return self.end - self.start


class NormalizedText(NamedTuple):
    """A text in NFC with white space collapsed, and the offsets in the original text of each of its characters."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def original(self, normalized: TextRange) -> TextRange:
        """The range of the original text that corresponds to a range of the normalized text."""
        if not normalized.length:
            return TextRange(0, 0)
        return TextRange(self.starts[normalized.start], self.ends[normalized.end - 1])


@lru_cache(maxsize=64)
def normalize_text(text: str) -> NormalizedText:
    """Normalize a text to NFC with single spaces, keeping the offsets of its characters.

    >>> flat = normalize_text("  one\\n\\ntwo ")
    >>> flat.text, flat.original(TextRange(4, 7))
    ('one two', TextRange(start=7, end=10))
    """
    stripped = text.strip()
    first = len(text) - len(text.lstrip())
    if stripped == " ".join(stripped.split()) and unicodedata.is_normalized("NFC", stripped):
        last = first + len(stripped)
        return NormalizedText(stripped, range(first, last), range(first + 1, last + 1))
    pieces: list[str] = []
    starts, ends = array("q"), array("q")
    for piece in _PIECE.finditer(text, first, first + len(stripped)):
        begin, end = piece.span()
        if piece[0].isspace():
            pieces.append(" ")
            starts.append(begin)
            ends.append(end)
            continue
        composed = unicodedata.normalize("NFC", piece[0])
        pieces.append(composed)
        if len(composed) == end - begin:
            starts.extend(range(begin, end))
            ends.extend(range(begin + 1, end + 1))
        else:  # NFC changed the length of this word, so each of its characters maps to the whole word
            starts.extend([begin] * len(composed))
            ends.extend([end] * len(composed))
    return NormalizedText("".join(pieces), starts, ends)


@lru_cache(maxsize=1024)
def find_passage(passage: str, source: str, match: float = 0.9) -> TextRange | None:
    """Find a passage in a source: an exact match, else an alignment with a similarity of at least ``match``.

    Returns the first of several matches, and None if the source does not contain the passage or the passage is blank.

    >>> find_passage("cat sat", "The cat\\n sat on the mat.")
    TextRange(start=4, end=12)
    """
    needle, hay = normalize_text(passage), normalize_text(source)
    if not needle.text or len(needle.text) > len(hay.text):
        return None
    at = hay.text.find(needle.text)
    if at >= 0:
        return hay.original(TextRange(at, at + len(needle.text)))
    aligned = _align(needle.text, hay.text, match) if match < 1 else None
    return aligned and hay.original(aligned)


def _align(needle: str, hay: str, match: float) -> TextRange | None:
    from rapidfuzz.fuzz import partial_ratio_alignment

    aligned = partial_ratio_alignment(needle, hay, score_cutoff=100 * match)
    return TextRange(aligned.dest_start, aligned.dest_end) if aligned is not None else None


@lru_cache(maxsize=1024)
def shared_range(passage: str, quote: str, match: float = 0.9) -> TextRange | None:
    """The part of a quote that a passage contains, if the source of neither is known; in characters of the normalized
    quote.

    The passage may contain the quote, be part of it, end with its beginning or begin with its end.

    >>> shared_range("before, the very words that were said", "the very words that were said, and after")
    TextRange(start=0, end=29)
    """
    ours, theirs = normalize_text(passage).text, normalize_text(quote).text
    if not ours or not theirs:
        return None
    if theirs in ours:
        return TextRange(0, len(theirs))
    if (at := theirs.find(ours)) >= 0:
        return TextRange(at, at + len(ours))
    if len(theirs) <= len(ours):
        if _align(theirs, ours, match) is not None:
            return TextRange(0, len(theirs))
    elif (aligned := _align(ours, theirs, match)) is not None:
        return aligned
    return _overlap_at_ends(ours, theirs)


def _overlap_at_ends(passage: str, quote: str) -> TextRange | None:
    longest = min(len(passage), len(quote)) - 1
    head = next((n for n in range(longest, _SHORTEST_OVERLAP - 1, -1) if passage.endswith(quote[:n])), 0)
    tail = next((n for n in range(longest, head, -1) if n >= _SHORTEST_OVERLAP and passage.startswith(quote[-n:])), 0)
    if tail:
        return TextRange(len(quote) - tail, len(quote))
    return TextRange(0, head) if head else None
