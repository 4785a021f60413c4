"""Run what a configuration says, and write what it asks for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from .config import Config, JudgeSettings, settings
from .evaluate_samples import evaluate_rag, plan_rag
from .gate import Rule, rules
from .plan import Plan
from .records import Json
from .report import Report
from .samples import read_samples

if TYPE_CHECKING:
    from .embedder import Embedder
    from .engine import Progress
    from .judge import LLMJudge


class Outcome(NamedTuple):
    """The report of a run, and every rule with its verdict."""

    report: Report
    rules: list[Rule]


def plan(config: Config, *, base: Path) -> Plan:
    """What a run would do and cost."""
    samples = read_samples(config.data, fields=config.fields or None, encoding=config.encoding)
    return plan_rag(
        samples,
        metrics=[one.name for one in settings(config)],
        judge=judge_in(config),
        embedder=embedder_in(config),
        ledger=ledger_in(config, base),
        repeats=config.repeats,
    )


def run(config: Config, *, base: Path, progress: Progress | None = None) -> Outcome:
    """Score, pool, hold against the thresholds, and write the outputs (relative to ``base``)."""
    asked = settings(config)
    thresholds = {one.name: one.threshold for one in asked if one.threshold is not None}
    rates = {one.name: one.pass_rate for one in asked if one.pass_rate is not None}
    report = evaluate_rag(
        read_samples(config.data, fields=config.fields or None, encoding=config.encoding),
        metrics=[one.name for one in asked],
        judge=judge_in(config),
        embedder=embedder_in(config),
        thresholds=thresholds,
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
        dataset=", ".join(Path(path).name for path in config.data),
        progress=progress,
    )
    found = rules(report, thresholds=thresholds, pass_rates=rates, max_failed=config.max_failed)
    write(report, config, base / config.outputs.dir, found)
    return Outcome(report, found)


def write(report: Report, config: Config, folder: Path, found: list[Rule] | None = None) -> None:
    """The three report files, and the samples that ``outputs.save`` asks for, one JSON line each."""
    from .render.files import write as write_report

    write_report(report, folder, found=found, max_failed=config.max_failed)
    rows = [row_of(report, row, config) for row in range(len(report.ids))]
    for which in config.outputs.save:
        kept = [line for passed, line in rows if which == "all" or passed == (which == "passed")]
        name = "samples.jsonl" if which == "all" else f"samples.{which}.jsonl"
        (folder / name).write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in kept))


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


def ledger_in(config: Config, base: Path) -> Path | None:
    """Where replies are kept, by a configuration; None where it does not say."""
    return None if config.ledger is None else base / config.ledger


def judge_in(config: Config) -> LLMJudge | str | None:
    """The judge of a configuration."""
    if not isinstance(config.judge, JudgeSettings):
        return config.judge
    from .judge import judge_of

    return replace(judge_of(config.judge.model), **_given(config.judge))


def embedder_in(config: Config) -> Embedder | str | None:
    """The embedder of a configuration."""
    if not isinstance(config.embedder, JudgeSettings):
        return config.embedder
    from .embedder import embedder_of

    return replace(embedder_of(config.embedder.model), **_given(config.embedder))


def _given(one: JudgeSettings) -> dict[str, Any]:
    return {key: value for key, value in msgspec.structs.asdict(one).items() if key != "model" and value is not None}
