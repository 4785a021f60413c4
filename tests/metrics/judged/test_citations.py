"""Citations and nuggets, played by hand."""

from __future__ import annotations

import math

import pytest

from steelyard.core.errors import AskFailed, BadReply, InputError
from steelyard.core.records import Sample, Undefined
from steelyard.core.requests import Ask, Embed, play
from steelyard.metrics.judged.citations import Statement, citation_precision, citation_recall, cited_in, statements
from steelyard.metrics.judged.nuggets import nugget_recall, nugget_scores

SAMPLE = Sample(
    user_input="Who?",
    response="Ada signed [1]. Grace read it. [2, 3] Nobody else came. It was signed twice [9][0].",
    retrieved_contexts=["Ada signed.", "Grace came.", "Grace read it."],
)


def support(verdict: str, *passages: int) -> dict[str, object]:
    """A reply about one claim."""
    return {"1": {"reason": "r", "verdict": verdict, "passages": list(passages)}}


def test_markers_belong_to_their_sentence() -> None:
    """Before or after the full stop, several, ranges, and none."""
    assert statements(SAMPLE.response) == [
        Statement("Ada signed.", [1]),
        Statement("Grace read it.", [2, 3]),
        Statement("Nobody else came.", []),
        Statement("It was signed twice.", [9, 0]),
    ]
    assert statements("東京は晴れ。[1] 雨は降らない[2]。") == [
        Statement("東京は晴れ。", [1]),
        Statement("雨は降らない。", [2]),
    ]
    assert statements("") == []
    assert cited_in("[1-3] [2; 5] 【7】 [a] [2024-01-01 report] array[x]") == [1, 2, 3, 5, 7]
    assert cited_in("[1-9999]") == [1, 9999]


def test_citation_recall() -> None:
    """Four statements; two cite, one of them is supported. Cited contexts count together, under their own numbers."""
    requests = next(citation_recall(SAMPLE))
    assert isinstance(requests, list)
    assert ["Grace came." in one.prompt for one in requests] == [False, True]
    assert "Ada signed.\n" not in requests[1].prompt
    value = play(citation_recall(SAMPLE), [support("no"), support("yes", 1, 2)])
    assert (value.value, value.parts) == (0.25, (1, 4))
    told = value.evidence["statements"]
    assert told[1] == {
        "claim": "Grace read it.",
        "cited": [2, 3],
        "verdict": "yes",
        "reason": "r",
        "passages": [2, 3],
    }
    assert [one["reason"] for one in told[2:]] == ["cites no context"] * 2


def test_citation_precision() -> None:
    """Five citations: one alone and right, one of a pair, two to contexts that do not exist."""
    value = play(citation_precision(SAMPLE), [support("yes", 1), support("yes", 2)])
    assert (value.value, value.parts) == (2 / 5, (2, 5))
    assert play(citation_precision(SAMPLE), [support("no"), support("no", 1)]).value == 0.0
    with pytest.raises(BadReply, match="names no source"):
        play(citation_precision(SAMPLE), [support("no"), support("yes")])


def test_no_markers() -> None:
    """Recall 0 and precision undefined, without a request."""
    plain = Sample(response="Ada signed. Grace read it.", retrieved_contexts=["Ada signed."])
    assert play(citation_recall(plain), []).value == 0.0
    assert play(citation_precision(plain), []) == Undefined("no citations")
    assert play(citation_recall(Sample(response="…", retrieved_contexts=["a"])), []).reason == "no statements"


def test_citations_of_contexts_beyond_the_window() -> None:
    """Each statement is then checked by itself, in parts."""

    def judge(one: Ask | Embed) -> object:
        if len(one.prompt) > 3000:
            return AskFailed("context_too_long", "too long")
        return support("yes", 1) if "Ada signed." in one.prompt.partition("\nclaim ")[0] else support("no")

    sample = Sample(response="Ada signed [1].", retrieved_contexts=["Filler. " * 800 + "Ada signed."])
    assert play(citation_recall(sample), judge).value == 1.0


def assigned(*given: str) -> dict[str, object]:
    """Support of nuggets."""
    return {str(n): {"reason": "r", "support": one} for n, one in enumerate(given, 1)}


NUGGETS = [{"text": "1932", "importance": "vital"}, "Ada", {"text": "in spring", "importance": "okay"}]


def test_nugget_scores() -> None:
    """Vital full and partial, okay none: weighted 1.5 / 2.5, strict 1 / 3, vital 3 / 4, vital strict 1 / 2."""
    sample = Sample(user_input="q", response="r", metadata={"nuggets": NUGGETS})
    reply = assigned("full", "partial", "none")
    for score, expected in (("weighted", 0.6), ("strict", 1 / 3), ("vital", 0.75), ("vital_strict", 0.5)):
        assert math.isclose(play(nugget_recall(sample, score=score), [reply]).value, expected)
    assert nugget_scores(["okay"], ["full"]) == {"weighted": 1.0, "strict": 1.0, "vital": None, "vital_strict": None}


def test_nuggets_are_made_from_the_reference() -> None:
    """Where none are given; the reference, not the contexts, says what a good answer holds."""
    sample = Sample(user_input="q", response="r", reference="1932, by Ada", retrieved_contexts=["noise"])
    flow = nugget_recall(sample, score="vital")
    request = next(flow)
    assert "1932, by Ada" in request.prompt
    assert "noise" not in request.prompt
    made = {"nuggets": [{"text": "1932", "importance": "okay"}, {"text": "1932 ", "importance": "okay"}]}
    value = play(nugget_recall(sample), [made, assigned("full")])
    assert value.value == 1.0
    assert play(nugget_recall(sample, score="vital"), [made, assigned("full")]).reason == "no vital nuggets"
    assert play(nugget_recall(sample), [{"nuggets": []}]) == Undefined("no nuggets")


def test_no_nuggets_and_bad_nuggets() -> None:
    """Nothing to look for is undefined; a broken list is the user's mistake and says where."""
    bare = Sample(user_input="q", response="r")
    assert play(nugget_recall(bare), []).reason == "no nuggets, and no reference to make them from"
    for bad in ("1932", [1], [{"importance": "vital"}], [{"text": "a", "importance": "high"}]):
        with pytest.raises(InputError, match=r"nuggets.*: expected a list of texts"):
            play(nugget_recall(Sample(user_input="q", response="r", metadata={"nuggets": bad})), [])
