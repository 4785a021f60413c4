"""Parse the text of a judge into a typed reply, or raise BadReply.

Rules of this file: it knows no network. Valid JSON is never repaired. Truncated or broken text is a BadReply and is
never completed by a guess; only slips with a single reading are repaired: trailing commas, single quotes, comments,
bare keys, raw line breaks in strings, Python's names of constants. A missing verdict is never a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, inspect

from ..core.errors import BadReply
from ..core.records import Json
from .json_schema import in_words
from .parse_verdict import find_label, is_refusal, read_rating

_NOT_JSON = (msgspec.DecodeError, UnicodeError, RecursionError)
_TRIES = 30  # positions of braces that are tried, so that no reply takes long to read


class Completion(Struct, frozen=True):
    """An endpoint's answer: the text, the finish reason, the refusal if the endpoint reports one, and logprobs."""

    text: str | None
    finish: str | None = "stop"
    refusal: str | None = None
    logprobs: bytes = b""


def read_reply(completion: Completion, shape: type[Struct]) -> Struct:
    """Read the typed reply; BadReply of kind content_filter, no_choices, refusal, truncated, empty, malformed,
    wrong_schema or wrong_count.

    >>> class Verdict(Struct):
    ...     verdict: str
    >>> read_reply(Completion('Sure! ```json\\n{"verdict": "yes"}\\n```'), Verdict)
    Verdict(verdict='yes')
    >>> read_reply(Completion('{"verdict": "ye', finish="length"), Verdict)
    Traceback (most recent call last):
    ...
    steelyard.core.errors.BadReply: truncated: the reply was cut off at the limit of tokens
    """
    text = completion.text
    if completion.finish == "content_filter":
        raise BadReply("content_filter", "the endpoint's content filter stopped the reply", text)
    if completion.finish == "no_choices":
        raise BadReply("no_choices", "the endpoint's answer holds no choice", text)
    if completion.refusal:
        raise BadReply("refusal", "the judge refused", completion.refusal)
    if completion.finish in {"length", "max_tokens"}:
        raise BadReply("truncated", "the reply was cut off at the limit of tokens", text)
    if text is None or not text.strip():
        raise BadReply("empty", "the reply has no text", text)
    return read_text(text, shape)


def read_text(text: str, shape: type[Struct]) -> Struct:
    """Read the typed reply in a text: JSON by itself, or within fences, prose or reasoning; else a label or rating in
    words.

    The last of several objects that fits counts.
    """
    try:
        return msgspec.json.decode(text, type=shape)
    except _NOT_JSON:
        pass
    try:
        return _typed(msgspec.json.decode(text), shape, text)
    except _NOT_JSON:
        pass
    answer = _without_reasoning(text)
    if not answer:
        raise BadReply("empty", "the reply has reasoning but no answer", text)
    values = list(_objects(answer))
    if not values:
        return _in_words(answer, shape, text)
    failure: BadReply | None = None
    for value in reversed(values):
        try:
            return _typed(value, shape, text)
        except BadReply as error:
            failure = failure or error
    assert failure is not None
    raise failure


_REASONING = re.compile(r"^.*</(?:think|thinking|reasoning)>|^\s*<(?:think|thinking|reasoning)>.*", re.DOTALL)


def _without_reasoning(text: str) -> str:
    """The text after the last reasoning block; empty if the block is not closed."""
    return _REASONING.sub("", text).strip()


_HEAD = re.compile(r"""\{\s*["'}]""")
"""The beginning of an object, in contrast to a brace in prose."""


def _objects(text: str) -> Iterator[Json]:
    """Yield the outermost objects of a text in order, as written or with slips repaired.

    An object inside a truncated or broken one is part of it and never a reply of its own.
    """
    at = 0
    for _ in range(_TRIES):
        if (start := text.find("{", at)) < 0:
            return
        end = _end(text, start)
        for whole, after in ((text[start:end] if end > 0 else "", end), _repaired(text, start)):
            try:
                value: Json = msgspec.json.decode(whole)
            except _NOT_JSON:
                continue
            yield value
            at = after
            break
        else:
            prose = _HEAD.match(text, start) is None
            if end < 0 and not prose:
                return
            at = start + 1 if prose else end


_STRING_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)


def _end(text: str, start: int) -> int:
    """The position after the brace that closes the one at ``start``, ignoring braces in strings; -1 without one."""
    depth = 0
    for token in _STRING_OR_BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return -1


_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)
    |(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w))
    |(?P<word>[A-Za-z_]\w*)
    |(?P<mark>[{}\[\]:,])""",
    re.DOTALL | re.VERBOSE,
)
_CONSTANTS = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\(.)|(["\x00-\x1f])', re.DOTALL)


def _repaired(text: str, start: int) -> tuple[str, int]:
    """The object at ``start`` written as JSON, and its end; an empty text if it is incomplete."""
    tokens: list[str] = []
    depth, at = 0, start
    while (token := _TOKEN.match(text, at)) is not None:
        at = token.end()
        match token.lastgroup:
            case "string":
                tokens.append('"' + _ESCAPE.sub(_escaped, token[0][1:-1]) + '"')
            case "number":
                tokens.append(token[0])
            case "word":
                tokens.append(_CONSTANTS.get(token[0]) or f'"{token[0]}"\0')
            case "mark":
                depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
                if token[0] in "}]" and tokens[-1] == ",":
                    tokens.pop()
                if token[0] == ":" and tokens[-1].endswith("\0"):
                    tokens[-1] = tokens[-1][:-1]
                tokens.append(token[0])
                if depth == 0:
                    return "".join(tokens), at
    return "", at


def _escaped(hit: re.Match[str]) -> str:
    """Escape a character of a string for JSON: only the quote, control characters and unknown escapes change."""
    if hit[1] is not None:
        return "'" if hit[1] == "'" else "\\\\" + _escaped_character(hit[1])
    return hit[0] if hit[2] is None else _escaped_character(hit[2])


def _escaped_character(character: str) -> str:
    return msgspec.json.encode(character).decode()[1:-1]


_LISTS = frozenset(["verdicts", "items", "ratings", "results", "answers"])


def _typed(value: Json, shape: type[Struct], text: str) -> Struct:
    """Convert a JSON value to its shape; labels, ratings and numbers written as text are read leniently."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError:
        pass
    try:
        return msgspec.convert(_converted(value, _kind(shape)), shape)
    except msgspec.ValidationError as error:
        wrong = str(error)
    count = numbered(shape)
    if isinstance(value, dict) and len(value) == 1 and _LISTS & value.keys():
        (value,) = value.values()  # a list of verdicts instead of numbered ones can be counted
    if isinstance(value, dict) and not all(key.isdecimal() for key in value):
        count = 0  # an entirely different shape
    if count and isinstance(value, dict | list) and len(value) != count:
        raise BadReply("wrong_count", f"expected {count} got {len(value)}", text)
    if count and isinstance(value, dict) and set(value) != set(shape.__struct_encode_fields__):
        raise BadReply("wrong_count", f"expected items numbered 1 to {count}, got other numbers", text)
    raise BadReply("wrong_schema", f"{wrong[0].lower()}{wrong[1:]}", text)


_TOLD = re.compile(r"expected |object missing |neither ")


def complaint(error: BadReply, shape: type[Struct]) -> str:
    """The text to add to the prompt after an unusable reply. It contains no word of that reply.

    >>> class Verdict(Struct):
    ...     verdict: str
    >>> complaint(BadReply("wrong_schema", "object missing required field `verdict`"), Verdict).splitlines()[0]
    'A reply to this could not be used (object missing required field `verdict`).'
    """
    why = error.message if _TOLD.match(error.message) else error.kind.replace("_", " ")
    return f"A reply to this could not be used ({why}).\n{in_words(shape)}"


def numbered(shape: type[Struct]) -> int:
    """The number of items of a ``Numbered`` shape; 0 for any other shape."""
    names = shape.__struct_encode_fields__
    return len(names) if names == tuple(map(str, range(1, len(names) + 1))) else 0


@lru_cache(maxsize=1024)
def _kind(shape: type[Struct]) -> inspect.StructType:
    kind = inspect.type_info(shape)
    assert isinstance(kind, inspect.StructType)
    return kind


def _converted(value: Json, kind: inspect.Type) -> Json:
    """Convert labels, flags and numbers in a value to their types, if there is only one reading."""
    match kind:
        case inspect.Metadata():
            return _converted(value, kind.type)
        case inspect.StructType() if isinstance(value, dict):
            kinds = {field.encode_name: field.type for field in kind.fields}
            return {key: _converted(item, kinds[key]) if key in kinds else item for key, item in value.items()}
        case inspect.ListType() if isinstance(value, list):
            return [_converted(item, kind.item_type) for item in value]
        case inspect.DictType() if isinstance(value, dict):
            return {key: _converted(item, kind.value_type) for key, item in value.items()}
        case inspect.UnionType() if value is not None:
            real = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
            return _converted(value, real[0]) if len(real) == 1 else value
        case inspect.IntType() if isinstance(value, float) and value.is_integer():
            return int(value)
    return _from_words(value, kind) if isinstance(value, str) else value


def _from_words(text: str, kind: inspect.Type) -> Json:
    """Read a text as the label, flag or number of its type; the text itself if it is none."""
    match kind:
        case inspect.LiteralType():
            label = find_label(text, tuple(map(str, kind.values)))
            return next((one for one in kind.values if str(one) == label), text)
        case inspect.BoolType():
            label = find_label(text, ("true", "false", "yes", "no"))
            return text if label is None else label in {"true", "yes"}
        case inspect.IntType() | inspect.FloatType():
            if kind.ge is None or kind.le is None:
                return _plain_number(text)
            try:
                rating = read_rating(text, kind.ge, kind.le)
            except BadReply:
                return text
            return int(rating) if rating.is_integer() else rating
    return text


def _plain_number(text: str) -> Json:
    try:
        number = msgspec.json.decode(text.strip())
    except _NOT_JSON:
        return text
    return number if isinstance(number, int | float) else text


def _in_words(answer: str, shape: type[Struct], text: str) -> Struct:
    """Read a reply without JSON from its words, if the shape consists of one label or rating and of texts."""
    if is_refusal(answer) and "{" not in answer:
        raise BadReply("refusal", "the judge refused", text)
    kinds = {field.encode_name: _bare(field.type) for field in _kind(shape).fields}
    named = [name for name, kind in kinds.items() if not isinstance(kind, inspect.StrType)]
    if "{" in answer or len(named) != 1 or not _can_be_spoken(kinds[named[0]]):
        raise BadReply("malformed", "the reply is not JSON", text)
    value = {name: answer if name != named[0] else _from_words(answer, kind) for name, kind in kinds.items()}
    try:
        return msgspec.convert(value, shape)
    except (msgspec.ValidationError, UnicodeError):
        message = f"the reply is neither JSON nor states one {named[0]}"
        raise BadReply("malformed", message, text) from None


def _bare(kind: inspect.Type) -> inspect.Type:
    """A type without its description."""
    return kind.type if isinstance(kind, inspect.Metadata) else kind


def _can_be_spoken(kind: inspect.Type) -> bool:
    """Whether a type is a closed set or a declared range, which can be read from words."""
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        return kind.ge is not None and kind.le is not None
    return isinstance(kind, inspect.LiteralType | inspect.BoolType)


class Graded(Struct, frozen=True, rename={"passed": "pass"}):
    """A rubric's reply: a score in [0, 1], a pass, or both; a reply with neither is a BadReply.

    >>> read_text('{"pass": "false", "score": 0.9, "reason": "wrong city"}', Graded).contradictory()
    True
    """

    reason: str = ""
    score: Annotated[float, Meta(ge=0, le=1)] | None = None
    passed: bool | None = None

    def __post_init__(self) -> None:
        if self.score is None and self.passed is None:
            raise ValueError("neither a score nor a pass")

    def passes(self, threshold: float = 0.5) -> bool:
        """Whether score and pass (those that are given) both mean a pass; a contradictory reply does not pass."""
        return self.passed is not False and (self.score is None or self.score >= threshold)

    def contradictory(self, threshold: float = 0.5) -> bool:
        """Whether score and pass contradict each other."""
        return self.score is not None and self.passed is not None and (self.score >= threshold) != self.passed
