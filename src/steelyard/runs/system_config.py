"""Configurations with systems: the systems to evaluate, their settings, the grid of settings and the baseline.

data: sets/questions.jsonl        # or a BEIR folder
corpus: docs/                     # the documents that the built-in systems search
k: 10
systems:
  bm25: {type: bm25}
  dense: {type: dense, embedder: local}
  both: {type: hybrid, of: [bm25, dense]}
  mine: {type: python, object: "my_rag.py:Rag", settings: {mode: fast}}
  live: {type: http, url: "http://localhost:8000/ask", question: q, answer: data.text, ids: "data.docs.*.id"}
answerer: {type: extractive}
grid: {k: [5, 10], bm25.chunk: [256, 512]}
metrics: [ndcg@10, token_f1]
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct, field

from ..core.errors import InputError, UnknownName
from ..core.records import Json
from ..core.validation import validation_problem
from ..core.wording import did_you_mean
from ..io.ir_datasets import collection_name
from ..metrics.registry import Counting
from .config import Config, checked, read_plain, settings


class _Entry(Struct, kw_only=True, tag_field="type", forbid_unknown_fields=True):
    """An entry of ``systems``."""


class Bm25(_Entry, kw_only=True, tag="bm25"):
    """BM25 over the corpus, or over chunks of it."""

    k1: float = 1.2
    b: float = 0.75
    language: str | None = None
    chunk: int | None = None
    overlap: int = 0


class DenseEntry(_Entry, kw_only=True, tag="dense"):
    """Nearest embeddings."""

    embedder: str
    chunk: int | None = None
    overlap: int = 0
    prefix: str = ""
    passage_prefix: str = ""


class HybridEntry(_Entry, kw_only=True, tag="hybrid"):
    """Reciprocal rank fusion of other entries."""

    of: list[str]
    k: int = 60
    depth: int = 100
    weights: list[float] | None = None


class RandomEntry(_Entry, kw_only=True, tag="random"):
    """Documents in any order."""

    seed: int = 0


class RunEntry(_Entry, kw_only=True, tag="run"):
    """Rankings from a run file."""

    path: str


class _Called(_Entry, kw_only=True):
    """The settings of every external system: the paths in its output, the deadline, retries and parallel calls."""

    answer: str | None = None
    contexts: str | None = None
    ids: str | None = None
    scores: str | None = None
    tokens: str | None = None
    version: str = ""
    deadline: float | None = 60.0
    retries: int = 1
    parallel: int = 1

    def places(self) -> dict[str, str]:
        """The paths that are set."""
        names = ("answer", "contexts", "ids", "scores", "tokens")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class PythonEntry(_Called, kw_only=True, tag="python"):
    """An object in code of the user."""

    object: str
    settings: dict[str, Json] | None = None
    question: str | None = None
    k: str | None = None


class HttpEntry(_Called, kw_only=True, tag="http"):
    """A service."""

    url: str
    method: Literal["POST", "GET"] = "POST"
    question: str = "question"
    k: str | None = None
    body: dict[str, Json] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    key_env: str | None = None


class CommandEntry(_Called, kw_only=True, tag="command"):
    """A program."""

    command: str | list[str]


class ExtractiveEntry(_Entry, kw_only=True, tag="extractive"):
    """The best sentences of the context."""

    count: int = 1


class LlmEntry(_Entry, kw_only=True, tag="llm"):
    """A language model."""

    model: str
    instruction: str | None = None


class PythonAnswerer(_Entry, kw_only=True, tag="python"):
    """An object with ``answer(question, context)``."""

    object: str
    settings: dict[str, Json] | None = None


SystemEntry: TypeAlias = (
    Bm25 | DenseEntry | HybridEntry | RandomEntry | RunEntry | PythonEntry | HttpEntry | CommandEntry
)
AnswererEntry: TypeAlias = ExtractiveEntry | LlmEntry | PythonAnswerer
SYSTEMS = (Bm25, DenseEntry, HybridEntry, RandomEntry, RunEntry, PythonEntry, HttpEntry, CommandEntry)
ANSWERERS = (ExtractiveEntry, LlmEntry, PythonAnswerer)
OUTSIDE = (PythonEntry, HttpEntry, CommandEntry)
"""External systems, which may change without a change of their name."""


class SystemsConfig(Config, kw_only=True, forbid_unknown_fields=True):
    """A run over systems: the settings of a run over samples, and the systems."""

    systems: dict[str, SystemEntry]
    corpus: str | None = None
    answerer: AnswererEntry | None = None
    k: Counting = 10
    grid: dict[str, list[Json]] = field(default_factory=dict)
    baseline: str | None = None


class Variant(NamedTuple):
    """One system with one choice of settings. ``entries`` are all systems under these settings, for hybrids."""

    name: str
    entry: SystemEntry
    entries: dict[str, SystemEntry]
    answerer: AnswererEntry | None
    k: int


def has_systems(plain: object) -> bool:
    """Whether a configuration has systems.

    >>> has_systems({"systems": {}}), has_systems({"data": "a.jsonl"})
    (True, False)
    """
    return isinstance(plain, dict) and "systems" in plain


def read_systems_config(path: Path) -> SystemsConfig:
    """Read and check a configuration with systems; InputError names the file and the path of the setting."""
    plain = read_plain(path)
    if isinstance(plain, dict):
        _name_types(plain)
        _check_entries(plain, path)
    config = checked(plain, SystemsConfig, path)
    if not config.systems:
        raise InputError("expected at least one system", path=path, field="$.systems")
    known = set(config.systems)
    if config.baseline is not None and config.baseline not in known:
        words = f"no system {config.baseline!r}: {did_you_mean(config.baseline, known)}"
        raise UnknownName(words, path=path, field="$.baseline")
    for name, entry in config.systems.items():
        if isinstance(entry, HybridEntry) and not entry.of:
            raise InputError("expected at least one retriever", path=path, field=f"$.systems.{name}.of")
        for part in entry.of if isinstance(entry, HybridEntry) else ():
            if part not in known - {name}:
                words = f"no system {part!r} to be part of it: {did_you_mean(part, known - {name})}"
                raise UnknownName(words, path=path, field=f"$.systems.{name}.of")
    settings(config, path)
    for key, values in config.grid.items():
        if not values:
            raise InputError("expected at least one value, found an empty list", path=path, field=f"$.grid.{key}")
    try:
        variants(config)
    except InputError as error:
        raise InputError(error.message, path=path, field="$.grid") from None
    base = path.parent
    config.data = [_beside(base, one) for one in ([config.data] if isinstance(config.data, str) else config.data)]
    if config.corpus is not None:
        config.corpus = _beside(base, config.corpus)
        if collection_name(config.corpus) is None and not Path(config.corpus).exists():
            raise InputError(f"no such file or folder: {config.corpus}", path=path, field="$.corpus")
    return config


def _beside(base: Path, path: str) -> str:
    """A path relative to the configuration; the name of a collection stays."""
    return path if collection_name(path) is not None else str(base / path)


def _name_types(plain: dict[str, object]) -> None:
    """A bare name instead of an entry is its type: ``extractive`` is ``{type: extractive}``."""
    if isinstance(systems := plain.get("systems"), dict):
        plain["systems"] = {key: {"type": one} if isinstance(one, str) else one for key, one in systems.items()}
    if isinstance(answerer := plain.get("answerer"), str):
        plain["answerer"] = {"type": answerer}


def _check_entries(plain: dict[str, object], path: Path) -> None:
    """Check each entry by itself, so that an error names it."""
    systems = plain.get("systems")
    for name, entry in systems.items() if isinstance(systems, dict) else ():
        _check_entry(entry, SYSTEMS, path, f"$.systems.{name}")
    if plain.get("answerer") is not None:
        _check_entry(plain["answerer"], ANSWERERS, path, "$.answerer")


def _check_entry(entry: object, kinds: tuple[type[Struct], ...], path: Path, where: str) -> None:
    by_tag = {str(kind.__struct_config__.tag): kind for kind in kinds}
    tag = entry.get("type") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(tag, str) or tag not in by_tag:
        found = f"type {tag!r}" if isinstance(entry, dict) else repr(entry)
        hint = did_you_mean(str(tag), by_tag)
        raise InputError(f"expected settings with a type, found {found}: {hint}", path=path, field=where)
    kind = by_tag[tag]
    for name in entry:
        if name != "type" and name not in kind.__struct_fields__:
            words = f"unknown setting {name!r}: {did_you_mean(name, kind.__struct_fields__)}"
            raise InputError(words, path=path, field=where)
    try:
        msgspec.convert(entry, kind)
    except msgspec.ValidationError as error:
        wrong = validation_problem(error, entry)
        raise InputError(wrong.words, path=path, field=wrong.below(where)) from None


def variants(config: SystemsConfig) -> list[Variant]:
    """Every system with every combination of its settings in the grid, the baseline first.

    A key of the grid is ``k``, ``SYSTEM.setting``, ``answerer.setting``, or a setting of every system that has it.
    """
    names = sorted(config.systems, key=lambda name: name != (config.baseline or next(iter(config.systems))))
    used: set[str] = set()
    found = []
    for name in names:
        parts = {name, *_parts(config.systems, name)}
        applied = [key for key in config.grid if _applies(key, parts, config)]
        used.update(applied)
        for values in product(*(config.grid[key] for key in applied)):
            chosen = dict(zip(applied, values, strict=True))
            found.append(_variant(name, chosen, parts, config))
    if left := [key for key in config.grid if key not in used]:
        raise InputError(f"{left[0]}: no system has this setting")
    return found


def _parts(systems: dict[str, SystemEntry], name: str, above: tuple[str, ...] = ()) -> list[str]:
    """The parts of a hybrid, and the parts of these parts."""
    entry = systems[name]
    if name in above:
        raise InputError(f"{name} is a part of itself")
    if not isinstance(entry, HybridEntry):
        return []
    return [one for part in entry.of for one in (part, *_parts(systems, part, (*above, name)))]


def _applies(key: str, parts: set[str], config: SystemsConfig) -> bool:
    head, dot, _ = key.partition(".")
    if key == "k" or (dot and head == "answerer"):
        return True
    if dot and head in config.systems:
        return head in parts
    return any(_has(config.systems[part], key) for part in parts)


def _has(entry: SystemEntry, setting: str) -> bool:
    if setting in entry.__struct_fields__:
        return True
    return isinstance(entry, PythonEntry) and setting in (entry.settings or {})


def _variant(name: str, chosen: dict[str, Json], parts: set[str], config: SystemsConfig) -> Variant:
    entries, answerer, k = dict(config.systems), config.answerer, config.k
    for key, value in chosen.items():
        head, dot, setting = key.partition(".")
        if key == "k":
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"k: expected whole numbers of at least 1, found {value!r}")
            k = value
        elif dot and head == "answerer":
            if answerer is None:
                raise InputError(f"{key}: there is no answerer")
            answerer = _changed(answerer, setting, value, key)
        else:
            for part in [head] if dot and head in entries else parts:
                if dot or _has(entries[part], key):
                    entries[part] = _changed(entries[part], setting if dot else key, value, key)
    label = ", ".join(f"{key.removeprefix(name + '.')}={_shown(value)}" for key, value in chosen.items())
    return Variant(f"{name} ({label})" if label else name, entries[name], entries, answerer, k)


def _changed(entry: Any, setting: str, value: Json, key: str) -> Any:  # noqa: ANN401 - one of many records
    """An entry with a changed setting, checked again; an unknown setting of a Python system is passed to its object."""
    plain = msgspec.to_builtins(entry)
    if setting in entry.__struct_fields__:
        plain[setting] = value
    elif isinstance(entry, PythonEntry | PythonAnswerer):
        plain["settings"] = {**(entry.settings or {}), setting: value}
    else:
        raise InputError(f"{key}: unknown setting: {did_you_mean(setting, entry.__struct_fields__)}")
    try:
        return msgspec.convert(plain, type(entry))
    except msgspec.ValidationError as error:
        raise InputError(f"{key}={_shown(value)}: {validation_problem(error).words}") from None


def _shown(value: Json) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
