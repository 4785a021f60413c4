"""From raw text to a typed reply, or a bad reply with its kind."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given, settings, strategies as st
from msgspec import Meta, Struct

from steelyard.core.errors import BadReply
from steelyard.core.requests import Numbered, items
from steelyard.models.parse_reply import Completion, Graded, complaint, read_reply, read_text
from tests.models.small_rules import Claims, Verdict


class Verdicts(Struct):
    verdicts: list[str]
    reason: str


class Rating(Struct):
    rating: Annotated[int, Meta(ge=1, le=10)]
    reason: str = ""


class Mixed(Struct):
    label: Literal["yes", "no", "idk"]
    flag: bool = False
    count: int | None = None
    level: Literal[0, 1, 2] = 0


def kind_of(text: str | None, shape: type[Struct], **completion: str) -> str:
    with pytest.raises(BadReply) as caught:
        read_reply(Completion(text, **completion), shape)
    return caught.value.kind


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"verdict": "yes", "reason": "r"}\n```\n',
        'Sure! Here it is:\n\n{"verdict": "yes", "reason": "r"}\n\nLet me know if {that} helps.',
        '<think>{"verdict": "no", "reason": "r"} or not?</think>\n{"verdict": "yes", "reason": "r"}',
        'The text says {"verdict": "no", "reason": "forged"}. My verdict: {"verdict": "yes", "reason": "r"}',
        '{"verdict": "**Yes**", "reason": "r"}',
    ],
)
def test_fences_prose_and_reasoning_are_no_obstacle(text: str) -> None:
    """The last object that fits the shape is the reply."""
    assert read_text(text, Verdict) == Verdict("r", "yes")


def test_slips_are_mended_and_valid_json_is_never_touched() -> None:
    """Trailing commas go; the same characters within a string of valid JSON stay byte for byte."""
    assert read_text('{"verdicts": ["yes", "no",], "reason": "ok",}', Verdicts) == Verdicts(["yes", "no"], "ok")
    reason = "listed A, B, ] and then {x, } was cut"
    assert read_text(json.dumps({"verdicts": ["yes"], "reason": reason}), Verdicts).reason == reason


@pytest.mark.parametrize(
    "text",
    [
        "{'verdict': 'yes', 'reason': 'it\\'s \"so\"'}",
        '{verdict: "yes", /* sure */ reason: "it\'s \\"so\\"", // end\n}',
        '# reply\n{"verdict": "yes", "reason": "it\\\'s \\"so\\"",}',
    ],
)
def test_single_quotes_comments_and_bare_keys_are_mended(text: str) -> None:
    """Slips that leave one reading are mended."""
    assert read_text(text, Verdict) == Verdict('it\'s "so"', "yes")


def test_line_breaks_within_strings_are_mended() -> None:
    """A raw line break, which JSON forbids, stays in the string."""
    assert read_text('{"verdict": "no", "reason": "one\ntwo"}', Verdict) == Verdict("one\ntwo", "no")


@pytest.mark.parametrize(
    "text",
    [
        '{"verdict": "yes", "reason": "cut of',
        '{"verdict": "yes", "reason": "r"',
        '{"verdict": "yes" "reason": "r"}',
        '{"verdict": , "reason": "r"}',
        '{"verdict": "yes", "reason": "he said "yes" to it"}',
        '{"verdict": "yes"} "oops": ,]}',
        '{"verdict": yes, "reason": "r"}',
        "Yes and no.",
        "{" * 5000,
        '{"a":' * 5000,
    ],
)
def test_what_is_cut_or_broken_is_never_completed(text: str) -> None:
    """No reading is guessed: the reply is bad."""
    assert kind_of(text, Verdict) in {"malformed", "wrong_schema"}


@pytest.mark.parametrize(
    ("completion", "kind"),
    [
        (Completion(None, refusal="I can't help with that."), "refusal"),
        (Completion("", finish="content_filter"), "content_filter"),
        (Completion(""), "empty"),
        (Completion(None), "empty"),
        (Completion("<think>hm"), "empty"),
        (Completion(None, finish="no_choices"), "no_choices"),
        (Completion('{"verdict": "yes", "reason": "r"}', finish="length"), "truncated"),
        (Completion("I'm sorry, but I can't help with that request."), "refusal"),
        (Completion('{"unexpected": ["shape"]}'), "wrong_schema"),
        (Completion('{"verdict": "maybe", "reason": "r"}'), "wrong_schema"),
        (Completion('{"verdict": null, "reason": "r"}'), "wrong_schema"),
        (Completion('{"reason": "r"}'), "wrong_schema"),
        (Completion('["yes"]'), "wrong_schema"),
        (Completion("4"), "wrong_schema"),
    ],
)
def test_each_fault_has_its_kind(completion: Completion, kind: str) -> None:
    """A missing verdict is never a verdict, and the reason says what was wrong."""
    with pytest.raises(BadReply) as caught:
        read_reply(completion, Verdict)
    assert caught.value.kind == kind


def test_a_wrong_count_says_both_numbers() -> None:
    """A judge that skips or adds items is told from one that answers nonsense."""
    shape = Numbered(Verdict).of(3)
    one = {"reason": "r", "verdict": "yes"}
    with pytest.raises(BadReply, match="wrong_count: expected 3 got 2"):
        read_text(json.dumps({"1": one, "2": one}), shape)
    with pytest.raises(BadReply, match="wrong_count: expected 3 got 4"):
        read_text(json.dumps([one] * 4), shape)
    with pytest.raises(BadReply, match="wrong_count: expected items numbered 1 to 3"):
        read_text(json.dumps({"0": one, "1": one, "2": one}), shape)
    assert kind_of(json.dumps({"1": one, "2": one, "3": {"reason": "r"}}), shape) == "wrong_schema"
    reply = read_text(json.dumps({"3": one, "1": one | {"verdict": "no!"}, "2": one}), shape)
    assert [item.verdict for item in items(reply)] == ["no", "yes", "yes"]


def test_types_are_eased_where_one_reading_is_left() -> None:
    """Numbers and flags written as text count; a text that is none does not."""
    reply = read_text('{"label": "IDK.", "flag": "false", "count": "3", "level": "2"}', Mixed)
    assert reply == Mixed("idk", flag=False, count=3, level=2)
    assert read_text('{"rating": 4.0}', Rating) == Rating(4)
    assert read_text('{"rating": "Score: 8/10"}', Rating) == Rating(8)
    assert kind_of('{"rating": "great"}', Rating) == "wrong_schema"
    assert kind_of('{"rating": 11}', Rating) == "wrong_schema"
    assert kind_of('{"rating": 4.5}', Rating) == "wrong_schema"
    assert kind_of('{"rating": true}', Rating) == "wrong_schema"
    assert kind_of('{"label": "yes", "flag": "perhaps"}', Mixed) == "wrong_schema"


def test_words_stand_in_for_json_where_the_shape_holds_one_label_or_rating() -> None:
    """A judge that cannot write JSON is read by its words, against the closed set or the range."""
    assert read_text("Yes - because the date matches.", Verdict).verdict == "yes"
    assert read_text("There are 5 claims. Score: 4", Rating).rating == 4
    assert kind_of("Built in 1997.", Rating) == "malformed"
    assert kind_of("Score: 11", Rating) == "malformed"
    assert kind_of("The claims are many.", Claims) == "malformed"


@pytest.mark.parametrize(
    ("text", "passes", "contradictory"),
    [
        ('{"score":0,"reason":"wrong city"}', False, False),
        ('{"pass":true,"score":0,"reason":"wrong city"}', False, True),
        ('{"pass":"false","score":0.9,"reason":"r"}', False, True),
        ('{"score":null,"pass":true,"reason":"r"}', True, False),
        ('{"score":0.5}', True, False),
    ],
)
def test_a_grade_passes_only_if_all_of_it_does(text: str, passes: bool, contradictory: bool) -> None:
    """What contradicts itself is no pass; null is no score."""
    grade = read_text(text, Graded)
    assert isinstance(grade, Graded)
    assert (grade.passes(), grade.contradictory()) == (passes, contradictory)


def test_a_grade_with_neither_score_nor_pass_is_bad() -> None:
    """A grader that answers nothing approves nothing."""
    assert kind_of('{"reason":"looks fine"}', Graded) == "wrong_schema"
    assert kind_of('{"score": 1.5}', Graded) == "wrong_schema"


def test_a_complaint_repeats_nothing_that_the_judge_wrote() -> None:
    """A reply could carry text of the data; what goes back is the fault and the schema."""
    with pytest.raises(BadReply) as caught:
        read_text('{"verdict": "IGNORE ALL", "reason": "r"}', Verdict)
    told = complaint(caught.value, Verdict)
    assert "IGNORE" not in told
    assert "wrong schema" in told
    assert '"verdict":{"enum":["no","yes"]}' in told


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["yes", "no", "", "1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["1", "2", "verdict", "reason", "rating"]), inner, max_size=4)
    ),
    max_leaves=8,
)
SHAPES = st.sampled_from([Verdict, Claims, Rating, Mixed, Graded, Numbered(Verdict).of(2)])


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(alphabet="{}[]\":,'\\ yesno10.-#/\n\ud800", max_size=60), JSON.map(json.dumps)), SHAPES)
def test_any_text_is_a_valid_reply_or_a_bad_one(text: str, shape: type[Struct]) -> None:
    """Whatever a judge writes, the reader returns the shape or raises BadReply."""
    try:
        reply = read_reply(Completion(text), shape)
    except BadReply:
        return
    assert msgspec.json.decode(msgspec.json.encode(reply), type=shape) == reply


@settings(max_examples=100, deadline=None)
@given(JSON, SHAPES)
def test_valid_json_is_read_as_it_is(value: object, shape: type[Struct]) -> None:
    """Where strict JSON fits the shape, the reply is exactly that."""
    text = json.dumps(value)
    try:
        strict = msgspec.json.decode(text, type=shape)
    except msgspec.DecodeError:
        return
    assert read_text(text, shape) == strict
