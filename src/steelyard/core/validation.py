"""What does not fit a record, in words: msgspec's messages as sentences that name the place and what was found."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_AT = re.compile(r" - at `(?:key` in `)?(?P<place>[^`]+)`$")
_WANTED = re.compile(
    r"^Expected `(?P<kinds>[^`]+)`(?: (?P<length>of length )?(?P<bound>[<>]=?)? ?(?P<limit>-?[\d.e+-]+))?(?:, got .+)?$"
)
_FIELD = re.compile(r"Object (?:contains|missing) (?P<what>unknown|required) field `(?P<name>[^`]+)`$")
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "values by name",
    "null": "nothing",
}
_BOUNDS = {">=": "of at least", "<=": "of at most", ">": "above", "<": "below"}
_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<at>\d+)\]")


class ValidationProblem(NamedTuple):
    """What is wrong and where; ``unknown`` is the name of a field that is not known."""

    words: str
    place: str
    unknown: str | None = None

    def below(self, where: str) -> str:
        """The place, in a value that itself stands at ``where``.

        >>> ValidationProblem("expected text", "$.a[0]").below("metadata.spans")
        'metadata.spans.a[0]'
        """
        return where + self.place.removeprefix("$")


_UNSEEN = object()


def validation_problem(error: Exception, given: object = _UNSEEN) -> ValidationProblem:
    """What msgspec said of a value that does not fit, as a sentence; ``given`` is the value, to say what stands there.

    >>> import msgspec
    >>> try:
    ...     msgspec.convert([[1, "two"]], list[list[int]])
    ... except msgspec.ValidationError as error:
    ...     validation_problem(error, [[1, "two"]])
    ValidationProblem(words="expected a whole number, found 'two'", place='$[0][1]', unknown=None)
    """
    said = str(error)
    at = _AT.search(said)
    place = at["place"] if at else "$"
    said = said[: at.start()] if at else said
    if field := _FIELD.search(said):
        if field["what"] == "unknown":
            return ValidationProblem(f"no such field {field['name']!r}", place, field["name"])
        return ValidationProblem(f"{field['name']} is missing", place)
    if wanted := _WANTED.match(said):
        return ValidationProblem(_expected(wanted) + _found(given, place), place)
    return ValidationProblem(f"{said[:1].lower()}{said[1:].replace('enum value', 'value')}", place)


def sentence(error: Exception) -> str:
    """The same in one piece, with its place; of what is no JSON or no UTF-8 at all, the decoder's own words.

    >>> import msgspec
    >>> try:
    ...     msgspec.json.decode(b'{"rows": ["two"]}', type=dict[str, list[int]])
    ... except msgspec.DecodeError as error:
    ...     sentence(error)
    'expected a whole number at $.*[0]'
    """
    if type(error).__name__ != "ValidationError":  # by name: this floor loads no library
        return str(error)
    found = validation_problem(error)
    return found.words if found.place == "$" else f"{found.words} at {found.place.replace('[...]', '.*')}"


def _expected(wanted: re.Match[str]) -> str:
    words = "expected " + " or ".join(_KINDS.get(kind, kind) for kind in wanted["kinds"].split(" | "))
    if wanted["limit"] is None:
        return words
    limit = f"{float(wanted['limit']):g}"
    if wanted["length"]:
        return f"{words} {_BOUNDS[wanted['bound']] if wanted['bound'] else 'of'} {limit}"
    return f"{words} {_BOUNDS[wanted['bound']]} {limit}"


def _found(given: object, place: str) -> str:
    """What stands at a place, where the path leads there."""
    for step in _STEP.finditer(place):
        if step["at"] is None:
            if not isinstance(given, Mapping) or step["name"] not in given:
                return ""
            given = given[step["name"]]
        else:
            if not isinstance(given, Sequence) or isinstance(given, str) or int(step["at"]) >= len(given):
                return ""
            given = given[int(step["at"])]
    if "..." in place or given is _UNSEEN:
        return ""
    if given is None:
        return ", found nothing"
    if isinstance(given, Mapping):
        return ", found values by name"
    if isinstance(given, Sequence) and not isinstance(given, str):
        return f", found a list of {len(given)}"
    shown = repr(given)
    return f", found {shown if len(shown) <= 60 else shown[:59] + '…'}"
