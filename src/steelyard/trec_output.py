"""What trec_eval would print of a table of rankings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from math import exp, isnan, log
from operator import add

import numpy as np

from . import names, trec_names
from .errors import InputError
from .metric import Metric
from .metrics.ranking_trec import relstrings
from .rankings import Rankings
from .resampling import GEOMETRIC_FLOOR
from .shelf import get_metric


def trec_eval_lines(
    rankings: Rankings, requests: Iterable[str] = ("official",), *, per_query: bool = False, precision: int = 4
) -> Iterator[str]:
    """The lines of ``trec_eval -m …`` (with ``per_query``, of ``-q``), in its order and layout, without line ends.

    ``requests`` are names and groups in trec_eval's spelling or ours; measures that trec_eval lacks come last, under
    our names. Numbers have 4 decimals; with ``precision=17`` all their digits.

    >>> from steelyard.join import join
    >>> table = join({"q1": {"a": 2.0, "b": 1.0}}, {"q1": {"b": 1}})
    >>> for line in trec_eval_lines(table, ["P.1,2", "recip_rank", "num_ret"], per_query=True):
    ...     print(line.expandtabs(1))
    num_ret                q1 2
    recip_rank             q1 0.5000
    P_1                    q1 0.0000
    P_2                    q1 0.5000
    num_ret                all 2
    recip_rank             all 0.5000
    P_1                    all 0.0000
    P_2                    all 0.5000
    """
    asked = _asked(requests)
    columns = [_column(rankings, name) for name in asked]
    if per_query:
        for at in np.flatnonzero(rankings.present).tolist():
            for name, column in zip(asked, columns, strict=True):
                if not _only_pooled(name):
                    yield _line(name, rankings.queries[at], column[at], precision)
    for name, column in zip(asked, columns, strict=True):
        if (pooled := _pooled(name, column, rankings)) is not None:
            yield _line(name, "all", pooled, precision)


def _asked(requests: Iterable[str]) -> list[str | Metric]:
    """The measures of a request in the order of trec_eval's output, each once; texts stay names."""
    found: dict[str, str | Metric] = {}
    for request in requests:
        for name in trec_names.requested(request.strip()) or (request,):
            is_text = name.partition("(")[0] in trec_names.TEXTS
            one = name if is_text else get_metric(name, way="ranking")
            if isinstance(one, Metric) and one.kind != "ranking":
                raise InputError(f"{request} is no ranking metric")
            found[str(one)] = one
    return sorted(found.values(), key=lambda one: trec_names.position(*_parts(one)))


def _parts(one: str | Metric) -> tuple[str, dict[str, names.Parameter]]:
    if isinstance(one, Metric):
        return one.name, dict(one.params)
    return names.parse(one)


def _column(rankings: Rankings, one: str | Metric) -> list[float] | list[str]:
    if isinstance(one, Metric):
        values = rankings.settle(np.asarray(one.rule(rankings, **one.params), dtype=np.float64))
        if rankings.policy.trec and (one.name == "11pt" or (one.name == "iprec" and not one.params["recall"])):
            # trec_eval divides 0 by 0 where -J leaves nothing of a ranking, and prints what comes of it
            emptied = rankings.present & (rankings.retrieved == 0) & (rankings.num_relevant() > 0)
            values = np.where(emptied, np.nan, values)
        column: list[float] = values.tolist()
        return column
    base, params = names.parse(one)
    if base == "runid":
        return [rankings.run_id] * len(rankings)
    length = params.get("length", 10)
    return relstrings(rankings, length=int(length) if isinstance(length, int) else 10)


def _only_pooled(one: str | Metric) -> bool:
    return _parts(one)[0] in ("runid", "num_q", "gmap", "gbpref")


def _pooled(one: str | Metric, column: list[float] | list[str], rankings: Rankings) -> float | str | None:
    """The value over all queries, summed in their order as trec_eval does, so that the last digit is the same."""
    if not isinstance(one, Metric):
        return rankings.run_id if one == "runid" else None
    values = [value for value in column if isinstance(value, float)]
    if not rankings.policy.trec:
        values = [value for value in values if not isnan(value)]
    if one.pool == "total":
        return reduce(add, values, 0.0)
    if not values:
        return float("nan")
    if one.pool == "geometric":
        return exp(reduce(add, (log(max(value, GEOMETRIC_FLOOR)) for value in values), 0.0) / len(values))
    return reduce(add, values, 0.0) / len(values)


def _line(one: str | Metric, query: str, value: float | str, precision: int) -> str:
    name = trec_names.spelling(*_parts(one)) or str(one)
    if isinstance(value, str):
        shown = value
    elif isinstance(one, Metric) and one.pool == "total":
        shown = str(int(value))
    elif isnan(value):
        shown = f"{'-nan':>{0 if precision >= 17 else 6}}"
    else:
        shown = f"{value:.17g}" if precision >= 17 else f"{value:6.{precision}f}"
    return f"{name:<22}\t{query}\t{shown}"
