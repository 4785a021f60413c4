"""A set against its corpus: duplicates, copies, coverage, distributions."""

from __future__ import annotations

from hypothesis import given, strategies as st

from steelyard.core.records import Sample
from steelyard.datasets.check_against_corpus import check_against_corpus
from steelyard.datasets.corpus import Corpus
from steelyard.text.near_duplicates import DuplicateFilter, duplicates, grams_of, jaccard

CORPUS = Corpus(
    "c",
    {
        "d1": "The tower was built of granite by Robert Stevenson in the year 1811.",
        "d2": "The tower was built of granite by Robert Stevenson in the year 1812.",
        "d3": "FAQ. Who built the tower on the reef? It was Robert Stevenson.",
        "d4": "Nothing of note.",
    },
)
SAMPLES = [
    Sample(
        id="q1",
        user_input="Who built the tower on the reef?",
        reference="The tower was built of granite by Robert Stevenson",
        relevance={"d1": 1.0},
        tags={"type": "single"},
    ),
    Sample(id="q2", user_input="who built the tower on the reef", reference="x", tags={"type": "single"}),
    Sample(id="q3", user_input="When?", relevance={"gone": 1.0}, tags={"type": "multi"}),
]


def test_findings() -> None:
    """Each finding, with its sample and its document."""
    found = check_against_corpus(SAMPLES, CORPUS)
    assert [(one.first, one.second) for one in found.duplicate_questions] == [("q1", "q2")]
    assert [(one.first, one.second) for one in found.duplicate_documents] == [("d1", "d2")]
    assert found.questions_copied == {"q1": ["d3"], "q2": ["d3"]}
    assert found.answers_copied == {"q1": ["d2"]}
    assert [label.doc for label in found.invalid] == ["gone"]
    assert (found.covered, found.documents) == (1, 4)
    assert found.types == {"type": {"single": 2, "multi": 1}}
    assert found.lengths == {"questions": (1, 7, 7), "answers": (1, 5.0, 9)}
    text = "\n".join(found.lines())
    for words in ("1 valid", "1 gone", "1 of 4 documents", "q2 ~ q1 (1.00)", "q1 in d3", "type: 2 single, 1 multi"):
        assert words in text


def test_a_clean_set_has_short_lines() -> None:
    """Nothing found, nothing said but counts."""
    lines = check_against_corpus([Sample(id="q", user_input="Where?")], CORPUS).lines()
    assert lines[0] == "labels: none"
    assert not any("copied" in line for line in lines)


@given(st.lists(st.text(alphabet="abcd efgh", min_size=1, max_size=60), max_size=12), st.floats(0.5, 0.95))
def test_duplicates_are_the_pairs_that_are_alike(texts: list[str], least: float) -> None:
    """No pair below the limit, and every pair well above it, by comparing all with all."""
    named = {str(at): text for at, text in enumerate(texts)}
    found = {(one.first, one.second): one.similarity for one in duplicates(named, least=least)}
    plain = {key: " ".join(text.split()) for key, text in named.items() if text.split()}
    for (first, second), alike in found.items():
        assert alike >= least
        assert (alike == 1.0) == (plain[first] == plain[second]) or alike <= 1.0
    keys = list(plain)
    for at, second in enumerate(keys):
        for first in keys[:at]:
            firsts = [key for key in keys if plain[key] == plain[first]]
            if plain[first] == plain[second]:
                assert (firsts[0], second) in found
            elif jaccard(grams_of(plain[first]), grams_of(plain[second])) >= max(0.9, least):
                pairs = {(a, b) for a in firsts for b in [key for key in keys if plain[key] == plain[second]]}
                assert pairs & found.keys() or {(b, a) for a, b in pairs} & found.keys()


@given(st.lists(st.text(alphabet="ab c", max_size=30), max_size=15))
def test_one_after_the_other(texts: list[str]) -> None:
    """A text that was seen is not new, whatever its blanks."""
    seen = DuplicateFilter(least=0.8)
    for text in texts:
        seen.add(text)
        assert not seen.add(f"  {text} ")
