"""Run a configuration of systems: every system with every setting on one set of questions, with cost and time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ..core.errors import InputError
from ..core.progress import PartProgress
from ..datasets.corpus import Corpus, read_corpus
from ..datasets.dataset import digest_of
from ..evaluate.evaluate_system import QuestionSet, evaluate_system, read_set
from ..io.samples import read_samples
from ..models.budget import SharedBudget
from ..ranking.trec.files import write_run
from ..reports.gate import Rule, rules
from ..reports.leaderboard import Standing, leaderboard
from ..reports.provenance import DatasetNote
from ..reports.report import Report
from .build_systems import SystemBuilder
from .config import settings
from .run_config import embedder_in, judge_in, ledger_in, pass_rates_in, scorer_of, thresholds_in, write
from .system_config import LlmEntry, SystemsConfig, variants

if TYPE_CHECKING:
    from ..core.progress import Progress


class SystemsOutcome(NamedTuple):
    """The reports, the first of which is the baseline, the rules with their verdicts, and the table of all."""

    reports: list[Report]
    rules: list[Rule]
    places: list[Standing]


def run_systems(config: SystemsConfig, *, base: Path, progress: Progress | None = None) -> SystemsOutcome:
    """Run every variant, apply the gates, and write its report, samples and run (below ``base``)."""
    scorer_of(config)
    data, corpus = read_data(config)
    metrics = [one.name for one in settings(config)]
    thresholds, rates = thresholds_in(config), pass_rates_in(config)
    ledger = ledger_in(config, base)
    texts = corpus.texts if corpus is not None else data.corpus
    reports: list[Report] = []
    part_progress, allowance = PartProgress(progress), SharedBudget(config.budget, config.max_calls)
    gates: list[Rule] = []
    folders = _folders([variant.name for variant in variants(config)], base / config.outputs.dir)
    with SystemBuilder(
        corpus=texts, samples=data.samples, folder=base, ledger=ledger, concurrency=config.concurrency
    ) as builder:
        for variant in variants(config):
            if isinstance(variant.answerer, LlmEntry):
                builder.answerer(variant.answerer, allowance)  # an error here comes before the first call
        for variant in variants(config):
            workers, deadline, retries = builder.patience(variant)
            report = evaluate_system(
                builder.system(variant),
                data._replace(corpus=texts),
                metrics,
                answerer=builder.answerer(variant.answerer, allowance),
                k=variant.k,
                judge=judge_in(config),
                embedder=embedder_in(config),
                thresholds=thresholds,
                by=config.by,
                cluster=config.cluster,
                workers=workers,
                deadline=deadline,
                retries=retries,
                ledger=ledger,
                identity=builder.identity(variant),
                places=None if corpus is None else corpus.places,
                concurrency=config.concurrency,
                repeats=config.repeats,
                allowance=allowance,
                offline=config.offline,
                confidence=config.confidence,
                seed=config.seed,
                name=variant.name,
                progress=part_progress,
            )
            part_progress.next_part()
            reports.append(report)
            own = rules(report, thresholds=thresholds, pass_rates=rates, max_failed=config.max_failed)
            gates += [replace(rule, text=f"{variant.name}: {rule.text}") for rule in own]
            _write(report, config, folders[variant.name])
    return SystemsOutcome(reports, gates, leaderboard(reports, seed=config.seed))


def _folders(names: Sequence[str], out: Path) -> dict[str, Path]:
    """Make a folder for every variant, with a number if two names are equal: a run that cannot write fails before its
    first call."""
    folders: dict[str, Path] = {}
    for name in names:
        plain, number = folder_name(name), 1
        while (folder := out / (plain if number == 1 else f"{plain}-{number}")) in folders.values():
            number += 1
        folders[name] = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError((error.strerror or str(error)).lower(), path=folder) from None
    return folders


def folder_name(variant: str) -> str:
    """A variant's name as the name of a folder.

    >>> folder_name("bm25 (chunk=256, k=5)")
    'bm25.chunk=256.k=5'
    """
    kept = "".join(char if char.isalnum() or char in "=-_.,( )" else "-" for char in variant)
    return kept.replace(" (", ".").replace(", ", ".").rstrip(")").replace("(", "").replace(" ", "_")


def read_data(config: SystemsConfig) -> tuple[QuestionSet, Corpus | None]:
    """The questions of a configuration, and its documents: those that it names, or those beside the questions."""
    paths = [config.data] if isinstance(config.data, str) else config.data
    fields = config.fields or None
    if len(paths) == 1:
        try:
            data = read_set(paths[0], fields=fields, encoding=config.encoding)
        except FileNotFoundError as error:
            raise InputError(str(error)) from None
    else:
        samples = read_samples(paths, fields=fields, encoding=config.encoding)
        data = QuestionSet(
            samples, DatasetNote(", ".join(Path(path).name for path in paths), digest=digest_of(samples))
        )
    if config.corpus is not None:
        return data, read_corpus(config.corpus, encoding=config.encoding)
    folder = Path(paths[0])
    if folder.is_dir() and any(folder.glob("corpus.jsonl*")):
        return data, read_corpus(folder, encoding=config.encoding)
    return data, None


def _write(report: Report, config: SystemsConfig, folder: Path) -> None:
    """Write the report, the samples to save, and the rankings as a run file."""
    write(report, config, folder)
    run = {
        sample.id: {doc: float(len(sample.retrieved_ids) - at) for at, doc in enumerate(sample.retrieved_ids)}
        for sample in report.samples
        if sample.retrieved_ids
    }
    if run:
        try:
            write_run(folder / "run.trec", run, tag=folder.name)
        except InputError as error:
            report.warnings.append(f"no run.trec: {error}")
