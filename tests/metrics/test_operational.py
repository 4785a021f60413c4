"""Operational measures, vectors, languages."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from steelyard import evaluate_rag
from steelyard.core.errors import BadReply, InputError
from steelyard.core.records import Sample, Undefined
from steelyard.metrics.lookup import get_metric
from steelyard.metrics.operational import answered, cost, seconds, tokens
from steelyard.stats.cosine import cosine
from steelyard.text.language import language, languages_differ


def test_operations_are_read_from_metadata() -> None:
    """Under the names that systems write, beside or inside a usage block."""
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 16, "cost": 0.25}
    assert seconds(Sample(metadata={"seconds": 2})).value == 2.0
    assert seconds(Sample(metadata={"latency": 0.5})).value == 0.5
    assert tokens(Sample(metadata={"usage": usage})).value == 16.0
    assert tokens(Sample(metadata={"input_tokens": 3, "output_tokens": 4})).value == 7.0
    assert cost(Sample(metadata={"usage": usage, "cost": 0.5})).value == 0.5
    assert [answered(Sample(response=text)) for text in ("a", "", None)] == [1.0, 0.0, 0.0]
    for rule in (seconds, tokens, cost):
        assert isinstance(rule(Sample()), Undefined)


@pytest.mark.parametrize("bad", [-1, "fast", True, math.nan, math.inf])
def test_what_is_no_measure_is_an_error(bad: object) -> None:
    """A negative or unreadable number is never averaged."""
    with pytest.raises(InputError, match=r"metadata\.seconds"):
        seconds(Sample(metadata={"seconds": bad}))


def test_operations_have_no_upper_bound() -> None:
    """Seconds are no share: lower is better, and nothing is bounded by 1."""
    for name in ("seconds", "tokens", "cost"):
        metric = get_metric(name)
        assert (metric.bounds, metric.higher_is_better) == (None, False)
    assert get_metric("answered").bounds == (0.0, 1.0)


numbers = st.floats(-1e6, 1e6)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=8), st.floats(1e-3, 1e3))
def test_cosine_is_the_angle(pairs: list[tuple[float, float]], factor: float) -> None:
    """Symmetric, blind to length, within [-1, 1], 1 with itself; a zero vector has none."""
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    if not any(a) or not any(b):
        with pytest.raises(BadReply, match="zero vector"):
            cosine(a, b)
        return
    found = cosine(a, b)
    assert -1.0 <= found <= 1.0
    assert math.isclose(found, cosine(b, a), abs_tol=1e-12)
    assert math.isclose(found, cosine([x * factor for x in a], b), abs_tol=1e-9)
    assert math.isclose(cosine(a, a), 1.0)


def test_cosine_at_the_edges_of_floats() -> None:
    """Neither overflow nor underflow of squares; no silent NaN."""
    assert math.isclose(cosine([1e300, 1e300], [1e300, 0.0]), math.sqrt(0.5))
    assert cosine([1e-300], [1e-300]) == 1.0
    for bad in ([math.nan], [math.inf], [1.0, 2.0], []):
        with pytest.raises(BadReply, match="embedding"):
            cosine([1.0], bad)


def test_what_was_measured_is_called_so() -> None:
    """Seconds, tokens and cost are neither lexical nor judged; the name with its way parses back."""
    for name in ("seconds", "tokens", "cost", "answered"):
        assert get_metric(name).way == "measured"
        assert get_metric(f"measured.{name}") == get_metric(name)
    report = evaluate_rag([{"response": "a", "metadata": {"seconds": 1.5}}], metrics=["seconds"])
    assert "seconds [measured]" in str(report)


@pytest.mark.parametrize(
    ("text", "other", "expected"),
    [
        ("How long is the refund window?", "退款期限为三十天。", True),
        ("Was ist die Frist für die Rückgabe?", "The window for refunds is 30 days.", True),
        ("What is the window for refunds?", "The window for refunds is 30 days.", False),
        ("Ada Lovelace", "Wer war die Frau?", False),
        ("Quelle est la capitale de la France?", "Paris", False),
        ("42", "Сорок два", False),
        ("東京はどこですか", "東京は日本の首都です", False),
        ("東京はどこですか", "Где находится Токио?", True),
    ],
)
def test_languages_differ_only_where_it_is_plain(text: str, other: str, expected: bool) -> None:
    """Another script, or other function words; names and numbers tell nothing."""
    assert languages_differ(text, other) is languages_differ(other, text) is expected


@given(st.text(max_size=40))
def test_a_language_for_any_text(text: str) -> None:
    """No text breaks it, and no text differs from itself."""
    assert isinstance(language(text), str)
    assert not languages_differ(text, text)
