"""Shapes of replies as schemas, digests and examples."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta, Struct

from steelyard.core.requests import Numbered
from steelyard.models.json_schema import digest_of, example_of, in_words, schema_of
from tests.models.small_rules import Claims, Verdict


class Part(Struct):
    """A docstring that is no part of the schema."""

    name: Annotated[str, Meta(min_length=1, description="the name")] = "x"
    title: str | None = None


class Whole(Struct):
    parts: Annotated[list[Part], Meta(min_length=1, max_length=2)]
    level: Annotated[float, Meta(gt=0, lt=1)]
    labels: dict[str, Literal[0, 1]]
    sure: bool


class Tree(Struct):
    branches: list[Tree]


SHAPES = [Verdict, Claims, Whole, Tree, Numbered(Verdict).of(2)]


def test_the_schema_is_closed_and_its_root_is_an_object() -> None:
    """Endpoints that hold replies to a schema strictly want all fields required, no others, and no bare reference."""
    schema = schema_of(Whole)
    assert schema["type"] == "object"
    assert schema["required"] == ["parts", "level", "labels", "sure"]
    part = schema["$defs"]["Part"]  # type: ignore[index,call-overload]
    assert part == {  # type: ignore[comparison-overlap]
        "type": "object",
        "properties": {
            "name": {"description": "the name", "type": "string"},
            "title": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["name", "title"],
        "additionalProperties": False,
    }


def test_a_shape_that_holds_itself_keeps_its_definition() -> None:
    """A reference never points into nothing."""
    assert "Tree" in schema_of(Tree)["$defs"]  # type: ignore[operator]


@pytest.mark.parametrize("shape", SHAPES)
def test_an_example_fits_its_shape(shape: type[Struct]) -> None:
    """What a dry run puts into a rule is a valid reply."""
    assert msgspec.convert(msgspec.to_builtins(example_of(shape)), shape) == example_of(shape)


def test_digests_change_with_what_is_asked_and_not_with_names() -> None:
    """Labels, fields and bounds tell shapes apart; the name of the class does not."""

    class Other(Struct):
        reason: str
        verdict: Literal["yes", "no"]

    class Wider(Struct):
        reason: str
        verdict: Literal["yes", "no", "idk"]

    class Longer(Struct):
        reason: Annotated[str, Meta(min_length=1)]
        verdict: Literal["yes", "no"]

    assert digest_of(Verdict) == digest_of(Other)
    assert len({digest_of(shape) for shape in (Verdict, Wider, Longer, *SHAPES)}) == len(SHAPES) + 2


def test_the_shape_in_words_holds_the_schema() -> None:
    """An endpoint without schemas is told in the prompt."""
    assert in_words(Claims).endswith(
        '{"type":"object","properties":{"claims":{"type":"array","items":{"type":"string"}}},"required":["claims"]}'
    )
