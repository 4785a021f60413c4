"""Preference between two responses, judged in both orders, because judges favour a position."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from ...core.records import Json, Sample, Undefined, Value
from ...core.requests import Flow, Prompt, request
from ..registry import metric

OTHER = "other_response"

PREFER = Prompt(
    "Which response answers the question better, A or B: more correct, more complete, more to the point? Order, length"
    " and tone do not count; where a reference is given, it decides. Give the reason first, then A, B or tie."
)


class Preferred(Struct):
    """The better of two responses."""

    reason: str
    better: Literal["A", "B", "tie"]


@metric(
    needs=("user_input", "response"),
    revision=1,
    source="Zheng et al. 2023: MT-Bench. arXiv:2306.05685, pairwise judging in both orders",
    hint="read the losses",
)
def preference(sample: Sample) -> Flow:
    """1 (win) if the judge prefers the response to ``metadata.other_response`` in both orders, 0 (loss) if it prefers
    the other in both, else 1/2 (tie): two ties, a tie and a preference, or orders that disagree.

    The mean is the share of wins plus half the ties. Undefined without another response. Source: Zheng et al. 2023.

    >>> from steelyard.core.requests import play
    >>> sample = Sample(user_input="When?", response="1932", metadata={"other_response": "Long ago."})
    >>> first, second = {"reason": "exact", "better": "A"}, {"reason": "exact", "better": "B"}
    >>> play(preference(sample), [first, second]).value
    1.0
    """
    response, other = sample.response or "", sample.metadata.get(OTHER)
    if not isinstance(other, str) or not other.strip():
        return Undefined(f"no {OTHER} in metadata")
    fields: dict[str, Any] = {"question": sample.user_input or ""}
    if references := [one for one in sample.references if one.strip()]:
        fields["reference"] = references if len(references) > 1 else references[0]
    ours_first, other_first = yield [
        request(PREFER, Preferred, **fields, A=response, B=other),
        request(PREFER, Preferred, **fields, A=other, B=response),
    ]
    won = (ours_first.better == "A") + (other_first.better == "B")
    lost = (ours_first.better == "B") + (other_first.better == "A")
    outcome, value = ("win", 1.0) if won == 2 else ("loss", 0.0) if lost == 2 else ("tie", 0.5)
    evidence: dict[str, Json] = {
        "outcome": outcome,
        "orders_agree": not (won and lost),
        "better": [ours_first.better, other_first.better],
        "reasons": [ours_first.reason, other_first.reason],
    }
    return Value(value, evidence)
