"""What does not fit a record is said in words, with its place and what stands there."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta, Struct

from steelyard.core.validation import validation_problem


class Inner(Struct, forbid_unknown_fields=True):
    name: str
    pair: tuple[float, float] | None = None
    marks: Annotated[list[int], Meta(max_length=2)] = []


class Outer(Struct):
    inner: list[Inner] = []
    way: Literal["fast", "slow"] = "fast"
    on: bool = False
    share: Annotated[float, Meta(gt=0, le=1)] = 1.0


@pytest.mark.parametrize(
    ("given", "place", "words"),
    [
        ({"way": "odd"}, "$.way", "invalid value 'odd'"),
        ({"way": 3}, "$.way", "expected text, found 3"),
        ({"on": "yes"}, "$.on", "expected true or false, found 'yes'"),
        ({"on": None}, "$.on", "expected true or false, found nothing"),
        ({"share": 0}, "$.share", "expected a number above 0, found 0"),
        ({"share": 1.5}, "$.share", "expected a number of at most 1, found 1.5"),
        ({"inner": "a"}, "$.inner", "expected a list, found 'a'"),
        ({"inner": [3]}, "$.inner[0]", "expected a mapping, found 3"),
        ({"inner": [{"name": "a"}, {}]}, "$.inner[1]", "name is missing"),
        ({"inner": [{"name": "a", "nome": 1}]}, "$.inner[0]", "no such field 'nome'"),
        ({"inner": [{"name": {"a": 1}}]}, "$.inner[0].name", "expected text, found a mapping"),
        ({"inner": [{"name": "a", "pair": [1]}]}, "$.inner[0].pair", "expected a list of 2, found a list of 1"),
        ({"inner": [{"name": "a", "pair": 1}]}, "$.inner[0].pair", "expected a list or nothing, found 1"),
        ({"inner": [{"name": "a", "marks": [1, 2, 3]}]}, "$.inner[0].marks", "expected a list of at most 2, found a list of 3"),
        ([], "$", "expected a mapping, found a list of 0"),
    ],
)  # fmt: skip
def test_a_misfit_in_words(given: Any, place: str, words: str) -> None:
    """Kind, bound and length are words; what was found is shown where the path leads to it."""
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(given, Outer)
    assert validation_problem(caught.value, given)[:2] == (words, place)


def test_what_is_found_is_cut() -> None:
    """A long value does not make a long line, and without the value none is shown."""
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert("x" * 1000, int)
    assert len(validation_problem(caught.value, "x" * 1000).words) < 100
    assert validation_problem(caught.value).words == "expected a whole number"
