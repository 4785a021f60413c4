"""Run a configuration of samples, and write its outputs."""

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
from ..evaluate.plan import Plan
from ..evaluate.scorer import Scorer
from ..io.samples import read_samples
from ..io.storage import same_file
from ..metrics.lookup import requested_metrics
from ..models.ledger import MEMORY
from ..models.run_options import RunOptions
from ..reports.gate import Rule, rules
from ..reports.report import Report
from .config import Config, EmbedderSettings, JudgeSettings, settings

if TYPE_CHECKING:
    from ..core.progress import Progress
    from ..models.embedder import Embedder
    from ..models.judge import LLMJudge


class RunOutcome(NamedTuple):
    """The report of a run, and every rule with its verdict."""

    report: Report
    rules: list[Rule]


class ConfiguredRun:
    """A configuration with its samples, its metrics and its engine: read once, for a plan and for the run.

    ``base`` is the folder to which paths of outputs and ledger are relative, ``rates`` limit the calls a second by the
    address of an endpoint. With ``job`` the plan is that of a job, whose ledgers start empty. Raises InputError for
    all that could not be run, measured or written, before the first call.
    """

    def __init__(
        self,
        config: Config,
        *,
        base: Path,
        rates: Mapping[str, float] | None = None,
        progress: Progress | None = None,
        job: bool = False,
    ) -> None:
        self.config, self.folder = config, base / config.outputs.dir
        options = options_in(config, base, rates=rates, progress=progress)
        self.scorer = scorer_of(config, replace(options, ledger=MEMORY) if job else options)
        check_outputs(config, self.folder)
        self.samples = read_samples(config.data, fields=config.fields or None, encoding=config.encoding)

    def plan(self) -> Plan:
        """The plan of the run: its rows, calls and cost."""
        return self.scorer.plan(self.samples)

    def run(self) -> RunOutcome:
        """Score the samples, pool the scores, apply the gates, and write the outputs."""
        report = self.scorer.run(self.samples, name=self.config.name, dataset=dataset_in(self.config))
        return apply_gates(report, self.config, self.folder)


def run(
    config: Config, *, base: Path, rates: Mapping[str, float] | None = None, progress: Progress | None = None
) -> RunOutcome:
    """Score, pool, apply the gates, and write the outputs (relative to ``base``)."""
    return ConfiguredRun(config, base=base, rates=rates, progress=progress).run()


def apply_gates(report: Report, config: Config, folder: Path) -> RunOutcome:
    """Apply the gates of a configuration to a report, and write it into a folder with the other outputs."""
    gates = rules(
        report, thresholds=thresholds_in(config), pass_rates=pass_rates_in(config), max_failed=config.max_failed
    )
    write(report, config, folder, gates)
    return RunOutcome(report, gates)


def thresholds_in(config: Config) -> dict[str, float]:
    """The thresholds of a configuration by metric."""
    return {one.name: one.threshold for one in settings(config) if one.threshold is not None}


def pass_rates_in(config: Config) -> dict[str, float]:
    """The shares of samples that must pass, by metric."""
    return {one.name: one.pass_rate for one in settings(config) if one.pass_rate is not None}


def options_in(
    config: Config,
    base: Path,
    *,
    rates: Mapping[str, float] | None = None,
    progress: Progress | None = None,
) -> RunOptions:
    """The options of a run by its configuration."""
    return RunOptions(
        concurrency=config.concurrency,
        repeats=config.repeats,
        budget=config.budget,
        max_calls=config.max_calls,
        ledger=ledger_in(config, base),
        offline=config.offline,
        rates=rates or {},
        confidence=config.confidence,
        seed=config.seed,
        progress=progress,
    )


def scorer_of(config: Config, options: RunOptions | None = None) -> Scorer:
    """The metrics, limits and models of a configuration; InputError with the path of the setting if one is unknown, or
    if no report could be compared with a limit."""
    from ..models.embedder import embedder_of
    from ..models.judge import judge_of

    with _at("$.judge"):
        judge = judge_in(config)
        judge = judge if judge is None else judge_of(judge)
    with _at("$.embedder"):
        embedder = embedder_in(config)
        embedder = embedder if embedder is None else embedder_of(embedder)
    metrics = settings(config)
    try:
        return Scorer(
            [one.name for one in metrics],
            judge=judge,
            embedder=embedder,
            thresholds=thresholds_in(config),
            pass_rates=pass_rates_in(config),
            by=config.by,
            cluster=config.cluster,
            options=options_in(config, Path()) if options is None else options,
        )
    except InputError:
        for number, one in enumerate(metrics):  # name the setting of an unknown metric
            with _at(f"$.metrics[{number}]"):
                requested_metrics([one.name], judged=judge is not None)
        raise


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Add the path of a setting to errors about it."""
    try:
        yield
    except InputError as error:
        if error.path is not None:  # the error is about a file that the setting names
            raise
        raise InputError(error.message, field=place) from None


def endpoints_in(config: Config) -> dict[str, str]:
    """The addresses of the models of a configuration, by short names: ``openai``, or host and port."""
    from ..models.embedder import embedder_of
    from ..models.judge import judge_of
    from ..models.model_spec import OPENAI

    judge, embedder = judge_in(config), embedder_in(config)
    urls = {} if judge is None else {str(judge_of(judge)).partition("#")[0]: judge_of(judge).url}
    if embedder is not None:
        urls[str(embedder_of(embedder)).partition("#")[0]] = embedder_of(embedder).url
    return {"openai" if url == OPENAI else urlsplit(url).netloc or name: url for name, url in urls.items() if url}


def write(report: Report, config: Config, folder: Path, gates: list[Rule] | None = None) -> None:
    """Write the three report files, and the samples that ``outputs.save`` selects, one JSON line each."""
    from ..render.files import write as write_report

    check_outputs(config, folder)
    write_report(report, folder, found=gates, max_failed=config.max_failed)
    rows = [row_of(report, row, config) for row in range(len(report.ids))]
    for which in config.outputs.save:
        saved = [line for passed, line in rows if which == "all" or passed == (which == "passed")]
        name = "samples.jsonl" if which == "all" else f"samples.{which}.jsonl"
        (folder / name).write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in saved))


_FILES = ("report.json", "report.md", "report.html", "samples.jsonl", "samples.passed.jsonl", "samples.failed.jsonl")


def check_outputs(config: Config, folder: Path) -> None:
    """InputError if an output would be written over the data."""
    for path in map(Path, [config.data] if isinstance(config.data, str) else config.data):
        for name in _FILES:
            if same_file(path, folder / name):
                words = f"{name} would overwrite the data: name another folder"
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
    """The least seconds that the calls of a plan take at some rates; endpoints work at the same time."""
    from ..models.embedder import embedder_of
    from ..models.judge import judge_of

    judge, embedder = judge_in(config), embedder_in(config)
    calls: dict[str, int] = {}
    texts = 0
    if embedder is not None:
        model = embedder_of(embedder)
        texts = math.ceil(plan.usage.embedded / model.batch)
        calls[model.url] = texts
    if judge is not None:
        url = judge_of(judge).url
        calls[url] = calls.get(url, 0) + plan.usage.calls - texts
    return max((calls.get(url, 0) / rate for url, rate in rates.items()), default=0.0)


def dataset_in(config: Config) -> str:
    """The names of the files of a configuration."""
    return ", ".join(Path(path).name for path in config.data)


def ledger_in(config: Config, base: Path) -> Path | None:
    """The path of the ledger of a configuration; None for the default."""
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
