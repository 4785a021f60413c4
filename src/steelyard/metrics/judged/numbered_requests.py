"""Requests of judged metrics about numbered texts: one reply per text, in one request or in parts.

Rules of this file: texts are numbered by us and answered by number; a text without a usable answer is requested by
itself and then fails, never guessed; texts that exceed the judge's window are judged in parts, never cut. Equal
questions render to equal prompts, so metrics that share them pay once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from ...core.errors import AskFailed, BadReply
from ...core.records import Json, Outcome, Sample, Undefined, Value
from ...core.requests import Numbered, Prompt, Requests, items, request

T = TypeVar("T")
Item = TypeVar("Item", bound=Struct)
Steps: TypeAlias = Generator[Requests, Any, T]
"""A part of a rule: it yields requests and returns a T."""

Passages: TypeAlias = Literal["together", "each"]
"""Whether contexts are judged in one request, or one request each."""

TOO_LONG = "context_too_long"
_SHORTEST = 400
_OVERLAP = 300


def judged(
    prompt: Prompt,
    item: type[Item],
    texts: Sequence[str],
    *,
    of: str,
    each: bool = False,
    **fields: str | Sequence[str],
) -> Steps[list[Item]]:
    """Get one reply of the shape ``item`` per text, in one request that numbers the texts.

    If the reply is unusable (too few items, too many, cut off), each text gets a request of its own; if that fails too,
    BadReply is raised. ``each`` makes one request per text from the start.
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
        raise BadReply(whole.kind, f"{whole.message}; requested one by one: {error}", whole.reply) from error
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
    """Get one reply per context, as ``judged``. Contexts that exceed the judge's window are judged in halves; for the
    overlapping parts of a single context, the reply with the highest ``merit`` counts."""
    try:
        return (yield from judged(prompt, item, contexts, of="context", each=passages == "each", **fields))
    except AskFailed as error:
        parts = halves(contexts, error)
    found: list[Item] = []
    for _, part in parts:
        found += yield from judged_contexts(prompt, item, part, merit=merit, passages=passages, **fields)
    return [max(found, key=merit)] if len(contexts) == 1 else found


def gathered(extract: Callable[[Sequence[str]], Steps[list[T]]], texts: Sequence[str]) -> Steps[list[T]]:
    """Extract a list from texts; if they exceed the judge's window, join the lists extracted from their halves."""
    try:
        return (yield from extract(texts))
    except AskFailed as error:
        parts = halves(texts, error)
    found: list[T] = []
    for _, part in parts:
        found += yield from gathered(extract, part)
    return found


def halves(texts: Sequence[str], error: AskFailed) -> list[tuple[int, list[str]]]:
    """Split texts that exceed the window in two, each part with the number of texts before it; else raise the error."""
    if error.kind != TOO_LONG:
        raise error
    if len(texts) > 1:
        middle = len(texts) // 2
        return [(0, list(texts[:middle])), (middle, list(texts[middle:]))]
    if not texts or len(texts[0]) <= _SHORTEST:
        raise error
    return [(0, [window]) for window in windows(texts[0])]


def windows(text: str) -> list[str]:
    """Split a text into two halves that overlap around the middle, cut at white space if possible.

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
    """Judge a sample against each accepted reference and return the best value."""
    outcomes: list[Outcome] = []
    for reference in filter(str.strip, sample.references):
        found = yield from judge(reference)
        outcomes.append(found)
    values = [one for one in outcomes if isinstance(one, Value)]
    if values:
        return best(values, key=lambda value: value.value)
    return outcomes[0] if outcomes else Undefined("no reference")


def distinct(texts: Iterable[str]) -> list[str]:
    """The texts without blank ones and repetitions (ignoring case and white space), in their order."""
    by_words = {" ".join(text.casefold().split()): text.strip() for text in reversed(list(texts)) if text.strip()}
    return list(reversed(by_words.values()))


def plain(things: Sequence[Struct]) -> Json:
    """Convert Structs to plain JSON, for the evidence."""
    evidence: Json = msgspec.to_builtins(list(things))
    return evidence
