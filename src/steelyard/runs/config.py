"""Configuration files: YAML, TOML or JSON in, one checked record out. Every error names the path of the setting."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct, field

from ..core.errors import InputError
from ..core.metric_names import Parameter, parse, show
from ..core.validation import validation_problem
from ..core.wording import did_you_mean
from ..metrics.registry import Counting, NotNegative, is_ten_point

Save = Literal["passed", "failed", "all"]
RESERVED = ("threshold", "pass_rate")


class Outputs(Struct, forbid_unknown_fields=True):
    """The outputs: the folder of the reports, and the samples to save with their scores."""

    dir: str = "steelyard-out"
    save: list[Save] = field(default_factory=list)
    reasons: bool = True
    labels: bool = True


class JudgeSettings(Struct, forbid_unknown_fields=True):
    """A judge or embedder with settings; plain text (``openai:gpt-4o-mini``) names a model."""

    model: str
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    window: int | None = None
    price: tuple[float, float] | None = None
    key_env: str | None = None


class EmbedderSettings(Struct, forbid_unknown_fields=True):
    """An embedder with settings; plain text (``openai:text-embedding-3-small``) names a model."""

    model: str
    dimensions: Counting | None = None
    batch: Counting | None = None
    price: NotNegative | None = None
    key_env: str | None = None


MetricEntry = str | dict[str, dict[str, bool | int | float | str | None] | None]


class Config(Struct, forbid_unknown_fields=True):
    """One run: data, judge, metrics, outputs."""

    data: str | list[str]
    metrics: list[MetricEntry]
    name: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    judge: str | JudgeSettings | None = None
    embedder: str | EmbedderSettings | None = None
    concurrency: Annotated[int, Meta(ge=1, le=100_000)] = 16
    by: str | list[str] = field(default_factory=list)
    cluster: str | None = None
    max_failed: Annotated[float, Meta(ge=0, le=1)] = 0.0
    repeats: Counting = 1
    budget: NotNegative | None = None
    max_calls: Annotated[int, Meta(ge=0)] | None = None
    ledger: str | None = None
    offline: bool = False
    confidence: Annotated[float, Meta(gt=0, le=0.9999)] = 0.95
    seed: int = 0
    encoding: str = "utf-8"
    outputs: Outputs = field(default_factory=Outputs)


C = TypeVar("C", bound=Config)


class MetricSettings(Struct, frozen=True):
    """One entry of ``metrics``: the name with its parameters, and its limits."""

    name: str
    threshold: float | None = None
    pass_rate: float | None = None


def read_config(path: str | PathLike[str]) -> Config:
    """Read and check a configuration file; InputError names the file and the path of the setting.

    Relative paths in it are relative to the file.
    """
    source = Path(path)
    plain = read_plain(source)
    config = checked(plain, Config, source)
    config.data = _relative_to(source, [config.data] if isinstance(config.data, str) else config.data)
    if not config.metrics:
        raise InputError("expected at least one metric", path=source, field="$.metrics")
    settings(config, source)
    return config


def read_plain(source: Path) -> object:
    """The plain data of a YAML, TOML or JSON file, by its suffix."""
    try:
        text = source.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", path=source) from None
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 (byte {error.start})", path=source) from None
    read = _READERS.get(source.suffix)
    if read is None:
        words = f"{source.suffix or 'no suffix'}: a configuration is .yaml, .yml, .toml or .json"
        raise InputError(words, path=source)
    try:
        return read(text, source)
    except RecursionError:
        raise InputError("nested too deeply", path=source) from None


def _read_toml(text: str, source: Path) -> object:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", path=source) from None


def _read_json(text: str, source: Path) -> object:
    def each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        for name, count in Counter(name for name, _ in pairs).items():
            if count > 1:
                raise InputError(f"{name!r} is given {count} times", path=source)
        return dict(pairs)

    try:
        msgspec.json.decode(text)  # the stricter of the two, and its errors are the clearer ones
    except msgspec.DecodeError as error:
        raise InputError(f"not JSON: {error}", path=source) from None
    plain: object = json.loads(text, object_pairs_hook=each_once)
    return plain


def _read_yaml(text: str, source: Path) -> object:
    import yaml

    class EachOnce(yaml.SafeLoader):
        def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:  # noqa: ANN401 - as the loader has it
            node = super().compose_mapping_node(anchor)
            seen = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and (key.tag, key.value) in seen:
                    line = key.start_mark.line + 1
                    raise InputError(f"{key.value!r} is given twice", path=source, line=line)
                seen.add((key.tag, key.value if isinstance(key, yaml.ScalarNode) else id(key)))
            return node

    try:
        return yaml.load(text, EachOnce)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = None if error.problem_mark is None else error.problem_mark.line + 1
        raise InputError(f"not YAML: {error.problem}", path=source, line=line) from None
    except yaml.YAMLError as error:
        raise InputError(f"not YAML: {str(error).splitlines()[0]}", path=source) from None


_READERS: dict[str, Callable[[str, Path], object]] = {
    ".toml": _read_toml,
    ".json": _read_json,
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
}


def checked(plain: object, kind: type[C], source: Path) -> C:
    """Plain data as a checked record; an unknown setting names the nearest one."""
    if not isinstance(plain, Mapping):
        raise InputError(f"expected settings by name, found {type(plain).__name__}", path=source)
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        words, where, unknown = validation_problem(error, plain)
        if unknown is not None:
            words = f"unknown setting {unknown!r}: {did_you_mean(unknown, _settings_at(kind, where))}"
        raise InputError(words, path=source, field=where) from None


def _settings_at(kind: type[Config], where: str) -> tuple[str, ...]:
    inner = {
        "$.outputs": Outputs.__struct_encode_fields__,
        "$.judge": JudgeSettings.__struct_encode_fields__,
        "$.embedder": EmbedderSettings.__struct_encode_fields__,
    }
    return inner.get(where, kind.__struct_encode_fields__)


def settings(config: Config, source: str | PathLike[str] | None = None) -> list[MetricSettings]:
    """The metrics of a configuration with their own settings.

    >>> settings(Config("d.jsonl", ["map", {"answer_relevancy": {"strictness": 5, "threshold": 0.5}}]))[1]
    MetricSettings(name='answer_relevancy(strictness=5)', threshold=0.5, pass_rate=None)
    """
    found = []
    for number, entry in enumerate(config.metrics):
        place = f"$.metrics[{number}]"
        if isinstance(entry, str):
            found.append(MetricSettings(entry))
            continue
        if len(entry) != 1:
            raise InputError("expected one metric with its settings", path=source, field=place)
        ((name, given),) = entry.items()
        params: dict[str, Parameter] = {k: v for k, v in (given or {}).items() if k not in RESERVED}
        limits = {key: _limit(name, given or {}, key, f"{place}.{name}", source) for key in RESERVED}
        base, own = parse(name)
        one = MetricSettings(show(base, {**own, **params}), limits["threshold"], limits["pass_rate"])
        if any(other.name == one.name and other != one and _has_limits(other) for other in found):
            raise InputError(f"{one.name} has other limits above", path=source, field=place)
        found.append(one)
    return found


def _has_limits(one: MetricSettings) -> bool:
    return one.threshold is not None or one.pass_rate is not None


def _limit(
    name: str, given: Mapping[str, Parameter], key: str, place: str, source: str | PathLike[str] | None
) -> float | None:
    value = given.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"expected a number, found {value!r}", path=source, field=f"{place}.{key}")
    if not 0 <= value <= 1:
        words = f"expected a number in [0, 1], found {value:g}"
        if key == "threshold" and is_ten_point(name) and 0 <= value <= 10:
            words += f": metrics run from 0 to 1, write {value / 10:g}"
        raise InputError(words, path=source, field=f"{place}.{key}")
    return float(value)


def _relative_to(source: Path, paths: list[str]) -> list[str]:
    return [str(source.parent / path) for path in paths]
