"""Claim metrics, played by hand: what is asked, and what becomes of each reply."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from steelyard.core.errors import AskFailed, BadReply, InputError
from steelyard.core.records import Sample, Undefined, Value
from steelyard.core.requests import Ask, Embed, Numbered, items, play
from steelyard.metrics.judged.claim_verdicts import CHECK, Claims, support_shape
from steelyard.metrics.judged.claims import (
    answer_correctness,
    claim_recall,
    context_utilization,
    factual_correctness,
    faithfulness,
    hallucination,
    noise_sensitivity,
    self_knowledge,
)
from steelyard.metrics.judged.numbered_requests import windows
from steelyard.models.parse_reply import read_text

SAMPLE = Sample(
    id="1",
    user_input="When did the bridge open, and who built it?",
    response="It opened in 1932. Ada built it.",
    reference="It opened in 1932. Grace built it.",
    retrieved_contexts=["The bridge opened in 1932.", "Ada built boats.", "Grace built the bridge."],
)
NOTHING: dict[str, Any] = {"claims": []}


def claims(*texts: str) -> dict[str, Any]:
    """A reply to SPLIT."""
    return {"claims": list(texts)}


def verdicts(*passages: list[int] | bool) -> dict[str, Any]:
    """A reply to CHECK: for each claim the numbers of its sources; True for the only one; [] or False for no."""
    told = [[1] if one is True else one or [] for one in passages]
    return {
        str(number): {"reason": "so it is", "verdict": "yes" if one else "no", "passages": one}
        for number, one in enumerate(told, 1)
    }


def test_faithfulness_asks_twice_and_divides() -> None:
    """Claims first, then one verdict for each, with the contexts numbered by us."""
    flow = faithfulness(SAMPLE)
    first = next(flow)
    assert isinstance(first, Ask)
    assert first.shape is Claims
    assert SAMPLE.user_input in first.prompt
    assert SAMPLE.response in first.prompt
    assert SAMPLE.retrieved_contexts is not None
    assert SAMPLE.retrieved_contexts[0] not in first.prompt
    second = flow.send(Claims(["It opened in 1932.", "Ada built it."]))
    assert isinstance(second, Ask)
    assert second.prompt.startswith(CHECK.text)
    assert all(f"source {n} #" in second.prompt for n in (1, 2, 3))
    assert all(f"claim {n} #" in second.prompt for n in (1, 2))
    reply = msgspec.convert(verdicts([1], []), second.shape)
    assert len(items(reply)) == 2
    with pytest.raises(StopIteration) as end:
        flow.send(reply)
    value = end.value.value
    assert (value.value, value.parts) == (0.5, (1, 2))
    assert value.evidence["claims"][0] == {
        "claim": "It opened in 1932.",
        "verdict": "yes",
        "reason": "so it is",
        "passages": [1],
    }
    assert value.evidence["claims"][1]["verdict"] == "no"


def test_no_claims_is_undefined() -> None:
    """A refusal claims nothing: the share of nothing is no number (J09)."""
    refusal = msgspec.structs.replace(SAMPLE, response="I do not know.")
    assert play(faithfulness(refusal), [NOTHING]) == Undefined("no claims", {"claims": []})
    assert play(faithfulness(refusal), [claims("", "  ")]) == Undefined("no claims", {"claims": []})


def test_one_sample_fine_one_undefined_one_failed() -> None:
    """J09: three samples, three ends; nothing is averaged over a failure."""
    good = Sample(response="The bridge opened in 1932.", retrieved_contexts=["The bridge opened in 1932."])
    assert play(faithfulness(good), [claims("The bridge opened in 1932."), verdicts(True)]).value == 1.0
    assert isinstance(play(faithfulness(good), [NOTHING]), Undefined)
    with pytest.raises(AskFailed, match="HTTP 500"):
        play(faithfulness(good), [AskFailed("server_error", "HTTP 500")])


def test_repeated_claims_count_once() -> None:
    """A judge that says a thing twice does not make it weigh double."""
    replies = [claims("It opened in 1932.", "it opened  in 1932.", "Ada built it."), verdicts([1], [])]
    assert play(faithfulness(SAMPLE), replies).value == 0.5


def test_a_wrong_count_falls_back_to_one_by_one() -> None:
    """Two verdicts for three claims are never paired by position: each claim is asked alone."""
    asked: list[Ask] = []

    def judge(one: Ask | Embed) -> object:
        assert isinstance(one, Ask)
        asked.append(one)
        if one.shape is Claims:
            return claims("a", "b", "c")
        return verdicts([1], []) if "claim 3 #" in one.prompt else verdicts([1])

    assert play(faithfulness(SAMPLE), judge).value == 1.0
    assert [len(one.shape.__struct_fields__) for one in asked[1:]] == [3, 1, 1, 1]
    assert all("source 3 #" in one.prompt for one in asked[1:])


def test_what_stays_wrong_fails_and_says_so() -> None:
    """The failure carries the first complaint, the last one, and the reply as evidence."""

    def judge(one: Ask | Embed) -> object:
        assert isinstance(one, Ask)
        return claims("a", "b") if one.shape is Claims else read_text('{"1": {"verdict": "yes"}}', one.shape)

    with pytest.raises(BadReply, match=r"wrong_count: expected 2 got 1; requested one by one: wrong_schema"):
        play(faithfulness(SAMPLE), judge)


@pytest.mark.parametrize("passages", [[0], [4], ["1"]])
def test_numbers_of_passages_are_those_that_exist(passages: list[object]) -> None:
    """A passage that was not shown supports nothing."""
    bad = {"1": {"reason": "r", "verdict": "yes", "passages": passages}}
    with pytest.raises(BadReply, match="wrong_schema"):
        play(faithfulness(SAMPLE), [claims("a"), bad])


def test_each_asks_context_by_context() -> None:
    """With passages="each" a claim holds if any one context supports it; numbers are those of the sample."""
    replies = [claims("a", "b"), verdicts(False, False), verdicts(True, False), verdicts(True, False)]
    value = play(faithfulness(SAMPLE, passages="each"), replies)
    assert isinstance(value, Value)
    assert value.value == 0.5
    (first, second) = value.evidence["claims"]
    assert first["passages"] == [2, 3]
    assert second["verdict"] == "no"
    assert "in_parts" not in first


def window_judge(limit: int, evidence: str) -> Any:
    """A judge whose window holds ``limit`` characters and who reads what it sees."""

    def judge(one: Ask | Embed) -> object:
        assert isinstance(one, Ask)
        if len(one.prompt) > limit:
            return AskFailed("context_too_long", f"{len(one.prompt)} characters, the window holds {limit}")
        if one.shape is Claims:
            return claims("Ada signed.")
        sees = evidence in one.prompt
        count = one.prompt.count("\nsource ")
        return verdicts([count] if sees else [])

    return judge


def test_contexts_beyond_the_window_are_judged_in_parts() -> None:
    """T13: the last context is still seen after 340,000 characters of filler; nothing is cut silently."""
    contexts = ["Filler sentence. " * 20_000, "Ada signed the deed."]
    sample = Sample(user_input="Who signed?", response="Ada signed.", retrieved_contexts=contexts)
    value = play(faithfulness(sample), window_judge(32_000, contexts[1]))
    assert isinstance(value, Value)
    assert value.value == 1.0
    assert value.evidence["claims"] == [
        {"claim": "Ada signed.", "verdict": "yes", "reason": "so it is", "passages": [2], "in_parts": True}
    ]
    hidden = msgspec.structs.replace(sample, retrieved_contexts=[contexts[0] + contexts[1] + contexts[0]])
    assert play(faithfulness(hidden), window_judge(32_000, contexts[1])).value == 1.0
    absent = msgspec.structs.replace(sample, retrieved_contexts=contexts[:1])
    assert play(faithfulness(absent), window_judge(32_000, contexts[1])).value == 0.0


def test_a_window_too_small_for_anything_fails() -> None:
    """What cannot be judged in parts ends as context_too_long with its sizes, not as unsupported."""
    with pytest.raises(AskFailed, match=r"context_too_long: .* the window holds 400"):
        play(faithfulness(msgspec.structs.replace(SAMPLE, retrieved_contexts=["x" * 5000])), window_judge(400, "?"))


def test_other_failures_are_not_taken_for_a_small_window() -> None:
    """A budget that is spent does not start an evaluation in parts."""
    with pytest.raises(AskFailed, match="budget"):
        play(faithfulness(SAMPLE), [claims("a"), AskFailed("budget", "spent")])


def test_windows_overlap_and_lose_nothing() -> None:
    """Every sentence of ordinary length is whole in one of the halves."""
    text = " ".join(f"Sentence number {number} stands here." for number in range(200))
    halves = windows(text)
    assert halves[0] == text[: len(halves[0])]
    assert halves[1] == text[-len(halves[1]) :]
    assert all(any(f"Sentence number {n} stands here." in half for half in halves) for n in range(200))
    assert [len(half) < 0.76 * 4001 for half in windows("x" * 4001)] == [True, True]


@pytest.mark.parametrize(
    ("mode", "beta", "replies", "expected"),
    [
        ("precision", 1, [claims("a", "b"), verdicts(True, False)], 0.5),
        ("recall", 1, [claims("a", "b", "c"), verdicts(True, False, False)], 1 / 3),
        ("f1", 1, [claims("a", "b"), verdicts(True, False), claims("a", "b", "c"), verdicts(True, False, False)], 0.4),
        (
            "f1",
            2,
            [claims("a", "b"), verdicts(True, False), claims("a", "b", "c"), verdicts(True, False, False)],
            5 / 14,
        ),
        ("f1", 1, [claims("a"), verdicts(False), claims("b"), verdicts(False)], 0.0),
        ("f1", 1, [NOTHING, claims("b"), verdicts(False)], 0.0),
    ],
)
def test_factual_correctness(mode: Any, beta: float, replies: list[object], expected: float) -> None:
    """Precision divides by the response's claims, recall by the reference's; F of the two."""
    value = play(factual_correctness(SAMPLE, mode=mode, beta=beta), replies)
    assert isinstance(value, Value)
    assert math.isclose(value.value, expected)


def test_factual_correctness_of_nothing_is_undefined() -> None:
    """Each side divides by its own claims, and says which side has none."""
    assert play(factual_correctness(SAMPLE, mode="precision"), [NOTHING]).reason == "no claims"
    recall = play(factual_correctness(SAMPLE, mode="recall"), [NOTHING])
    both = play(factual_correctness(SAMPLE), [claims("a"), verdicts(True), NOTHING])
    assert isinstance(recall, Undefined)
    assert isinstance(both, Undefined)
    assert recall.reason == both.reason == "no claims in the reference"


def test_the_best_of_several_references_counts() -> None:
    """As for lexical metrics; the evidence is that of the best."""
    sample = msgspec.structs.replace(SAMPLE, reference=["It opened in 1930.", " ", "It opened in 1932."])
    replies = [claims("a"), verdicts(False), claims("a"), verdicts(True)]
    value = play(factual_correctness(sample, mode="precision"), replies)
    assert isinstance(value, Value)
    assert value.value == 1.0
    assert value.evidence["claims"][0]["verdict"] == "yes"


def test_answer_correctness_weighs_facts_and_likeness() -> None:
    """TP 1, FP 1, FN 1: F1 is 1/2; cosine 0.6; 0.75 x 0.5 + 0.25 x 0.6."""
    replies = [claims("a", "b"), verdicts(True, False), claims("a", "c"), verdicts(True, False), [[1, 0], [0.6, 0.8]]]
    value = play(answer_correctness(SAMPLE), replies)
    assert isinstance(value, Value)
    assert math.isclose(value.value, 0.75 * 0.5 + 0.25 * 0.6)
    assert (value.evidence["f1"], value.evidence["weights"]) == (0.5, [0.75, 0.25])
    assert [len(value.evidence[key]) for key in ("tp", "fp", "fn")] == [1, 1, 1]


def test_answer_correctness_without_an_embedder() -> None:
    """The facts alone count, and the evidence says so; with weights (1, 0) nothing is embedded at all."""
    replies: list[object] = [claims("a", "b"), verdicts(True, False), claims("a"), verdicts(True)]
    value = play(answer_correctness(SAMPLE), [*replies, AskFailed("no_embedder", "none was given")])
    assert isinstance(value, Value)
    assert math.isclose(value.value, 2 / 3)
    assert (value.evidence["similarity"], value.evidence["weights"]) == (None, [1.0, 0.0])
    assert play(answer_correctness(SAMPLE, weights="1,0"), replies).value == value.value
    with pytest.raises(AskFailed, match="timeout"):
        play(answer_correctness(SAMPLE), [*replies, AskFailed("timeout", "30 s")])


def test_answer_correctness_edges() -> None:
    """A refusal misses everything: 0. A reference without claims: undefined. Opposite vectors: 0, not below."""
    refusal = [NOTHING, claims("c"), verdicts(False), [[1, 0], [-1, 0]]]
    assert play(answer_correctness(SAMPLE), refusal).value == 0.0
    nothing = play(answer_correctness(SAMPLE), [claims("a"), verdicts(True), NOTHING, [[1, 0], [1, 0]]])
    assert isinstance(nothing, Undefined)
    for weights in ("1", "a,b", "-1,2", "0,0", "nan,1", "1,2,3"):
        with pytest.raises(InputError, match="expected two numbers"):
            play(answer_correctness(SAMPLE, weights=weights), [])


def test_claim_recall_and_context_utilization() -> None:
    """Three reference claims, two in the contexts, one of those in the response."""
    reference, found = claims("a", "b", "c"), verdicts([1], [2, 3], [])
    assert math.isclose(play(claim_recall(SAMPLE), [reference, found]).value, 2 / 3)
    used = play(context_utilization(SAMPLE), [reference, found, verdicts(True, False, True)])
    assert used.value == 0.5
    nowhere = play(context_utilization(SAMPLE), [reference, verdicts([], [], []), verdicts(True, True, True)])
    assert nowhere.reason == "no reference claim in the contexts"
    assert play(claim_recall(SAMPLE), [NOTHING]).reason == "no claims in the reference"


def test_wrong_claims_are_partitioned() -> None:
    """Five response claims: right and grounded, right alone, wrong from a relevant context, wrong from an irrelevant
    one, wrong from nowhere. The three kinds of wrong add up, and each is 1/5."""
    response = claims("a", "b", "c", "d", "e")
    grounded = verdicts([1], [], [1, 2], [2], [])
    right = verdicts(True, True, False, False, False)
    reference = [claims("a", "z"), verdicts([1], [3])]
    for flow, replies in (
        (hallucination(SAMPLE), [response, grounded, right]),
        (self_knowledge(SAMPLE), [response, grounded, right]),
        (noise_sensitivity(SAMPLE), [response, grounded, right, *reference]),
        (noise_sensitivity(SAMPLE, mode="irrelevant"), [response, grounded, right, *reference]),
    ):
        value = play(flow, replies)
        assert isinstance(value, Value)
        assert (value.value, value.parts) == (0.2, (1, 5))
    assert value.evidence["relevant_passages"] == [1, 3]
    for rule in (hallucination, self_knowledge):
        assert play(rule(SAMPLE), [NOTHING]).reason == "no claims"


def test_support_from_nowhere_is_a_bad_reply_where_the_place_matters() -> None:
    """noise_sensitivity cannot guess which context a claim came from."""
    nowhere = {"1": {"reason": "r", "verdict": "yes", "passages": []}}
    replies = [claims("a"), nowhere, verdicts(False), claims("a"), verdicts([1])]
    with pytest.raises(BadReply, match="supported but names no source"):
        play(noise_sensitivity(SAMPLE), replies)
    assert play(faithfulness(SAMPLE), [claims("a"), nowhere]).value == 1.0


def test_metrics_share_their_questions() -> None:
    """The claims of a response, and their support, are asked in the same words whoever asks."""
    asked: dict[str, set[tuple[str, type]]] = {}
    rules = (faithfulness, hallucination, noise_sensitivity, claim_recall, factual_correctness, context_utilization)
    for rule in rules:

        def judge(one: Ask | Embed, name: str = rule.__name__) -> object:
            assert isinstance(one, Ask)
            asked.setdefault(name, set()).add((one.prompt, one.shape))
            count = one.prompt.count("\nclaim ")
            split = claims("a", "c") if "Grace" in one.prompt else claims("a", "b")
            return split if one.shape is Claims else verdicts(*[[1]] * count)

        play(rule(SAMPLE), judge)
    assert asked["faithfulness"] < asked["hallucination"] < asked["noise_sensitivity"]
    assert asked["claim_recall"] < asked["noise_sensitivity"]
    assert len(set().union(*asked.values())) == 6
    assert support_shape(3) is support_shape(3)
    assert Numbered(support_shape(3)).of(2) is Numbered(support_shape(3)).of(2)
