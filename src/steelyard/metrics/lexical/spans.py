"""Recall, precision and IoU of retrieved chunks against relevant spans of the source, independent of the chunking.

Spans refer to the source, so these measures remain comparable after a new chunking, in contrast to ids. A span is given
by its offsets or by its text. A chunk is located by its offsets (``metadata["retrieved_spans"]``: for each retrieved
context ``{"doc", "start", "end"}`` or null), else by its text in the sources (``metadata["sources"]``:
``{doc: text}``), exactly after NFC and white-space normalisation, or by an alignment of at least 0.9. If the source of
a span is not given, chunks are compared with the text of the span itself. A chunk that cannot be located counts as
retrieved text outside all relevant spans; the evidence of the score gives the number of such chunks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

import msgspec

from ...core.errors import InputError
from ...core.records import Json, Sample, Span, Undefined, Value
from ...core.validation import validation_problem
from ...text.find_passage import TextRange, find_passage, normalize_text, shared_range
from ..registry import metric

T = TypeVar("T")

NEEDS = ("retrieved_contexts", "relevant_spans")

Stretches = dict[str, list[TextRange]]
"""Stretches of each source document."""


@metric(needs=NEEDS, stage="retrieval", stage_rank=60)
def span_recall(sample: Sample, *, k: int | None = None) -> Value | Undefined:
    """Characters of the relevant spans covered by the first k retrieved chunks / characters of the relevant spans.

    Overlapping spans and chunks count a character once; white space lost between two chunks counts as retrieved. No
    chunks: 0. Range 0 to 1.
    """
    cover = _cover(sample, k)
    return cover if isinstance(cover, Undefined) else cover.ratio(cover.covered, cover.relevant)


@metric(needs=NEEDS)
def span_precision(sample: Sample, *, k: int | None = None) -> Value | Undefined:
    """Characters of the first k retrieved chunks that are in relevant spans / characters of these chunks.

    Overlapping chunks count a character once. No chunks: 0. Range 0 to 1.
    """
    cover = _cover(sample, k)
    return cover if isinstance(cover, Undefined) else cover.ratio(cover.covered, cover.retrieved)


@metric(needs=NEEDS)
def span_iou(sample: Sample, *, k: int | None = None) -> Value | Undefined:
    """Characters in both the relevant spans and the first k retrieved chunks / characters in either.

    Range 0 to 1; 1 only if the chunks equal the spans.
    """
    cover = _cover(sample, k)
    if isinstance(cover, Undefined):
        return cover
    return cover.ratio(cover.covered, cover.relevant + cover.retrieved - cover.covered)


@metric(needs=NEEDS)
def span_full(sample: Sample, *, k: int | None = None) -> Value | Undefined:
    """1 if the first k retrieved chunks cover every relevant span completely, else 0."""
    cover = _cover(sample, k)
    if isinstance(cover, Undefined):
        return cover
    return Value(float(cover.covered == cover.relevant), cover.evidence)


class Cover(NamedTuple):
    """Numbers of characters that are relevant, retrieved, and both; numbers of chunks, and of chunks not located."""

    relevant: int
    retrieved: int
    covered: int
    chunks: int
    unplaced: int

    @property
    def evidence(self) -> dict[str, Json]:
        """The counts, as evidence of the score."""
        return {**self._asdict()}

    def ratio(self, part: int, whole: int) -> Value:
        """A share of characters, with numerator and denominator."""
        return Value(part / whole if whole else 0.0, self.evidence, (part, whole))


def _cover(sample: Sample, k: int | None) -> Cover | Undefined:
    sources = _read(sample, "sources", dict[str, str]) or {}
    relevant, quotes = _relevant(sample.relevant_spans or [], sources)
    total = _size(relevant, {})
    if not total:
        return Undefined("no relevant spans" if not sample.relevant_spans else "relevant spans are empty")
    contexts = (sample.retrieved_contexts or [])[:k]
    given = _read(sample, "retrieved_spans", list[Span | None]) or []
    if contexts and not (given or sources or quotes):
        return Undefined("the chunks cannot be located (no offsets, no sources, no text of spans)")
    seen: Stretches = defaultdict(list)
    counted: Stretches = defaultdict(list)
    outside, unplaced = 0, 0
    for at, text in enumerate(contexts):
        place = _place(text, given[at] if at < len(given) else None, sources)
        within = {name: part for name, quote in quotes.items() if (part := shared_range(text, quote)) is not None}
        for name, part in within.items():
            seen[name].append(part)
        if place is not None:
            doc, stretch = place
            seen[doc].append(stretch)
            counted[doc].append(stretch)
        elif text not in contexts[:at]:
            for name, part in within.items():
                counted[name].append(part)
            outside += max(0, len(normalize_text(text).text) - sum(part.length for part in within.values()))
        unplaced += place is None and not within
    texts = {**sources, **{name: normalize_text(quote).text for name, quote in quotes.items()}}
    covered = sum(_common(spans, seen[doc], texts.get(doc, "")) for doc, spans in relevant.items())
    return Cover(total, _size(counted, texts) + outside, covered, len(contexts), unplaced)


def _read(sample: Sample, name: str, kind: type[T]) -> T | None:
    if (found := sample.metadata.get(name)) is None:
        return None
    try:
        return msgspec.convert(found, kind)
    except msgspec.ValidationError as error:
        wrong = validation_problem(error, found)
        raise InputError(f"sample {sample.id}: {wrong.words}", field=wrong.below(f"metadata.{name}")) from None


def _relevant(spans: Iterable[Span], sources: Mapping[str, str]) -> tuple[Stretches, dict[str, str]]:
    """The relevant stretches, and the quotes: spans given by their text alone, each treated as its own document."""
    relevant: Stretches = defaultdict(list)
    quotes: dict[str, str] = {}
    for span in spans:
        if span.start is not None and span.end is not None:
            relevant[span.doc].append(_checked(span.doc, span.start, span.end))
        elif span.text is None:
            raise InputError(f"span of {span.doc!r} has neither start and end nor text", field="relevant_spans")
        elif (place := find_passage(span.text, sources.get(span.doc, ""))) is not None:
            relevant[span.doc].append(place)
        else:
            name = f"{span.doc}\0{span.text}"
            quotes[name] = span.text
            relevant[name] = [TextRange(0, len(normalize_text(span.text).text))]
    return relevant, quotes


def _checked(doc: str, start: int, end: int) -> TextRange:
    if not 0 <= start <= end:
        raise InputError(f"span {start} to {end} of {doc!r} (expected 0 <= start <= end)")
    return TextRange(start, end)


def _place(text: str, given: Span | None, sources: Mapping[str, str]) -> tuple[str, TextRange] | None:
    """Locate a chunk: the document and stretch given, else found by its text, first in the document given."""
    if given is not None and given.start is not None and given.end is not None:
        return given.doc, _checked(given.doc, given.start, given.end)
    docs = sorted(sources, key=lambda doc: given is None or doc != given.doc)
    for exactness in (1.0, 0.9):
        for doc in docs:
            if (place := find_passage(text, sources[doc], exactness)) is not None:
                return doc, place
    return None


def _union(stretches: Iterable[TextRange], source: str = "") -> list[TextRange]:
    """Merge stretches that overlap or meet, or between which the source has only white space."""
    merged: list[TextRange] = []
    for one in sorted(stretches):
        if merged and (one.start <= merged[-1].end or source[merged[-1].end : one.start].isspace()):
            merged[-1] = TextRange(merged[-1].start, max(merged[-1].end, one.end))
        else:
            merged.append(one)
    return merged


def _size(stretches: Stretches, sources: Mapping[str, str]) -> int:
    return sum(one.length for doc, some in stretches.items() for one in _union(some, sources.get(doc, "")))


def _common(relevant: Iterable[TextRange], seen: Iterable[TextRange], source: str) -> int:
    """Count the characters of relevant stretches that are in the retrieved stretches."""
    theirs = _union(seen, source)
    return sum(
        max(0, min(one.end, other.end) - max(one.start, other.start)) for one in _union(relevant) for other in theirs
    )
