"""How judged metrics ask: claims of a text, support for claims, one verdict per numbered text.

Rules of this file: items are numbered by us and answered by number; what a judge does not answer is asked item by
item and then fails, never guessed; what does not fit the judge's window is judged in parts, never cut. Equal
questions render to equal prompts, so metrics that share them pay once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from ...core.errors import AskFailed, BadReply
from ...core.records import Json, Outcome, Sample, Undefined, Value
from ...core.requests import Ask, Numbered, Prompt, Requests, ask, items, request

T = TypeVar("T")
Item = TypeVar("Item", bound=Struct)
Steps: TypeAlias = Generator[Requests, Any, T]
"""A part of a rule: it yields requests and returns a T."""

YesNo: TypeAlias = Literal["yes", "no"]
Passages: TypeAlias = Literal["together", "each"]
"""Whether contexts are judged in one request, or one request each."""

TOO_LONG = "context_too_long"
_SHORTEST = 400
_OVERLAP = 300


SPLIT = Prompt(
    "List the factual claims of the text: short sentences that each stand alone (pronouns resolved, from the"
    " question too) and add nothing. If it claims nothing, as a refusal or a question does, the list is empty."
)


class Claims(Struct):
    """The claims of a text."""

    claims: list[str]


def claims_of(text: str, question: str | None) -> Steps[list[str]]:
    """The distinct factual claims of a text, each understandable by itself; none where it claims nothing."""
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
    """``PassageSupport`` whose numbers are those of the sources."""
    return msgspec.defstruct("Support", [("passages", passage_numbers(sources))], bases=(Support,))  # type: ignore[return-value]


def passage_numbers(sources: int) -> Any:  # noqa: ANN401 - a type made at run time has no static name
    """The type of a list of numbers from 1 to ``sources``."""
    return list[Annotated[int, Meta(ge=1, le=sources)]]


class Finding(Struct, frozen=True, omit_defaults=True):
    """One claim, checked. ``passages`` are the numbers (from 1) of the sources that support it by the judge's word.

    ``in_parts`` says that the sources did not fit the judge's window together.
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
    """A judge's word on a claim: an unsupported claim has no passages, one source needs no number."""
    if verdict == "no":
        return Finding(claim, verdict, reason)
    return Finding(claim, verdict, reason, [1] if sources == 1 else sorted(set(passages)))


def located(one: Finding) -> list[int]:
    """The numbers of the sources that support a claim. Supported, yet by none of them, is a bad reply."""
    if one.holds and not one.passages:
        raise BadReply("inconsistent", f"supported, yet by no source: {one.claim}")
    return one.passages


def check(claims: Sequence[str], sources: Sequence[str], *, passages: Passages = "together") -> Steps[list[Finding]]:
    """Whether the sources support each claim: together, or (``each``) any one of them by itself.

    Sources that exceed the judge's window are judged in halves, a single one in overlapping halves of its text, and
    a claim is supported if a part supports it. No claims, no request.
    """
    if not claims:
        return []
    if passages == "together" or len(sources) == 1:
        try:
            shape = support_shape(len(sources))
            replies = yield from judged(CHECK, shape, claims, of="claim", source=sources)
            return [
                finding(claim, said.verdict, said.reason, said.passages, sources=len(sources))
                for claim, said in zip(claims, replies, strict=True)
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
    """The question that ``check`` puts about one claim, for rules that yield several at once."""
    return request(CHECK, Numbered(support_shape(len(sources))).of(1), source=sources, claim=[claim])


def _shifted(one: Finding, before: int) -> Finding:
    return msgspec.structs.replace(one, passages=[number + before for number in one.passages])


def _merged(same: Sequence[Finding], *, in_parts: bool) -> Finding:
    supporting = [one for one in same if one.holds]
    numbers = sorted({number for one in supporting for number in one.passages})
    first = (supporting or same)[0]
    return msgspec.structs.replace(first, passages=numbers, in_parts=in_parts or any(one.in_parts for one in same))


def judged(
    prompt: Prompt,
    item: type[Item],
    texts: Sequence[str],
    *,
    of: str,
    each: bool = False,
    **fields: str | Sequence[str],
) -> Steps[list[Item]]:
    """One reply of the shape ``item`` per text, in one request that numbers them.

    An unusable reply to all of them (too few, too many, cut off) is asked for text by text, and fails as
    BadReply where that does not help. ``each`` asks text by text at once.
    """
    whole: BadReply | None = None
    given: dict[str, Any] = {**fields, of: texts}
    if len(texts) > 1 and not each:
        try:
            reply = yield request(prompt, Numbered(item).of(len(texts)), **given)
            return items(reply)
        except BadReply as error:
            whole = error
    try:
        one = Numbered(item).of(1)
        replies = yield [request(prompt, one, **{**given, of: [text]}) for text in texts]
    except BadReply as error:
        if whole is None:
            raise
        raise BadReply(whole.kind, f"{whole.message}; asked one by one: {error}", whole.reply) from error
    return [items(reply)[0] for reply in replies]


def judged_contexts(
    prompt: Prompt,
    item: type[Item],
    contexts: Sequence[str],
    *,
    merit: Callable[[Item], int],
    passages: Passages = "together",
    **fields: str | Sequence[str],
) -> Steps[list[Item]]:
    """One reply per context, as ``judged``. Contexts that exceed the judge's window are judged in halves; of the
    overlapping parts of a single one, the reply of highest ``merit`` counts."""
    try:
        return (yield from judged(prompt, item, contexts, of="context", each=passages == "each", **fields))
    except AskFailed as error:
        parts = halves(contexts, error)
    found: list[Item] = []
    for _, part in parts:
        found += yield from judged_contexts(prompt, item, part, merit=merit, passages=passages, **fields)
    return [max(found, key=merit)] if len(contexts) == 1 else found


def gathered(look: Callable[[Sequence[str]], Steps[list[T]]], texts: Sequence[str]) -> Steps[list[T]]:
    """What a look at the texts lists; where they exceed the judge's window, what looks at their halves list."""
    try:
        return (yield from look(texts))
    except AskFailed as error:
        parts = halves(texts, error)
    found: list[T] = []
    for _, part in parts:
        found += yield from gathered(look, part)
    return found


def halves(texts: Sequence[str], error: AskFailed) -> list[tuple[int, list[str]]]:
    """Two parts of texts that do not fit the window, each with the number of texts before it; else the error."""
    if error.kind != TOO_LONG:
        raise error
    if len(texts) > 1:
        middle = len(texts) // 2
        return [(0, list(texts[:middle])), (middle, list(texts[middle:]))]
    if not texts or len(texts[0]) <= _SHORTEST:
        raise error
    return [(0, [window]) for window in windows(texts[0])]


def windows(text: str) -> list[str]:
    """The two halves of a text, cut at white space where there is some, that share what stands around the middle.

    >>> left, right = windows("Filler sentence. " * 60)
    >>> len(left) < 1020 and len(right) < 1020 and left[-100:] in right
    True
    """
    middle, reach = len(text) // 2, min(_OVERLAP, len(text) // 8)
    end, start = text.find(" ", middle + reach), text.rfind(" ", 0, middle - reach)
    end = end if 0 <= end < middle + 2 * reach else middle + reach
    start = start + 1 if start > middle - 2 * reach else middle - reach
    return [text[:end], text[start:]]


def over_references(
    sample: Sample, judge: Callable[[str], Steps[Outcome]], *, best: Callable[..., Value] = max
) -> Steps[Outcome]:
    """Judge a sample against each accepted reference; the best value counts."""
    outcomes: list[Outcome] = []
    for reference in filter(str.strip, sample.references):
        found = yield from judge(reference)
        outcomes.append(found)
    values = [one for one in outcomes if isinstance(one, Value)]
    if values:
        return best(values, key=lambda value: value.value)
    return outcomes[0] if outcomes else Undefined("no reference")


def distinct(texts: Iterable[str]) -> list[str]:
    """Texts without blank ones and repetitions (case and white space apart), in their order."""
    kept = {" ".join(text.casefold().split()): text.strip() for text in reversed(list(texts)) if text.strip()}
    return list(reversed(kept.values()))


def plain(things: Sequence[Struct]) -> Json:
    """Structs as evidence: plain JSON."""
    told: Json = msgspec.to_builtins(list(things))
    return told
