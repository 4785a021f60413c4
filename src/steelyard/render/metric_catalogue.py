"""The list of metrics as text and as the generated table of the documentation."""

from __future__ import annotations

import inspect

from ..core.metric_names import Parameter, show
from ..core.wording import pluralize
from ..metrics.lookup import GROUPS, every, get_metric, requested_metrics
from ..metrics.registry import Metric
from ..ranking.trec import measure_names
from .markdown import markdown_table
from .table import Table, aligned


def listing() -> str:
    """Every metric in one line: name, way, needs, what it is."""
    return "\n".join(
        [*aligned(_table()), "", "groups:", *(f"  {name}: {', '.join(of)}" for name, of in GROUPS.items())]
    )


def documentation() -> str:
    """The same as a Markdown table."""
    return "\n".join(markdown_table(_table(), shown=_ours)) + "\n"


def _ours(text: str) -> str:
    """A docstring's words, which are ours, as Markdown."""
    return text.replace("``", "`").replace("|", "\\|")


def definition(name: str) -> str:
    """Return the full definition of a metric, for each of its kinds; for a group, its members."""
    if name.strip().casefold() in {*GROUPS, *measure_names.GROUPS}:
        return _group(name.strip().casefold())
    found = get_metric(name)
    ways = [one for one in every() if one.name == found.name]
    return "\n\n".join(map(_definition, ways))


def _group(name: str) -> str:
    """The members of a group, each with its first line."""
    ways: dict[str, list[str]] = {}
    for one in every():
        ways.setdefault(one.name, []).append(one.way)
    members = [
        (one.label, ", ".join(ways[one.metric.name]), (one.metric.doc.splitlines() or [""])[0])
        for one in requested_metrics([name], judged=True)
    ]
    lines = [f"{name} is a group of {pluralize(len(members), 'metric')}: -m {name} selects all of them", ""]
    return "\n".join([*lines, *aligned(Table(("metric", "way", "is"), members))])


def _definition(metric: Metric) -> str:
    parameters = ", ".join(
        key if one.default is one.empty else f"{key}={_default(one.default)}" for key, one in metric.parameters.items()
    )
    facts = {
        "way": metric.way,
        "needs": ", ".join(metric.needs) + (", an embedder" if metric.embeds else ""),
        "parameters": parameters,
        "range": "not bounded" if metric.bounds is None else f"{metric.bounds[0]:g} to {metric.bounds[1]:g}",
        "better": "higher" if metric.higher_is_better else "lower",
        "pool": metric.pool,
        "revision": str(metric.revision),
        "also": ", ".join((*metric.aliases, *metric.ten_point_aliases)),
        "source": metric.source,
        "if low": metric.hint,
    }
    lines = [f"{show(metric.name, {})} [{metric.way}]", "", inspect.cleandoc(metric.doc), ""]
    return "\n".join(lines + [f"{key + ':':<11} {value}" for key, value in facts.items() if value])


def _default(value: Parameter) -> str:
    return show("", {"x": value})[3:-1]


def _table() -> Table:
    rows = [
        (
            one.name + ("@k" if "k" in one.parameters else ""),
            one.way,
            ", ".join(one.needs) + (", embedder" if one.embeds else "") if one.kind != "ranking" else "run, qrels",
            (one.doc.splitlines() or [""])[0].strip(),
        )
        for one in every()
    ]
    return Table(("metric", "way", "needs", "is"), rows)
