"""Samples of every shape, for the tests of files."""

from __future__ import annotations

from hypothesis import strategies as st

from steelyard.core.records import Sample, Span

TRICKY = ("", " ", "'", "''", "=1+1", "'=1", "-5", "@a", "[", '["a"]', "'[", "{}", "null", "NaN", "a,b;c\td", 'x "y"')
LINES = ("\r\n", "\r", "\x00", "\x85", "\ufeff", "\u2028", "0042", "['a', 'b']", "a | b", "| a |\n| --- |", "😀", "\\")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from((*TRICKY, *LINES))
ids = texts.filter(bool)
numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
offsets = st.integers(0, 10**6)
spans = st.builds(Span, doc=texts, start=offsets, end=offsets) | st.builds(Span, doc=texts, text=texts)
samples = st.builds(
    Sample,
    id=ids,
    user_input=st.none() | texts,
    response=st.none() | texts,
    retrieved_contexts=st.none() | st.lists(texts, max_size=3),
    reference=st.none() | texts | st.lists(texts, max_size=3),
    reference_contexts=st.none() | st.lists(texts, max_size=3),
    retrieved_ids=st.none() | st.lists(texts, max_size=3),
    relevance=st.none() | st.dictionaries(texts, numbers, max_size=3),
    relevant_spans=st.none() | st.lists(spans, max_size=2),
    tags=st.dictionaries(texts, texts, max_size=3),
    metadata=st.dictionaries(texts | st.sampled_from(("assert", "steelyard", "description")), json_values, max_size=3),
)
sets = st.lists(samples, max_size=4, unique_by=lambda sample: sample.id)
