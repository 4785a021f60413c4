"""The plan of a configuration of systems: questions, answers, embeddings, judged scores and their estimated cost.

The results and answers of the systems are not known: in their place stand passages of the corpus, others for each
question, and the references.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from ..core.records import Sample
from ..core.requests import Flow, embed
from ..core.wording import pluralize
from ..evaluate.plan import Plan, PlanLine
from ..models.cell import Cell
from ..models.embedder import embedder_of
from ..models.engine import Engine
from ..systems.chunks import ChunkedCorpus
from ..systems.llm_answerer import LLMAnswerer
from .run_config import ledger_in, options_in, scorer_of
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
    """A line for every variant, the lines of the metrics, and the plan of all variants together."""

    variants: list[str]
    lines: list[PlanLine]
    total: Plan = field(default_factory=lambda: Plan([]))

    def __str__(self) -> str:
        metrics = [f"  {line}" for line in self.lines]
        return "\n".join([*self.variants, "each is scored by", *metrics]) + str(self.total)


def plan_systems(config: SystemsConfig, *, base: Path) -> SystemsPlan:
    """The plan of a run of a configuration. No call is made, and no system is built."""
    scorer = scorer_of(config, options_in(config, base))
    data, corpus = read_data(config)
    texts = corpus.texts if corpus is not None else data.corpus or {}
    ledger = ledger_in(config, base)
    chosen = variants(config)
    questions = pluralize(len(data.samples), "question")
    lines = [
        f"{one.name}: {questions}, {pluralize(one.k, 'result')} each" + ("" if one.answerer is None else ", answered")
        for one in chosen
    ]
    likely = {case: _likely(data.samples, texts, case) for case in {_case(one) for one in chosen}}
    plans = {case: scorer.plan(samples) for case, samples in likely.items()}
    total = Plan([])
    for variant in chosen:
        total += plans[_case(variant)]
        if isinstance(variant.answerer, LlmEntry):
            total += _answers(variant.answerer, likely[_case(variant)], ledger)
    for entry in _dense(chosen):
        total += _embeddings(entry, texts, data.samples, ledger)
    return SystemsPlan(lines, plans[_case(chosen[0])].lines, total)


class _Case(NamedTuple):
    """The settings of a variant that change the number or size of the requests about its output."""

    k: int
    answered: bool
    chunk: int | None
    overlap: int


def _case(variant: Variant) -> _Case:
    answered = variant.answerer is not None or isinstance(variant.entry, OUTSIDE)
    return _Case(variant.k, answered, *_chunks(variant.entry, variant.entries))


def _chunks(entry: SystemEntry, entries: Mapping[str, SystemEntry]) -> tuple[int | None, int]:
    """The size and overlap of the chunks of a system; those of the first part of a hybrid."""
    if isinstance(entry, HybridEntry):
        return _chunks(entries[entry.of[0]], entries)
    return (entry.chunk, entry.overlap) if isinstance(entry, Bm25 | DenseEntry) else (None, 0)


def _likely(samples: Sequence[Sample], texts: Mapping[str, str], case: _Case) -> list[Sample]:
    """The samples with likely outputs: the next passages of the corpus for each, and as the answer the reference with
    a word more, since equal requests are counted once and real answers differ."""
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
    estimate = answerer.estimate_cost(questions, ["\n\n".join(one.retrieved_contexts or ()) for one in samples])
    usage = estimate.usage
    return Plan([], usage, frozenset({"answerer"} if usage.calls and usage.cost is None else ()))


def _dense(chosen: Sequence[Variant]) -> list[DenseEntry]:
    """The dense entries of all variants, with the parts of hybrids; equal entries embed once."""
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
    """The plan of embedding a corpus and the questions, beyond cached vectors; empty for a local embedder."""
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
    usage = Engine(embedder=embedder, ledger=ledger).estimate(cells).usage
    return Plan([], usage, frozenset({"embedder"} if usage.embedded and embedder.costs_unknown else ()))
