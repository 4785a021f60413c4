"""Labels that outlive the chunker: whether what a label points at still stands where it points, and where it went.

A label is the id of a relevant chunk or document, or a span of evidence. What it means is its *evidence*: the text of
the chunk as it was (from the corpus of then, or the sample's only reference context), the quotes of spans in that
chunk, or the span's own text. Where both chunk and quotes are known, the chunk says what became of the label, and the
quotes which of the texts of now it means. In the corpus of now a label is

    valid    it points at its evidence; an id of which no text is known is valid where it exists
    moved    its evidence stands whole under another id or at other offsets
    merged   its evidence stands whole inside a larger text than it was, or beside that of another label
    split    its evidence stands whole, but over several texts
    gone     it does not, or not wholly

Repair re-anchors what is certain. Where evidence stands in several places and nothing tells which is meant, it is left.
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
from .locate_evidence import EvidenceMatch, Part, find, occurrences

Status: TypeAlias = Literal["valid", "moved", "merged", "split", "gone"]
STATUSES: tuple[Status, ...] = ("valid", "moved", "merged", "split", "gone")


class AnchoredLabel(Struct, frozen=True, omit_defaults=True):
    """One label and what became of it. ``places`` are where its evidence stands now, in the texts of the corpus.

    ``number`` is a span's in its sample; an id has none. What is not ``sure`` is not repaired.
    """

    sample: str
    doc: str
    status: Status
    number: int | None = None
    places: tuple[Span, ...] = ()
    note: str = ""
    sure: bool = True

    def __str__(self) -> str:
        what = self.doc if self.number is None else f"span {self.number + 1} in {self.doc}"
        now = ", ".join(dict.fromkeys(place.doc for place in self.places))
        return (
            f"{self.sample}: {what}: {self.status}"
            + (f" → {now}" if now else "")
            + (f" ({self.note})" if self.note else "")
        )


def text_digest(text: str) -> str:
    """What a span's ``digest`` is: 16 hexadecimal digits of its text in NFC with white space collapsed.

    >>> text_digest("The  cat") == text_digest("The cat")
    True
    """
    return blake2b(normalize_text(text).text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class _Pending(NamedTuple):
    """A label that does not point at its evidence, and that evidence; ``whole`` if it is all of the text of then, of
    which the ``quotes`` are what matters, where they are known."""

    sample: str
    doc: str
    number: int | None
    evidence: tuple[str, ...]
    whole: bool
    home: Span | None
    quotes: tuple[str, ...] = ()


def check_labels(samples: Iterable[Sample], corpus: Corpus, was: Corpus | None = None) -> list[AnchoredLabel]:
    """What became of every label of the samples in a corpus; ``was`` is the corpus for which they were made."""
    sources = _Sources(corpus)
    settled: list[AnchoredLabel | _Pending] = []
    for sample in samples:
        settled += [_of_id(sample, doc, corpus, was) for doc in sample.relevance or ()]
        spans = enumerate(sample.relevant_spans or ())
        settled += [_of_span(sample, number, span, corpus, was, sources) for number, span in spans]
    pending = [one for one in settled if isinstance(one, _Pending)]
    found = find([text for one in pending for text in (*one.evidence, *one.quotes)], corpus.texts)
    labels = [_narrowed(one, found, corpus) if isinstance(one, _Pending) else one for one in settled]
    return _merged_together(labels)


def _of_id(sample: Sample, doc: str, corpus: Corpus, was: Corpus | None) -> AnchoredLabel | _Pending:
    evidence, whole = _evidence_of(sample, doc, was)
    here = corpus.texts.get(doc)
    if not evidence:
        if here is not None:
            return AnchoredLabel(sample.id, doc, "valid", note="taken at its word: its text is not known")
        return AnchoredLabel(sample.id, doc, "gone", note="no document of this id, and its text is not known")
    if here is not None and all(normalize_text(text).text in normalize_text(here).text for text in evidence):
        return AnchoredLabel(sample.id, doc, "valid")
    home = None if was is None else was.places.get(doc)
    return _Pending(sample.id, doc, None, evidence, whole, home, _quotes(sample, doc, was) if whole else ())


def _evidence_of(sample: Sample, doc: str, was: Corpus | None) -> tuple[tuple[str, ...], bool]:
    """The texts that an id stands for, and whether they are all of the chunk."""
    if was is not None and was.texts.get(doc, "").strip():
        return (was.texts[doc],), True
    if quotes := _quotes(sample, doc, was):
        return quotes, False
    relevant = [key for key, grade in (sample.relevance or {}).items() if grade > 0]
    contexts = sample.reference_contexts or []
    if relevant == [doc] and len(contexts) == 1 and contexts[0].strip():
        return (contexts[0],), True
    return (), False


def _quotes(sample: Sample, doc: str, was: Corpus | None) -> tuple[str, ...]:
    """What the spans of a sample say of a chunk: spans in it, and of spans in its source the part that it held."""
    chunk = "" if was is None else was.texts.get(doc, "")
    home = None if was is None else was.places.get(doc)
    found = []
    for span in sample.relevant_spans or ():
        if span.doc == doc and span.text:
            found.append(span.text)
        elif home is None or span.doc != home.doc:
            continue
        elif span.start is not None and span.end is not None and home.start is not None and home.end is not None:
            first = home.start - (len(chunk) - (home.end - home.start))
            low, high = max(span.start, home.start), min(span.end, home.end)
            found.append(chunk[low - first : high - first] if low < high else "")
        elif span.text and normalize_text(span.text).text in normalize_text(chunk).text:
            found.append(span.text)
    return tuple(dict.fromkeys(text for text in found if text.strip()))


def _of_span(
    sample: Sample, number: int, span: Span, corpus: Corpus, was: Corpus | None, sources: _Sources
) -> AnchoredLabel | _Pending:
    text = span.text
    placed = span.start is not None and span.end is not None
    if text is None and was is not None and placed:
        text = was.texts.get(span.doc, "")[span.start : span.end] or None
    here = corpus.texts.get(span.doc)
    if placed:
        now = here[span.start : span.end] if here is not None else sources.text(span)
        if now is not None and _same(now, text, span.digest):
            note = "" if text or span.digest else "taken at its word: its text is not known"
            return AnchoredLabel(sample.id, span.doc, "valid", number, note=note)
    elif here is not None and text is not None and occurrences(text, here):
        return AnchoredLabel(sample.id, span.doc, "valid", number)
    if text is None and span.digest is not None and here is not None and placed:
        text = _by_digest(span, here)
    if not text or not text.strip():
        why = "no document of this id" if here is None else "another text stands there"
        return AnchoredLabel(sample.id, span.doc, "gone", number, note=f"{why}, and what stood there is not known")
    return _Pending(sample.id, span.doc, number, (text,), whole=False, home=span if placed else None)


def _same(now: str, text: str | None, digest: str | None) -> bool:
    if not now.strip():
        return False
    if text is not None:
        return normalize_text(now).text == normalize_text(text).text
    return digest is None or text_digest(now) == digest


def _by_digest(span: Span, text: str) -> str | None:
    """The stretch of a text of the span's length that has its digest."""
    assert span.start is not None
    assert span.end is not None
    length = span.end - span.start
    windows = (text[at : at + length] for at in range(len(text) - length + 1))
    return next((window for window in windows if text_digest(window) == span.digest), None)


class _Sources:
    """The source documents of a corpus of chunks, as far as the chunks know their places."""

    def __init__(self, corpus: Corpus) -> None:
        self._texts = corpus.texts
        self._chunks: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
        for key, place in corpus.places.items():
            assert place.start is not None
            assert place.end is not None
            self._chunks[place.doc].append((place.start, place.end, key))

    def text(self, span: Span) -> str | None:
        """What the chunks say stands at a span of their source; None where they do not know of the source.

        Between chunks stands white space.
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


def _settle(one: _Pending, found: Sequence[EvidenceMatch], corpus: Corpus) -> AnchoredLabel:
    """The verdict on a label from where its evidence stands."""
    missing = [each for each in found if not each.complete]
    if missing:
        share = min(each.share for each in missing)
        note = f"{share:.0%} of it still stands" if share else "its text is nowhere"
        return AnchoredLabel(one.sample, one.doc, "gone", one.number, note=note)
    chosen = [_at_home(each.whole, one, corpus) or each.parts for each in found]
    holders = [list(dict.fromkeys(part.id for part in parts)) for parts in chosen]
    common = [
        key for key in holders[0] if all(key in others for others in holders) and all(each.whole for each in found)
    ]
    if common:
        return _whole(one, [part for parts in chosen for part in parts if part.id in common], common, corpus)
    sure = all(len({part.evidence for part in parts}) == len(parts) for parts in chosen)
    places = tuple(_span(part, corpus) for parts in chosen for part in parts)
    note = "" if sure else "parts of it stand in several places"
    return AnchoredLabel(one.sample, one.doc, "split", one.number, places, note, sure)


def _narrowed(one: _Pending, found: Mapping[str, EvidenceMatch], corpus: Corpus) -> AnchoredLabel:
    """The verdict on a label, its places narrowed to those of its quotes; where its chunk is gone, theirs alone."""
    label = _settle(one, [found[text] for text in one.evidence], corpus)
    if not one.quotes:
        return label
    quoted = [found[text] for text in one.quotes]
    if label.status == "gone":
        stands = _settle(one._replace(whole=False, evidence=one.quotes), quoted, corpus)
        return label if stands.status == "gone" else replace(stands, note=stands.note or "its quotes stand")
    holders = {place.doc for place in label.places}
    parts = [part for each in quoted for part in (each.whole or each.parts) if part.id in holders]
    if not parts or not all(each.complete for each in quoted):
        return label
    return replace(label, places=tuple(_span(part, corpus) for part in parts))


def _whole(one: _Pending, parts: Sequence[Part], holders: Sequence[str], corpus: Corpus) -> AnchoredLabel:
    """The verdict where all of the evidence stands in each of some texts."""
    sizes = [len(normalize_text(corpus.texts[key]).text) for key in holders]
    grown = one.whole and min(sizes) > sum(len(normalize_text(text).text) for text in one.evidence)
    places = tuple(_span(part, corpus) for part in parts)
    several = len(parts) > len(one.evidence) if one.number is not None else len(holders) > 1
    sure = not several or _one_spot(parts, corpus)
    note = "" if sure else f"it stands in {len(parts)} places"
    return AnchoredLabel(one.sample, one.doc, "merged" if grown else "moved", one.number, places, note, sure)


def _at_home(parts: Sequence[Part], one: _Pending, corpus: Corpus) -> list[Part]:
    """Of several occurrences those in the label's own document, or at its place in the source; else all of them."""
    same = [part for part in parts if part.id == one.doc]
    if len(parts) < 2 or same:
        return same or list(parts)
    home = one.home
    near = [
        part
        for part in parts
        if home is not None
        and (spot := _spot(part, corpus)) is not None
        and spot[0] == home.doc
        and _overlap(spot[1], home)
    ]
    return near or list(parts)


def _overlap(stretch: TextRange, home: Span) -> bool:
    return home.start is not None and home.end is not None and stretch.start < home.end and home.start < stretch.end


def _one_spot(parts: Sequence[Part], corpus: Corpus) -> bool:
    """Whether occurrences in several chunks are the same characters of the same source: chunks that overlap."""
    spots = {(part.evidence, _spot(part, corpus)) for part in parts}
    return all(spot is not None for _, spot in spots) and len(spots) == len({part.evidence for part in parts})


def _spot(part: Part, corpus: Corpus) -> tuple[str, TextRange] | None:
    place = corpus.places.get(part.id)
    if place is None or place.start is None or place.end is None:
        return None
    shift = place.start - (len(corpus.texts[part.id]) - (place.end - place.start))
    return place.doc, TextRange(part.place.start + shift, part.place.end + shift)


def _span(part: Part, corpus: Corpus) -> Span:
    text = corpus.texts[part.id][part.place.start : part.place.end]
    return Span(part.id, part.place.start, part.place.end, text)


def _merged_together(labels: Sequence[AnchoredLabel]) -> list[AnchoredLabel]:
    """Evidence of several texts of then that moved into one text of now was merged there."""
    came: dict[str, set[str]] = defaultdict(set)
    for label in labels:
        if label.status == "moved" and label.sure:
            for place in label.places:
                came[place.doc].add(label.doc)
    return [replace(label, status="merged") if _has_company(label, came) else label for label in labels]


def _has_company(label: AnchoredLabel, came: Mapping[str, set[str]]) -> bool:
    if label.status != "moved" or not label.sure:
        return False
    return any(len(came[place.doc] - {place.doc}) > 1 for place in label.places)


def counts(labels: Iterable[AnchoredLabel]) -> dict[Status, int]:
    """How many labels have each status."""
    found = [label.status for label in labels]
    return {status: found.count(status) for status in STATUSES}


def repaired(samples: Sequence[Sample], labels: Sequence[AnchoredLabel]) -> tuple[list[Sample], list[AnchoredLabel]]:
    """The samples with every label that is certain re-anchored, and the labels that were left as they are.

    An id becomes the ids of the texts that hold its evidence, or parts of it, with its grade (the highest, where
    several fall together); a span becomes the spans where its text stands now.
    """
    by_sample: dict[str, list[AnchoredLabel]] = defaultdict(list)
    for label in labels:
        by_sample[label.sample].append(label)
    left = [label for label in labels if label.status == "gone" or not label.sure]
    return [_repaired(sample, by_sample[sample.id]) for sample in samples], left


def _repaired(sample: Sample, labels: Sequence[AnchoredLabel]) -> Sample:
    moves = {(label.doc, label.number): label.places for label in labels if label.status != "valid" and label.sure}
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


def summary(labels: Sequence[AnchoredLabel], *, most: int = 5) -> list[str]:
    """Counts, and the first examples of what is no longer valid."""
    told = counts(labels)
    ids = sum(label.number is None for label in labels)
    counted = f"{pluralize(ids, 'id')} and {pluralize(len(labels) - ids, 'span')}"
    lines = [f"{counted}: " + ", ".join(f"{n} {status}" for status, n in told.items())]
    for status in STATUSES[1:]:
        some = [label for label in labels if label.status == status]
        lines += [f"  {label}" for label in some[:most]]
        if len(some) > most:
            lines.append(f"  … and {len(some) - most} more {status}")
    unknown = sum(label.note.startswith("taken at its word") for label in labels)
    if unknown:
        taken = pluralize(unknown, "is taken at its word: its text", "are taken at their word: their text")
        lines.append(f"  {taken} is not known (give the corpus of then: --old-corpus)")
    return lines
