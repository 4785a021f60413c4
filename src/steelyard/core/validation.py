"""Validation errors in plain words: msgspec's messages rewritten to name the location and the value found."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_LOCATION = re.compile(r" - at `(?:key` in `)?(?P<place>[^`]+)`$")
_EXPECTED = re.compile(
    r"^Expected `(?P<kinds>[^`]+)`(?: (?P<length>of length )?(?P<bound>[<>]=?)? ?(?P<limit>-?[\d.e+-]+))?(?:, got .+)?$"
)
_FIELD = re.compile(r"Object (?:contains|missing) (?P<what>unknown|required) field `(?P<name>[^`]+)`$")
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "nothing",
}
_BOUNDS = {">=": "of at least", "<=": "of at most", ">": "above", "<": "below"}
_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<at>\d+)\]")


class ValidationProblem(NamedTuple):
    """The problem in words and its location; ``unknown`` is the name of a field that does not exist."""

    words: str
    place: str
    unknown: str | None = None

    def below(self, where: str) -> str:
        """The location as a path from the value that contains ``where``.

        >>> ValidationProblem("expected text", "$.a[0]").below("metadata.spans")
        'metadata.spans.a[0]'
        """
        return where + self.place.removeprefix("$")


_NOT_GIVEN = object()


def validation_problem(error: Exception, given: object = _NOT_GIVEN) -> ValidationProblem:
    """Rewrite a validation error of msgspec; ``given`` is the invalid value, so that the message can quote it.

    >>> import msgspec
    >>> try:
    ...     msgspec.convert([[1, "two"]], list[list[int]])
    ... except msgspec.ValidationError as error:
    ...     validation_problem(error, [[1, "two"]])
    ValidationProblem(words="expected a whole number, found 'two'", place='$[0][1]', unknown=None)
    """
    message = str(error)
    location = _LOCATION.search(message)
    place = location["place"] if location else "$"
    message = message[: location.start()] if location else message
    if field := _FIELD.search(message):
        if field["what"] == "unknown":
            return ValidationProblem(f"no such field {field['name']!r}", place, field["name"])
        return ValidationProblem(f"{field['name']} is missing", place)
    if expected := _EXPECTED.match(message):
        return ValidationProblem(_expected(expected) + _found(given, place), place)
    return ValidationProblem(f"{message[:1].lower()}{message[1:].replace('enum value', 'value')}", place)


def decode_problem(error: Exception) -> str:
    """A decoding error of msgspec in one line: problem and location, or the decoder's message if it is not JSON.

    >>> import msgspec
    >>> try:
    ...     msgspec.json.decode(b'{"rows": ["two"]}', type=dict[str, list[int]])
    ... except msgspec.DecodeError as error:
    ...     decode_problem(error)
    'expected a whole number at $.*[0]'
    """
    if type(error).__name__ != "ValidationError":  # by name: this module imports no library
        return str(error)
    problem = validation_problem(error)
    return problem.words if problem.place == "$" else f"{problem.words} at {problem.place.replace('[...]', '.*')}"


def _expected(match: re.Match[str]) -> str:
    words = "expected " + " or ".join(_KINDS.get(kind, kind) for kind in match["kinds"].split(" | "))
    if match["limit"] is None:
        return words
    limit = f"{float(match['limit']):g}"
    if match["length"]:
        return f"{words} {_BOUNDS[match['bound']] if match['bound'] else 'of'} {limit}"
    return f"{words} {_BOUNDS[match['bound']]} {limit}"


def _found(given: object, place: str) -> str:
    """The value at a location, in words; empty if the path does not lead to a value."""
    for step in _STEP.finditer(place):
        if step["at"] is None:
            if not isinstance(given, Mapping) or step["name"] not in given:
                return ""
            given = given[step["name"]]
        else:
            if not isinstance(given, Sequence) or isinstance(given, str) or int(step["at"]) >= len(given):
                return ""
            given = given[int(step["at"])]
    if "..." in place or given is _NOT_GIVEN:
        return ""
    if given is None:
        return ", found nothing"
    if isinstance(given, Mapping):
        return ", found a mapping"
    if isinstance(given, Sequence) and not isinstance(given, str):
        return f", found a list of {len(given)}"
    shown = repr(given)
    return f", found {shown if len(shown) <= 60 else shown[:59] + '…'}"
