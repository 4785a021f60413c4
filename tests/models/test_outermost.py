"""A piece of a broken reply is never taken for a reply."""

from __future__ import annotations

from typing import Literal

import pytest
from msgspec import Struct

from steelyard.core.errors import BadReply
from steelyard.core.requests import Numbered
from steelyard.models.parse_reply import Completion, read_reply


class Verdict(Struct):
    """A verdict with its reason."""

    verdict: Literal["yes", "no"]
    reason: str = ""


INNER = '{"verdict": "yes", "reason": "r"}'


@pytest.mark.parametrize(
    "text",
    [
        '{"items": [' + INNER + ', {"verd "oops": ,]',
        "Sure: {'1': " + INNER + ", '2': {",
        '{"1": ' + INNER + ', "2": ' + INNER,
    ],
)
def test_an_object_inside_a_cut_one_is_no_reply(text: str) -> None:
    """What is cut off or broken is malformed, although a whole object of the right shape stands in it."""
    with pytest.raises(BadReply, match="malformed"):
        read_reply(Completion(text), Verdict)


def test_a_slip_in_the_outer_object_is_mended_first() -> None:
    """A trailing comma in the outer object does not leave its inner objects as the reply."""
    reply = read_reply(Completion('{"1": ' + INNER + ', "2": ' + INNER + ",}"), Numbered(Verdict).of(2))
    assert reply == read_reply(Completion('{"1": ' + INNER + ', "2": ' + INNER + "}"), Numbered(Verdict).of(2))


def test_braces_in_prose_hide_nothing() -> None:
    """Prose with braces before the answer is skipped, closed or not."""
    for prose in ("Using {x} as asked: ", "A set {1, 2, 3}; ", "An open { brace; "):
        assert read_reply(Completion(prose + INNER), Verdict) == Verdict("yes", "r")


def test_another_shape_is_not_a_wrong_count() -> None:
    """A wrong count is told where there are numbers to count."""
    shape = Numbered(Verdict).of(3)
    with pytest.raises(BadReply, match="wrong_schema"):
        read_reply(Completion('{"unexpected": ["shape"]}'), shape)
    with pytest.raises(BadReply, match="wrong_count: expected 3 got 1"):
        read_reply(Completion('{"1": ' + INNER + "}"), shape)
