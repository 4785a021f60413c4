"""Judges and embedders as values."""

from __future__ import annotations

import importlib.util

import pytest

from steelyard.core.errors import BadReply, InputError, MissingExtra, WrongType
from steelyard.core.requests import Ask
from steelyard.models.embedder import Embedder, embedder_of, embedding_script
from steelyard.models.engine import Engine
from steelyard.models.judge import LLMJudge, judge_of, script
from steelyard.models.model_spec import key_of
from tests.models.small_rules import by_key, cells, so, value

SPELLINGS = [
    "openai:gpt-4o-mini",
    "openai:gpt-4o-mini#temperature=1.0&seed=3",
    'openai:o4#temperature=none&max_tokens=none&extra.logit_bias={}&reasoning_effort="low"',
    "http://localhost:8000/v1#meta/llama-3:8b",
    "https://host/v1?version=2#m&window=8000&price=0.15,0.6&key_env=MY_KEY",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_judge_prints_as_it_is_read(spelling: str) -> None:
    """The printed form is the whole value."""
    judge = judge_of(spelling)
    assert str(judge) == spelling
    assert judge_of(str(judge)) == judge
    assert hash(judge_of(str(judge))) == hash(judge)


def test_the_identity_is_what_replies_depend_on() -> None:
    """Model, address and sampling are in it; price, window and the name of the key are not."""
    base = LLMJudge("m", url="http://h/v1")
    same = LLMJudge("m", url="http://h/v1", price=(1, 2), window=10, key_env="K")
    others = [
        LLMJudge("m2", url="http://h/v1"),
        LLMJudge("m", url="http://h2/v1"),
        LLMJudge("m", url="http://h/v1", temperature=0.5),
        LLMJudge("m", url="http://h/v1", max_tokens=5),
        LLMJudge("m", url="http://h/v1", seed=1),
        LLMJudge("m", url="http://h/v1", extra={"top_p": 0.1}),
    ]
    assert base.identity == same.identity
    assert len({judge.identity for judge in (base, *others)}) == 7


@pytest.mark.parametrize(
    ("spelling", "words"),
    [
        ("gpt-4o", "unknown judge 'gpt-4o': write openai:MODEL"),
        ("http://host/v1", "names no model: write http://host/v1#MODEL"),
        ("openai:", "needs the name of a model"),
        ("openai:m#temprature=1", "unknown option 'temprature': did you mean temperature"),
        ("openai:m#seed=x", "option seed: expected a whole number"),
        ("openai:m#seed", "is not an option"),
        ("openai:m#max_tokens=0", "at least 1"),
        ("http://me:secret@host/v1#m", "password"),
    ],
)
def test_a_bad_spelling_is_one_clear_error(spelling: str, words: str) -> None:
    """It says what was found and what to write; a password in an address is not repeated."""
    with pytest.raises(InputError, match=words) as caught:
        judge_of(spelling)
    assert "secret" not in str(caught.value)


def test_what_is_no_judge_is_a_type_error() -> None:
    """An object of another kind is named."""
    with pytest.raises(WrongType, match="not a judge: 3"):
        judge_of(3)  # type: ignore[arg-type]


@pytest.mark.skipif(importlib.util.find_spec("litellm") is not None, reason="litellm is installed")
def test_a_missing_extra_says_what_to_install() -> None:
    """One line."""
    with pytest.raises(MissingExtra, match=r"pip install 'steelyard\[litellm\]'"):
        judge_of("litellm:anthropic/claude")


def test_whose_key_goes_where(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI's key goes to OpenAI alone, unless it is named."""
    monkeypatch.setenv("OPENAI_API_KEY", "for-openai")
    monkeypatch.setenv("STEELYARD_API_KEY", "for-others")
    monkeypatch.setenv("MINE", "mine")
    assert key_of("https://api.openai.com/v1", "") == ("OPENAI_API_KEY or STEELYARD_API_KEY", "for-openai")
    assert key_of("http://localhost/v1", "") == ("STEELYARD_API_KEY", "for-others")
    assert key_of("http://notopenai.com/v1", "")[1] == "for-others"
    assert key_of("http://localhost/v1", "MINE") == ("MINE", "mine")
    assert key_of("http://localhost/v1", "ABSENT") == ("ABSENT", None)


def test_draws_and_repeats_get_seeds_of_their_own() -> None:
    """With a seed, two draws are not one draw twice; without one none is sent."""
    judge = LLMJudge("m", seed=7)
    seeds = {judge.body("p", draw=draw, repeat=repeat)["seed"] for draw in range(3) for repeat in range(3)}
    assert len(seeds) == 9
    assert "seed" not in LLMJudge("m").body("p")


def answer(ask: Ask) -> object:
    return {"reason": ask.prompt[:5], "verdict": "yes" if "text 1" in ask.prompt else "no"}


def test_a_script_answers_without_a_network() -> None:
    """Its name is that of the function, and its answers are read as a model's are."""
    judge = script(answer)
    assert str(judge) == judge.identity == f"script:{__name__}.answer"
    results = by_key(Engine(judge, ledger=":memory:").run(cells(so, ["text 1", "text 2"])))
    assert {key: value(one) for key, one in results.items()} == {"text 1": 1.0, "text 2": 0.0}


def test_a_script_may_write_text_and_raise() -> None:
    """A text is read like a model's; an exception is raised in the rule."""
    texts = script(lambda ask: "```json\n{'verdict': 'Yes.', 'reason': ''}\n```")
    (result,) = Engine(texts, ledger=":memory:").run(cells(so, ["a"]))
    assert value(result) == 1.0

    def refuse(ask: Ask) -> object:
        raise BadReply("refusal", "no")

    (result,) = Engine(script(refuse), ledger=":memory:").run(cells(so, ["a"]))
    assert str(result.error) == "refusal: no"
    (result,) = Engine(script(lambda ask: ask.nothing), ledger=":memory:").run(cells(so, ["a"]))  # type: ignore[attr-defined]
    assert isinstance(result.error, AttributeError)


def test_a_script_is_asked_afresh() -> None:
    """A test never sees the answers of another script of the same name."""
    engine = Engine(script(lambda ask: {"reason": "", "verdict": "yes"}), ledger=":memory:")
    assert [value(one) for _ in range(2) for one in engine.run(cells(so, ["a"]))] == [1.0, 1.0]
    assert engine.usage.calls == 2


def test_an_embedder_prints_as_it_is_read() -> None:
    """Dimensions are in its identity; batch, price and the name of the key are not."""
    embedder = embedder_of("http://h/v1#bge&dimensions=8&batch=2&price=0.1&key_env=K")
    assert embedder_of(str(embedder)) == embedder
    assert embedder.identity == "http://h/v1#bge&dimensions=8"
    assert Embedder("m").identity == "openai:m"
    with pytest.raises(InputError, match="unknown embedder"):
        embedder_of("bge")
    with pytest.raises(WrongType):
        embedder_of(1)  # type: ignore[arg-type]
    assert str(embedding_script(len)) == "script:builtins.len"
