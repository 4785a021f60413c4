"""What passages say about a response, and what speaks against it."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, strategies as st

from steelyard.core.records import Sample
from steelyard.metrics.lexical.fitted_metrics import faithfulness
from steelyard.metrics.lexical.support_features import pooled, relevance, support

SOURCE = (
    "Ada Lovelace (born 1815) was an English mathematician. In 1843 she published notes on the Analytical Engine of"
    " Charles Babbage. The notes contain 7 sections and weigh 3 kg. Prices increased after the war."
)


def value(response: str, *contexts: str) -> float:
    """The faithfulness of a response."""
    return faithfulness(Sample(response=response, retrieved_contexts=list(contexts or (SOURCE,)))).value


def flags(response: str) -> list[tuple[str, str]]:
    """The flags of all sentences: kind and text."""
    return [(flag.kind, flag.text) for one in support(response, [SOURCE]) for flag in one.flags]


@pytest.mark.parametrize(
    ("supported", "altered"),
    [
        ("Ada Lovelace was born in 1815.", "Ada Lovelace was born in 1816."),
        ("The notes contain 7 sections.", "The notes contain 9 sections."),
        ("The notes weigh 3 kg.", "The notes weigh 3 miles."),
        ("Lovelace published notes on the engine of Babbage.", "Lovelace published notes on the engine of Turing."),
        ("She published notes on the Analytical Engine.", "She never published notes on the Analytical Engine."),
        ("Prices increased after the war.", "Prices decreased after the war."),
        ("Prices increased after the war.", "Prices increased before the war."),
        ("Charles Babbage built the Analytical Engine.", "The Analytical Engine built Babbage Babbage."),
    ],
)
def test_an_altered_fact_scores_lower(supported: str, altered: str) -> None:
    """A swapped number, unit or name, a negation, an opposite, a relation turned around."""
    assert value(altered) < value(supported) - 0.01


@pytest.mark.parametrize(
    ("response", "flag"),
    [
        ("Ada Lovelace was born in 1816.", ("date", "1816")),
        ("The notes contain 9 sections.", ("number", "9")),
        ("The notes weigh 3 miles.", ("unit", "3 miles")),
        ("They were written by Alan Turing.", ("name", "Turing")),
        ("She never published notes.", ("negation", "never")),
        ("She didn't publish notes.", ("negation", "t")),
        ("Prices decreased after the war.", ("opposite", "decreased")),
        ("Prices increased before the war.", ("opposite", "before")),
    ],
)
def test_flags_name_what_is_wrong(response: str, flag: tuple[str, str]) -> None:
    """Each kind of mismatch is flagged at its words."""
    assert flag in flags(response)


def test_flags_say_what_stands_instead() -> None:
    """A date that is not in the passages, and the one that is."""
    (one,) = support("Ada Lovelace was born in 1816.", [SOURCE])
    (flag,) = one.flags
    assert (flag.instead, SOURCE.count(flag.instead)) == ("1815", 1)


def test_a_supported_response_has_no_flags() -> None:
    """What the passage says is not flagged, in other words either."""
    assert flags("In 1843 Ada Lovelace, who was English, published notes about the Analytical Engine.") == []


def test_aligned_spans_are_places_in_both_texts() -> None:
    """Offsets point at equal words in the response and in the passage they name."""
    response = "It rained. Babbage made the Analytical Engine."
    contexts = ["Nothing here.", SOURCE]
    pairs = [pair for one in support(response, contexts) for pair in one.aligned]
    texts = {(response[p.start : p.end], contexts[p.passage - 1][p.passage_start : p.passage_end]) for p in pairs}
    assert texts == {("Babbage", "Babbage"), ("the Analytical Engine", "the Analytical Engine")}


def test_evidence_is_plain_json() -> None:
    """Evidence has sentences with support, flags, spans and normalised forms, and survives JSON."""
    evidence = faithfulness(Sample(response="Ada was born in 1816.", retrieved_contexts=[SOURCE])).evidence
    assert json.loads(msgspec.json.encode(evidence)) == evidence
    (sentence,) = evidence["sentences"]
    assert sentence["normalised"] == "ada was born in 1816"
    assert sentence["flags"][0]["text"] == "1816"
    assert 0 < sentence["support"] < 1


def test_weakest_sentence_counts() -> None:
    """One unsupported sentence beside a supported one lowers the value."""
    good = "Ada Lovelace was an English mathematician."
    assert value(f"{good} The Moon is made of cheddar.") < value(good) - 0.1


def test_edges() -> None:
    """No passages, blank passages, a blank response: 0; verbatim: 1; nothing found: 0."""
    assert faithfulness(Sample(response="Ada.", retrieved_contexts=[])).value == 0.0
    assert value("Ada.", " ") == value("", SOURCE) == value("?!", SOURCE) == 0.0
    assert value("In 1843 she published notes on the Analytical Engine of Charles Babbage.") == 1.0
    assert value("Bananas ripen quickly.") == 0.0


def test_windows_do_not_cross_passages() -> None:
    """Words of one sentence, scattered over passages, support less than the same words side by side."""
    parts = ["Lisbon.", "earthquake", "1755", "destroyed"]
    assert value("An earthquake destroyed Lisbon in 1755.", *parts) < value(
        "An earthquake destroyed Lisbon in 1755.", "Lisbon was destroyed by the earthquake of 1755."
    )


def test_relevance_counts() -> None:
    """A passage about the question has more of everything; without words there are no counts."""
    question = "When was Ada Lovelace born?"
    near, far = relevance(question, SOURCE), relevance(question, "Bananas ripen quickly.")
    assert near is not None
    assert far is not None
    assert near["whole"] > 0.7 > far["whole"] == 0.0
    assert relevance("?", SOURCE) is relevance(question, "…") is None


@given(st.text(max_size=60), st.lists(st.text(max_size=80), max_size=3))
def test_any_text_has_counts_in_range(response: str, contexts: list[str]) -> None:
    """No text breaks it: shares stay in [0, 1], offsets in their texts."""
    found = support(response, contexts)
    counts = pooled(found)
    for name in ("near", "wide", "frequent", "bound", "copied", "covered", "last"):
        assert 0.0 <= counts[name] <= 1.0
    for one in found:
        for pair in one.aligned:
            assert 0 <= pair.start < pair.end <= len(response)
            assert 0 <= pair.passage_start < pair.passage_end <= len(contexts[pair.passage - 1])
    assert 0.0 <= faithfulness(Sample(response=response, retrieved_contexts=contexts)).value <= 1.0
