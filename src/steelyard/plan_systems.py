"""What a configuration of systems will ask, before it asks: questions, answers, embeddings, judgements and their cost.

An estimate: what systems find and answer is not known, so the first documents of the corpus and the references stand
for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from .config import settings
from .embedder import embedder_of
from .engine import Engine
from .evaluate_samples import plan_rag
from .flow import Flow, embed
from .names import number_of
from .plan import Plan, PlanLine
from .records import Sample, costs
from .run_config import embedder_in, judge_in, ledger_in
from .run_systems import read_data
from .system_config import DenseEntry, HybridEntry, LlmEntry, SystemEntry, SystemsConfig, Variant, variants
from .systems.chunks import Passages
from .systems.llm_answerer import LLMAnswerer
from .trace import Cell


class SystemsPlan(Struct, frozen=True):
    """A line for every variant, the lines of the metrics, and what all variants would ask together."""

    variants: list[str]
    lines: list[PlanLine]
    total: Plan = field(default_factory=lambda: Plan([]))

    def __str__(self) -> str:
        metrics = [f"  {line}" for line in self.lines]
        return "\n".join([*self.variants, "each is weighed by", *metrics]) + str(self.total)


def plan_systems(config: SystemsConfig, *, base: Path) -> SystemsPlan:
    """What a run of a configuration would ask. Nothing is asked, and no system is made."""
    data, corpus = read_data(config)
    texts = corpus.texts if corpus is not None else data.corpus or {}
    ledger = ledger_in(config, base)
    chosen = variants(config)
    asked = number_of(len(data.samples), "question")
    told = [
        f"{one.name}: {asked}, {number_of(one.k, 'result')} each" + ("" if one.answerer is None else ", answered")
        for one in chosen
    ]
    plans = {(one.k, one.answerer is not None): Plan([]) for one in chosen}
    for k, answered in plans:
        plans[k, answered] = plan_rag(
            _likely(data.samples, texts, k),
            metrics=[one.name for one in settings(config)],
            judge=judge_in(config),
            embedder=embedder_in(config),
            ledger=ledger,
            repeats=config.repeats,
        )
    total = Plan([])
    for variant in chosen:
        total = _plus(total, plans[variant.k, variant.answerer is not None])
        if isinstance(variant.answerer, LlmEntry):
            total = _plus(total, _answers(variant.answerer, _likely(data.samples, texts, variant.k), ledger))
    for entry in _dense(chosen):
        total = _plus(total, _embeddings(entry, texts, data.samples, ledger))
    return SystemsPlan(told, plans[chosen[0].k, chosen[0].answerer is not None].lines, total)


def _likely(samples: Sequence[Sample], texts: Mapping[str, str], k: int) -> list[Sample]:
    ids = list(texts)[:k] or ["a document"]
    contexts = [texts[key] for key in ids if key in texts]
    return [
        replace(
            sample,
            response=(sample.references or [sample.user_input or ""])[0],
            retrieved_contexts=contexts,
            retrieved_ids=ids,
        )
        for sample in samples
    ]


def _answers(entry: LlmEntry, samples: Sequence[Sample], ledger: Path | None) -> Plan:
    answerer = LLMAnswerer(entry.model, instruction=entry.instruction, ledger=ledger)
    questions = [sample.user_input or "" for sample in samples]
    told = answerer.reckon(questions, ["\n\n".join(sample.retrieved_contexts or ()) for sample in samples])
    plan = _plan_of(told)
    return replace(plan, unpriced=bool(plan.calls) and plan.cost is None)


def _dense(chosen: Sequence[Variant]) -> list[DenseEntry]:
    """The dense entries of all variants, hybrids' parts included; equal ones embed once."""
    found: list[DenseEntry] = []

    def visit(entry: SystemEntry, entries: Mapping[str, SystemEntry]) -> None:
        if isinstance(entry, DenseEntry) and entry not in found:
            found.append(entry)
        for part in entry.of if isinstance(entry, HybridEntry) else ():
            visit(entries[part], entries)

    for one in chosen:
        visit(one.entry, one.entries)
    return found


def _embeddings(entry: DenseEntry, texts: Mapping[str, str], samples: Sequence[Sample], ledger: Path | None) -> Plan:
    """What embedding a corpus and the questions takes, beyond what the ledger holds; nothing where it is done here."""
    embedder = embedder_of(entry.embedder)
    if embedder.answer is not None or not texts:
        return Plan([])
    passages = [entry.passage_prefix + one.text for one in Passages(texts, entry.chunk, entry.overlap).chunks]
    questions = [entry.prefix + (sample.user_input or "") for sample in samples]

    def rule(some: Sequence[str]) -> Flow:
        yield from embed(some)
        return 0.0

    everything = [*passages, *questions]
    cells = [Cell(at, partial(rule, everything[at : at + 64])) for at in range(0, len(everything), 64)]
    plan = _plan_of(Engine(embedder=embedder, ledger=ledger).estimate(cells))
    return replace(plan, embedding_unpriced=bool(plan.embedded) and embedder.costs_unknown)


def _plan_of(told: Struct) -> Plan:
    """A reckoning as a plan without lines."""
    names = ("calls", "cached", "prompt_tokens", "completion_tokens", "embedded", "cost")
    return Plan([], **{name: getattr(told, name) for name in names})


def _plus(one: Plan, other: Plan) -> Plan:
    return Plan(
        [],
        one.calls + other.calls,
        one.cached + other.cached,
        one.prompt_tokens + other.prompt_tokens,
        one.completion_tokens + other.completion_tokens,
        one.embedded + other.embedded,
        costs(one.cost, other.cost),
        one.unpriced or other.unpriced,
        one.embedding_unpriced or other.embedding_unpriced,
    )
