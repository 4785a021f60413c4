"""Answer relevancy, played by hand."""

from __future__ import annotations

import math

import pytest

from steelyard.core.errors import AskFailed, BadReply, InputError
from steelyard.core.records import Sample, Value
from steelyard.core.requests import Ask, Embed, play
from steelyard.metrics.judged.answer_relevancy import Questions, answer_relevancy
from steelyard.metrics.lookup import get_metric

SAMPLE = Sample(user_input="When did the bridge open?", response="It opened in 1932.")
UNIT = [1.0, 0.0]


def questions(*texts: str, noncommittal: bool = False) -> dict[str, object]:
    """A judge's reply."""
    return {"questions": list(texts), "noncommittal": noncommittal}


def test_one_request_for_all_questions_and_one_embedding() -> None:
    """Three questions in one request; the mean of three cosines."""
    flow = answer_relevancy(SAMPLE)
    first = next(flow)
    assert isinstance(first, Ask)
    assert "Write 3 different questions" in first.prompt
    assert "language of the response" in first.prompt
    assert SAMPLE.user_input not in first.prompt
    second = flow.send(Questions(["a", "b", "c"], noncommittal=False))
    assert second == Embed((SAMPLE.user_input, "a", "b", "c"))
    with pytest.raises(StopIteration) as end:
        flow.send([UNIT, [2.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    value = end.value.value
    assert math.isclose(value.value, (1 + 0 + 0.6) / 3)
    assert value.evidence["generated"] == "3 of 3"
    assert value.evidence["questions"][0] == {"question": "a", "similarity": 1.0}


def test_noncommittal_is_zero_without_an_embedding() -> None:
    """ "I don't know" is about nothing; its questions are not even looked at."""
    value = play(answer_relevancy(SAMPLE), [questions("", noncommittal=True)])
    assert value == Value(0.0, {"noncommittal": True, "questions": []})


@pytest.mark.parametrize("bad", [questions("a", " "), questions(), questions(""), {"questions": ["a"]}])
def test_blank_questions_are_a_bad_reply(bad: object) -> None:
    """A blank text has an embedding, and it would mean nothing."""
    with pytest.raises(BadReply):
        play(answer_relevancy(SAMPLE), [bad])


def test_k_of_n() -> None:
    """T02: too few questions are topped up once; with what is then there the score says k of n."""
    topped = play(answer_relevancy(SAMPLE), [questions("a", "a "), questions("b", "c", "d"), [UNIT] * 4])
    assert topped.evidence["generated"] == "3 of 3"
    short = play(answer_relevancy(SAMPLE), [questions("a"), questions("A", "b"), [UNIT] * 3])
    assert (short.value, short.evidence["generated"]) == (1.0, "2 of 3")
    failed = play(answer_relevancy(SAMPLE), [questions("a"), BadReply("empty", "no text"), [UNIT] * 2])
    assert failed.evidence["generated"] == "1 of 3"
    many = play(answer_relevancy(SAMPLE, strictness=1), [questions("a", "b"), [UNIT] * 2])
    assert many.evidence["generated"] == "1 of 1"


def test_the_second_asking_is_another_draw() -> None:
    """Otherwise a ledger would answer with the same reply."""
    draws = []

    def judge(one: Ask | Embed) -> object:
        if isinstance(one, Embed):
            return [UNIT] * len(one.texts)
        draws.append(one.draw)
        return questions("a")

    play(answer_relevancy(SAMPLE), judge)
    assert draws == [0, 1]


def test_a_question_in_another_language_is_asked_again_then_flagged() -> None:
    """L06: English questions from a Chinese answer do not quietly lower the score."""
    sample = Sample(user_input="退款期限是多久？", response="退款期限为三十天。")
    english, chinese = questions("How long is the refund window?"), questions("退款期限有多长？")
    flow = answer_relevancy(sample, strictness=1)
    assert "in the language of the response" in next(flow).prompt
    flagged = play(answer_relevancy(sample, strictness=1), [english, english, [UNIT] * 2])
    assert flagged.evidence["flags"] == ["language_mismatch"]
    asked_again = play(answer_relevancy(sample, strictness=1), [english, chinese, [UNIT] * 2])
    assert "flags" not in asked_again.evidence
    assert asked_again.evidence["questions"][0]["question"] == "退款期限有多长？"


def test_a_question_in_the_language_of_the_question_is_no_mismatch() -> None:
    """A Chinese question about a product whose answer is its Latin name."""
    sample = Sample(user_input="哪个系统？", response="Kubernetes")
    value = play(answer_relevancy(sample, strictness=1), [questions("用的是什么系统？"), [UNIT] * 2])
    assert "flags" not in value.evidence


def test_the_value_stays_in_its_range() -> None:
    """Opposite vectors give 0, not below."""
    assert play(answer_relevancy(SAMPLE, strictness=1), [questions("a"), [UNIT, [-1.0, 0.0]]]).value == 0.0


@pytest.mark.parametrize("vectors", [[UNIT], [UNIT, [0.0, 0.0]], [UNIT, [1.0]], [UNIT, [math.nan, 0.0]]])
def test_unusable_vectors_fail(vectors: list[list[float]]) -> None:
    """T06: too few, a zero vector, another length, no number."""
    with pytest.raises(BadReply, match="embedding"):
        play(answer_relevancy(SAMPLE, strictness=1), [questions("a"), vectors])


def test_strictness_and_embedder() -> None:
    """At least one question; the record says that an embedder is needed, so that a run can say so beforehand."""
    with pytest.raises(InputError, match="at least 1"):
        play(answer_relevancy(SAMPLE, strictness=0), [])
    with pytest.raises(AskFailed):
        play(answer_relevancy(SAMPLE), [questions("a", "b", "c"), AskFailed("timeout", "30 s")])
    metric = get_metric("judged.ResponseRelevancy(strictness=5)")
    assert (str(metric), metric.embeds) == ("answer_relevancy(strictness=5)", True)
