"""exact_match, token_f1, contains, edit_similarity: worked by hand, and their laws."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from steelyard import InputError, get_metric
from steelyard.core.records import Sample, Undefined
from steelyard.metrics.lexical import answer_metrics, token_overlap

TEXTS = st.text(alphabet="ab cdéжحज漢あก한1,.-'A")
MEASURES = (token_overlap.exact_match, token_overlap.token_f1, token_overlap.contains, token_overlap.edit_similarity)


@pytest.mark.parametrize(
    ("response", "reference", "expected"),
    [
        ("the cat sat", "a cat sat down", 0.8),  # 2 x 2 / (2 + 3)
        ("cat cat", "cat", 2 / 3),  # multiset: one match of two
        ("cat", "dog", 0.0),
        ("", "", 1.0),
        ("", "dog", 0.0),
        ("the", "!", 1.0),
        ("今天 天气", "天气", 2 / 3),
    ],
)
def test_token_f1(response: str, reference: str, expected: float) -> None:
    """2 x common / (tokens of both)."""
    assert token_overlap.token_f1(response, reference) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("response", "reference", "expected"),
    [
        ("It was Ada Lovelace, in 1843.", "ada lovelace", 1.0),
        ("a party", "art", 0.0),
        ("Lovelace, Ada", "Ada Lovelace", 0.0),
        ("我住在北京市", "北京", 1.0),
        ("costs 1,000 dollars", "1000", 1.0),
        ("", "", 1.0),
        ("yes", "", 0.0),
        ("", "yes", 0.0),
    ],
)
def test_contains(response: str, reference: str, expected: float) -> None:
    """Whole tokens, one after the other."""
    assert token_overlap.contains(response, reference) == expected


@pytest.mark.parametrize(
    ("response", "reference", "expected"),
    [("kitten", "sitting", 1 - 3 / 7), ("", "", 1.0), ("", "ab", 0.0), ("天气好", "天气坏", 2 / 3), ("Ab!", "ab", 1.0)],
)
def test_edit_similarity(response: str, reference: str, expected: float) -> None:
    """1 - distance / longer length; set-apart graphemes are no longer than they were."""
    assert token_overlap.edit_similarity(response, reference) == pytest.approx(expected)


@pytest.mark.parametrize("measure", MEASURES)
def test_several_references(measure: Callable[..., float]) -> None:
    """The best counts, or the mean, or the worst."""
    references = ["Ada Lovelace", "Grace Hopper"]

    assert measure("ada lovelace", references) == 1.0
    assert measure("ada lovelace", references[::-1]) == 1.0
    worst = measure("ada lovelace", "Grace Hopper")
    assert measure("ada lovelace", references, aggregation="worst") == worst
    assert measure("ada lovelace", references, aggregation="mean") == pytest.approx((1 + worst) / 2)


@pytest.mark.parametrize("measure", MEASURES)
def test_no_reference_to_compare_with(measure: Callable[..., float]) -> None:
    """An empty list of references is the caller's mistake."""
    with pytest.raises(InputError, match="no reference"):
        measure("ada", [])


@given(TEXTS, TEXTS)
def test_laws(a: str, b: str) -> None:
    """All lie in [0, 1], are 1 for a text and itself, and symmetric but for contains."""
    for measure in MEASURES:
        assert 0.0 <= measure(a, b) <= 1.0
        assert measure(a, a) == 1.0
    for measure in (token_overlap.exact_match, token_overlap.token_f1, token_overlap.edit_similarity):
        assert measure(a, b) == pytest.approx(measure(b, a))
    assert token_overlap.exact_match(a, b) <= token_overlap.contains(a, b)
    assert token_overlap.exact_match(a, b) <= token_overlap.token_f1(a, b)


@given(st.permutations(["red", "green", "blue", "red"]))
def test_token_f1_does_not_see_order(tokens: list[str]) -> None:
    """A bag of tokens has no order."""
    assert token_overlap.token_f1(" ".join(tokens), "red red green blue") == 1.0


def test_case_of_the_field(shared: Path) -> None:
    """L01: identical texts score 1 in every script."""
    with (shared / "cases.jsonl").open(encoding="utf-8") as lines:
        cases = {case["id"]: case for case in map(json.loads, lines)}
    metrics = [get_metric(name) for name in cases["L01"]["input"]["metric"] if name in ("token_f1", "exact_match")]
    metrics += [get_metric("rouge1"), get_metric("rougeL")]
    for response, reference in cases["L01"]["input"]["pairs"]:
        sample = Sample(id="1", response=response, reference=reference)
        assert [metric.rule(sample, **metric.params) for metric in metrics] == [1.0] * 4


def test_metrics_take_samples() -> None:
    """The metric of a name is its scalar function over a sample; blank is bad, not undefined."""
    sample = Sample(id="1", response="Ada", reference=["Ada Lovelace", "Ada"])

    assert (
        answer_metrics.exact_match(sample) == answer_metrics.token_f1(sample) == answer_metrics.contains(sample) == 1.0
    )
    assert answer_metrics.token_f1(sample, aggregation="worst") == pytest.approx(2 / 3)
    assert answer_metrics.edit_similarity(Sample(id="2", response=" ", reference="Ada")) == 0.0
    assert isinstance(answer_metrics.exact_match(Sample(id="3", response="Ada", reference=[])), Undefined)


def test_names_and_parameters() -> None:
    """Aliases parse; parameters print when they are not the defaults."""
    assert str(get_metric("qa_em")) == "exact_match"
    assert str(get_metric("f1")) == "token_f1"
    assert str(get_metric("has_answer")) == "contains"
    assert str(get_metric("rouge_n(n=2, part=recall)")) == "rouge_n(n=2, part=recall)"
    assert str(get_metric("bleu(aggregation=best)")) == "bleu(aggregation=best)"
    with pytest.raises(InputError, match="aggregation"):
        get_metric("token_f1(aggregation=sum)")


def test_called_over_columns() -> None:
    """The batch form uses the established keys; accuracy comes apart by type of question."""
    columns = {"gold_answers": [["Ada"], ["1,000", "thousand"]], "predicted_answers": ["ada", "1000"]}

    assert get_metric("qa_f1").calculate_metric_scores(**columns) == ({"F1": 1.0}, [{"F1": 1.0}, {"F1": 1.0}])
    pooled, rows = get_metric("typed_accuracy").calculate_metric_scores(**columns, question_types=["who", "how many"])
    assert pooled == {"Accuracy_who": 1.0, "Accuracy_how many": 1.0, "Accuracy_Overall": 1.0}
    assert rows[0] == {"Accuracy": 1.0, "QuestionType": "who"}
