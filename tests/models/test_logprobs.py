"""Chances of ratings, from the log probabilities of tokens, over HTTP and by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from steelyard.core.records import Sample, Value
from steelyard.core.requests import play
from steelyard.metrics.judged.rubric import rubric
from steelyard.models.engine import Cell
from steelyard.models.logprobs import Likely, Token, chances, read_tokens
from tests.models.small_rules import by_key, engine_of
from tests.server import Reply

SAMPLE = Sample(response="In 1932.", reference="1932")
Serve = Callable[..., Any]


def token(text: str, **likely: float) -> dict[str, Any]:
    """A token as an endpoint writes it; ``likely`` are probabilities of what might have stood there."""
    others = [{"token": name.strip("_"), "logprob": math.log(p)} for name, p in likely.items()]
    return {"token": text, "logprob": -0.1, "bytes": None, "top_logprobs": others}


def completion(rating: int, tokens: list[dict[str, Any]] | None) -> dict[str, Any]:
    """A chat completion with a rating and, perhaps, logprobs."""
    message = {"role": "assistant", "content": f'{{"reason": "r", "rating": {rating}}}'}
    choice: dict[str, Any] = {"index": 0, "finish_reason": "stop", "message": message}
    if tokens is not None:
        choice["logprobs"] = {"content": tokens}
    return {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 5}}


FOUR = [token('{"reason": "r", '), token('"rating"'), token(": "), token("4", _4=0.6, _5=0.2, _four=0.2), token("}")]


def run(server: Any, ledger: str | Path = ":memory:", **settings: Any) -> tuple[Value, Any]:
    """The rubric's value against a server, and the engine."""
    engine = engine_of(server, ledger=ledger)
    result = by_key(engine.run([Cell("a", partial(rubric, SAMPLE, **settings))]))["a"]
    assert isinstance(result.outcome, Value), result.error
    return result.outcome, engine


def test_a_rating_is_weighted_by_its_chances(serve: Serve, tmp_path: Path) -> None:
    """4 with .75 and 5 with .25 is 4.25; the ledger keeps the chances, and a second run asks nothing."""
    server = serve(answer=lambda body: completion(4, FOUR))
    for calls in (1, 1):
        value, _ = run(server, tmp_path / "l.sqlite")
        assert value.value == pytest.approx((4.25 - 1) / 4)
        assert value.evidence["weighted"] is True
        assert value.evidence["chances"] == {"4": 0.75, "5": 0.25}
        assert server.calls == calls
    assert server.bodies[0]["logprobs"] is True
    assert server.bodies[0]["top_logprobs"] == 20


@pytest.mark.parametrize("tokens", [None, [], [token('{"reason": "r", "rating": 4}')], [token("no such")]])
def test_without_chances_the_rating_counts_as_written(serve: Serve, tokens: list[Any] | None) -> None:
    """No logprobs, none for the number, or other tokens: said, and no guess."""
    value, _ = run(serve(answer=lambda body: completion(4, tokens)))
    assert (value.value, value.evidence["weighted"]) == (0.75, False)


def test_logprobs_of_another_form_harm_nothing(serve: Serve) -> None:
    """The older form of completions, and nonsense."""
    for odd in ({"token_logprobs": [-0.1]}, 7, {"content": "x"}, {"content": [{"token": 4}]}):
        body = completion(4, None)
        body["choices"][0]["logprobs"] = odd
        value, _ = run(serve(answer=lambda _, body=body: body))
        assert (value.value, value.evidence["weighted"]) == (0.75, False)


def test_an_endpoint_without_logprobs_is_asked_without(serve: Serve) -> None:
    """It refuses the parameter by name; the rating counts as written, and the notes say so."""

    def answer(body: dict[str, Any]) -> Reply | dict[str, Any]:
        if "logprobs" in body:
            return Reply({"error": {"message": "logprobs is not supported with this model", "param": "logprobs"}}, 400)
        return completion(4, None)

    server = serve(answer=answer)
    value, engine = run(server)
    assert (value.value, value.evidence["weighted"]) == (0.75, False)
    assert "top_logprobs" not in server.bodies[-1]
    assert any("logprobs is not applied" in note for note in engine.notes)


def test_who_does_not_want_chances_does_not_ask(serve: Serve) -> None:
    """``weighted=False``, or a scale with negative ratings, whose sign is a token of its own."""
    server = serve(answer=lambda body: completion(1, FOUR))
    for settings in ({"weighted": False}, {"scale": "-2-2"}):
        value, _ = run(server, **settings)
        assert value.evidence["weighted"] is False
        assert "logprobs" not in server.bodies[-1]


def test_digits_alone_do_not_tell_ten_from_one() -> None:
    """On a scale to 10 a judge that writes digits one by one gives 1 the chances of 10 too."""
    by_digits = {"reason": "r", "rating": 7, "chances": {7: 0.9, 1: 0.1}}
    assert play(rubric(SAMPLE, scale="1-10"), [by_digits]).evidence["weighted"] is False
    whole = {"reason": "r", "rating": 7, "chances": {7: 0.5, 10: 0.5}}
    assert play(rubric(SAMPLE, scale="1-10"), [whole]).value == pytest.approx(7.5 / 9)


@pytest.mark.parametrize(
    ("logprobs", "found"),
    [
        ({"4": 0.5}, {}),
        ({"4": 2e-6}, {}),
        ({"4": 5e-7}, {4: 1.0}),
        ({"4": math.log(0.7), "5": math.log(0.4)}, {}),
        ({"4": math.log(0.7), "four": math.log(0.4)}, {}),
        ({"4": math.nan}, {}),
        ({"4": math.log(0.6), "5": math.log(0.4005)}, {4: 0.6 / 1.0005, 5: 0.4005 / 1.0005}),
    ],
)
def test_what_cannot_be_probabilities_gives_no_chances(logprobs: dict[str, float], found: dict[int, float]) -> None:
    """A log probability above 0, or more than 1 in all, is no evidence; rounding is."""
    four = Token("4", -0.1, [Likely(text, logprob) for text, logprob in logprobs.items()])
    assert chances([Token('{"rating": '), four, Token("}")], "rating", 4) == pytest.approx(found)


def test_impossible_chances_leave_a_rating_as_it_is_written(serve: Serve) -> None:
    """Probabilities of one place that sum to 1.3: the rating counts unweighted, and says so."""
    tokens = [*FOUR[:3], token("4", _4=0.9, _5=0.4), FOUR[4]]
    value, _ = run(serve(answer=lambda body: completion(4, tokens)))
    assert (value.value, value.evidence["weighted"]) == (0.75, False)


def test_numbers_in_the_reason_are_not_the_rating() -> None:
    """The last place where the field stands counts, and it must hold the number that was read."""
    quoted = Token('{"reason": "it says \\"rating\\": 5", ')
    five = Token("5", -0.1, [Likely("5", -0.1)])
    four = Token(" 4", -0.1, [Likely(" 4", math.log(0.9)), Likely(" 3", math.log(0.1))])
    found = chances([quoted, Token('"rating":'), four, Token("}")], "rating", 4)
    assert found == pytest.approx({3: 0.1, 4: 0.9})
    assert chances([quoted, Token('"rating":'), five, Token("}")], "rating", 4) == {}


@given(st.dictionaries(st.integers(1, 5), st.floats(-50, 3), min_size=1), st.floats(-50, 3), st.integers(1, 5))
def test_chances_are_probabilities(numbers: dict[int, float], other: float, chosen: int) -> None:
    """Whatever an endpoint writes: nothing, or shares that sum to 1 and a value on the scale."""
    likely = [Likely(str(number), logprob) for number, logprob in numbers.items()] + [Likely("x", other)]
    found = chances([Token('{"rating": '), Token(str(chosen), -0.1, likely)], "rating", chosen)
    if found:
        assert sum(found.values()) == pytest.approx(1)
        value = play(rubric(SAMPLE), [{"reason": "r", "rating": chosen, "chances": found}])
        assert isinstance(value, Value)
        assert 0 <= value.value <= 1


def test_tokens_of_nothing() -> None:
    """An endpoint that writes null has no tokens."""
    assert read_tokens(b"") == read_tokens(b"null") == read_tokens(b'{"content": null}') == []
