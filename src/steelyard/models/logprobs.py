"""The probabilities of the numbers that a judge may write for a rating, from the logprobs of its reply.

Rules of this file: nothing is guessed. There are no probabilities if the number is not a single token, or if whole
numbers have little of the probability.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence

import msgspec
from msgspec import Struct

LEAST = 0.5
"""The least probability of whole numbers in total; the rest belongs to other words."""
ABOVE_ZERO, MOST = 1e-6, 1.001
"""Rounding tolerance of a log probability of 0, and of the sum of the probabilities at one position."""

_NUMBER = re.compile(r"\W*(\d{1,6})\W*")


class Likely(Struct, frozen=True):
    """An alternative token at a position."""

    token: str
    logprob: float


class Token(Struct, frozen=True):
    """A token of a reply, and the alternatives at its position."""

    token: str
    logprob: float = -math.inf
    top_logprobs: list[Likely] = []


class _Content(Struct):
    content: list[Token] | None = None


def read_tokens(raw: bytes) -> list[Token]:
    """Read the tokens of an endpoint's ``logprobs``; empty if there are none, or in another format.

    >>> read_tokens(b'{"content": [{"token": "4", "logprob": -0.1, "top_logprobs": []}]}')[0].token
    '4'
    >>> read_tokens(b'{"token_logprobs": [-0.1]}'), read_tokens(b"null")
    ([], [])
    """
    try:
        found = msgspec.json.decode(raw, type=_Content | None) if raw else None
    except (msgspec.DecodeError, UnicodeError):
        return []
    return (found.content or []) if found is not None else []


def chances(tokens: Sequence[Token], field: str, number: int) -> dict[int, float]:
    """The probability of each whole number at the position of the ``number`` that a reply gives in ``field``.

    They sum to 1; tokens that are not numbers are left out. Empty if ``number`` is not one token, if numbers have less
    than half of the probability, or if the values cannot be probabilities (one of them or their sum is above 1).

    >>> four = Token("4", -0.22, [Likely("4", math.log(0.6)), Likely(" 5", math.log(0.2)), Likely("four", -3.0)])
    >>> chances([Token('{"rating": '), four, Token("}")], "rating", 4)
    {4: 0.75, 5: 0.25}
    """
    token = _at(tokens, field, number)
    if token is None or not _possible(token.top_logprobs):
        return {}
    sums: dict[int, float] = defaultdict(float)
    for one in token.top_logprobs:
        found = _NUMBER.fullmatch(one.token)
        if found is not None:
            sums[int(found[1])] += math.exp(min(0.0, one.logprob))
    total = sum(sums.values())
    if number not in sums or total < LEAST:
        return {}
    return {value: round(share / total, 9) for value, share in sorted(sums.items())}


def _possible(likely: Sequence[Likely]) -> bool:
    """Whether log probabilities can belong to one position: none above 0, and at most 1 in total."""
    return all(one.logprob <= ABOVE_ZERO for one in likely) and sum(math.exp(one.logprob) for one in likely) <= MOST


def _at(tokens: Sequence[Token], field: str, number: int) -> Token | None:
    """The token of the number; None if the number is not a single token."""
    places = [*re.finditer(rf'"{re.escape(field)}"\s*:\s*"?(\d+)', "".join(token.token for token in tokens))]
    if not places or int(places[-1][1]) != number:
        return None
    at = 0
    for token in tokens:
        if at <= places[-1].start(1) < at + len(token.token):
            found = _NUMBER.fullmatch(token.token)
            return token if found is not None and int(found[1]) == number else None
        at += len(token.token)
    return None
