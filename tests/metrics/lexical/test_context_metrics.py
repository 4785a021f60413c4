"""context_recall, context_precision, non_empty_rate: worked by hand, and their laws."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from steelyard import get_metric
from steelyard.core.records import Sample, Undefined
from steelyard.metrics.lexical import context_metrics, token_overlap

CONTEXTS = st.lists(st.text(alphabet="ab cdé漢 ", max_size=12), max_size=5)
REFERENCE = st.text(alphabet="ab cdé漢 ", max_size=12)


def test_by_hand() -> None:
    """Of paris, france, seine two are found; two of three contexts hold one."""
    contexts = ["The capital is Paris.", "Rome is old.", "Along the Seine"]

    assert token_overlap.context_recall("Paris France: the Seine, Paris", contexts) == pytest.approx(2 / 3)
    assert token_overlap.context_precision("Paris France: the Seine, Paris", contexts) == pytest.approx(2 / 3)


def test_edges() -> None:
    """No contexts, or a reference without tokens: 0."""
    assert token_overlap.context_recall("Paris", []) == token_overlap.context_precision("Paris", []) == 0.0
    assert token_overlap.context_recall("the", ["Paris"]) == token_overlap.context_precision("!", ["Paris"]) == 0.0


def test_several_references() -> None:
    """The best of them counts."""
    assert token_overlap.context_recall(["Rome", "Paris, France"], ["Paris"]) == 0.5
    assert token_overlap.context_recall(["Rome", "Paris, France"], ["Paris"], aggregation="worst") == 0.0
    assert token_overlap.context_precision(["Rome", "Paris"], ["Paris", "Berlin"]) == 0.5


@given(REFERENCE, CONTEXTS, st.randoms())
def test_laws(reference: str, contexts: list[str], random) -> None:
    """Values lie in [0, 1] and do not depend on the order of contexts; one context more never lowers recall."""
    shuffled = contexts[:]
    random.shuffle(shuffled)
    for measure in (token_overlap.context_recall, token_overlap.context_precision):
        assert 0.0 <= measure(reference, contexts) == measure(reference, shuffled) <= 1.0
    assert token_overlap.context_recall(reference, contexts) <= token_overlap.context_recall(
        reference, [*contexts, reference]
    )


def test_metrics_take_samples() -> None:
    """Empty contexts are a bad retrieval and score 0; a list of no references leaves nothing to measure."""
    sample = Sample(id="1", reference="Paris, France", retrieved_contexts=["Paris", "Rome"])
    empty = Sample(id="2", reference="Paris", retrieved_contexts=[])

    assert context_metrics.context_recall(sample) == context_metrics.context_precision(sample) == 0.5
    assert context_metrics.context_recall(empty) == context_metrics.context_precision(empty) == 0.0
    assert isinstance(context_metrics.context_recall(Sample(id="3", reference=[], retrieved_contexts=[])), Undefined)
    assert get_metric("lexical.context_recall").way == "lexical"


@pytest.mark.parametrize(("contexts", "expected"), [([], 0.0), ([" ", ""], 0.0), (["", "x"], 1.0)])
def test_non_empty_rate(contexts: list[str], expected: float) -> None:
    """One context that is not blank is enough."""
    assert context_metrics.non_empty_rate(Sample(id="1", retrieved_contexts=contexts)) == expected
