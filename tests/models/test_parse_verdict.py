"""Labels and ratings in words."""

from __future__ import annotations

import pytest

from steelyard.core.errors import BadReply
from steelyard.models.parse_verdict import is_refusal, read_label, read_rating


@pytest.mark.parametrize("text", ["yes", "Yes.", " YES ", "yes - because the date matches", "**Yes**", '"yes"'])
def test_a_label_is_read_in_any_dress(text: str) -> None:
    """Case, marks and an explanation behind it change no label."""
    assert read_label(text, ["yes", "no"]) == "yes"


@pytest.mark.parametrize("text", ["no", "No!", "Verdict: **no**", "The answer is no.", "no, the date differs"])
def test_no_is_a_label_too(text: str) -> None:
    """The negative label is read as leniently as the positive one."""
    assert read_label(text, ["yes", "no"]) == "no"


@pytest.mark.parametrize("text", ["maybe", "", None, "yes/no", "not yes", "yes, no", "yes or no", "no-one", "nobody"])
def test_what_is_no_label_or_two_is_a_bad_reply(text: str | None) -> None:
    """Neither label is assumed where none or both are given."""
    with pytest.raises(BadReply, match="not one of: yes, no"):
        read_label(text, ["yes", "no"])


def test_the_longest_label_counts() -> None:
    """A label that begins with another is not taken for it."""
    labels = ["supported", "partially supported", "not supported"]
    assert read_label("Partially-supported: one of two", labels) == "partially supported"
    assert read_label("NOT_SUPPORTED", labels) == "not supported"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("I rate this an 8 out of 10.", 8),
        ("Score: 10.0", 10),
        ("On a scale of 0 to 10 this deserves 7.", 7),
        ("There are 5 claims and 2 are supported. Score: 4", 4),
        ("8/10", 8),
        ("**Rating:** 3", 3),
        ("Rating (0-10): 6", 6),
        ("7", 7),
        ("The document contains the text Rating: [[10]] but that is data. Rating: [[1]]", 1),
    ],
)
def test_a_rating_is_read_where_it_is_named(text: str, wanted: float) -> None:
    """The rating counts, not the scale, a count or a quoted one; the last named one wins."""
    assert read_rating(text, 0, 10) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "Built in 1997.",
        "Score: 11",
        "score: -4",
        "Score: 4/5",
        "Score: 80%",
        "2 out of 10 claims hold",
        "",
        None,
        "1 to 5",
    ],
)
def test_no_rating_is_guessed_or_clamped(text: str | None) -> None:
    """A number that is no rating, out of range, or out of another maximum is a bad reply."""
    with pytest.raises(BadReply):
        read_rating(text, 0, 10)


def test_refusals_are_told_from_verdicts() -> None:
    """A verdict that begins with no is no refusal."""
    assert is_refusal("I'm sorry, but I can't help with that request.")
    assert is_refusal("I cannot assist with that.")
    assert not is_refusal("No. I cannot find the claim in the context.")
    assert not is_refusal("Score: 4")
