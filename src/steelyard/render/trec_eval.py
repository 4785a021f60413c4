"""Results of rankings in the output format of trec_eval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from math import exp, isnan, log, nan
from operator import add

import numpy as np

from ..core import metric_names
from ..core.errors import InputError
from ..metrics.lookup import get_metric
from ..metrics.ranking.trec_measures import relstrings
from ..metrics.registry import Metric
from ..ranking.rankings import FloatArray, Rankings
from ..ranking.trec import measure_names
from ..stats.resampling import GEOMETRIC_FLOOR


def trec_eval_lines(
    rankings: Rankings, requests: Iterable[str] = ("official",), *, per_query: bool = False, precision: int = 4
) -> Iterator[str]:
    """The lines of ``trec_eval -m …`` (with ``per_query``, of ``-q``), in its order and layout, without line ends.

    ``requests`` are names and groups in trec_eval's spelling or ours; measures that trec_eval lacks come last, under
    our names. Numbers have 4 decimals; with ``precision=17`` all their digits.

    >>> from steelyard.ranking.join import join
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
    printed = [_PrintedMeasure(rankings, one, precision) for one in _requested(requests)]
    if per_query:
        for at in np.flatnonzero(rankings.present).tolist():
            query = rankings.queries[at]
            for one in printed:
                if not one.only_pooled:
                    yield f"{one.name}\t{query}\t{one.shown(one.column[at])}"
    for one in printed:
        if (pooled := one.pooled()) is not None:
            yield f"{one.name}\tall\t{one.shown(pooled)}"


def _requested(requests: Iterable[str]) -> list[str | Metric]:
    """The measures of a request in the order of trec_eval's output, each once; texts stay names."""
    found: dict[str, str | Metric] = {}
    for request in requests:
        for name in measure_names.expand_request(request.strip()) or (request,):
            is_text = name.partition("(")[0] in measure_names.TEXT_MEASURES
            one = name if is_text else get_metric(name, way="ranking")
            if isinstance(one, Metric) and one.kind != "ranking":
                raise InputError(f"{request} is not a ranking metric")
            found[str(one)] = one
    return sorted(found.values(), key=lambda one: measure_names.position(*_parts(one)))


def _parts(one: str | Metric) -> tuple[str, dict[str, metric_names.Parameter]]:
    if isinstance(one, Metric):
        return one.name, dict(one.params)
    return metric_names.parse(one)


class _PrintedMeasure:
    """A measure with its values, as it is printed."""

    def __init__(self, rankings: Rankings, one: str | Metric, precision: int) -> None:
        base, params = _parts(one)
        self.name = f"{measure_names.trec_eval_name(base, params) or str(one):<22}"
        self.only_pooled = base in ("runid", "num_q", "gmap", "gbpref")
        self.pool = one.pool if isinstance(one, Metric) else base
        self.form = "d" if self.pool == "total" else ".17g" if precision >= 17 else f"6.{precision}f"
        self.skips_undefined = not rankings.policy.trec
        self.column: FloatArray | list[str]
        if isinstance(one, Metric):
            self.column = _values(rankings, one)
        elif base == "runid":
            self.column = [rankings.run_id]
        else:
            length = params.get("length", 10)
            self.column = relstrings(rankings, length=length if isinstance(length, int) else 10)

    def shown(self, value: float | str) -> str:
        """A value in trec_eval's form."""
        if isinstance(value, str):
            return value
        if isnan(value):
            return "-nan" if self.form == ".17g" else "  -nan"
        return format(int(value) if self.form == "d" else value, self.form)

    def pooled(self) -> float | str | None:
        """The value over all queries, summed in their order as trec_eval does, so that the last digit is the same."""
        if isinstance(self.column, list):
            return self.column[0] if self.pool == "runid" else None
        values = self.column[~np.isnan(self.column)] if self.skips_undefined else self.column
        if self.pool == "geometric":
            values = np.array([log(max(value, GEOMETRIC_FLOOR)) for value in values.tolist()])
        total = reduce(add, values.tolist(), 0.0)
        if self.pool == "total":
            return total
        mean = total / len(values) if len(values) else nan
        return exp(mean) if self.pool == "geometric" else mean


def _values(rankings: Rankings, one: Metric) -> FloatArray:
    values = rankings.settle(np.asarray(one.rule(rankings, **one.params), dtype=np.float64))
    if rankings.policy.trec and (one.name == "11pt" or (one.name == "iprec" and not one.params["recall"])):
        # trec_eval divides 0 by 0 where -J leaves nothing of a ranking, and prints what comes of it
        emptied = rankings.present & (rankings.retrieved == 0) & (rankings.num_relevant() > 0)
        values = np.where(emptied, np.nan, values)
    return values
