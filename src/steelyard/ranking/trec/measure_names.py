"""trec_eval's names of measures, both ways.

``canonical`` reads what its users write, the request of ``-m`` (``P.5,10``, ``ndcg_cut.10``, ``official``) and the
printed form (``P_5``, ``iprec_at_recall_0.10``), as names of our own notation; ``spelling`` prints the latter;
``ORDER`` is the order of its output.
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
    """One measure of trec_eval: its name, ours, how its parameter is written in ours, and the default ones."""

    theirs: str
    ours: str
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

_BY_THEIRS = {one.theirs.casefold(): one for one in ORDER}

GROUPS: dict[str, tuple[str, ...]] = {
    "all_trec": tuple(one.theirs for one in ORDER),
    "official": tuple(one.theirs for one in ORDER[: [one.theirs for one in ORDER].index("P") + 1]),
    "set": (
        *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility"),
        *("set_P", "set_relative_P", "set_recall", "set_map", "set_F"),
    ),
}

_NUMBER = re.compile(r"-?(\d+(\.\d*)?|\.\d+)")


def canonical(text: str) -> tuple[str, ...] | None:
    """Our names for a name of trec_eval's, or None if it is none of those.

    A measure with cut-offs that names none means the default ones, and a group all its members. The words
    ``recall``, ``map``, ``ndcg`` and ``success`` by themselves are also names of ours and keep that meaning.

    >>> canonical("P.5,10"), canonical("ndcg_cut_10"), canonical("recip_rank"), canonical("ndcg@10")
    (('precision@5', 'precision@10'), ('ndcg@10',), ('mrr',), None)
    """
    name = text.strip()
    if (burges := _BURGES.fullmatch(name)) is not None:
        return (f"ndcg(gain=exponential){burges[1]}",)
    if name.casefold() in _OURS_TOO or (found := requested(name)) is None:
        return None
    return tuple(one for one in found if one.partition("(")[0] not in TEXTS) or None


_BURGES = re.compile(r"ndcg_burges((?:@[1-9][0-9]*)?)", re.IGNORECASE)
"""The name of exponential gains in ranx."""

TEXTS = ("runid", "relstring")
"""Measures whose value is a text."""

_OURS_TOO = frozenset({"recall", "success"})


def requested(text: str) -> tuple[str, ...] | None:
    """As ``canonical``, for a request of trec_eval's own command line: texts are measures, nothing is ours too.

    >>> requested("recall.5"), requested("success"), requested("relstring")
    (('recall@5',), ('hit@1', 'hit@5', 'hit@10'), ('relstring',))
    """
    if (group := GROUPS.get(text.casefold())) is not None:
        return tuple(one for member in group for one in _expand(_BY_THEIRS[member.casefold()]))
    if (one := _BY_THEIRS.get(text.casefold())) is not None:
        return _expand(one)
    for separator in ".", "_":
        cut = text.find(separator)
        while cut > 0:
            measure = _BY_THEIRS.get(text[:cut].casefold())
            if measure is not None and measure.parameter and (read := _read(measure, text[cut + 1 :])):
                return read
            cut = text.find(separator, cut + 1)
    return None


def _expand(one: Measure) -> tuple[str, ...]:
    return _read(one, ",".join(one.defaults)) if one.defaults else (one.ours,)


def _read(one: Measure, parameters: str) -> tuple[str, ...]:
    """The names for a list of parameters, ascending; none if the list does not fit the measure."""
    if one.parameter == "gains":
        return (f'{one.ours}(gains="{parameters}")',) if re.fullmatch(_GAINS, parameters) else ()
    parts = parameters.split(",")
    if not all(_NUMBER.fullmatch(part) for part in parts):
        return ()
    if one.parameter == "abcd":
        return _utility(one.ours, parts) if len(parts) == 4 else ()
    if one.parameter in ("k", "length"):
        cuts = sorted({int(part) for part in parts if part.isdigit() and int(part) > 0})
        if len(cuts) == 0 or not all(part.isdigit() for part in parts):
            return ()
        return tuple(f"{one.ours}@{k}" if one.parameter == "k" else f"{one.ours}(length={k})" for k in cuts)
    values = sorted({float(part) for part in parts})
    return tuple(f"{one.ours}({one.parameter}={value!r})" for value in values)


_GAINS = r"\d+(\.\d+)?=\d+(\.\d+)?(,\d+(\.\d+)?=\d+(\.\d+)?)*"


def _utility(ours: str, parts: Sequence[str]) -> tuple[str, ...]:
    given = zip("abcd", map(float, parts), (1.0, -1.0, 0.0, 0.0), strict=True)
    inner = ", ".join(f"{key}={value!r}" for key, value, default in given if value != default)
    return (f"{ours}({inner})" if inner else ours,)


def spelling(name: str, params: Mapping[str, Value]) -> str | None:
    """trec_eval's printed name for a measure of ours, or None where it has none.

    >>> spelling("precision", {"k": 5}), spelling("iprec", {"recall": 0.1}), spelling("mrr", {})
    ('P_5', 'iprec_at_recall_0.10', 'recip_rank')
    """
    for one in ORDER:
        if one.ours == name and (shown := _SHOWN[one.parameter](params)) is not None:
            return one.theirs + shown
    return None


def position(name: str, params: Mapping[str, Value]) -> tuple[int, float]:
    """Where a measure stands in trec_eval's output; those that it lacks come last.

    >>> position("map", {}) < position("precision", {"k": 5}) < position("precision", {"k": 10})
    True
    """
    for at, one in enumerate(ORDER):
        if one.ours == name and _SHOWN[one.parameter](params) is not None:
            value = params.get(one.parameter)
            return at, float(value) if isinstance(value, int | float) else 0.0
    return len(ORDER), 0.0


Shown: TypeAlias = "Callable[[Mapping[str, Value]], str | None]"


def _number_shown(key: str, pattern: str, *, optional: bool = False) -> Shown:
    def show(params: Mapping[str, Value]) -> str | None:
        if optional and not params:
            return ""
        value = params.get(key)
        if set(params) != {key} or not isinstance(value, int | float):
            return None
        return pattern.format(value)

    return show


def _utility_shown(params: Mapping[str, Value]) -> str | None:
    if not params:
        return ""
    if not set(params) <= set("abcd"):
        return None
    values = [params.get(key, default) for key, default in zip("abcd", (1, -1, 0, 0), strict=True)]
    return "_" + ",".join(f"{value:g}" for value in values if isinstance(value, int | float))


def _gains_shown(params: Mapping[str, Value]) -> str | None:
    if not params:
        return ""
    return f"_{params['gains']}" if set(params) == {"gains"} else None


_SHOWN: dict[str, Shown] = {
    "": lambda params: None if params else "",
    "k": _number_shown("k", "_{}"),
    "length": _number_shown("length", "_{}", optional=True),
    "recall": _number_shown("recall", "_{:.2f}"),
    "factor": _number_shown("factor", "_{:.2f}"),
    "weight": _number_shown("weight", "_{:g}", optional=True),
    "abcd": _utility_shown,
    "gains": _gains_shown,
}
