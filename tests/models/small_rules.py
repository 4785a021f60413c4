"""Rules and helpers that the tests of the engine share: one request, two requests, embeddings."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Literal

from msgspec import Struct

from steelyard.core.requests import Flow, Numbered, Prompt, ask, embed, items, ratio
from steelyard.models.engine import Cell, Engine, Result
from steelyard.stats.cosine import cosine


class Claims(Struct):
    claims: list[str]


class Verdict(Struct):
    reason: str
    verdict: Literal["yes", "no"]


SPLIT = Prompt("List the claims.")
CHECK = Prompt("Is each claim true?")
SO = Prompt("Is it so?")


def so(text: str, *, draw: int = 0) -> Flow:
    """One request."""
    reply = yield from ask(SO, Verdict, draw=draw, text=text)
    return float(reply.verdict == "yes")


def supported(text: str) -> Flow:
    """Two requests: the claims of a text, and a verdict on each."""
    split = yield from ask(SPLIT, Claims, text=text)
    checked = yield from ask(CHECK, Numbered(Verdict).of(len(split.claims)), claim=split.claims)
    verdicts = [item.verdict for item in items(checked)]
    return ratio(verdicts.count("yes"), len(verdicts), empty="no claims")


def alike(a: str, b: str) -> Flow:
    """Two embeddings."""
    one, other = yield from embed([a, b])
    return cosine(one, other)


def cells(rule: Any, texts: Iterable[str]) -> list[Cell]:
    """A cell per text, whose key is the text."""
    return [Cell(text, partial(rule, text)) for text in texts]


def texts(count: int) -> list[str]:
    return [f"text {number}" for number in range(count)]


def engine_of(server: Any, **options: Any) -> Engine:
    """An engine with no file, quick to give up, on a test server."""
    settings = {"ledger": ":memory:", "deadline": 5.0, "max_wait": 5.0, **options}
    return Engine(settings.pop("judge", server.judge), settings.pop("embedder", server.judge), **settings)


def by_key(results: Iterable[Result]) -> dict[Any, Result]:
    """Results by the key of their cell."""
    return {result.key: result for result in results}


def value(result: Result) -> float:
    """The number of a result that has one."""
    assert result.error is None, result.error
    return result.outcome.value  # type: ignore[union-attr]
