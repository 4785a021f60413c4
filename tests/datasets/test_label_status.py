"""Labels that outlive the chunker: verdicts against a key made by hand, repair, and figures before and after."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from steelyard.core.records import Sample, Span
from steelyard.datasets.corpus import Corpus
from steelyard.datasets.label_status import (
    LabelCheck,
    check_labels,
    count_statuses,
    repair_labels,
    summarize,
    text_digest,
)
from steelyard.datasets.locate_evidence import find_evidence, occurrences
from steelyard.text.find_passage import normalize_text

TOWER = "The tower was built of granite. It stands on a reef far out in the sea. Waves go over it in winter."
LENS = "The lens was made in Paris by Fresnel. It turns on mercury. One man can turn it."
LAMP = "The lamp burns oil of colza. Keepers trim it. It was lit in the year 1811 for the first time."

WAS = Corpus(
    "was",
    {
        "t1": "The tower was built of granite. It stands on a reef",
        "t2": "far out in the sea. Waves go over it in winter.",
        "l1": "The lens was made in Paris by Fresnel.",
        "l2": "It turns on mercury. One man can turn it.",
        "k1": "The lamp burns oil of colza. Keepers trim it.",
        "k2": "It was lit in the year 1811 for the first time.",
    },
)
NOW = Corpus(
    "now",
    {
        "t1": "The tower was built of granite.",  # t1 and t2 are cut anew, into three
        "t3": "It stands on a reef far out in the sea.",
        "t4": "Waves go over it in winter.",
        "l9": LENS,  # l1 and l2 are one now
        "k1": "The lamp burns oil of colza. Keepers trim it.",  # as it was
        "k7": "It was lit in the  year 1811 for the first time.",  # renamed, with another blank
    },
)
KEY = {"t1": "split", "t2": "split", "l1": "merged", "l2": "merged", "k1": "valid", "k2": "moved", "g1": "gone"}


def sample(id: str = "s", **given: object) -> Sample:  # noqa: A002
    return Sample(id=id, user_input="q", **given)  # type: ignore[arg-type]


def test_every_id_as_the_key_says() -> None:
    """Valid, moved, merged, split and gone, as a person would say."""
    labels = check_labels([sample(relevance=dict.fromkeys(KEY, 1.0))], NOW, WAS)
    assert {label.doc: label.status for label in labels} == KEY
    places = {label.doc: [place.doc for place in label.places] for label in labels}
    assert places == {
        "t1": ["t1", "t3"],
        "t2": ["t3", "t4"],
        "l1": ["l9"],
        "l2": ["l9"],
        "k1": [],
        "k2": ["k7"],
        "g1": [],
    }
    assert count_statuses(labels) == {"valid": 1, "moved": 1, "merged": 2, "split": 2, "gone": 1}


def test_repair_of_ids() -> None:
    """Ids become those that hold their evidence, with the highest grade where several fall together."""
    given = sample(relevance={"t1": 2.0, "t2": 1.0, "l1": 0.0, "l2": 1.0, "k1": 3.0, "k2": 1.0, "g1": 1.0})
    (now,), left = repair_labels([given], check_labels([given], NOW, WAS))
    assert now.relevance == {"t1": 2.0, "t3": 2.0, "t4": 1.0, "l9": 1.0, "k1": 3.0, "k7": 1.0, "g1": 1.0}
    assert [label.doc for label in left] == ["g1"]
    again = check_labels([now], NOW)
    assert count_statuses(again) == {"valid": 6, "moved": 0, "merged": 0, "split": 0, "gone": 1}


DOCS = Corpus("docs", {"tower": TOWER, "lens": LENS, "lamp": LAMP})


@pytest.mark.parametrize(
    ("span", "status", "places"),
    [
        (Span("tower", 4, 9), "valid", []),  # offsets alone: taken at their word
        (Span("tower", 4, 9, "tower"), "valid", []),
        (Span("tower", 4, 9, digest=text_digest("tower")), "valid", []),
        (Span("tower", text="built of  granite"), "valid", []),
        (Span("tower", 5, 21, "built of granite"), "moved", [("tower", 14, 30)]),
        (Span("tower", 5, 21, digest=text_digest("built of granite")), "moved", [("tower", 14, 30)]),
        (Span("old", 0, 38, "The lens was made in Paris by Fresnel."), "moved", [("lens", 0, 38)]),
        (Span("old", text="by Fresnel"), "moved", [("lens", 27, 37)]),
        (Span("tower", 4, 9, "spire"), "gone", []),
        (Span("old", 4, 9), "gone", []),
        (Span("tower", 400, 409), "gone", []),
        (Span("old", 4, 9, digest=text_digest("tower")), "gone", []),
    ],
)
def test_every_span_as_the_key_says(span: Span, status: str, places: list[tuple[str, int, int]]) -> None:
    """Offsets, digests and quotes; moved within a document or to another; gone."""
    (label,) = check_labels([sample(relevant_spans=[span])], DOCS)
    assert (status, places) == (label.status, [(place.doc, place.start, place.end) for place in label.places])


def test_spans_of_a_source_survive_its_chunking() -> None:
    """A corpus of chunks that know their places in the source: spans in the source stay valid, over borders too."""
    places = {"a": Span("tower", 0, 31), "b": Span("tower", 32, 71), "c": Span("tower", 72, 99)}
    chunks = Corpus("chunks", {key: TOWER[place.start : place.end] for key, place in places.items()}, places)
    spans = [
        Span("tower", 14, 49, TOWER[14:49]),
        Span("tower", 0, 5, "A ste"),
        Span("tower", 90, 120, "winter and more"),
    ]
    assert [one.status for one in check_labels([sample(relevant_spans=spans)], chunks)] == ["valid", "gone", "gone"]


def test_a_split_span_becomes_several() -> None:
    """A span over a border of chunks becomes a span in each."""
    chunks = Corpus("chunks", {"c1": TOWER[:53], "c2": TOWER[53:], "c3": LENS})
    given = sample(relevant_spans=[Span("tower", 32, 71, "It stands on a reef far out in the sea.", text_digest("?"))])
    (label,) = labels = check_labels([given], chunks)
    assert label.status == "split"
    (now,), left = repair_labels([given], labels)
    assert [(span.doc, span.text) for span in now.relevant_spans or ()] == [
        ("c1", "It stands on a reef f"),
        ("c2", "ar out in the sea."),
    ]
    assert left == []
    assert all(span.digest == text_digest(span.text or "") for span in now.relevant_spans or ())


@pytest.mark.parametrize(
    ("span", "now", "status", "docs"),
    [
        # The chunk is split; the quote stands in one of its parts, the other is no longer relevant.
        (Span("t1", text="built of granite"), NOW, "split", ["t1"]),
        (Span("tower", 35, 50), NOW, "split", ["t3"]),
        # The span reaches beyond the chunk: what the chunk held of it counts.
        (Span("tower", 20, 60), NOW, "split", ["t1", "t3"]),
        # Nothing is known of the quote in this chunk: all of the chunk counts.
        (Span("tower", 60, 70), NOW, "split", ["t1", "t3"]),
        # The chunk was rewritten, its quote was not.
        (Span("t1", text="built of granite"), Corpus("n", {"n1": "It was built of granite, long ago."}), "moved", ["n1"]),
        (Span("t1", text="built of granite"), Corpus("n", {"n1": "It was built of marble, long ago."}), "gone", []),
    ],
)  # fmt: skip
def test_quotes_tell_which_part_of_a_chunk_is_meant(span: Span, now: Corpus, status: str, docs: list[str]) -> None:
    """What became of a chunk is told by its text, which texts of now are relevant by what was quoted from it."""
    was = Corpus("was", WAS.texts, {"t1": Span("tower", 0, len(WAS.texts["t1"]))})
    given = sample(relevance={"t1": 1.0}, relevant_spans=[span])
    labels = check_labels([given], now, was)
    assert (labels[0].status, list(dict.fromkeys(place.doc for place in labels[0].places))) == (status, docs)
    mended, _ = repair_labels([given], labels)
    assert list(mended[0].relevance or {}) == (docs or ["t1"])


def test_nothing_is_guessed() -> None:
    """Evidence that stands in several documents is left alone, unless its place in the source tells which is meant."""
    twice = {"a": "Header of all pages. One.", "b": "Header of all pages. Two."}
    was = Corpus("was", {"h": "Header of all pages."})
    given = sample(relevance={"h": 1.0})
    (label,) = labels = check_labels([given], Corpus("now", twice), was)
    assert (label.status, label.certain, label.note) == ("merged", False, "found in 2 places")
    assert ([given], labels) == repair_labels([given], labels)
    placed = Corpus("now", twice, {"a": Span("p1", 0, 25), "b": Span("p2", 0, 25)})
    known = Corpus("was", was.texts, {"h": Span("p2", 0, 20)})
    (label,) = check_labels([given], placed, known)
    assert ([place.doc for place in label.places], label.certain) == (["b"], True)


def test_overlapping_chunks_hold_evidence_together() -> None:
    """Evidence in the overlap of two chunks of one source stands in both, and that is certain."""
    places = {"c1": Span("tower", 0, 71), "c2": Span("tower", 32, 99)}
    chunks = Corpus("now", {key: TOWER[place.start : place.end] for key, place in places.items()}, places)
    was = Corpus("was", {"m": TOWER[32:71]}, {"m": Span("tower", 32, 71)})
    (label,) = check_labels([sample(relevance={"m": 1.0})], chunks, was)
    assert (label.status, [place.doc for place in label.places], label.certain) == ("merged", ["c1", "c2"], True)


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"relevance": {"l1": 1}}, "gone"),
        ({"relevance": {"k1": 1}}, "valid"),
        ({"relevance": {"l1": 1}, "reference_contexts": ["The lens was made in Paris by Fresnel."]}, "merged"),
        ({"relevance": {"l1": 1}, "relevant_spans": [Span("l1", text="made in Paris")]}, "moved"),
        ({"relevance": {"l1": 1, "x": 1}, "reference_contexts": ["The lens was made in Paris by Fresnel."]}, "gone"),
        ({"relevance": {"l1": 1, "x": 0}, "reference_contexts": ["The lens was made in Paris by Fresnel."]}, "merged"),
    ],
)
def test_evidence_without_the_corpus_of_then(given: dict[str, object], status: str) -> None:
    """The quotes of spans, or the only reference context of the only relevant id, say what an id meant; nothing else."""
    assert status == check_labels([sample(**given)], NOW)[0].status


def test_texts_of_several_labels_in_one_are_merged() -> None:
    """Spans of two documents that stand in one document now were merged there."""
    spans = [Span("lens-1", text="made in Paris"), Span("lens-2", text="turns on mercury")]
    assert [one.status for one in check_labels([sample(relevant_spans=spans)], DOCS)] == ["merged", "merged"]


def test_the_summary_names_examples() -> None:
    """Counts, examples, and a hint where texts are unknown."""
    lines = summarize(check_labels([sample(relevance=dict.fromkeys(KEY, 1.0))], NOW, WAS), most=1)
    assert lines[0] == "7 ids and 0 spans: 1 valid, 1 moved, 2 merged, 2 split, 1 gone"
    assert lines[1] == "  s: k2: moved → k7"
    assert "  … and 1 more split" in lines
    assert any("--old-corpus" in line for line in summarize(check_labels([sample(relevance={"k1": 1})], NOW)))
    assert (
        str(LabelCheck("s", "d", "gone", 0, note="its text is not in the corpus"))
        == "s: span 1 in d: gone (its text is not in the corpus)"
    )


@given(st.text(alphabet="ab c\n", min_size=1, max_size=120), st.integers(1, 60), st.data())
def test_what_stands_in_a_text_is_found(text: str, size: int, data: st.DataObject) -> None:
    """Any stretch of any text is found whole where it is, and over the pieces where the text is cut in two."""
    start = data.draw(st.integers(0, max(0, len(text) - 1)))
    evidence = text[start : start + size]
    if not evidence.strip():
        return
    whole = find_evidence([evidence], {"other": "xyz", "text": text})[evidence]
    assert whole.whole
    for part in whole.whole:
        assert normalize_text(evidence).text == normalize_text(text[part.place.start : part.place.end]).text
    assert all(
        normalize_text(evidence).text == normalize_text(text[one.start : one.end]).text
        for one in occurrences(evidence, text)
    )


@given(
    st.lists(st.sampled_from(["lamp", "tower", "reef", "keeper", "oil", "lens", "granite"]), min_size=12, max_size=40),
    st.data(),
)
def test_evidence_over_a_border_is_found_in_pieces(words: list[str], data: st.DataObject) -> None:
    """Whatever the cut, evidence that the two pieces hold together is complete, and its parts are what they say."""
    text = " ".join(f"{word}{number}" for number, word in enumerate(words))
    cut = data.draw(st.integers(1, len(text) - 1))
    if not (text[:cut].strip() and text[cut:].strip()):
        return
    texts = {"a": text[:cut], "b": text[cut:]}
    found = find_evidence([text], texts)[text]
    assert (found.complete, found.whole) == (True, [])
    flat = normalize_text(text).text
    for part in found.parts:
        now = normalize_text(texts[part.id][part.place.start : part.place.end]).text
        assert now == flat[part.evidence.start : part.evidence.end].strip()
