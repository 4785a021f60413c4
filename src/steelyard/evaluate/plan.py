"""What a run will do, before it does it: metric by rows, with the reason for every row left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from ..core.records import Sample
from ..core.wording import pluralize
from ..metrics.lookup import RequestedMetric

Asking = Literal["judge", "answerer", "embedder"]
"""Who is asked for something that costs."""

_REMEDIES = {
    "answerer": "give the answerer's price per million tokens in its model (openai:MODEL#price=0.15,0.6, or"
    " http://HOST/v1#MODEL&price=0.15,0.6)",
    "embedder": "give the embedder's price per million tokens in its name (openai:MODEL#price=0.02, or"
    " http://HOST/v1#MODEL&price=0.02)",
}


class PlanLine(Struct, frozen=True):
    """One metric: on how many rows it runs, and why not on the others."""

    metric: str
    way: str
    rows: int
    skipped: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        left_out = "; ".join(f"{count} skipped: {reason}" for reason, count in self.skipped.items())
        return f"{self.metric} [{self.way}] on {pluralize(self.rows, 'row')}" + (f" ({left_out})" if left_out else "")


class Plan(Struct, frozen=True):
    """The lines of a plan, and what it would cost where somebody is asked; ``unpriced`` are those without a price,
    ``endless`` the cells whose rule may ask on and on."""

    lines: list[PlanLine]
    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    embedded: int = 0
    cost: float | None = None
    unpriced: frozenset[Asking] = frozenset()
    unbounded: int = 0

    def unknown(self, remedy: str) -> str:
        """A line that says that the cost is not known, or not all of it, and what to do about it; empty where it is.

        ``remedy`` is how the price of the judge is given.
        """
        remedies = [words for one, words in {"judge": remedy, **_REMEDIES}.items() if one in self.unpriced]
        if not remedies:
            return ""
        return f"cost unknown{'' if self.cost is None else ' in part'}: {'; '.join(remedies)}"

    def __str__(self) -> str:
        text = "\n".join(map(str, self.lines))
        if self.calls or self.cached:
            least = "at least " if self.unpriced else ""
            price = "" if self.cost is None else f", {least}about {self.cost:.4f}"
            calls = pluralize(self.calls, "call")
            least_of_all = "at least" if self.unbounded else "about"
            text += (
                f"\n{least_of_all} {calls} ({self.cached} more are in the ledger), {self.prompt_tokens} prompt and"
                f" {self.completion_tokens} completion tokens{price}; an estimate, as the replies are not known"
            )
        if self.unbounded:
            cells = pluralize(self.unbounded, "cell asks", "cells ask")
            text += f"\n{cells} until a reply pleases the rule: how often is not known"
        return text


def absent(asked: RequestedMetric, sample: Sample) -> str | None:
    """Why a metric cannot run on a sample; None where it can.

    Lexical metrics lack only what is absent: a blank response or an empty list of contexts is a real, bad output.
    A judge is not asked about blank text either.
    """
    for need in asked.metric.needs:
        value = getattr(sample, need, None)
        if value is None or (need == "reference" and value == []):
            return f"no {need}"
        if asked.metric.kind == "judged" and _blank(value):
            return f"blank {need}"
    return None


def _blank(value: object) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, list) and not any(not isinstance(item, str) or item.strip() for item in value)


def plan_of(
    asked: Sequence[RequestedMetric], samples: Sequence[Sample], by_rule: Mapping[tuple[str, int], str] | None = None
) -> list[PlanLine]:
    """The plan without its cost. ``by_rule`` says, by label and row, what a rule leaves out by itself: what it needs
    may depend on how it is set."""
    lines = []
    for one in asked:
        skipped = Counter(
            reason
            for row, sample in enumerate(samples)
            if (reason := absent(one, sample) or (by_rule or {}).get((one.label, row)))
        )
        rows = len(samples) - sum(skipped.values())
        lines.append(PlanLine(one.label, one.metric.way, rows, dict(sorted(skipped.items()))))
    return lines
