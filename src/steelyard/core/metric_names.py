"""The notation of metrics: ``name(parameter=value, …)@k``.

The printed form identifies a metric: it lists the parameters that differ from their defaults, parses back to the same
metric, and is the key in reports, on the command line and in files. Parsing never evaluates code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from .errors import InputError

Parameter: TypeAlias = "bool | int | float | str | None"

_NAME = re.compile(r"\s*([\w.:/\\-]+?)\s*(?=$|[(@])")
_KEY = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*(?=[,)])")
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'')
_WORD = re.compile(r"\w[\w.-]*")
_CUTOFF = re.compile(r"\s*@\s*(\d+)\s*$")
_WORDS: dict[str, Parameter] = {"true": True, "false": False, "none": None}


class Name(NamedTuple):
    """A parsed metric name: ``Name("ndcg", {"gain": "exponential", "k": 10})``."""

    base: str
    params: dict[str, Parameter]


def parse(text: str) -> Name:
    """Parse one metric name; raise InputError if it does not follow the notation.

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
    """The parameter value that begins at index ``at``, and the index after it."""
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
    """Format a metric name so that ``parse`` reads it back.

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
