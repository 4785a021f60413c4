"""What a configuration of systems will ask, before it asks: questions, answers, embeddings, judgements and their cost.

An estimate: what systems find and answer is not known, so passages of the corpus, others for each question, and the
references stand for it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from ..core.records import Sample, costs
from ..core.requests import Flow, embed
from ..core.wording import pluralize
from ..evaluate.evaluate_samples import plan_rag
from ..evaluate.plan import Plan, PlanLine
from ..models.cell import Cell
from ..models.embedder import embedder_of
from ..models.engine import Engine
from ..systems.chunks import ChunkedCorpus
from ..systems.llm_answerer import LLMAnswerer
from .config import settings
from .run_config import embedder_in, judge_in, ledger_in, scorer_of
from .run_systems import read_data
from .system_config import (
    OUTSIDE,
    Bm25,
    DenseEntry,
    HybridEntry,
    LlmEntry,
    SystemEntry,
    SystemsConfig,
    Variant,
    variants,
)


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
    scorer_of(config)
    data, corpus = read_data(config)
    texts = corpus.texts if corpus is not None else data.corpus or {}
    ledger = ledger_in(config, base)
    chosen = variants(config)
    asked = pluralize(len(data.samples), "question")
    told = [
        f"{one.name}: {asked}, {pluralize(one.k, 'result')} each" + ("" if one.answerer is None else ", answered")
        for one in chosen
    ]
    likely = {case: _likely(data.samples, texts, case) for case in {_case(one) for one in chosen}}
    plans = {
        case: plan_rag(
            samples,
            metrics=[one.name for one in settings(config)],
            judge=judge_in(config),
            embedder=embedder_in(config),
            ledger=ledger,
            repeats=config.repeats,
        )
        for case, samples in likely.items()
    }
    total = Plan([])
    for variant in chosen:
        total = _plus(total, plans[_case(variant)])
        if isinstance(variant.answerer, LlmEntry):
            total = _plus(total, _answers(variant.answerer, likely[_case(variant)], ledger))
    for entry in _dense(chosen):
        total = _plus(total, _embeddings(entry, texts, data.samples, ledger))
    return SystemsPlan(told, plans[_case(chosen[0])].lines, total)


class _Case(NamedTuple):
    """What of a variant changes what is asked about its output."""

    k: int
    answered: bool
    chunk: int | None
    overlap: int


def _case(variant: Variant) -> _Case:
    answered = variant.answerer is not None or isinstance(variant.entry, OUTSIDE)
    return _Case(variant.k, answered, *_chunks(variant.entry, variant.entries))


def _chunks(entry: SystemEntry, entries: Mapping[str, SystemEntry]) -> tuple[int | None, int]:
    """How a system cuts documents; a hybrid as the first of its parts does."""
    if isinstance(entry, HybridEntry):
        return _chunks(entries[entry.of[0]], entries)
    return (entry.chunk, entry.overlap) if isinstance(entry, Bm25 | DenseEntry) else (None, 0)


def _likely(samples: Sequence[Sample], texts: Mapping[str, str], case: _Case) -> list[Sample]:
    """The samples as a system might leave them: the next passages of the corpus for each, and the reference with a
    word more as the answer, since a judge reads equal texts once and real answers differ."""
    passages = ChunkedCorpus(texts, case.chunk, case.overlap).chunks if texts else []
    places = itertools.cycle(passages)
    found = []
    for sample in samples:
        some = list(itertools.islice(places, min(case.k, len(passages))))
        found.append(
            replace(
                sample,
                response="Indeed: " + (sample.references or [sample.user_input or ""])[0] if case.answered else None,
                retrieved_contexts=[one.text for one in some],
                retrieved_ids=[one.doc for one in some] or ["a document"],
            )
        )
    return found


def _answers(entry: LlmEntry, samples: Sequence[Sample], ledger: Path | None) -> Plan:
    answerer = LLMAnswerer(entry.model, instruction=entry.instruction, ledger=ledger)
    questions = [sample.user_input or "" for sample in samples]
    told = answerer.estimate_cost(questions, ["\n\n".join(sample.retrieved_contexts or ()) for sample in samples])
    plan = _plan_of(told)
    return replace(plan, unpriced=frozenset({"answerer"} if plan.calls and plan.cost is None else ()))


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
    passages = [entry.passage_prefix + one.text for one in ChunkedCorpus(texts, entry.chunk, entry.overlap).chunks]
    questions = [entry.prefix + (sample.user_input or "") for sample in samples]

    def rule(some: Sequence[str]) -> Flow:
        yield from embed(some)
        return 0.0

    everything = [*passages, *questions]
    cells = [Cell(at, partial(rule, everything[at : at + 64])) for at in range(0, len(everything), 64)]
    plan = _plan_of(Engine(embedder=embedder, ledger=ledger).estimate(cells))
    return replace(plan, unpriced=frozenset({"embedder"} if plan.embedded and embedder.costs_unknown else ()))


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
        one.unpriced | other.unpriced,
        one.unbounded + other.unbounded,
    )
