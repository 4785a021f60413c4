"""Find pieces of evidence in a corpus: whole in one text, or spread over several.

Rules of this file: texts are compared exactly, in NFC with white space collapsed; similar text does not count as the
same evidence. One pass over the corpus searches for all pieces of evidence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..text.find_passage import TextRange, normalize_text

PROBE = 20
"""The number of characters by which evidence is searched; a shorter part is found only next to another part."""


class EvidencePart(NamedTuple):
    """A range of the normalized evidence and its location: a text's id and a range of the original text."""

    evidence: TextRange
    id: str
    place: TextRange


class EvidenceMatch(NamedTuple):
    """The locations of evidence: every whole occurrence, or else its parts, and whether these are complete."""

    whole: list[EvidencePart]
    parts: list[EvidencePart]
    complete: bool
    share: float = 0.0
    """The share of the evidence that was found, from 0 to 1."""


def find_evidence(evidence: Iterable[str], texts: Mapping[str, str]) -> dict[str, EvidenceMatch]:
    """Find each piece of evidence in the texts.

    >>> texts = {"a": "See: the cat  sat on the mat,", "b": "and slept. End"}
    >>> found = find_evidence(["the cat sat on the mat, and slept"], texts)
    >>> [(part.id, tuple(part.place)) for part in next(iter(found.values())).parts]
    [('a', (5, 29)), ('b', (0, 9))]
    """
    wanted = {text: normalize_text(text).text for text in evidence}
    candidates = _candidates({flat for flat in wanted.values() if flat}, texts)
    order = list(texts)
    rank = {id: at for at, id in enumerate(order)}  # noqa: A001 - an id of a text
    return {
        text: _match(flat, sorted(candidates.get(flat, ()), key=rank.__getitem__), texts, order, rank)
        if flat
        else EvidenceMatch([], [], complete=False)
        for text, flat in wanted.items()
    }


def occurrences(evidence: str, text: str) -> list[TextRange]:
    """Every occurrence of evidence in one text, as ranges of the original text.

    >>> occurrences("a cat", "a  cat, a cat")
    [TextRange(start=0, end=6), TextRange(start=8, end=13)]
    """
    flat, hay = normalize_text(evidence).text, normalize_text(text)
    found, at = [], hay.text.find(flat) if flat else -1
    while at >= 0:
        found.append(hay.original(TextRange(at, at + len(flat))))
        at = hay.text.find(flat, at + 1)
    return found


def _candidates(flats: set[str], texts: Mapping[str, str]) -> dict[str, set[str]]:
    """The texts that contain a probe of each piece of evidence; probes start at every multiple of their length."""
    probes: dict[str, set[str]] = defaultdict(set)
    short = []
    for flat in flats:
        if len(flat) < PROBE:
            short.append(flat)
        for at in range(0, len(flat) - PROBE + 1, PROBE):
            probes[flat[at : at + PROBE]].add(flat)
        if len(flat) >= PROBE:
            probes[flat[-PROBE:]].add(flat)
    found: dict[str, set[str]] = defaultdict(set)
    for key, text in texts.items():
        hay = normalize_text(text).text
        for at in range(len(hay) - PROBE + 1):
            for flat in probes.get(hay[at : at + PROBE], ()):
                found[flat].add(key)
        for flat in short:
            if flat in hay:
                found[flat].add(key)
    return found


def _match(
    flat: str, candidates: Sequence[str], texts: Mapping[str, str], order: Sequence[str], rank: Mapping[str, int]
) -> EvidenceMatch:
    whole = [
        EvidencePart(TextRange(0, len(flat)), key, place)
        for key in candidates
        for place in occurrences(flat, texts[key])
    ]
    if whole:
        return EvidenceMatch(whole, [], complete=True, share=1.0)
    parts = [part for key in candidates if (part := _longest_part(flat, key, texts[key], PROBE)) is not None]
    parts += _remaining_parts(flat, parts, texts, order, rank)
    parts.sort(key=lambda part: (part.evidence, rank[part.id]))
    gaps = _gaps(flat, parts)
    return EvidenceMatch([], parts, complete=not gaps, share=1 - sum(gap.length for gap in gaps) / len(flat))


def _longest_part(flat: str, key: str, text: str, least: int) -> EvidencePart | None:
    """The longest range of the evidence that equals a whole text, its end, or its beginning."""
    hay = normalize_text(text)
    if not hay.text:
        return None
    if (at := flat.find(hay.text)) >= 0:
        return EvidencePart(TextRange(at, at + len(hay.text)), key, hay.original(TextRange(0, len(hay.text))))
    longest = min(len(flat), len(hay.text)) - 1
    head = next((size for size in range(longest, least - 1, -1) if hay.text.endswith(flat[:size])), 0)
    tail = next((size for size in range(longest, max(least - 1, head), -1) if hay.text.startswith(flat[-size:])), 0)
    if tail:
        return EvidencePart(TextRange(len(flat) - tail, len(flat)), key, hay.original(TextRange(0, tail)))
    if head:
        return EvidencePart(TextRange(0, head), key, hay.original(TextRange(len(hay.text) - head, len(hay.text))))
    return None


def _remaining_parts(
    flat: str, parts: Sequence[EvidencePart], texts: Mapping[str, str], order: Sequence[str], rank: Mapping[str, int]
) -> list[EvidencePart]:
    """The remaining ends of the evidence that the text before or after a found part contains."""
    found = []
    for start, end in _gaps(flat, parts):
        gap = flat[start:end].strip()
        for part in parts:
            step = -1 if part.evidence.start >= end else 1
            at = rank[part.id] + step
            if not 0 <= at < len(order):
                continue
            hay = normalize_text(texts[order[at]])
            if step < 0 and hay.text.endswith(gap):
                place = TextRange(len(hay.text) - len(gap), len(hay.text))
            elif step > 0 and hay.text.startswith(gap):
                place = TextRange(0, len(gap))
            else:
                continue
            begin = flat.index(gap, start)
            found.append(EvidencePart(TextRange(begin, begin + len(gap)), order[at], hay.original(place)))
            break
    return found


def _gaps(flat: str, parts: Iterable[EvidencePart]) -> list[TextRange]:
    """The ranges of the evidence that no part covers, except white space."""
    gaps, at = [], 0
    for start, end in sorted(part.evidence for part in parts):
        if start > at and flat[at:start].strip():
            gaps.append(TextRange(at, start))
        at = max(at, end)
    if flat[at:].strip():
        gaps.append(TextRange(at, len(flat)))
    return gaps
