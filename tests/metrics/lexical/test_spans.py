"""Span measures: worked by hand, placed by offsets, by sources and by quotes, and their laws."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from steelyard import InputError, get_metric
from steelyard.core.records import Sample, Span, Undefined
from steelyard.metrics.lexical.spans import span_full, span_iou, span_precision, span_recall
from steelyard.text.find_passage import TextRange, find_passage, normalize_text, shared_range

SOURCE = (
    "The mill was built in 1784 on the river Wye. It ground barley for two centuries. "
    "A flood in 1947 broke the wheel, which was never mended. Today the building is a library."
)
FLOOD = "A flood in 1947 broke the wheel, which was never mended."
MEASURES = (span_recall, span_precision, span_iou, span_full)


def sample(spans: list[Span], chunks: list[str], **metadata: Any) -> Sample:
    return Sample(id="1", relevant_spans=spans, retrieved_contexts=chunks, metadata=metadata)


def offsets(*chunks: tuple[int, int], doc: str = "d") -> dict[str, Any]:
    return {"retrieved_spans": [{"doc": doc, "start": start, "end": end} for start, end in chunks]}


def values(one: Sample, k: int | None = None) -> list[float]:
    return [measure(one, k=k).value for measure in MEASURES]


def test_by_hand() -> None:
    """Evidence 10-20 and 30-40; chunks 0-15 and 10-35, which overlap: 35 characters retrieved, 15 of 20 covered."""
    one = sample([Span("d", 10, 20), Span("d", 30, 40)], ["x", "y"], **offsets((0, 15), (10, 35)))

    assert values(one) == [15 / 20, 15 / 35, 15 / 40, 0.0]
    assert values(one, k=1) == [5 / 20, 5 / 15, 5 / 30, 0.0]
    assert span_recall(one).parts == (15, 20)
    assert span_recall(one).evidence == {"relevant": 20, "retrieved": 35, "covered": 15, "chunks": 2, "unplaced": 0}


def test_full_cover() -> None:
    """Two chunks that meet cover a span wholly; a chunk of another document covers nothing."""
    assert values(sample([Span("d", 10, 20)], ["x", "y"], **offsets((0, 15), (15, 20)))) == [1.0, 0.5, 0.5, 1.0]
    assert values(sample([Span("d", 10, 20)], ["x"], **offsets((10, 20), doc="e"))) == [0.0] * 4


def test_overlapping_spans_count_once() -> None:
    """Evidence 0-10 and 5-15 is 15 characters."""
    assert span_recall(sample([Span("d", 0, 10), Span("d", 5, 15)], ["x"], **offsets((0, 15)))).parts == (15, 15)


@pytest.mark.parametrize("size", [30, 47, 80, 500])
def test_placed_by_text_in_the_source(size: int) -> None:
    """Whatever the chunking, all chunks together cover the evidence, and retrieve the source once."""
    chunks = [SOURCE[at : at + size] for at in range(0, len(SOURCE), size)]
    one = sample([Span("d", text=FLOOD)], chunks, sources={"d": SOURCE})

    recall, precision, _, full = values(one)
    assert (recall, full) == (1.0, 1.0)
    assert precision == pytest.approx(len(FLOOD) / len(SOURCE), rel=0.02)  # a blank may fall between two chunks


def test_placed_although_text_differs_a_little() -> None:
    """White space, composition and a word or two do not matter."""
    wrapped = FLOOD.replace(" ", "\n  ")
    altered = FLOOD.replace("which", "that")
    for chunk in (wrapped, altered):
        recall, precision, _, _ = values(sample([Span("d", text=FLOOD)], [chunk], sources={"d": SOURCE}))
        assert recall > 0.95
        assert precision > 0.95


def test_chunks_that_cannot_be_placed_are_counted() -> None:
    """They are retrieved text, but no evidence; the same text twice counts once."""
    stranger = "Bees keep their hive warm."
    one = sample([Span("d", text=FLOOD)], [FLOOD, stranger, stranger], sources={"d": SOURCE})

    assert span_precision(one).parts == (len(FLOOD), len(FLOOD) + len(stranger))
    assert span_precision(one).evidence["unplaced"] == 2
    assert span_recall(one).value == 1.0


def test_without_sources_the_quote_is_the_source() -> None:
    """A chunk may hold the quote, lie in it, or end in its beginning."""
    held = sample([Span("d", text=FLOOD)], [SOURCE])
    assert span_recall(held).value == span_full(held).value == 1.0
    assert span_precision(held).parts == (len(FLOOD), len(SOURCE))
    within = sample([Span("d", text=FLOOD)], [FLOOD[8:40]])
    assert values(within) == [32 / len(FLOOD), 1.0, 32 / len(FLOOD), 0.0]
    edge = sample([Span("d", text=FLOOD)], ["Barley. " + FLOOD[:30], FLOOD[30:] + " Today."])
    assert span_full(edge).value == 1.0


def test_two_quotes_in_one_chunk_count_its_text_once() -> None:
    """Retrieved text is as long as the chunk."""
    one = sample([Span("d", text="built in 1784"), Span("d", text=FLOOD)], [SOURCE])

    assert span_precision(one).parts == (len(FLOOD) + 13, len(SOURCE))


def test_the_document_named_with_a_chunk_is_searched_first() -> None:
    """A boilerplate sentence stands in two documents; the chunk says whose it is."""
    sources = {"a": "Same words. Other.", "b": "Same words. Different."}
    spans = [Span("b", text="Same words.")]

    assert span_recall(sample(spans, ["Same words."], sources=sources)).value == 0.0
    named = sample(spans, ["Same words."], sources=sources, retrieved_spans=[{"doc": "b"}])
    assert span_recall(named).value == 1.0


def test_edges() -> None:
    """No chunks: 0. No evidence, or nothing to place chunks by: undefined. Senseless data: an error with its place."""
    assert values(sample([Span("d", 0, 5)], [])) == [0.0] * 4
    for measure in MEASURES:
        assert isinstance(measure(sample([], ["x"])), Undefined)
        assert isinstance(measure(sample([Span("d", 5, 5)], ["x"])), Undefined)
        assert isinstance(measure(sample([Span("d", 0, 5)], ["x"])), Undefined)
    with pytest.raises(InputError, match="neither start and end nor text"):
        span_recall(sample([Span("d")], ["x"]))
    with pytest.raises(InputError, match="0 <= start <= end"):
        span_recall(sample([Span("d", 5, 2)], ["x"]))
    with pytest.raises(InputError, match=r"metadata\.retrieved_spans"):
        span_recall(sample([Span("d", 0, 5)], ["x"], retrieved_spans=[{"doc": 3}]))


STRETCH = st.tuples(st.integers(0, 40), st.integers(1, 20)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(st.lists(STRETCH, min_size=1, max_size=4), st.lists(STRETCH, max_size=5), st.randoms())
def test_equal_to_sets_of_characters(spans: list[tuple[int, int]], chunks: list[tuple[int, int]], random) -> None:
    """The sums over stretches equal those over sets of characters, in any order of chunks."""
    relevant = {at for start, end in spans for at in range(start, end)}
    retrieved = {at for start, end in chunks for at in range(start, end)}
    covered = len(relevant & retrieved)
    shuffled = chunks[:]
    random.shuffle(shuffled)
    one = sample([Span("d", *span) for span in spans], ["x"] * len(chunks), **offsets(*shuffled))

    assert values(one) == [
        covered / len(relevant),
        covered / len(retrieved) if retrieved else 0.0,
        covered / len(relevant | retrieved),
        float(relevant <= retrieved),
    ]


def test_places() -> None:
    """Places are those of the original text, whatever was composed or collapsed on the way."""
    text = "  Cafe\u0301   noir,\n\nplease "
    flat = normalize_text(text)

    assert flat.text == "Café noir, please"
    assert text[slice(*flat.original(TextRange(5, 9)))] == "noir"
    assert find_passage("Café noir", text) == TextRange(2, 14)
    assert find_passage("tea", text) is None
    assert find_passage("", text) is None
    assert shared_range("nothing in common here", "words of quite another kind") is None
    quote = "what comes first, those are the last words"
    assert shared_range("those are the last words and quite some more of it", quote) == TextRange(18, 42)


def test_names() -> None:
    """The cut-off is part of the name."""
    assert str(get_metric("span_recall@5")) == "span_recall@5"
