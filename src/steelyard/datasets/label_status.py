"""Check labels against a corpus that was chunked again, and repair those whose new location is unambiguous.

A label is the id of a relevant chunk or document, or a span of evidence. Its *evidence* is the old text of the chunk
(from the old corpus, or the sample's only reference context), the quotes of spans in that chunk, or the span's own
text. If both chunk and quotes are known, the chunk determines the status of the label, and the quotes determine the
texts of the new corpus that it means. In the new corpus a label is

    valid    the label points at its evidence; an id of unknown text is valid if it exists
    moved    the whole evidence is under another id or at other offsets
    merged   the whole evidence is inside a text larger than the old one, or together with that of another label
    split    the whole evidence is in the corpus, but spread over several texts
    gone     at least a part of the evidence is not in the corpus

``repair_labels`` updates unambiguous labels. If the evidence is in several places and the intended one is unknown, the
label is not changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ..core.records import Sample, Span
from ..core.wording import pluralize
from ..text.find_passage import TextRange, normalize_text
from .corpus import Corpus
from .locate_evidence import EvidenceMatch, EvidencePart, find_evidence, occurrences

Status: TypeAlias = Literal["valid", "moved", "merged", "split", "gone"]
STATUSES: tuple[Status, ...] = ("valid", "moved", "merged", "split", "gone")


class LabelCheck(Struct, frozen=True, omit_defaults=True):
    """One label and its status. ``places`` are the locations of its evidence in the texts of the corpus.

    ``number`` is the index of a span in its sample; an id has none. A label that is not ``certain`` is not repaired.
    """

    sample: str
    doc: str
    status: Status
    number: int | None = None
    places: tuple[Span, ...] = ()
    note: str = ""
    certain: bool = True

    def __str__(self) -> str:
        what = self.doc if self.number is None else f"span {self.number + 1} in {self.doc}"
        now = ", ".join(dict.fromkeys(place.doc for place in self.places))
        return (
            f"{self.sample}: {what}: {self.status}"
            + (f" → {now}" if now else "")
            + (f" ({self.note})" if self.note else "")
        )


def text_digest(text: str) -> str:
    """The ``digest`` of a span: 16 hexadecimal digits, from its text in NFC with white space collapsed.

    >>> text_digest("The  cat") == text_digest("The cat")
    True
    """
    return blake2b(normalize_text(text).text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class _UnresolvedLabel(NamedTuple):
    """A label that does not point at its evidence, and that evidence.

    ``whole`` is true if the evidence is the whole old text; ``quotes`` are then its relevant parts, if they are known.
    """

    sample: str
    doc: str
    number: int | None
    evidence: tuple[str, ...]
    whole: bool
    origin: Span | None
    quotes: tuple[str, ...] = ()


def check_labels(samples: Iterable[Sample], corpus: Corpus, old_corpus: Corpus | None = None) -> list[LabelCheck]:
    """Check every label of the samples in a corpus; ``old_corpus`` is the corpus for which they were made."""
    sources = _SourceTexts(corpus)
    results: list[LabelCheck | _UnresolvedLabel] = []
    for sample in samples:
        results += [_check_id(sample, doc, corpus, old_corpus) for doc in sample.relevance or ()]
        spans = enumerate(sample.relevant_spans or ())
        results += [_check_span(sample, number, span, corpus, old_corpus, sources) for number, span in spans]
    pending = [one for one in results if isinstance(one, _UnresolvedLabel)]
    found = find_evidence([text for one in pending for text in (*one.evidence, *one.quotes)], corpus.texts)
    labels = [_resolve_with_quotes(one, found, corpus) if isinstance(one, _UnresolvedLabel) else one for one in results]
    return _mark_merged(labels)


def _check_id(sample: Sample, doc: str, corpus: Corpus, old_corpus: Corpus | None) -> LabelCheck | _UnresolvedLabel:
    evidence, whole = _evidence_of(sample, doc, old_corpus)
    here = corpus.texts.get(doc)
    if not evidence:
        if here is not None:
            return LabelCheck(sample.id, doc, "valid", note="not checked: its text is not known")
        return LabelCheck(sample.id, doc, "gone", note="no document of this id, and its text is not known")
    if here is not None and all(normalize_text(text).text in normalize_text(here).text for text in evidence):
        return LabelCheck(sample.id, doc, "valid")
    origin = None if old_corpus is None else old_corpus.places.get(doc)
    return _UnresolvedLabel(
        sample.id, doc, None, evidence, whole, origin, _quotes(sample, doc, old_corpus) if whole else ()
    )


def _evidence_of(sample: Sample, doc: str, old_corpus: Corpus | None) -> tuple[tuple[str, ...], bool]:
    """The evidence of an id, and whether it is the whole text of the chunk."""
    if old_corpus is not None and old_corpus.texts.get(doc, "").strip():
        return (old_corpus.texts[doc],), True
    if quotes := _quotes(sample, doc, old_corpus):
        return quotes, False
    relevant = [key for key, grade in (sample.relevance or {}).items() if grade > 0]
    contexts = sample.reference_contexts or []
    if relevant == [doc] and len(contexts) == 1 and contexts[0].strip():
        return (contexts[0],), True
    return (), False


def _quotes(sample: Sample, doc: str, old_corpus: Corpus | None) -> tuple[str, ...]:
    """The quotes from a chunk: the sample's spans in it, and the parts of spans of its source that the chunk covers."""
    chunk = "" if old_corpus is None else old_corpus.texts.get(doc, "")
    origin = None if old_corpus is None else old_corpus.places.get(doc)
    found = []
    for span in sample.relevant_spans or ():
        if span.doc == doc and span.text:
            found.append(span.text)
        elif origin is None or span.doc != origin.doc:
            continue
        elif span.start is not None and span.end is not None and origin.start is not None and origin.end is not None:
            first = origin.start - (len(chunk) - (origin.end - origin.start))
            low, high = max(span.start, origin.start), min(span.end, origin.end)
            found.append(chunk[low - first : high - first] if low < high else "")
        elif span.text and normalize_text(span.text).text in normalize_text(chunk).text:
            found.append(span.text)
    return tuple(dict.fromkeys(text for text in found if text.strip()))


def _check_span(
    sample: Sample, number: int, span: Span, corpus: Corpus, old_corpus: Corpus | None, sources: _SourceTexts
) -> LabelCheck | _UnresolvedLabel:
    text = span.text
    placed = span.start is not None and span.end is not None
    if text is None and old_corpus is not None and placed:
        text = old_corpus.texts.get(span.doc, "")[span.start : span.end] or None
    here = corpus.texts.get(span.doc)
    if placed:
        now = here[span.start : span.end] if here is not None else sources.text(span)
        if now is not None and _same(now, text, span.digest):
            note = "" if text or span.digest else "not checked: its text is not known"
            return LabelCheck(sample.id, span.doc, "valid", number, note=note)
    elif here is not None and text is not None and occurrences(text, here):
        return LabelCheck(sample.id, span.doc, "valid", number)
    if text is None and span.digest is not None and here is not None and placed:
        text = _text_with_digest(span, here)
    if not text or not text.strip():
        reason = "no document of this id" if here is None else "another text is at these offsets"
        return LabelCheck(sample.id, span.doc, "gone", number, note=f"{reason}, and the old text is not known")
    return _UnresolvedLabel(sample.id, span.doc, number, (text,), whole=False, origin=span if placed else None)


def _same(now: str, text: str | None, digest: str | None) -> bool:
    if not now.strip():
        return False
    if text is not None:
        return normalize_text(now).text == normalize_text(text).text
    return digest is None or text_digest(now) == digest


def _text_with_digest(span: Span, text: str) -> str | None:
    """The part of a text that has the span's length and digest; None if there is none."""
    assert span.start is not None
    assert span.end is not None
    length = span.end - span.start
    windows = (text[at : at + length] for at in range(len(text) - length + 1))
    return next((window for window in windows if text_digest(window) == span.digest), None)


class _SourceTexts:
    """The texts of source documents, rebuilt from chunks with known offsets."""

    def __init__(self, corpus: Corpus) -> None:
        self._texts = corpus.texts
        self._chunks: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
        for key, place in corpus.places.items():
            assert place.start is not None
            assert place.end is not None
            self._chunks[place.doc].append((place.start, place.end, key))

    def text(self, span: Span) -> str | None:
        """The text at a span of a source, from its chunks; None if no chunk names the source.

        Gaps between chunks are filled with spaces.
        """
        if span.doc not in self._chunks or span.start is None or span.end is None:
            return None
        letters = [" "] * (span.end - span.start)
        for start, end, key in self._chunks[span.doc]:
            body = self._texts[key][-(end - start) :] if end > start else ""
            low, high = max(start, span.start), min(end, span.end)
            if low < high:
                letters[low - span.start : high - span.start] = body[low - start : high - start]
        return "".join(letters)


def _resolve(one: _UnresolvedLabel, found: Sequence[EvidenceMatch], corpus: Corpus) -> LabelCheck:
    """The status of a label, from the locations of its evidence."""
    missing = [each for each in found if not each.complete]
    if missing:
        share = min(each.share for each in missing)
        note = f"{share:.0%} of its text is in the corpus" if share else "its text is not in the corpus"
        return LabelCheck(one.sample, one.doc, "gone", one.number, note=note)
    chosen = [_nearest_to_origin(each.whole, one, corpus) or each.parts for each in found]
    holders = [list(dict.fromkeys(part.id for part in parts)) for parts in chosen]
    common = [
        key for key in holders[0] if all(key in others for others in holders) and all(each.whole for each in found)
    ]
    if common:
        return _resolve_whole(one, [part for parts in chosen for part in parts if part.id in common], common, corpus)
    certain = all(len({part.evidence for part in parts}) == len(parts) for parts in chosen)
    places = tuple(_span(part, corpus) for parts in chosen for part in parts)
    note = "" if certain else "parts of it are in several places"
    return LabelCheck(one.sample, one.doc, "split", one.number, places, note, certain)


def _resolve_with_quotes(one: _UnresolvedLabel, found: Mapping[str, EvidenceMatch], corpus: Corpus) -> LabelCheck:
    """The status of a label, with its places narrowed to those of its quotes; if its chunk is gone, of the quotes."""
    label = _resolve(one, [found[text] for text in one.evidence], corpus)
    if not one.quotes:
        return label
    quoted = [found[text] for text in one.quotes]
    if label.status == "gone":
        by_quotes = _resolve(one._replace(whole=False, evidence=one.quotes), quoted, corpus)
        return label if by_quotes.status == "gone" else replace(by_quotes, note=by_quotes.note or "found by its quotes")
    holders = {place.doc for place in label.places}
    parts = [part for each in quoted for part in (each.whole or each.parts) if part.id in holders]
    if not parts or not all(each.complete for each in quoted):
        return label
    return replace(label, places=tuple(_span(part, corpus) for part in parts))


def _resolve_whole(
    one: _UnresolvedLabel, parts: Sequence[EvidencePart], holders: Sequence[str], corpus: Corpus
) -> LabelCheck:
    """The status of a label if each of ``holders`` contains all of its evidence."""
    sizes = [len(normalize_text(corpus.texts[key]).text) for key in holders]
    grown = one.whole and min(sizes) > sum(len(normalize_text(text).text) for text in one.evidence)
    places = tuple(_span(part, corpus) for part in parts)
    several = len(parts) > len(one.evidence) if one.number is not None else len(holders) > 1
    certain = not several or _same_source_text(parts, corpus)
    note = "" if certain else f"found in {len(parts)} places"
    return LabelCheck(one.sample, one.doc, "merged" if grown else "moved", one.number, places, note, certain)


def _nearest_to_origin(parts: Sequence[EvidencePart], one: _UnresolvedLabel, corpus: Corpus) -> list[EvidencePart]:
    """The occurrences in the label's own document, or at its old location in the source; all of them if none is."""
    same = [part for part in parts if part.id == one.doc]
    if len(parts) < 2 or same:
        return same or list(parts)
    origin = one.origin
    near = [
        part
        for part in parts
        if origin is not None
        and (located := _source_range(part, corpus)) is not None
        and located[0] == origin.doc
        and _overlap(located[1], origin)
    ]
    return near or list(parts)


def _overlap(one: TextRange, other: Span) -> bool:
    return other.start is not None and other.end is not None and one.start < other.end and other.start < one.end


def _same_source_text(parts: Sequence[EvidencePart], corpus: Corpus) -> bool:
    """Whether occurrences in several overlapping chunks are the same characters of the same source."""
    ranges = {(part.evidence, _source_range(part, corpus)) for part in parts}
    return all(one is not None for _, one in ranges) and len(ranges) == len({part.evidence for part in parts})


def _source_range(part: EvidencePart, corpus: Corpus) -> tuple[str, TextRange] | None:
    """The source document of a part and its range there; None if the chunk's offsets are not known."""
    place = corpus.places.get(part.id)
    if place is None or place.start is None or place.end is None:
        return None
    shift = place.start - (len(corpus.texts[part.id]) - (place.end - place.start))
    return place.doc, TextRange(part.place.start + shift, part.place.end + shift)


def _span(part: EvidencePart, corpus: Corpus) -> Span:
    text = corpus.texts[part.id][part.place.start : part.place.end]
    return Span(part.id, part.place.start, part.place.end, text)


def _mark_merged(labels: Sequence[LabelCheck]) -> list[LabelCheck]:
    """Change ``moved`` to ``merged`` for labels of several old texts that moved into one new text."""
    origins: dict[str, set[str]] = defaultdict(set)
    for label in labels:
        if label.status == "moved" and label.certain:
            for place in label.places:
                origins[place.doc].add(label.doc)
    return [replace(label, status="merged") if _is_merged(label, origins) else label for label in labels]


def _is_merged(label: LabelCheck, origins: Mapping[str, set[str]]) -> bool:
    if label.status != "moved" or not label.certain:
        return False
    return any(len(origins[place.doc] - {place.doc}) > 1 for place in label.places)


def count_statuses(labels: Iterable[LabelCheck]) -> dict[Status, int]:
    """The number of labels of each status."""
    found = [label.status for label in labels]
    return {status: found.count(status) for status in STATUSES}


def repair_labels(samples: Sequence[Sample], labels: Sequence[LabelCheck]) -> tuple[list[Sample], list[LabelCheck]]:
    """Update every unambiguous label; return the new samples, and the labels that could not be updated.

    An id is replaced by the ids of the texts that contain its evidence or parts of it, with its grade (the highest, if
    several ids become one); a span is replaced by the spans at which its text is found.
    """
    by_sample: dict[str, list[LabelCheck]] = defaultdict(list)
    for label in labels:
        by_sample[label.sample].append(label)
    left = [label for label in labels if label.status == "gone" or not label.certain]
    return [_repaired(sample, by_sample[sample.id]) for sample in samples], left


def _repaired(sample: Sample, labels: Sequence[LabelCheck]) -> Sample:
    moves = {(label.doc, label.number): label.places for label in labels if label.status != "valid" and label.certain}
    relevance: dict[str, float] = {}
    for doc, grade in (sample.relevance or {}).items():
        now = list(dict.fromkeys(place.doc for place in moves.get((doc, None), ()))) or [doc]
        for key in now:
            relevance[key] = max(grade, relevance.get(key, grade))
    spans: list[Span] = []
    for number, span in enumerate(sample.relevant_spans or ()):
        places = moves.get((span.doc, number), ())
        kept = [
            replace(place, digest=None if span.digest is None else text_digest(place.text or "")) for place in places
        ]
        spans += kept or [span]
    return replace(
        sample,
        relevance=None if sample.relevance is None else relevance,
        relevant_spans=None if sample.relevant_spans is None else spans,
    )


def summarize(labels: Sequence[LabelCheck], *, most: int = 5) -> list[str]:
    """The number of labels of each status as lines, with the first examples of labels that are not valid."""
    counted_statuses = count_statuses(labels)
    ids = sum(label.number is None for label in labels)
    counted = f"{pluralize(ids, 'id')} and {pluralize(len(labels) - ids, 'span')}"
    lines = [f"{counted}: " + ", ".join(f"{n} {status}" for status, n in counted_statuses.items())]
    for status in STATUSES[1:]:
        some = [label for label in labels if label.status == status]
        lines += [f"  {label}" for label in some[:most]]
        if len(some) > most:
            lines.append(f"  … and {len(some) - most} more {status}")
    unknown = sum(label.note.startswith("not checked") for label in labels)
    if unknown:
        counted = pluralize(unknown, "label was not checked because its text", "labels were not checked: their text")
        lines.append(f"  {counted} is not known (give the old corpus with --old-corpus)")
    return lines
