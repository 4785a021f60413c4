"""Metrics of the contexts by a judge, played by hand."""

from __future__ import annotations

import math

import pytest
from msgspec import structs

from steelyard.core.errors import AskFailed, BadReply, InputError
from steelyard.core.records import Sample, Undefined, Value
from steelyard.core.requests import Ask, Embed, play
from steelyard.metrics.judged.contexts import (
    HELPS,
    MISSED,
    USEFUL,
    USEFUL_FOR_QUESTION,
    context_entity_recall,
    context_precision,
    context_recall,
    context_relevancy,
    sentence_relevancy,
)
from steelyard.models.parse_reply import read_text

SAMPLE = Sample(
    user_input="When did it open?",
    response="In 1932, I think.",
    reference="It opened in 1932.",
    retrieved_contexts=["chunk one", "chunk two", "chunk three"],
)


def ratings(*given: int) -> dict[str, object]:
    """One judge's ratings."""
    return {str(n): {"reason": "r", "rating": one} for n, one in enumerate(given, 1)}


def useful(*given: str) -> dict[str, object]:
    """Verdicts on usefulness."""
    return {str(n): {"reason": "r", "verdict": one} for n, one in enumerate(given, 1)}


def statement(text: str, *passages: int) -> dict[str, object]:
    """One statement of the reference, attributed."""
    return {"statement": text, "reason": "r", "verdict": "yes" if passages else "no", "passages": list(passages)}


def test_both_relevance_judges_always_count() -> None:
    """Means 2, 1/2 and 1: two of three reach 1; graded, the mean of all six ratings over 2."""
    replies = [ratings(2, 0, 2), ratings(2, 1, 0)]
    value = play(context_relevancy(SAMPLE), replies)
    assert isinstance(value, Value)
    assert (value.value, value.parts) == (2 / 3, (2, 3))
    assert value.evidence["contexts"][1] == {"context": 2, "ratings": [0, 1], "reasons": ["r", "r"]}
    assert math.isclose(play(context_relevancy(SAMPLE, graded=True), replies).value, 7 / 12)
    assert play(context_relevancy(SAMPLE, relevant_at=2.0), replies).value == 1 / 3
    flow = context_relevancy(SAMPLE)
    assert next(flow).prompt.startswith(HELPS.text)
    assert HELPS.text != MISSED.text


def test_one_failing_judge_fails_the_cell() -> None:
    """One opinion does not pass for two."""
    with pytest.raises(AskFailed):
        play(context_relevancy(SAMPLE), [ratings(2, 2, 2), AskFailed("timeout", "30 s")])
    with pytest.raises(BadReply, match="wrong_schema"):
        play(context_relevancy(structs.replace(SAMPLE, retrieved_contexts=["a"])), [ratings(2), ratings(3)])
    for bad in (0.0, 2.1):
        with pytest.raises(InputError, match="relevant_at"):
            play(context_relevancy(SAMPLE, relevant_at=bad), [])


def test_context_precision_is_average_precision_of_what_was_retrieved() -> None:
    """Useful at ranks 2 and 3: (1/2 + 2/3) / 2. None useful: 0."""
    assert math.isclose(play(context_precision(SAMPLE), [useful("no", "yes", "yes")]).value, 7 / 12)
    assert play(context_precision(SAMPLE), [useful("yes", "no", "no")]).value == 1.0
    assert play(context_precision(SAMPLE), [useful("no", "no", "no")]).value == 0.0


@pytest.mark.parametrize(
    ("against", "prompt", "shown"),
    [
        ("reference", USEFUL, "It opened in 1932."),
        ("response", USEFUL, "In 1932, I think."),
        ("question", USEFUL_FOR_QUESTION, "When did it open?"),
    ],
)
def test_context_precision_against(against: str, prompt: object, shown: str) -> None:
    """Each way shows the judge what it names and nothing else."""
    request = next(context_precision(SAMPLE, against=against))
    assert request.prompt.startswith(prompt.text)
    assert shown in request.prompt
    others = {SAMPLE.reference, SAMPLE.response} - {shown}
    assert not any(other in request.prompt for other in others)


def test_context_precision_without_what_it_is_against() -> None:
    """Undefined before any request."""
    bare = Sample(user_input="q", retrieved_contexts=["a"], response=" ")
    assert play(context_precision(bare), []) == Undefined("no reference")
    assert play(context_precision(bare, against="response"), []) == Undefined("no response")


def test_two_verdicts_for_three_chunks_are_never_paired() -> None:
    """J10: a wrong count is asked chunk by chunk, and what is still wrong names what was expected and got."""
    reply = '{"verdicts":["yes","no"]}'
    with pytest.raises(BadReply, match=r"expected 3 got 1|expected 3 got 2"):
        play(context_precision(SAMPLE), lambda one: read_text(reply, one.shape))
    two = '{"1": {"reason": "r", "verdict": "yes"}, "2": {"reason": "r", "verdict": "no"}}'
    with pytest.raises(BadReply, match="expected 3 got 2"):
        play(context_precision(SAMPLE), lambda one: read_text(two, one.shape))
    asked = []

    def judge(one: Ask | Embed) -> object:
        asked.append(one)
        return useful("yes", "no") if len(asked) == 1 else useful("yes" if "chunk three" in one.prompt else "no")

    assert play(context_precision(SAMPLE), judge).value == 1 / 3
    assert len(asked) == 4


def test_each_asks_chunk_by_chunk_in_one_go() -> None:
    """The requests are yielded together, so that they are answered together."""
    flow = context_precision(SAMPLE, passages="each")
    requests = next(flow)
    assert isinstance(requests, list)
    assert [("chunk two" in one.prompt) for one in requests] == [False, True, False]
    replies = [useful("no"), useful("yes"), useful("no")]
    assert play(context_precision(SAMPLE, passages="each"), replies).value == 0.5
    assert play(context_relevancy(SAMPLE, passages="each"), [ratings(2)] * 6).value == 1.0


def test_chunks_beyond_the_window_are_judged_in_parts() -> None:
    """An overlong chunk counts by its best part, wherever that is, and keeps its rank."""
    long = "Filler. " * 2000 + "Opened in 1932. " + "Filler. " * 2000
    sample = structs.replace(SAMPLE, retrieved_contexts=["noise", long, "Opened in 1932. "])

    def judge(one: Ask | Embed) -> object:
        if len(one.prompt) > 4000:
            return AskFailed("context_too_long", f"{len(one.prompt)} > 4000")
        seen = ["Opened in 1932." in text for text in one.prompt.split("\ncontext ")[1:]]
        if "rating" in one.prompt:
            return ratings(*(2 * hit for hit in seen))
        return useful(*("yes" if hit else "no" for hit in seen))

    assert math.isclose(play(context_precision(sample), judge).value, (1 / 2 + 2 / 3) / 2)
    assert math.isclose(play(context_relevancy(sample), judge).value, 2 / 3)


def test_context_recall_splits_and_attributes_in_one_request() -> None:
    """One request: the statements of the reference, each with verdict and passages."""
    reply = {"statements": [statement("It opened.", 3, 1), statement("In 1932."), statement(" ")]}
    value = play(context_recall(SAMPLE), [reply])
    assert isinstance(value, Value)
    assert (value.value, value.parts) == (0.5, (1, 2))
    assert value.evidence["claims"][0]["passages"] == [1, 3]
    assert play(context_recall(SAMPLE), [{"statements": []}]).reason == "no statements in the reference"


@pytest.mark.parametrize(
    "first", [BadReply("truncated", "cut"), AskFailed("context_too_long", "9 > 8"), {"statements": "none"}, None]
)
def test_context_recall_in_two_steps(first: object) -> None:
    """Where one request does not do (or with passages="each"), statements are split first and then checked."""
    check = {
        "1": {"reason": "r", "verdict": "yes", "passages": [1]},
        "2": {"reason": "r", "verdict": "no", "passages": []},
    }
    replies = [{"claims": ["a", "b"]}, *([check] * (1 if first else 3))]
    rule = context_recall(SAMPLE) if first else context_recall(SAMPLE, passages="each")
    assert play(rule, [first, *replies] if first else replies).value == 0.5


def test_context_recall_does_not_hide_a_failure() -> None:
    """Only a bad reply or a small window leads to the second way."""
    with pytest.raises(AskFailed, match="budget"):
        play(context_recall(SAMPLE), [AskFailed("budget", "spent")])


def test_lines_that_are_no_sentence_of_the_context_do_not_count() -> None:
    """J11: the judge's heading and its bullets are not evidence: 1 of 4 sentences."""
    context = "Lake Orta is in Piedmont. It covers 18 square km. The town of Omegna lies at its north end. Boats run."
    sample = Sample(user_input="How large is Lake Orta?", retrieved_contexts=[context])
    reply = {"sentences": ["candidate sentences:", "- It covers 18 square km.", "It covers  18 square km"]}
    value = play(sentence_relevancy(sample), [reply])
    assert isinstance(value, Value)
    assert (value.value, value.parts) == (0.25, (1, 4))
    assert value.evidence["sentences"] == ["It covers 18 square km."]
    assert value.evidence["discarded"] == ["candidate sentences:"]


def test_invented_extracts_are_discarded_and_flagged() -> None:
    """J13: what is not in the contexts does not count, however long; the share stays in [0, 1]."""
    sample = Sample(user_input="q", retrieved_contexts=["alpha", "beta"])
    reply = {"sentences": ["alpha", "beta", "gamma which is not in the context and is very long"]}
    value = play(sentence_relevancy(sample), [reply])
    assert isinstance(value, Value)
    assert value.value == 1.0
    assert value.evidence["flags"] == ["not_in_contexts"]
    assert play(sentence_relevancy(sample), [{"sentences": ["the", "al"]}]).value == 0.0
    assert play(sentence_relevancy(structs.replace(sample, retrieved_contexts=["—"])), [reply]) == Undefined(
        "no sentences in the contexts",
        {"sentences": [], "discarded": reply["sentences"], "flags": ["not_in_contexts"]},
    )


def test_sentences_in_other_scripts() -> None:
    """Units are sentences of any script; an extract of two of them counts both."""
    sample = Sample(user_input="天气？", retrieved_contexts=["今天下雨。明天放晴！你带伞了吗？", "明天放晴！"])
    assert play(sentence_relevancy(sample), [{"sentences": ["今天下雨。明天放晴！"]}]).value == 2 / 3


def test_entities_found_again() -> None:
    """Folded, distinct, and only those that stand in the text they were read from."""
    sample = Sample(reference="Ada met Grace in Paris.", retrieved_contexts=["ADA was here.", "So was grace  Hopper."])
    replies = [{"entities": ["ADA", "Grace", "Rome"]}, {"entities": ["Ada", "Grace", "Paris", "ada", "London"]}]
    value = play(context_entity_recall(sample), replies)
    assert isinstance(value, Value)
    assert (value.value, value.parts) == (2 / 3, (2, 3))
    assert value.evidence == {
        "found": ["ada", "grace"],
        "missing": ["paris"],
        "discarded": ["london", "rome"],
        "flags": ["not_in_text"],
    }
    replies[1]["entities"] = []
    assert play(context_entity_recall(sample), replies).reason == "no entities in the reference"


def test_listing_goes_in_parts_too() -> None:
    """Entities of contexts beyond the window are gathered from halves."""
    sample = Sample(reference="Ada", retrieved_contexts=["x " * 900, "Ada " + "x " * 900])

    def judge(one: Ask | Embed) -> object:
        if len(one.prompt) > 1600:
            return AskFailed("context_too_long", "too long")
        return {"entities": ["Ada"] if "Ada" in one.prompt else []}

    assert play(context_entity_recall(sample), judge).value == 1.0
