"""What a run will do, before it does it: metric by rows, with the reason for every row left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct, field

from .records import Sample
from .shelf import Asked


class PlanLine(Struct, frozen=True):
    """One metric: on how many rows it runs, and why not on the others."""

    metric: str
    way: str
    rows: int
    skipped: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        left_out = "; ".join(f"{count} skipped: {reason}" for reason, count in self.skipped.items())
        return f"{self.metric} [{self.way}] on {self.rows} rows" + (f" ({left_out})" if left_out else "")


class Plan(Struct, frozen=True):
    """The lines of a plan, and what it would cost where a judge is asked."""

    lines: list[PlanLine]
    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    embedded: int = 0
    cost: float | None = None

    def __str__(self) -> str:
        text = "\n".join(map(str, self.lines))
        if self.calls or self.cached:
            price = "" if self.cost is None else f", about {self.cost:.4f}"
            text += (
                f"\nabout {self.calls} calls ({self.cached} more are in the ledger), {self.prompt_tokens} prompt and"
                f" {self.completion_tokens} completion tokens{price}; an estimate, as the replies are not known"
            )
        return text


def absent(asked: Asked, sample: Sample) -> str | None:
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


def plan_of(asked: Sequence[Asked], samples: Sequence[Sample]) -> list[PlanLine]:
    """The plan without its cost."""
    lines = []
    for one in asked:
        skipped = Counter(reason for sample in samples if (reason := absent(one, sample)))
        rows = len(samples) - sum(skipped.values())
        lines.append(PlanLine(one.label, one.metric.way, rows, dict(sorted(skipped.items()))))
    return lines
