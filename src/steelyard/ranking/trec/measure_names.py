"""Convert between trec_eval's names of measures and our metric names.

``metric_names`` converts a request of ``-m`` (``P.5,10``, ``ndcg_cut.10``, ``official``) or a printed name (``P_5``,
``iprec_at_recall_0.10``) to our metric names; ``trec_eval_name`` converts a metric to the printed name; ``ORDER`` is
the order of trec_eval's output.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

Value: TypeAlias = "bool | int | float | str | None"

CUTOFFS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
TENTHS = tuple(f"{step / 10:.2f}" for step in range(11))
FIFTHS = tuple(f"{step / 5:.2f}" for step in range(1, 11))


class Measure(NamedTuple):
    """One measure of trec_eval: its name, our metric, our name of its parameter, and the default values."""

    trec_eval: str
    metric: str
    parameter: str = ""
    defaults: tuple[str, ...] = ()


ORDER = (
    Measure("runid", "runid"),
    Measure("num_q", "num_q"),
    Measure("num_ret", "num_ret"),
    Measure("num_rel", "num_rel"),
    Measure("num_rel_ret", "num_rel_ret"),
    Measure("map", "map"),
    Measure("gm_map", "gmap"),
    Measure("Rprec", "rprec"),
    Measure("bpref", "bpref"),
    Measure("recip_rank", "mrr"),
    Measure("iprec_at_recall", "iprec", "recall", TENTHS),
    Measure("P", "precision", "k", CUTOFFS),
    Measure("relstring", "relstring", "length"),
    Measure("recall", "recall", "k", CUTOFFS),
    Measure("infAP", "infap"),
    Measure("gm_bpref", "gbpref"),
    Measure("Rprec_mult", "rprec_mult", "factor", FIFTHS),
    Measure("utility", "utility", "abcd"),
    Measure("11pt_avg", "11pt"),
    Measure("binG", "bing"),
    Measure("G", "g"),
    Measure("ndcg", "ndcg", "gains"),
    Measure("ndcg_rel", "ndcg_rel"),
    Measure("Rndcg", "rndcg"),
    Measure("ndcg_cut", "ndcg", "k", CUTOFFS),
    Measure("map_cut", "map", "k", CUTOFFS),
    Measure("relative_P", "relative_p", "k", CUTOFFS),
    Measure("success", "hit", "k", ("1", "5", "10")),
    Measure("set_P", "set_p"),
    Measure("set_relative_P", "set_relative_p"),
    Measure("set_recall", "set_recall"),
    Measure("set_map", "set_map"),
    Measure("set_F", "set_f", "weight"),
    Measure("num_nonrel_judged_ret", "num_nonrel_judged_ret"),
)
"""All measures of trec_eval 9.0.8's ``all_trec``, in the order of its output."""

_BY_TREC_EVAL = {one.trec_eval.casefold(): one for one in ORDER}

GROUPS: dict[str, tuple[str, ...]] = {
    "all_trec": tuple(one.trec_eval for one in ORDER),
    "official": tuple(one.trec_eval for one in ORDER[: [one.trec_eval for one in ORDER].index("P") + 1]),
    "set": (
        *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility"),
        *("set_P", "set_relative_P", "set_recall", "set_map", "set_F"),
    ),
}

_NUMBER = re.compile(r"-?(\d+(\.\d*)?|\.\d+)")


def metric_names(text: str) -> tuple[str, ...] | None:
    """Our metric names for a name of trec_eval, or None if trec_eval has no such name.

    A measure without explicit cut-offs means the default ones, and a group means all its members. ``recall``, ``map``,
    ``ndcg`` and ``success`` alone are also names of our metrics and keep that meaning.

    >>> metric_names("P.5,10"), metric_names("ndcg_cut_10"), metric_names("recip_rank"), metric_names("ndcg@10")
    (('precision@5', 'precision@10'), ('ndcg@10',), ('mrr',), None)
    """
    name = text.strip()
    if (burges := _BURGES.fullmatch(name)) is not None:
        return (f"ndcg(gain=exponential){burges[1]}",)
    if name.casefold() in _OWN_NAMES or (found := expand_request(name)) is None:
        return None
    return tuple(one for one in found if one.partition("(")[0] not in TEXT_MEASURES) or None


_BURGES = re.compile(r"ndcg_burges((?:@[1-9][0-9]*)?)", re.IGNORECASE)
"""The name of exponential gains in ranx."""

TEXT_MEASURES = ("runid", "relstring")
"""The measures whose value is a text."""

_OWN_NAMES = frozenset({"recall", "success"})


def expand_request(text: str) -> tuple[str, ...] | None:
    """As ``metric_names``, for a request of trec_eval's command line: includes text measures, ignores our own names.

    >>> expand_request("recall.5"), expand_request("success"), expand_request("relstring")
    (('recall@5',), ('hit@1', 'hit@5', 'hit@10'), ('relstring',))
    """
    if (group := GROUPS.get(text.casefold())) is not None:
        return tuple(one for member in group for one in _expand(_BY_TREC_EVAL[member.casefold()]))
    if (one := _BY_TREC_EVAL.get(text.casefold())) is not None:
        return _expand(one)
    for separator in ".", "_":
        cut = text.find(separator)
        while cut > 0:
            measure = _BY_TREC_EVAL.get(text[:cut].casefold())
            if measure is not None and measure.parameter and (read := _parse_parameters(measure, text[cut + 1 :])):
                return read
            cut = text.find(separator, cut + 1)
    return None


def _expand(one: Measure) -> tuple[str, ...]:
    return _parse_parameters(one, ",".join(one.defaults)) if one.defaults else (one.metric,)


def _parse_parameters(one: Measure, parameters: str) -> tuple[str, ...]:
    """The metric names for a list of parameters, ascending; empty if the list is not valid for the measure."""
    if one.parameter == "gains":
        return (f'{one.metric}(gains="{parameters}")',) if re.fullmatch(_GAINS, parameters) else ()
    parts = parameters.split(",")
    if not all(_NUMBER.fullmatch(part) for part in parts):
        return ()
    if one.parameter == "abcd":
        return _utility(one.metric, parts) if len(parts) == 4 else ()
    if one.parameter in ("k", "length"):
        cuts = sorted({int(part) for part in parts if part.isdigit() and int(part) > 0})
        if len(cuts) == 0 or not all(part.isdigit() for part in parts):
            return ()
        return tuple(f"{one.metric}@{k}" if one.parameter == "k" else f"{one.metric}(length={k})" for k in cuts)
    values = sorted({float(part) for part in parts})
    return tuple(f"{one.metric}({one.parameter}={value!r})" for value in values)


_GAINS = r"\d+(\.\d+)?=\d+(\.\d+)?(,\d+(\.\d+)?=\d+(\.\d+)?)*"


def _utility(metric: str, parts: Sequence[str]) -> tuple[str, ...]:
    given = zip("abcd", map(float, parts), (1.0, -1.0, 0.0, 0.0), strict=True)
    inner = ", ".join(f"{key}={value!r}" for key, value, default in given if value != default)
    return (f"{metric}({inner})" if inner else metric,)


def trec_eval_name(name: str, params: Mapping[str, Value]) -> str | None:
    """The name that trec_eval prints for one of our metrics, or None if it has no such measure.

    >>> trec_eval_name("precision", {"k": 5}), trec_eval_name("iprec", {"recall": 0.1}), trec_eval_name("mrr", {})
    ('P_5', 'iprec_at_recall_0.10', 'recip_rank')
    """
    for one in ORDER:
        if one.metric == name and (suffix := _SUFFIXES[one.parameter](params)) is not None:
            return one.trec_eval + suffix
    return None


def position(name: str, params: Mapping[str, Value]) -> tuple[int, float]:
    """The position of a metric in trec_eval's output; metrics that it lacks come last.

    >>> position("map", {}) < position("precision", {"k": 5}) < position("precision", {"k": 10})
    True
    """
    for at, one in enumerate(ORDER):
        if one.metric == name and _SUFFIXES[one.parameter](params) is not None:
            value = params.get(one.parameter)
            return at, float(value) if isinstance(value, int | float) else 0.0
    return len(ORDER), 0.0


SuffixFormat: TypeAlias = "Callable[[Mapping[str, Value]], str | None]"


def _number_suffix(key: str, pattern: str, *, optional: bool = False) -> SuffixFormat:
    def show(params: Mapping[str, Value]) -> str | None:
        if optional and not params:
            return ""
        value = params.get(key)
        if set(params) != {key} or not isinstance(value, int | float):
            return None
        return pattern.format(value)

    return show


def _utility_suffix(params: Mapping[str, Value]) -> str | None:
    if not params:
        return ""
    if not set(params) <= set("abcd"):
        return None
    values = [params.get(key, default) for key, default in zip("abcd", (1, -1, 0, 0), strict=True)]
    return "_" + ",".join(f"{value:g}" for value in values if isinstance(value, int | float))


def _gains_suffix(params: Mapping[str, Value]) -> str | None:
    if not params:
        return ""
    return f"_{params['gains']}" if set(params) == {"gains"} else None


_SUFFIXES: dict[str, SuffixFormat] = {
    "": lambda params: None if params else "",
    "k": _number_suffix("k", "_{}"),
    "length": _number_suffix("length", "_{}", optional=True),
    "recall": _number_suffix("recall", "_{:.2f}"),
    "factor": _number_suffix("factor", "_{:.2f}"),
    "weight": _number_suffix("weight", "_{:g}", optional=True),
    "abcd": _utility_suffix,
    "gains": _gains_suffix,
}
