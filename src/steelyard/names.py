"""The notation of metrics: ``name(parameter=value, …)@k``.

The printed form is the identity of a metric: it holds the parameters that differ from their defaults, parses back
to the same metric, and is the key everywhere (reports, command line, files). Parsing never evaluates anything.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import NamedTuple, TypeAlias

from .errors import InputError

Parameter: TypeAlias = "bool | int | float | str | None"

_NAME = re.compile(r"\s*([\w.:/\\-]+?)\s*(?=$|[(@])")
_KEY = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*(?=[,)])")
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'')
_WORD = re.compile(r"\w[\w.-]*")
_DIGITS = re.compile(r"([0-9]{1,300})")
_CUTOFF = re.compile(r"\s*@\s*(\d+)\s*$")
_WORDS: dict[str, Parameter] = {"true": True, "false": False, "none": None}
_LIKE = 0.6
"""The likeness from which a name is suggested, of 1."""
_READ = 10_000
"""So many names are looked at for likeness."""


class Name(NamedTuple):
    """A parsed metric name: ``Name("ndcg", {"gain": "exponential", "k": 10})``."""

    base: str
    params: dict[str, Parameter]


def parse(text: str) -> Name:
    """Read one metric name; raise InputError where the notation breaks.

    >>> parse("ndcg(gain=exponential)@10")
    Name(base='ndcg', params={'gain': 'exponential', 'k': 10})
    >>> parse("rubric(criteria='is it kind, and true?')").params
    {'criteria': 'is it kind, and true?'}
    """
    head = _NAME.match(text)
    if head is None:
        raise _broken(text)
    base, at, params = head[1], head.end(), dict[str, Parameter]()
    if text[at : at + 1] == "(":
        at += 1
        while text[at:].lstrip()[:1] != ")":
            key = _KEY.match(text, at)
            if key is None or key[1] in params:
                raise _broken(text)
            params[key[1]], at = _value(text, key.end())
            rest = text[at:].lstrip()
            at = len(text) - len(rest)
            if rest[:1] == ",":
                at += 1
            elif rest[:1] != ")":
                raise _broken(text)
        at = text.index(")", at) + 1
    if at < len(text) and text[at:].strip():
        cutoff = _CUTOFF.match(text, at)
        if cutoff is None or "k" in params:
            raise _broken(text)
        params["k"] = int(cutoff[1])
    return Name(base, params)


def _value(text: str, at: int) -> tuple[Parameter, int]:
    """The parameter value that begins at ``at``, and where it ends."""
    if number := _NUMBER.match(text, at):
        digits = number[0].strip()
        return (float(digits) if set(digits) & set(".eE") else int(digits)), number.end()
    if quoted := _TEXT.match(text, at):
        inner = quoted[1] if quoted[1] is not None else quoted[2]
        return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), inner), quoted.end()
    if word := _WORD.match(text, at):
        lowered = word[0].lower()
        return (_WORDS[lowered] if lowered in _WORDS else word[0]), word.end()
    raise _broken(text)


def _broken(text: str) -> InputError:
    return InputError(f"not a metric name: {text!r} (expected name, name@k or name(parameter=value)@k)")


def show(base: str, params: Mapping[str, Parameter]) -> str:
    """Print a name so that ``parse`` reads it back.

    >>> show("ndcg", {"gain": "exponential", "k": 10})
    'ndcg(gain=exponential)@10'
    """
    inner = ", ".join(f"{key}={_show_value(value)}" for key, value in params.items() if key != "k")
    k = params.get("k")
    return base + (f"({inner})" if inner else "") + (f"@{k}" if k is not None else "")


def _show_value(value: Parameter) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if _WORD.fullmatch(value) and value.lower() not in _WORDS and not _NUMBER.match(value + ")"):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def nearest(name: str, known: Iterable[str], *, most: int = 3) -> list[str]:
    """The known names closest to a misspelt one, best first: those that differ in their numbers alone, by how much
    they differ, then the likest, of equals the one that comes first.

    >>> nearest("faithfullness", ["faithfulness", "ndcg", "map"])
    ['faithfulness']
    >>> nearest("q12", [f"q{number}" for number in range(1, 11)])
    ['q10', 'q9', 'q8']
    """
    folded = {item.casefold(): item for item in known}
    words, numbers = _apart(name.casefold())
    beside = []
    for item in folded if numbers else ():
        others, theirs = _apart(item)
        if others == words:
            beside.append(([abs(one - other) for one, other in zip(numbers, theirs, strict=True)], item))
    found = [item for _, item in sorted(beside, key=lambda one: one[0])[:most]]
    if len(found) < most:
        found += [item for item in _likest(name.casefold(), islice(folded, _READ)) if item not in found]
    return [folded[item] for item in found[:most]]


def _apart(text: str) -> tuple[list[str], list[int]]:
    """The words of a name and the numbers between them."""
    parts = _DIGITS.split(text)
    return parts[::2], [int(digits) for digits in parts[1::2]]


def _likest(name: str, known: Iterable[str]) -> list[str]:
    """The names that have most of their letters in common with one, most first."""
    matcher = difflib.SequenceMatcher(b=name)
    found = []
    for item in known:
        matcher.set_seq1(item)
        if matcher.real_quick_ratio() >= _LIKE and matcher.quick_ratio() >= _LIKE and matcher.ratio() >= _LIKE:
            found.append((matcher.ratio(), item))
    return [item for _, item in sorted(found, key=lambda one: -one[0])]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint for a miss: the nearest names, or all of them where none is near."""
    names = sorted(known)
    close = nearest(name, names)
    return f"did you mean {', '.join(close)}?" if close else f"choose from: {', '.join(names) or '(there are none)'}"


def number_of(count: int, one: str, many: str = "") -> str:
    """A count and what it counts, in words that agree with it; ``many`` is the regular plural unless given.

    >>> number_of(1, "query has", "queries have"), number_of(2, "query has", "queries have")
    ('1 query has', '2 queries have')
    >>> number_of(1, "query"), number_of(2, "query"), number_of(0, "row")
    ('1 query', '2 queries', '0 rows')
    """
    if count == 1:
        return f"1 {one}"
    return f"{count} {many or (f'{one[:-1]}ies' if one.endswith('y') else f'{one}s')}"
