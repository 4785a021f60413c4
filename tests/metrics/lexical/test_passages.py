"""passage_precision and passage_recall: worked by hand, and their laws."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from steelyard import InputError, get_metric
from steelyard.core.records import Sample, Undefined, Value
from steelyard.metrics.lexical.passages import passage_precision, passage_recall, passages_match

WANTED = "The mill was built in 1784 on the river Wye."
NEARLY = "The mill was built in 1786 on the river Wye."
OTHER = "Bees keep their hive at a constant temperature."


def sample(contexts: list[str], wanted: list[str]) -> Sample:
    return Sample(id="1", retrieved_contexts=contexts, reference_contexts=wanted)


@pytest.mark.parametrize(
    ("a", "b", "match", "expected"),
    [
        (WANTED, WANTED, 1.0, True),
        (f"Intro. {WANTED} More.", WANTED, 1.0, True),
        (WANTED[:20], WANTED, 1.0, True),
        (WANTED.replace(" ", "\n  "), WANTED, 1.0, True),
        ("Cafe\u0301", "Café", 1.0, True),
        (NEARLY, WANTED, 0.9, True),
        (NEARLY, WANTED, 1.0, False),
        (OTHER, WANTED, 0.9, False),
        ("", WANTED, 0.1, False),
        ("退款期限为三十天。", "退款期限为三十天", 1.0, True),
    ],
)
def test_passages_match(a: str, b: str, match: float, expected: bool) -> None:
    """Equal, contained, or aligned; both ways round."""
    assert passages_match(a, b, match) is passages_match(b, a, match) is expected


def test_by_hand() -> None:
    """One of three contexts matches one of two references; within the first context none does."""
    one = sample([OTHER, NEARLY, "Blank"], [WANTED, "Nowhere to be found at all."])

    assert passage_precision(one) == Value(1 / 3, {"matching_ranks": [2]}, (1, 3))
    assert passage_recall(one) == Value(1 / 2, {"missed": ["Nowhere to be found at all."]}, (1, 2))
    assert passage_precision(one, k=1).value == passage_recall(one, k=1).value == 0.0
    assert passage_precision(one, match=1.0).value == 0.0


def test_precision_divides_by_what_is_there() -> None:
    """Two contexts at a cut-off of five are two."""
    assert passage_precision(sample([WANTED, OTHER], [WANTED]), k=5).value == 0.5


def test_references_count_once() -> None:
    """A reference context that is listed twice is one."""
    assert passage_recall(sample([WANTED], [WANTED, WANTED + " ", OTHER])).value == 0.5


def test_edges() -> None:
    """No contexts: 0. No reference contexts: nothing to measure. A senseless threshold: an error."""
    assert passage_precision(sample([], [WANTED])).value == passage_recall(sample([], [WANTED])).value == 0.0
    assert isinstance(passage_precision(sample([WANTED], [])), Undefined)
    assert isinstance(passage_recall(sample([WANTED], [" "])), Undefined)
    with pytest.raises(InputError, match="match is 90"):
        passage_precision(sample([WANTED], [WANTED]), match=90)


@given(st.lists(st.sampled_from([WANTED, NEARLY, OTHER, ""]), max_size=5), st.randoms())
def test_laws(contexts: list[str], random) -> None:
    """In [0, 1], without k whatever the order; recall never falls as k grows."""
    shuffled = contexts[:]
    random.shuffle(shuffled)
    one, other = sample(contexts, [WANTED, OTHER]), sample(shuffled, [WANTED, OTHER])

    assert 0.0 <= passage_precision(one).value == passage_precision(other).value <= 1.0
    assert passage_recall(one).value == passage_recall(other).value
    recalls = [passage_recall(one, k=k).value for k in range(1, 6)]
    assert recalls == sorted(recalls)


def test_names() -> None:
    """The cut-off and the threshold are part of the name."""
    assert str(get_metric("passage_recall(match=0.8)@3")) == "passage_recall(match=0.8)@3"
