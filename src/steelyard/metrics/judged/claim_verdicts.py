"""Claims and verdicts: the factual claims of a text, and whether the sources support each of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from ...core.errors import AskFailed, BadReply
from ...core.requests import Ask, Numbered, Prompt, ask, request
from .numbered_requests import Passages, Steps, distinct, halves, judged

YesNo: TypeAlias = Literal["yes", "no"]

SPLIT = Prompt(
    "List the factual claims of the text: short sentences that each stand alone (pronouns resolved, from the"
    " question too) and add nothing. If it claims nothing, as a refusal or a question does, the list is empty."
)


class Claims(Struct):
    """The claims of a text."""

    claims: list[str]


def claims_of(text: str, question: str | None) -> Steps[list[str]]:
    """Get the distinct factual claims of a text, each understandable by itself; none if it claims nothing."""
    fields: dict[str, Any] = {"question": question, "text": text} if question else {"text": text}
    reply = yield from ask(SPLIT, Claims, **fields)
    return distinct(reply.claims)


CHECK = Prompt(
    "Do the sources state or plainly imply each claim? Nothing else counts, nor what you know yourself. Reason in"
    " one sentence, verdict yes or no; passages: the numbers of all sources that support it."
)


class Support(Struct):
    """What the judge says of one claim; ``passages`` are numbers of sources, which ``support_shape`` bounds."""

    reason: str
    verdict: YesNo
    passages: list[int]


@lru_cache(maxsize=256)
def support_shape(sources: int) -> type[Support]:
    """``Support`` whose passage numbers are limited to those of the sources."""
    return msgspec.defstruct("Support", [("passages", passage_numbers(sources))], bases=(Support,))  # type: ignore[return-value]


def passage_numbers(sources: int) -> Any:  # noqa: ANN401 - a type made at run time has no static name
    """The type of a list of numbers from 1 to ``sources``."""
    return list[Annotated[int, Meta(ge=1, le=sources)]]


class Finding(Struct, frozen=True, omit_defaults=True):
    """One checked claim. ``passages`` are the numbers (from 1) of the sources that support it according to the judge.

    ``in_parts`` is true if the sources did not fit the judge's window together.
    """

    claim: str
    verdict: YesNo
    reason: str = ""
    passages: list[int] = []
    in_parts: bool = False

    @property
    def holds(self) -> bool:
        """Whether the sources support the claim."""
        return self.verdict == "yes"


def finding(claim: str, verdict: YesNo, reason: str, passages: Iterable[int], *, sources: int) -> Finding:
    """Make a finding from a verdict: an unsupported claim has no passages, and a single source needs no number."""
    if verdict == "no":
        return Finding(claim, verdict, reason)
    return Finding(claim, verdict, reason, [1] if sources == 1 else sorted(set(passages)))


def located(one: Finding) -> list[int]:
    """The numbers of the sources that support a claim. A supported claim without a source is a bad reply."""
    if one.holds and not one.passages:
        raise BadReply("inconsistent", f"the reply calls a claim supported but names no source: {one.claim}")
    return one.passages


def check(claims: Sequence[str], sources: Sequence[str], *, passages: Passages = "together") -> Steps[list[Finding]]:
    """Check whether the sources support each claim: together, or (``each``) any one of them by itself.

    Sources that exceed the judge's window are judged in halves, a single source in overlapping halves of its text, and
    a claim is supported if a part supports it. Without claims, no request is made.
    """
    if not claims:
        return []
    if passages == "together" or len(sources) == 1:
        try:
            shape = support_shape(len(sources))
            replies = yield from judged(CHECK, shape, claims, of="claim", source=sources)
            return [
                finding(claim, reply.verdict, reply.reason, reply.passages, sources=len(sources))
                for claim, reply in zip(claims, replies, strict=True)
            ]
        except AskFailed as error:
            parts = halves(sources, error)
    else:
        parts = [(number, [source]) for number, source in enumerate(sources)]
    found = []
    for before, part in parts:
        one = yield from check(claims, part)
        found.append([_shifted(each, before) for each in one])
    return [_merged(same, in_parts=passages == "together") for same in zip(*found, strict=True)]


def check_request(claim: str, sources: Sequence[str]) -> Ask:
    """The request of ``check`` about one claim, for rules that yield several requests at once."""
    return request(CHECK, Numbered(support_shape(len(sources))).of(1), source=sources, claim=[claim])


def _shifted(one: Finding, before: int) -> Finding:
    return msgspec.structs.replace(one, passages=[number + before for number in one.passages])


def _merged(same: Sequence[Finding], *, in_parts: bool) -> Finding:
    supporting = [one for one in same if one.holds]
    numbers = sorted({number for one in supporting for number in one.passages})
    first = (supporting or same)[0]
    return msgspec.structs.replace(first, passages=numbers, in_parts=in_parts or any(one.in_parts for one in same))
