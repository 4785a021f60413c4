"""The plan of a run: on how many samples each metric runs, why not on the others, and the estimated cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from ..core.records import Sample, Usage
from ..core.wording import pluralize
from ..metrics.lookup import RequestedMetric
from .required_fields import absent

Asking = Literal["judge", "answerer", "embedder"]
"""The kinds of model that a run calls and pays for."""

_PRICE_HINTS = {
    "answerer": "give the answerer's price per million tokens in its model (openai:MODEL#price=0.15,0.6, or"
    " http://HOST/v1#MODEL&price=0.15,0.6)",
    "embedder": "give the embedder's price per million tokens in its name (openai:MODEL#price=0.02, or"
    " http://HOST/v1#MODEL&price=0.02)",
}


class PlanLine(Struct, frozen=True):
    """One metric: on how many rows it runs, and the reasons why it skips the others."""

    metric: str
    way: str
    rows: int
    skipped: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        skipped = "; ".join(f"{count} skipped: {reason}" for reason, count in self.skipped.items())
        return f"{self.metric} [{self.way}] on {pluralize(self.rows, 'row')}" + (f" ({skipped})" if skipped else "")


class Plan(Struct, frozen=True):
    """The lines of a plan, and the estimated usage of the models that it calls.

    ``unpriced`` are the models without a price; ``unbounded`` counts the cells whose rule may make any number of
    requests.
    """

    lines: list[PlanLine]
    usage: Usage = Usage()
    unpriced: frozenset[Asking] = frozenset()
    unbounded: int = 0

    def __add__(self, other: Plan) -> Plan:
        """Both plans in one: the lines of the first, the usage of both."""
        return Plan(
            self.lines, self.usage + other.usage, self.unpriced | other.unpriced, self.unbounded + other.unbounded
        )

    def unknown(self, hint: str) -> str:
        """A line that says which prices are missing and how to give them; empty if the cost is known.

        ``hint`` says how to give the price of the judge.
        """
        hints = [words for one, words in {"judge": hint, **_PRICE_HINTS}.items() if one in self.unpriced]
        if not hints:
            return ""
        return f"cost unknown{'' if self.usage.cost is None else ' in part'}: {'; '.join(hints)}"

    def __str__(self) -> str:
        text = "\n".join(map(str, self.lines))
        use = self.usage
        if use.calls or use.cached:
            least = "at least " if self.unpriced else ""
            price = "" if use.cost is None else f", {least}about {use.cost:.4f}"
            calls = pluralize(use.calls, "call")
            at_least = "at least" if self.unbounded else "about"
            text += (
                f"\n{at_least} {calls} ({use.cached} more are in the ledger), {use.prompt_tokens} prompt and"
                f" {use.completion_tokens} completion tokens{price}; an estimate, as the replies are not known"
            )
        if self.unbounded:
            cells = pluralize(self.unbounded, "cell repeats a request", "cells repeat a request")
            text += f"\n{cells} until the rule accepts the reply: the number of calls is not known"
        return text


def plan_of(
    requested: Sequence[RequestedMetric],
    samples: Sequence[Sample],
    by_rule: Mapping[tuple[str, int], str] | None = None,
) -> list[PlanLine]:
    """The lines of a plan. ``by_rule`` holds, by label and row, the reasons of samples that a rule itself leaves out:
    the fields that it needs may depend on its parameters."""
    lines = []
    for one in requested:
        skipped = Counter(
            reason
            for row, sample in enumerate(samples)
            if (reason := absent(one, sample) or (by_rule or {}).get((one.label, row)))
        )
        rows = len(samples) - sum(skipped.values())
        lines.append(PlanLine(one.label, one.metric.way, rows, dict(sorted(skipped.items()))))
    return lines
