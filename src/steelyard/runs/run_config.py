"""Run what a configuration says, and write what it asks for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from ..core.errors import InputError
from ..core.records import Json
from ..evaluate.evaluate_samples import evaluate_rag, plan_rag
from ..evaluate.plan import Plan
from ..evaluate.scorer import Scorer
from ..io.samples import read_samples
from ..metrics.lookup import requested_metrics
from ..models.ledger import MEMORY
from ..reports.gate import Rule, rules
from ..reports.report import Report
from .config import Config, EmbedderSettings, JudgeSettings, settings

if TYPE_CHECKING:
    from ..models.embedder import Embedder
    from ..models.engine import Progress
    from ..models.judge import LLMJudge


class RunOutcome(NamedTuple):
    """The report of a run, and every rule with its verdict."""

    report: Report
    rules: list[Rule]


def check(config: Config, *, base: Path) -> None:
    """InputError for what could not be run, measured or written, before anything is asked."""
    scorer_of(config)
    check_outputs(config, base / config.outputs.dir)


def plan(config: Config, *, base: Path, job: bool = False) -> Plan:
    """What a run would do and cost. A job has ledgers of its own and starts from nothing."""
    check(config, base=base)
    samples = read_samples(config.data, fields=config.fields or None, encoding=config.encoding)
    return plan_rag(
        samples,
        metrics=[one.name for one in settings(config)],
        judge=judge_in(config),
        embedder=embedder_in(config),
        ledger=MEMORY if job else ledger_in(config, base),
        repeats=config.repeats,
    )


def run(
    config: Config, *, base: Path, rates: Mapping[str, float] | None = None, progress: Progress | None = None
) -> RunOutcome:
    """Score, pool, hold against the thresholds, and write the outputs (relative to ``base``)."""
    check(config, base=base)
    report = evaluate_rag(
        read_samples(config.data, fields=config.fields or None, encoding=config.encoding),
        metrics=[one.name for one in settings(config)],
        judge=judge_in(config),
        embedder=embedder_in(config),
        thresholds=thresholds_in(config),
        by=config.by,
        cluster=config.cluster,
        concurrency=config.workers,
        repeats=config.repeats,
        budget=config.budget,
        max_calls=config.max_calls,
        ledger=ledger_in(config, base),
        offline=config.offline,
        confidence=config.confidence,
        seed=config.seed,
        name=config.name,
        dataset=dataset_in(config),
        rates=rates,
        progress=progress,
    )
    return apply_gates(report, config, base / config.outputs.dir)


def apply_gates(report: Report, config: Config, folder: Path) -> RunOutcome:
    """A report held against the thresholds of its configuration, and written into a folder with the outputs."""
    found = rules(
        report, thresholds=thresholds_in(config), pass_rates=pass_rates_in(config), max_failed=config.max_failed
    )
    write(report, config, folder, found)
    return RunOutcome(report, found)


def thresholds_in(config: Config) -> dict[str, float]:
    """The thresholds of a configuration by metric."""
    return {one.name: one.threshold for one in settings(config) if one.threshold is not None}


def pass_rates_in(config: Config) -> dict[str, float]:
    """The shares of samples that must pass, by metric."""
    return {one.name: one.pass_rate for one in settings(config) if one.pass_rate is not None}


def scorer_of(config: Config) -> Scorer:
    """What samples are weighed on; InputError for a limit that no report could be held to, and for what is unknown,
    with the path of the setting."""
    from ..models.embedder import embedder_of
    from ..models.judge import judge_of

    with _at("$.judge"):
        judge = judge_in(config)
        judge = judge if judge is None else judge_of(judge)
    with _at("$.embedder"):
        embedder = embedder_in(config)
        embedder = embedder if embedder is None else embedder_of(embedder)
    for number, one in enumerate(settings(config)):
        with _at(f"$.metrics[{number}]"):
            requested_metrics([one.name], judged=judge is not None)
    return Scorer(
        [one.name for one in settings(config)],
        judge=judge,
        embedder=embedder,
        thresholds=thresholds_in(config),
        pass_rates=pass_rates_in(config),
        by=config.by,
        cluster=config.cluster,
        repeats=config.repeats,
        confidence=config.confidence,
        seed=config.seed,
    )


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Errors about a setting name its path."""
    try:
        yield
    except InputError as error:
        if error.path is not None:  # it is about a file that the setting names
            raise
        raise InputError(error.message, field=place) from None


def endpoints_in(config: Config) -> dict[str, str]:
    """The addresses that a configuration asks, by how it names them and by their short names."""
    from ..models.embedder import embedder_of
    from ..models.judge import judge_of
    from ..models.model_spec import OPENAI

    judge, embedder = judge_in(config), embedder_in(config)
    asked = [judge_of(judge)] if judge is not None else []
    found = {str(one).partition("#")[0]: one.url for one in asked}
    if embedder is not None:
        found[str(embedder_of(embedder)).partition("#")[0]] = embedder_of(embedder).url
    return {"openai" if url == OPENAI else urlsplit(url).netloc or name: url for name, url in found.items() if url}


def write(report: Report, config: Config, folder: Path, found: list[Rule] | None = None) -> None:
    """The three report files, and the samples that ``outputs.save`` asks for, one JSON line each."""
    from ..render.files import write as write_report

    check_outputs(config, folder)
    write_report(report, folder, found=found, max_failed=config.max_failed)
    rows = [row_of(report, row, config) for row in range(len(report.ids))]
    for which in config.outputs.save:
        kept = [line for passed, line in rows if which == "all" or passed == (which == "passed")]
        name = "samples.jsonl" if which == "all" else f"samples.{which}.jsonl"
        (folder / name).write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in kept))


_FILES = ("report.json", "report.md", "report.html", "samples.jsonl", "samples.passed.jsonl", "samples.failed.jsonl")


def check_outputs(config: Config, folder: Path) -> None:
    """InputError where an output would be written over what is read."""
    for path in map(Path, [config.data] if isinstance(config.data, str) else config.data):
        for name in _FILES:
            if path.exists() and (folder / name).exists() and path.samefile(folder / name):
                words = f"{name} would be written over the data: name another folder"
                raise InputError(words, path=folder, field="$.outputs.dir")


def row_of(report: Report, row: int, config: Config) -> tuple[bool, dict[str, Json]]:
    """A sample with its scores, and whether it passed: nothing failed and no threshold was missed."""
    scores = {label: report.score(row, label) for label in report.columns}
    passed = all(one.status != "failed" and one.passed is not False for one in scores.values())
    line: dict[str, Json] = msgspec.to_builtins(report.samples[row])
    line["scores"] = {label: one.value for label, one in scores.items()}
    line["passed"] = passed
    if config.outputs.labels:
        line["labels"] = [
            f"{label}: {one.status if one.status != 'ok' else 'pass' if one.passed else 'below the threshold'}"
            for label, one in scores.items()
            if one.status != "ok" or one.passed is not None
        ]
    if config.outputs.reasons:
        line["reasons"] = {label: _reason(one.reason, one.evidence) for label, one in scores.items()}
    return passed, line


def _reason(reason: str | None, evidence: dict[str, Json]) -> Json:
    return reason if reason is not None else {key: value for key, value in evidence.items() if key != "traceback"}


def duration(plan: Plan, config: Config, rates: Mapping[str, float]) -> float:
    """Seconds that the calls of a plan take at some rates, which endpoints keep side by side."""
    from ..models.embedder import embedder_of
    from ..models.judge import judge_of

    judge, embedder = judge_in(config), embedder_in(config)
    calls: dict[str, int] = {}
    texts = 0
    if embedder is not None:
        who = embedder_of(embedder)
        texts = math.ceil(plan.embedded / who.batch)
        calls[who.url] = texts
    if judge is not None:
        url = judge_of(judge).url
        calls[url] = calls.get(url, 0) + plan.calls - texts
    return max((calls.get(url, 0) / rate for url, rate in rates.items()), default=0.0)


def dataset_in(config: Config) -> str:
    """The names of the files of a configuration."""
    return ", ".join(Path(path).name for path in config.data)


def ledger_in(config: Config, base: Path) -> Path | None:
    """Where replies are kept, by a configuration; None where it does not say."""
    return None if config.ledger is None else base / config.ledger


def judge_in(config: Config) -> LLMJudge | str | None:
    """The judge of a configuration."""
    if not isinstance(config.judge, JudgeSettings):
        return config.judge
    from ..models.judge import judge_of

    return replace(judge_of(config.judge.model), **_given(config.judge))


def embedder_in(config: Config) -> Embedder | str | None:
    """The embedder of a configuration."""
    if not isinstance(config.embedder, EmbedderSettings):
        return config.embedder
    from ..models.embedder import embedder_of

    return replace(embedder_of(config.embedder.model), **_given(config.embedder))


def _given(one: JudgeSettings | EmbedderSettings) -> dict[str, Any]:
    return {key: value for key, value in msgspec.structs.asdict(one).items() if key != "model" and value is not None}
