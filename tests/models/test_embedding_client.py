"""Embeddings: batches, order, base64, faults, ledger."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from steelyard.core.errors import AskFailed, BadReply
from steelyard.core.requests import Flow, embed
from steelyard.models.embedder import embedding_script
from steelyard.models.embedding_client import read_vectors
from steelyard.models.engine import Cell, Engine
from tests.models.small_rules import alike, by_key, cells, engine_of, value
from tests.server import Server

Serve = Callable[..., Server]
UNIT = {"aa": [1.0, 0.0, 0.0], "bb": [0.0, 1.0, 0.0], "cc": [0.0, 0.0, 1.0]}


def three() -> Flow:
    vectors = yield from embed(["aa", "bb", "cc"])
    return float([list(one) for one in vectors] == list(UNIT.values()))


@pytest.mark.parametrize(
    "data",
    [
        [
            {"index": 2, "embedding": [0, 0, 1]},
            {"index": 0, "embedding": [1, 0, 0]},
            {"index": 1, "embedding": [0, 1, 0]},
        ],
        [
            {"index": 0, "embedding": "AACAPwAAAAAAAAAA"},
            {"index": 1, "embedding": [0.0, 1.0, 0.0]},
            {"index": 2, "embedding": [0, 0, 1]},
        ],
        [{"embedding": [1, 0, 0]}, {"embedding": [0, 1, 0]}, {"embedding": [0, 0, 1]}],
    ],
)
def test_vectors_are_put_by_index_from_lists_and_base64(serve: Serve, data: list[Any]) -> None:
    """Order and encoding of the endpoint do not matter; lists of numbers are asked for."""
    server = serve(embedding_body=lambda body: {"data": data})
    (result,) = engine_of(server).run([Cell("k", three)])
    assert value(result) == 1.0
    assert server.bodies[0]["encoding_format"] == "float"
    assert server.bodies[0]["input"] == ["aa", "bb", "cc"]
    assert result.usage.estimated == 1


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([{"index": 0, "embedding": [1, 0, 0]}], "expected 3 vectors got 1"),
        ([{"index": 0, "embedding": [1.0]}] * 3, "other or repeated numbers"),
        ([{"index": i, "embedding": [1.0] * (1 + i)} for i in range(3)], "vectors of 1 and 2 and 3 numbers"),
        ([{"index": i, "embedding": []} for i in range(3)], "vectors of 0 numbers"),
        ([{"index": i, "embedding": "???"} for i in range(3)], "neither a list of numbers nor base64"),
        ([{"index": i, "embedding": None} for i in range(3)], "has no embeddings"),
    ],
)
def test_what_is_no_batch_is_an_error(serve: Serve, data: list[Any], words: str) -> None:
    """No vector is made up, doubled or left out."""
    (result,) = engine_of(serve(embedding_body=lambda body: {"data": data})).run([Cell("k", three)])
    assert isinstance(result.error, BadReply)
    assert words in str(result.error)


def test_a_zero_vector_is_a_failure_not_nan(serve: Serve) -> None:
    """A cosine that does not exist is an error of that cell alone."""
    server = serve(embed=lambda text: [0.0, 0.0] if text == "zero" else [1.0, 1.0])
    engine = engine_of(server)
    found = by_key(engine.run([Cell(pair, partial(alike, *pair)) for pair in (("zero", "a"), ("a", "b"))]))
    assert "zero vector" in str(found["zero", "a"].error)
    assert value(found["a", "b"]) == pytest.approx(1.0)


def test_texts_of_many_cells_share_calls(serve: Serve, tmp_path: Path) -> None:
    """Batches reach across cells, a text is embedded once, and the next run asks nothing."""
    server = serve(latency=0.02)
    work = [Cell(number, partial(alike, "the question", f"text {number}")) for number in range(200)]
    engine = engine_of(server, ledger=tmp_path / "l.sqlite", embedder=server.judge + "&batch=50&price=1")
    first = by_key(engine.run(work))
    sent = [text for body in server.bodies for text in body["input"]]
    assert len(sent) == len(set(sent)) == 201
    assert max(len(body["input"]) for body in server.bodies) <= 50
    assert server.embed_calls <= 40
    assert engine.usage.calls == server.embed_calls
    assert engine.usage.embedded == 201
    assert engine.usage.prompt_tokens == 4 * 201
    assert engine.usage.cost == pytest.approx(4 * 201 / 1e6)
    server.reset()
    again = engine_of(server, ledger=tmp_path / "l.sqlite", embedder=server.judge + "&batch=7")
    second = by_key(again.run(work))
    assert server.embed_calls == again.usage.calls == 0
    assert again.usage.cached == 200
    assert {key: value(one) for key, one in second.items()} == {key: value(one) for key, one in first.items()}


def test_offline_and_absent_embedders_fail_the_cell() -> None:
    """The reason says what is missing."""
    (result,) = Engine(None, None, ledger=":memory:").run(cells(partial(alike, "a"), ["b"]))
    assert isinstance(result.error, AskFailed)
    assert result.error.kind == "no_embedder"
    (result,) = Engine(None, "http://localhost:1/v1#m", ledger=":memory:", offline=True).run(
        cells(partial(alike, "a"), ["b"])
    )
    assert result.error is not None
    assert result.error.kind == "offline"  # type: ignore[attr-defined]


def test_a_function_embeds_too() -> None:
    """A script answers texts with vectors; too few are an error as from an endpoint."""
    engine = Engine(None, embedding_script(lambda texts: [[len(text), 1.0] for text in texts]), ledger=":memory:")
    (result,) = engine.run(cells(partial(alike, "aa"), ["bb"]))
    assert value(result) == pytest.approx(1.0)
    engine = Engine(None, embedding_script(lambda texts: [[1.0]]), ledger=":memory:")
    (result,) = engine.run(cells(partial(alike, "aa"), ["bb"]))
    assert "expected 2 vectors got 1" in str(result.error)


def test_tokens_are_counted_where_the_endpoint_counts_them() -> None:
    """An answer without a usage block has none."""
    body = b'{"data":[{"index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":7}}'
    assert read_vectors(body, 1)[1] == 7
    assert read_vectors(b'{"data":[{"embedding":[1,2]}]}', 1)[1] is None
