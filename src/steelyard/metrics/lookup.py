"""Look up metrics by name, alias, group, user file (``mine.py:tone``) or plugin."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import NamedTuple

from ..core import metric_names, wording
from ..core.errors import InputError, UnknownName
from ..ranking.trec import measure_names
from .registry import Metric, alias, is_ten_point, of_file, register_metric, registered

GROUPS: dict[str, tuple[str, ...]] = {
    "beir": ("ndcg@10", "map@100", "recall@100", "precision@10", "mrr@10"),
    "rag": ("faithfulness", "answer_relevancy", "context_relevancy", "context_recall", "context_precision"),
    "lexical": ("exact_match", "token_f1", "contains", "rouge_l", "chrf"),
}
"""Named lists of metrics, in addition to trec_eval's ``all_trec``, ``official`` and ``set``."""

WAYS = ("ranking", "lexical", "measured", "custom", "judged")


class RequestedMetric(NamedTuple):
    """A metric and the name under which the user requested it, which is its key in the report."""

    label: str
    metric: Metric


def get_metric(text: str, *, way: str | None = None) -> Metric:
    """Find a metric by its name, alias or ``file.py:name`` and bind its parameters; UnknownName lists similar names.

    If a name has a lexical and a judged metric, the lexical one is returned unless ``way`` or a prefix (``judged.``)
    selects the other.

    >>> str(get_metric("ndcg_cut.10")), str(get_metric("P@5")), str(get_metric("mrr"))
    ('ndcg@10', 'precision@5', 'mrr')
    """
    if (in_file := _file_and_name(text)) is not None:
        return _from_file(*in_file)
    spelled = measure_names.metric_names(text)
    if spelled is not None and len(spelled) > 1:
        raise InputError(f"{text} names {len(spelled)} metrics; request one of them: {', '.join(spelled[:5])}, …")
    base, params = metric_names.parse(spelled[0] if spelled else text)
    prefix, _, rest = base.partition(".")
    if prefix in WAYS and rest:
        way, base = prefix, rest
    found = _look_up(base, way)
    if found is None:
        known = {one.name for one in every()}
        raise UnknownName(f"unknown metric {text!r}: {wording.did_you_mean(alias(base), known | set(GROUPS))}")
    bound = found.bind(params)
    if absent := bound.missing():
        raise InputError(f"{found.name} needs {' and '.join(absent)}: write {found.name}({absent[0]}=…)")
    return bound


def recorded_metric(name: str, way: str) -> Metric | None:
    """Find the record of a metric named in a saved report; None if it is unknown in this process.

    If no metric of that name has the given way (for example, a user's own judge), the first one of that name is
    returned. A report is data, so a name in it never loads a user's file or a plugin. Their metrics are found only if
    this process has registered them already.
    """
    try:
        base, params = metric_names.parse(name)
    except InputError:
        return None
    found = None
    for _ in [""] if _file_and_name(name) else _load_built_in():
        if (found := registered().get((base, way))) is not None:
            break
    found = found or next((registered()[base, one] for one in WAYS if (base, one) in registered()), None)
    try:
        return None if found is None else found.bind(params)
    except InputError:  # written by a version with other parameters
        return found


def requested_metrics(texts: Iterable[str | Metric], *, judged: bool = False) -> list[RequestedMetric]:
    """Find the metrics of a list of names and groups, in order, each once.

    If a name without a prefix has a lexical and a judged metric, ``judged`` selects the judged one."""
    requested: dict[str, RequestedMetric] = {}
    for text in [texts] if isinstance(texts, str) else texts:
        if isinstance(text, Metric):
            requested.setdefault(str(text), RequestedMetric(str(text), text))
            continue
        label = text.strip()
        for member in GROUPS.get(label.casefold()) or _spellings(label):
            one = get_metric(member, way=_preferred(member, judged=judged))
            requested.setdefault(member, RequestedMetric(member, one))
    return list(requested.values())


def check_threshold(name: str, threshold: float) -> float:
    """Return a threshold in [0, 1]; for a name from a 0-10 tool, the error states the value to write instead."""
    if 0.0 <= threshold <= 1.0:
        return float(threshold)
    base = metric_names.parse(name).base
    if is_ten_point(base) and 0.0 <= threshold <= 10.0:
        raise InputError(f"threshold {threshold:g} for {name}: metrics here run from 0 to 1; write {threshold / 10:g}")
    raise InputError(f"threshold {threshold:g} for {name}: must be in [0, 1]")


def _spellings(label: str) -> tuple[str, ...]:
    """Expand a trec_eval group or list into its members; return any other name unchanged."""
    spelled = measure_names.metric_names(label)
    return spelled if spelled is not None and len(spelled) > 1 else (label,)


def _preferred(text: str, *, judged: bool) -> str | None:
    if _file_and_name(text) is not None or measure_names.metric_names(text) is not None:
        return None
    return "judged" if judged and _look_up(metric_names.parse(text).base, "judged") is not None else None


def _look_up(base: str, way: str | None) -> Metric | None:
    """Load the built-in modules one by one until the name is found, so that a ranking never loads judge prompts.

    Aliases are resolved again after each module, since an alias is registered by the module that holds its metric.
    """
    known = registered()

    def found(ways: Iterable[str]) -> Metric | None:
        return next((known[name, one] for one in ways for name in (base, alias(base)) if (name, one) in known), None)

    first = [way] if way else ["ranking", "lexical"]
    for _ in _load_built_in():
        if (one := found(first)) is not None:
            return one
    _load_plugins(base)
    return found([way] if way else WAYS)


@cache
def _modules() -> list[str]:
    """List the modules that hold metrics, in search order: ranking first, since it must load fastest, then lexical,
    then judged."""
    here = Path(__file__).parent
    inside = [
        f"{__package__}.{folder}.{found.name}"
        for folder in ("ranking", "lexical", "judged")
        for found in pkgutil.iter_modules([str(here / folder)])
    ]
    return [*inside, f"{__package__}.operational"]


def _load_built_in() -> Iterator[str]:
    yield ""
    for module in _modules():
        importlib.import_module(module)
        yield module


def every() -> list[Metric]:
    """List all built-in and plugin metrics by name, without those of users' files."""
    for _ in _load_built_in():
        pass
    _load_plugins("")
    return [one for (name, _), one in sorted(registered().items()) if _file_and_name(name) is None]


@cache
def _plugins() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group="steelyard.metrics")}


_LOADED: set[str] = set()


def _load_plugins(base: str) -> None:
    """Load the plugin of a name's prefix (all plugins for an empty name). A plugin that fails raises one warning."""
    package = base.partition(".")[0]
    for name, entry in _plugins().items():
        if name in _LOADED or (base and package != name):
            continue
        _LOADED.add(name)
        try:
            loaded = entry.load()
            for thing in loaded() if callable(loaded) and not isinstance(loaded, type) else [loaded]:
                register_metric(thing, prefix=f"{name}.")
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything, and the run continues without it
            owner = entry.dist.name if entry.dist is not None else entry.value
            warnings.warn(f"cannot load plugin {name} of {owner}: {type(error).__name__}: {error}", stacklevel=2)


def _file_and_name(text: str) -> tuple[str, str] | None:
    path, colon, name = text.partition(".py:")
    return (path + ".py", name) if colon and name else None


def _from_file(path: str, name: str) -> Metric:
    """Load a metric from a user's file, such as ``mine.py:tone`` or ``mine.py:tone(level=2)``."""
    base, params = metric_names.parse(name)
    if not Path(path).is_file():
        raise InputError("no such file", path=path)
    return register_metric(_attribute(path, base), name=f"{Path(path).name}:{base}").bind(params)


@cache
def _attribute(path: str, name: str) -> object:
    module_name = f"steelyard_user_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise InputError("not a Python file", path=path)
    module = importlib.util.module_from_spec(spec)
    try:
        with of_file(Path(path).name):
            spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"cannot be loaded: {type(error).__name__}: {error}", path=path) from error
    if not hasattr(module, name):
        public = [key for key in vars(module) if not key.startswith("_")]
        raise UnknownName(f"defines no {name!r}: {wording.did_you_mean(name, public)}", path=path)
    return getattr(module, name)
