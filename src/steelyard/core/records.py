"""The records that every room shares: samples, scores, estimates and usage.

Rules of this file: records are frozen, hold plain data, use no files and no network, and round-trip through JSON.
Undefined is not zero and failed is not wrong: a score has a status, and an estimate has its n.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from html import escape
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct, field

Qrels: TypeAlias = Mapping[str, Mapping[str, float]]
"""Relevance judgments: ``{query: {document: grade}}``. A document is relevant if its grade is > 0."""

Run: TypeAlias = Mapping[str, Mapping[str, float]]
"""Rankings: ``{query: {document: score}}``. Higher scores rank first."""

if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
else:
    Json = object  # msgspec does not support recursive aliases; as object, any JSON value decodes unchanged
Status: TypeAlias = Literal["ok", "undefined", "failed"]
Way: TypeAlias = str
"""How a quantity was measured: ``ranking``, ``lexical``, ``judged``, or the name of a user-defined judge."""

COMMAND: ContextVar[str] = ContextVar("command", default="")
"""The command line that is running, or an empty text; reports record the command that made them."""


class Span(Struct, frozen=True, omit_defaults=True):
    """Evidence in a source document, located by character offsets (optionally with a ``digest`` of that text) or by
    its quoted text."""

    doc: str
    start: int | None = None
    end: int | None = None
    text: str | None = None
    digest: str | None = None


class Sample(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One interaction with the system. No field but ``id`` is required; each metric lists the fields that it needs.

    >>> Sample(id="q1", user_input="Who?", response="Ada", reference=["Ada", "Ada Lovelace"]).references
    ['Ada', 'Ada Lovelace']
    """

    id: str = ""
    user_input: str | None = None
    response: str | None = None
    retrieved_contexts: list[str] | None = None
    reference: str | list[str] | None = None
    reference_contexts: list[str] | None = None
    retrieved_ids: list[str] | None = None
    relevance: dict[str, float] | None = None
    relevant_spans: list[Span] | None = None
    tags: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, Json] = field(default_factory=dict)

    @property
    def references(self) -> list[str]:
        """The accepted references as a list; empty if there is none."""
        if self.reference is None:
            return []
        return [self.reference] if isinstance(self.reference, str) else self.reference


RagSample = Sample
"""Another name for ``Sample``."""


def costs(one: float | None, other: float | None) -> float | None:
    """The sum of two costs; an unknown cost (None) counts as 0, and the sum of two unknown costs is unknown."""
    return None if one is None and other is None else (one or 0.0) + (other or 0.0)


class Usage(Struct, frozen=True, omit_defaults=True):
    """Counts and costs of requests. ``estimated`` counts calls whose endpoint sent no usage block; ``unpriced`` counts
    calls of unknown price, which ``cost`` leaves out."""

    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    embedded: int = 0
    estimated: int = 0
    cost: float | None = None
    seconds: float = 0.0
    unpriced: int = 0

    @property
    def cost_text(self) -> str | None:
        """The cost as text; None if no cost is known.

        >>> Usage(calls=2, cost=0.5).cost_text, Usage(calls=2, cost=0.5, unpriced=1).cost_text
        ('0.5000', 'at least 0.5000')
        """
        return None if self.cost is None else f"{'at least ' if self.unpriced else ''}{self.cost:,.4f}"

    def __add__(self, other: Usage) -> Usage:
        """The sum of two usages; a cost that is unknown on both sides stays unknown."""
        return Usage(
            self.calls + other.calls,
            self.cached + other.cached,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.embedded + other.embedded,
            self.estimated + other.estimated,
            costs(self.cost, other.cost),
            self.seconds + other.seconds,
            self.unpriced + other.unpriced,
        )


class Value(Struct, frozen=True):
    """The result of a rule: the number, its evidence, and (numerator, denominator) if it is a ratio."""

    value: float
    evidence: dict[str, Json] = field(default_factory=dict)
    parts: tuple[float, float] | None = None


class Undefined(Struct, frozen=True):
    """The result of a rule if the number does not exist: the reason, and the evidence found so far."""

    reason: str
    evidence: dict[str, Json] = field(default_factory=dict)


Outcome: TypeAlias = "Value | Undefined"


class Score(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One metric on one sample. ``value`` is None unless the status is ``ok``.

    ``requests`` are the ledger keys of the rule's requests, so that the prompts behind a score can be shown.
    """

    sample: str
    metric: str
    value: float | None = None
    status: Status = "ok"
    reason: str | None = None
    passed: bool | None = None
    evidence: dict[str, Json] = field(default_factory=dict)
    parts: tuple[float, float] | None = None
    usage: Usage | None = None
    requests: list[str] = field(default_factory=list)


class Estimate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One pooled metric: its value, n and confidence interval.

    ``n`` counts scored samples; ``undefined`` and ``failed`` count the others. ``low`` and ``high`` are the interval
    at the level ``confidence``, computed by ``method``. ``if_failed_zero`` and ``if_failed_one`` are the pooled value
    with every failure counted as 0 and as 1: the bounds of the value without failures.
    """

    metric: str
    value: float | None
    n: int
    undefined: int = 0
    failed: int = 0
    low: float | None = None
    high: float | None = None
    confidence: float = 0.95
    method: str = ""
    pool: str = "mean"
    way: Way = ""
    if_failed_zero: float | None = None
    if_failed_one: float | None = None
    threshold: float | None = None
    pass_rate: float | None = None
    pass_low: float | None = None
    pass_high: float | None = None

    @property
    def total(self) -> int:
        """The number of all samples: scored, undefined and failed."""
        return self.n + self.undefined + self.failed

    def __str__(self) -> str:
        """One line with value, interval, n, and the numbers of undefined and failed samples.

        >>> print(Estimate(metric="map", value=0.5, n=8, low=0.25, high=0.75, undefined=1))
        map 0.5000 (0.2500 – 0.7500, 95 %), n 8, 1 undefined
        """
        value = "–" if self.value is None else f"{self.value:.4f}"
        known = self.low is not None and self.high is not None
        ends = f" ({self.low:.4f} – {self.high:.4f}, {100 * self.confidence:g} %)" if known else ""
        others = [
            f"{count} {word}" for word, count in (("undefined", self.undefined), ("failed", self.failed)) if count
        ]
        return ", ".join([f"{self.metric} {value}{ends}", f"n {self.n}", *others])

    def _repr_html_(self) -> str:
        """The same line as HTML for notebooks."""
        return f"<strong>{escape(self.metric)}</strong>{escape(str(self)[len(self.metric) :])}"
