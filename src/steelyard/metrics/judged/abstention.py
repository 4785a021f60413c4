"""Abstention: whether a response declined unanswerable questions and answered answerable ones."""

from __future__ import annotations

from msgspec import Struct

from ...core.errors import InputError
from ...core.records import Json, Sample, Undefined, Value
from ...core.requests import Flow, Prompt, ask
from ..registry import metric

DECLINED = Prompt(
    "Did the response decline to answer: say that it does not know, cannot or will not say, or that the information is"
    " missing? A wrong or partial answer is not declined. Reason in one sentence, then verdict."
)


class Declined(Struct):
    """Whether a response declined."""

    reason: str
    declined: bool


@metric(
    needs=("user_input", "response"),
    revision=1,
    source="accuracy of declining, as in SQuAD 2.0 (Rajpurkar et al. 2018, arXiv:1806.03822) over judged refusals",
    hint="split by answerable: false refusals point to retrieval, false answers to the prompt",
    declines=("declined",),
)
def abstention(sample: Sample) -> Flow:
    """1 if the response declined an unanswerable question or answered an answerable one, else 0.

    The mean is an accuracy. ``answerable`` (true or false, in ``metadata`` or ``tags``) states whether the question has
    an answer. If it is absent, a sample with a reference counts as answerable, and one without is undefined.
    """
    answerable = _answerable(sample)
    if answerable is None:
        return Undefined("neither answerable nor a reference is given")
    reply = yield from ask(DECLINED, Declined, question=sample.user_input or "", response=sample.response or "")
    evidence: dict[str, Json] = {"declined": reply.declined, "answerable": answerable, "reason": reply.reason}
    return Value(float(reply.declined is not answerable), evidence)


def _answerable(sample: Sample) -> bool | None:
    given = sample.metadata.get("answerable", sample.tags.get("answerable"))
    if given is None:
        return True if any(map(str.strip, sample.references)) else None
    answer = str(given).strip().casefold()
    if answer not in ("true", "false", "yes", "no", "1", "0"):
        raise InputError(f"expected true or false, found {given!r}", field="answerable")
    return answer in ("true", "yes", "1")
