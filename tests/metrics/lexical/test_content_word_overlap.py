"""The overlap measures and the judge made of them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from steelyard import BadReply, RAGEval, WrongType
from steelyard.core.records import Sample, Undefined
from steelyard.metrics.lexical.content_word_overlap import (
    AnswerQuality,
    Judge,
    JudgeInput,
    OverlapJudge,
    content_f1,
    found_share,
    overlap_correctness,
    overlap_faithfulness,
    overlap_relevance,
)

TEXTS = st.text(alphabet="ab cdeé漢あก한12.the ", max_size=30)


def test_by_hand() -> None:
    """Content words: response {mill, closed, 1947}, contexts {mill, closed, flood}, question {year, mill, close}."""
    sample = Sample(
        id="1",
        user_input="In which year did the mill close?",
        response="The mill closed in 1947, the mill.",
        retrieved_contexts=["The mill closed.", "After the flood"],
        reference=["1947", "It closed in 1947"],
    )

    assert overlap_faithfulness(sample) == pytest.approx(2 / 3)
    assert overlap_relevance(sample) == pytest.approx(1 / 3)
    assert overlap_correctness(sample) == pytest.approx(2 * 2 / (4 + 2))
    assert overlap_correctness(sample, aggregation="worst") == pytest.approx(2 * 1 / (4 + 1))


def test_edges() -> None:
    """No contexts, no content words, a blank reference: 0. Short identical answers: 1."""
    assert overlap_faithfulness(Sample(id="1", response="mill", retrieved_contexts=[])) == 0.0
    assert overlap_faithfulness(Sample(id="1", response="", retrieved_contexts=["mill"])) == 0.0
    assert overlap_relevance(Sample(id="1", user_input="What is it?", response="a mill")) == 0.0
    assert content_f1("mill", "") == content_f1("", "") == 0.0
    assert content_f1("5", "5.") == 1.0
    assert content_f1("He", "She") == 0.0
    assert isinstance(overlap_correctness(Sample(id="1", response="mill", reference=[])), Undefined)


@given(TEXTS, TEXTS)
def test_laws(a: str, b: str) -> None:
    """In [0, 1]; correctness is symmetric where both texts have words; a text is found in itself."""
    assert 0.0 <= found_share(a, [b]) <= 1.0
    assert 0.0 <= content_f1(a, b) <= 1.0
    assert content_f1(a, b) == pytest.approx(content_f1(b, a))
    assert found_share(a, [b, a]) in (0.0, 1.0)


def test_judge() -> None:
    """The judge's three numbers are the three measures; its comment counts the words."""
    case = JudgeInput("Where is the mill?", "The mill stands on the Wye.", "On the Wye, at Ross.", "on the Wye")

    assert OverlapJudge().judge(case) == AnswerQuality(
        faithfulness=0.5,
        relevance=0.0,
        correctness=pytest.approx(2 / 3),
        comment="answer in context: 1 of 2 words; question in answer: 0 of 1 words; F1 with reference: 0.67",
    )
    without = OverlapJudge().judge(JudgeInput("Where?", "The Wye.", "The Wye."))
    assert (without.faithfulness, without.correctness) == (1.0, 0.0)
    assert without.comment.endswith("no reference")


class Fixed:
    """A judge of the user's own."""

    def __init__(self, quality: object) -> None:
        self.quality = quality

    def judge(self, case: JudgeInput) -> object:
        return self.quality


def test_any_judge_will_do() -> None:
    """What a judge is, is decided by its method; what it says is checked."""
    quality = AnswerQuality(1.0, 0.5, 0.0, "fine")
    assert isinstance(OverlapJudge(), Judge)
    assert RAGEval(Fixed(quality)).evaluate(JudgeInput()) is quality
    with pytest.raises(WrongType, match="not a judge"):
        RAGEval(object())
    with pytest.raises(BadReply, match="returned dict"):
        RAGEval(Fixed({})).evaluate(JudgeInput())
    for wrong in (7.0, -0.1, float("nan")):
        with pytest.raises(BadReply, match="relevance"):
            RAGEval(Fixed(AnswerQuality(1.0, wrong, 1.0))).evaluate(JudgeInput())
