"""Citation recall and precision: whether cited passages support their statement, and which of them do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ...core.errors import AskFailed
from ...core.records import Json, Sample, Undefined
from ...core.requests import Flow, items, ratio
from ...text.sentences import sentences
from ..registry import metric
from .claim_verdicts import Finding, check, check_request, finding, located
from .numbered_requests import TOO_LONG, Steps

ALCE = "Gao, Yen, Yu, Chen 2023: ALCE. arXiv:2305.14627"

_MARKER = re.compile(r"[\[【]\s*(\d{1,4}(?:\s*(?:[,;–-]|\s)\s*\d{1,4})*)\s*[\]】]")
_AFTER_STOP = re.compile(rf"([.!?。！？]+)((?:\s*{_MARKER.pattern})+)")
_RANGE = re.compile(r"(\d+)\s*[–-]\s*(\d+)|(\d+)")
_LONGEST_RANGE = 50


class Statement(NamedTuple):
    """A sentence of the response without its markers, and the numbers (from 1) that it cites."""

    text: str
    cited: list[int]


def statements(response: str) -> list[Statement]:
    """Split a response into sentences with their citations: ``[1]``, ``[1][3]``, ``[1, 3]``, ``[2-4]``.

    Markers after the full stop belong to the sentence before it.

    >>> statements("It opened in 1932 [1]. Ada signed. [2, 3]")
    [Statement(text='It opened in 1932.', cited=[1]), Statement(text='Ada signed.', cited=[2, 3])]
    """
    ordered = _AFTER_STOP.sub(lambda hit: f" {hit[2].strip()}{hit[1]}", response)
    found = [Statement(_without_markers(sentence), cited_in(sentence)) for sentence in sentences(ordered)]
    return [one for one in found if any(map(str.isalnum, one.text))]


def cited_in(text: str) -> list[int]:
    """The distinct numbers that markers in a text cite, in order.

    >>> cited_in("so [3][1-2] and [3]")
    [3, 1, 2]
    """
    numbers: dict[int, None] = {}
    for marker in _MARKER.finditer(text):
        for first, last, single in _RANGE.findall(marker[1]):
            low, high = (int(first), int(last)) if first else (int(single), int(single))
            run = range(low, high + 1) if low <= high < low + _LONGEST_RANGE else (low, high)
            numbers |= dict.fromkeys(run)
    return list(numbers)


def _without_markers(sentence: str) -> str:
    return re.sub(r"\s+([.!?。！？])", r"\1", _MARKER.sub("", sentence)).strip()


@metric(
    needs=("response", "retrieved_contexts"),
    revision=1,
    source=ALCE,
    hint="look at the prompt of the generator: ask for a citation after each statement, from the passages given",
    stage="grounding",
    stage_rank=10,
)
def citation_recall(sample: Sample) -> Flow:
    """``statements supported by their citations / statements``, in [0, 1].

    Statements are the sentences of the response; ``[n]`` cites the nth context, counted from 1. The cited contexts
    are checked together. A statement without a marker, or with citations of missing contexts only, is unsupported, so
    that a response without markers scores 0. A response without sentences is undefined.
    """
    stated = statements(sample.response or "")
    found = yield from _checked(stated, sample.retrieved_contexts or [])
    supported = sum(one is not None and one.holds for one in found)
    return ratio(supported, len(stated), empty="no statements", evidence={"statements": _plain(stated, found)})


@metric(
    needs=("response", "retrieved_contexts"),
    revision=1,
    source=ALCE,
    hint="look at the prompt of the generator: it cites passages that do not support the statement",
)
def citation_precision(sample: Sample) -> Flow:
    """``citations that support their statement / citations``, in [0, 1].

    A citation counts if the cited contexts support its statement (see ``citation_recall``) and the judge names this
    context among those that support it, alone or with others. ALCE decides the latter by leaving out citations one by
    one; here the judge answers both in one request. A citation of a missing context does not count. A response without
    citations is undefined.
    """
    stated, contexts = statements(sample.response or ""), sample.retrieved_contexts or []
    citations = sum(len(one.cited) for one in stated)
    if not citations:
        return Undefined("no citations")
    found = yield from _checked(stated, contexts)
    good = sum(len(located(one)) for one in found if one is not None)
    return ratio(good, citations, empty="no citations", evidence={"statements": _plain(stated, found)})


def _checked(stated: Sequence[Statement], contexts: Sequence[str]) -> Steps[list[Finding | None]]:
    """Check each statement against its cited contexts, with the contexts' own numbers; None if it cites none."""
    cited = [[number for number in one.cited if 1 <= number <= len(contexts)] for one in stated]
    tasks = [(one.text, numbers) for one, numbers in zip(stated, cited, strict=True) if numbers]
    found = iter((yield from _answers(tasks, contexts)))
    return [next(found) if numbers else None for numbers in cited]


def _answers(tasks: Sequence[tuple[str, list[int]]], contexts: Sequence[str]) -> Steps[list[Finding]]:
    """Check claims against their own sources: all at once, or one after the other if one exceeds the window."""
    if not tasks:
        return []
    sources = [[contexts[number - 1] for number in numbers] for _, numbers in tasks]
    found: list[Finding] = []
    try:
        replies = yield [check_request(text, own) for (text, _), own in zip(tasks, sources, strict=True)]
    except AskFailed as error:
        if error.kind != TOO_LONG:
            raise
        for (text, _), own in zip(tasks, sources, strict=True):
            found += yield from check([text], own)
    else:
        for (text, _), own, reply in zip(tasks, sources, replies, strict=True):
            (answer,) = items(reply)
            found.append(finding(text, answer.verdict, answer.reason, answer.passages, sources=len(own)))
    return [
        msgspec.structs.replace(one, passages=[numbers[place - 1] for place in one.passages])
        for one, (_, numbers) in zip(found, tasks, strict=True)
    ]


def _plain(stated: Sequence[Statement], found: Sequence[Finding | None]) -> Json:
    return [
        {
            "claim": one.text,
            "cited": [*one.cited],
            "verdict": "no" if seen is None else seen.verdict,
            "reason": "cites no context" if seen is None else seen.reason,
            "passages": [] if seen is None else [*seen.passages],
        }
        for one, seen in zip(stated, found, strict=True)
    ]
