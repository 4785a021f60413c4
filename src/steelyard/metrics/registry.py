"""The record of a metric (``Metric``), the decorators that register one, and the registry.

Three kinds of rule fill the same record: a ranking rule gets all queries at once, a sample rule gets one sample,
and a judged rule (a generator) gets one sample and yields requests. Parameters are the rule's keyword-only arguments;
the printed name holds those that differ from their defaults.
"""

from __future__ import annotations

import inspect
import math
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Annotated, Literal, TypeAlias, TypedDict, TypeVar, Unpack, overload

import msgspec
from msgspec import Meta

from ..core import metric_names, wording
from ..core.errors import InputError, UnknownName, WrongType
from ..core.metric_names import Parameter
from ..core.validation import validation_problem
from .score_columns import score_columns

Kind: TypeAlias = Literal["ranking", "sample", "judged", "batch"]
Rule: TypeAlias = Callable[..., object]
Stage: TypeAlias = Literal["", "retrieval", "answer", "grounding"]
"""The stage of a RAG pipeline that a metric measures; empty if the failure analysis does not use the metric."""
Explanation: TypeAlias = Literal["", "reference", "missed documents"]
F = TypeVar("F", bound=Callable[..., object])
Counting: TypeAlias = Annotated[int, Meta(ge=1)]
"""A parameter that is a whole number of at least 1."""
Positive: TypeAlias = Annotated[float, Meta(gt=0)]
"""A parameter above 0."""
NotNegative: TypeAlias = Annotated[float, Meta(ge=0)]
"""A parameter of at least 0."""


@dataclass(frozen=True)
class Metric:
    """The record of one metric. ``str(metric)`` is its identity and parses back.

    The record also holds how reports treat the metric, so that a new metric needs one file:

    - ``hint``: one line that a report prints if the value is low.
    - ``stage``: the stage that the failure analysis classifies with this metric: ``retrieval`` (1 is all, 0 is none),
      ``answer`` (right at or above the threshold) or ``grounding``. If several metrics measure one stage, the analysis
      uses the one with scores and the highest ``stage_rank``. ``stage_if`` is called with all parameters and returns
      whether ``stage`` applies.
    - ``declines``: keys of the evidence that are true if a response declined to answer.
    - ``explained_by``: the explanation of a low score if the evidence gives no reason: the response beside its
      ``reference``, or the relevant documents that were missed (``missed documents``).
    - ``claims_of``, ``checked_against``: the text whose claims the evidence lists, and the text that they were checked
      against.
    """

    name: str
    rule: Rule = field(compare=False)
    kind: Kind
    way: str
    needs: tuple[str, ...] = ()
    params: Mapping[str, Parameter] = field(default_factory=dict)
    pool: str = "mean"
    higher_is_better: bool = True
    bounds: tuple[float, float] | None = (0.0, 1.0)
    embeds: bool = False
    may_embed: bool = False
    revision: int = 1
    aliases: tuple[str, ...] = ()
    ten_point_aliases: tuple[str, ...] = ()
    batch_key: str = ""
    source: str = ""
    hint: str = ""
    stage: Stage = ""
    stage_rank: int = 0
    stage_if: Callable[..., bool] | None = field(default=None, compare=False)
    declines: tuple[str, ...] = ()
    explained_by: Explanation = ""
    claims_of: Literal["response", "reference"] = "response"
    checked_against: Literal["contexts", "reference"] = "contexts"
    check: Callable[..., object] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return metric_names.show(self.name, self.params)

    def __hash__(self) -> int:
        return hash((self.way, str(self), self.revision))

    @property
    def doc(self) -> str:
        """The definition: the rule's docstring."""
        return inspect.getdoc(self.rule) or ""

    @property
    def identity(self) -> str:
        """The name with its way, which tells metrics of one name apart: ``lexical.faithfulness``."""
        return f"{self.way}.{self}"

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters of the rule, by name."""
        signature = inspect.signature(self.rule).parameters
        return {name: one for name, one in signature.items() if one.kind is inspect.Parameter.KEYWORD_ONLY}

    def bind(self, params: Mapping[str, Parameter]) -> Metric:
        """Return the metric with other parameters, checked against the rule's signature and then by ``check``."""
        known = self.parameters
        hints = _hints(self.rule, known)
        bound = dict(self.params)
        for key, value in params.items():
            if key not in known:
                if key == "k":
                    raise InputError(f"{self.name} accepts no cut-off @k")
                raise UnknownName(
                    f"{self.name} has no parameter {key!r}: {wording.did_you_mean(key, known or ['none'])}"
                )
            bound[key] = _checked(self.name, key, value, hints.get(key, object))
        if "k" in bound and isinstance(bound["k"], int) and bound["k"] < 1:
            raise InputError(f"{self.name}@{bound['k']}: the cut-off must be at least 1")
        changed = {key: bound[key] for key in known if key in bound and bound[key] != known[key].default}
        metric = replace(self, params=changed)
        if self.check is not None and not metric.missing():
            self.check(**{key: changed.get(key, one.default) for key, one in known.items()})
        return metric

    def measures(self, stage: Stage) -> bool:
        """Whether the metric, with its parameters, measures a stage of the pipeline."""
        if self.stage != stage or self.stage_if is None:
            return self.stage == stage
        return self.stage_if(**{key: self.params.get(key, one.default) for key, one in self.parameters.items()})

    def missing(self) -> list[str]:
        """The names of parameters that have no default and no value."""
        return [key for key, one in self.parameters.items() if one.default is one.empty and key not in self.params]

    def calculate_metric_scores(
        self, *, aggregation_fn: Callable[[Sequence[float]], float] = max, **columns: Sequence[object]
    ) -> tuple[dict[str, float | None], list[dict[str, float | str | None]]]:
        """Score a batch given as columns and return ``(pooled values, [row per sample])``.

        ``columns`` are any of ``gold_answers`` (a list of references, or lists of them), ``predicted_answers``,
        ``questions``, ``question_types``, ``retrieved_contexts``. Each of several references is scored by itself, and
        ``aggregation_fn`` reduces the values (default: the best).

        >>> from steelyard import get_metric
        >>> em = get_metric("qa_em")
        >>> em.calculate_metric_scores(gold_answers=[["Paris", "paris, France"]], predicted_answers=["Paris!"])
        ({'ExactMatch': 1.0}, [{'ExactMatch': 1.0}])
        """
        return score_columns(self, columns, aggregation_fn)


def _hints(rule: Rule, names: Iterable[str]) -> dict[str, object]:
    """Resolve the type of each parameter by itself, so that one unresolvable annotation does not hide the others."""
    annotations, namespace = getattr(rule, "__annotations__", {}), getattr(inspect.unwrap(rule), "__globals__", {})
    hints: dict[str, object] = {}
    for name in names:
        one = SimpleNamespace(__annotations__={name: annotations[name]} if name in annotations else {})
        try:
            hints.update(typing.get_type_hints(one, namespace, include_extras=True))
        except (NameError, TypeError):  # a user's rule may annotate with names that exist for the type checker only
            continue
    return hints


def _checked(name: str, key: str, value: Parameter, hint: object) -> Parameter:
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{name}({key}={value!r}): expected a finite number")
    try:
        checked: Parameter = msgspec.convert(value, hint, strict=True)
    except msgspec.ValidationError as error:
        raise InputError(f"{name}({key}={value!r}): {validation_problem(error).words}") from None
    except TypeError:  # msgspec does not know the type: the rule checks the value itself
        return value
    return checked


class Options(TypedDict, total=False):
    """The options of the decorators: the fields of ``Metric`` of the same names."""

    name: str
    way: str
    needs: Sequence[str]
    pool: str
    higher_is_better: bool
    bounds: tuple[float, float] | None
    embeds: bool
    may_embed: bool
    revision: int
    aliases: Sequence[str]
    ten_point_aliases: Sequence[str]
    batch_key: str
    source: str
    hint: str
    stage: Stage
    stage_rank: int
    stage_if: Callable[..., bool]
    declines: Sequence[str]
    explained_by: Explanation
    claims_of: Literal["response", "reference"]
    checked_against: Literal["contexts", "reference"]
    check: Callable[..., object]


@overload
def metric(rule: F, /) -> F: ...
@overload
def metric(**options: Unpack[Options]) -> Callable[[F], F]: ...
def metric(rule: F | None = None, /, **options: Unpack[Options]) -> F | Callable[[F], F]:
    """Register a function of one sample as a metric. A generator function is a judged metric.

    ``needs`` names the fields of the sample without which the metric is undefined. The function returns a number,
    a ``Value`` or an ``Undefined`` and stays callable as before. Its parameters must fit their annotations. For
    further conditions, ``check`` is called with all parameters when the metric is requested, and raises InputError.

    >>> @metric(needs=("response",), name="doc_brevity")
    ... def brevity(sample, *, words: int = 50):
    ...     return float(len(sample.response.split()) <= words)
    >>> from steelyard import get_metric
    >>> str(get_metric("doc_brevity(words=20)"))
    'doc_brevity(words=20)'
    """

    def register(rule: F) -> F:
        _add(_sample_record(rule, options))
        return rule

    return register if rule is None else register(rule)


@overload
def ranking_metric(rule: F, /) -> F: ...
@overload
def ranking_metric(**options: Unpack[Options]) -> Callable[[F], F]: ...
def ranking_metric(rule: F | None = None, /, **options: Unpack[Options]) -> F | Callable[[F], F]:
    """Register a function of all rankings as a metric: it returns one float per query, NaN if undefined."""

    def register(rule: F) -> F:
        _add(_record(rule, "ranking", "ranking", {"needs": ("retrieved_ids", "relevance"), **options}))
        return rule

    return register if rule is None else register(rule)


def _sample_record(rule: Rule, options: Options) -> Metric:
    if inspect.isgeneratorfunction(rule):
        return _record(rule, "judged", "judged", options)
    return _record(rule, "sample", "lexical", options)


def _record(rule: Rule, kind: Kind, way: str, options: Options) -> Metric:
    name = _FILE.get() + (options.get("name") or rule.__name__)
    defaults: Options = {"way": way, "batch_key": name}
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
    if _FILE.get():
        given |= {"aliases": (), "ten_point_aliases": ()}  # aliases are global; a file's metrics are not
    return Metric(rule=rule, kind=kind, **{**defaults, **given, "name": name})  # type: ignore[arg-type]


_FILE: ContextVar[str] = ContextVar("_FILE", default="")


@contextmanager
def of_file(name: str) -> Iterator[None]:
    """Register metrics under the name of a user's file (``mine.py:tone``) while the context is active."""
    token = _FILE.set(f"{name}:")
    try:
        yield
    finally:
        _FILE.reset(token)


def register_metric(thing: object, *, name: str | None = None, prefix: str = "") -> Metric:
    """Register a function, a ``Metric``, or an object or class with ``calculate_metric_scores`` (a batch metric)."""
    if isinstance(thing, type) and hasattr(thing, "calculate_metric_scores"):
        thing = thing()
    if isinstance(thing, Metric):
        return _add(replace(thing, name=prefix + (name or thing.name)))
    if hasattr(thing, "calculate_metric_scores"):
        label = name or str(getattr(thing, "name", "") or type(thing).__name__)
        rule = typing.cast("Rule", thing.calculate_metric_scores)
        return _add(Metric(name=prefix + label, rule=rule, kind="batch", way="custom", bounds=None))
    if callable(thing):
        label = name or str(getattr(thing, "__name__", type(thing).__name__))
        registered = next((one for one in _BY_NAME.values() if one.rule is thing), None)
        if registered is not None:
            return _add(replace(registered, name=prefix + (name or registered.name)))
        return _add(_sample_record(thing, {"name": prefix + label}))
    raise WrongType(
        f"not a metric: {thing!r} (expected a function of a sample, or an object with calculate_metric_scores)"
    )


_BY_NAME: dict[tuple[str, str], Metric] = {}
_ALIASES: dict[str, str] = {}
_TEN_POINT: set[str] = set()


def _add(one: Metric) -> Metric:
    known = _BY_NAME.get((one.name, one.way))
    if known is not None and not _same_rule(known, one):
        raise InputError(f"a metric named {one.name} [{one.way}] is already registered: choose another name")
    _BY_NAME[one.name, one.way] = one
    for alias in (*one.aliases, *one.ten_point_aliases):
        _ALIASES[alias.casefold()] = one.name
    _TEN_POINT.update(alias.casefold() for alias in one.ten_point_aliases)
    return one


def _same_rule(a: Metric, b: Metric) -> bool:
    """Whether two records hold the same definition, which a reloaded module or notebook cell may register again."""
    definitions = [(getattr(m.rule, "__module__", None), getattr(m.rule, "__qualname__", None)) for m in (a, b)]
    return definitions[0] == definitions[1]


def registered() -> Mapping[tuple[str, str], Metric]:
    """The metrics registered so far, by (name, way)."""
    return _BY_NAME


def alias(name: str) -> str:
    """The canonical base name of an alias, or the name itself."""
    return _ALIASES.get(name.casefold(), name)


def is_ten_point(name: str) -> bool:
    """Whether a name belongs to a tool that scores from 0 to 10."""
    return name.casefold() in _TEN_POINT
