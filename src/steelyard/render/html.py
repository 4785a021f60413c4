"""A report as one HTML page that works from disk: no request leaves it, and without scripts it still reads.

Rules of this file: templates are ours and are escaped throughout; data enters as values, as text nodes, or packed in
base64. The policy of the page allows the one script and the one style sheet it holds, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from markupsafe import Markup, escape

from ..core.version import VERSION
from ..reports.failure_analysis import analyse_failures
from ..reports.gate import Rule
from ..reports.report import Report
from . import html_view as view
from . import html_where as where
from .html_data import data, replace_surrogates
from .table import estimates, failures, remedies

if TYPE_CHECKING:
    from jinja2 import Environment

ASSETS = files("steelyard.render") / "assets"
SCRIPTS = ("dom", "unpack", "expression", "filters", "grid", "controls", "sample", "browser")


def page(
    report: Report, *, found: Sequence[Rule] | None = None, max_failed: float = 0.0, ledger: Path | None = None
) -> str:
    """The report as one self-contained page.

    ``found`` are the rules of the gate with their verdicts; without them the thresholds that gate are tried, and
    failures beyond ``max_failed``. Prompts and replies are taken from the ``ledger``, or from the one that the report
    names, where it is at hand.
    """
    fails = analyse_failures(report)
    rows = view.metric_rows(report)
    cells = where.known_cells(fails)
    decided_by = view.decided_by(report)
    return rendered(
        "page.html.j2",
        (*SCRIPTS, "report"),
        title=view.title(report),
        what=view.what(report),
        total=len(report.ids),
        verdict=view.verdict(report, found, max_failed=max_failed),
        banner=view.banner(report, max_failed),
        limit=view.percent(max_failed),
        reasons=failures(report),
        totals=view.totals(report),
        rows=rows,
        level=level(report),
        has_rates=any(row.threshold for row in rows),
        has_usage=any(row.usage for row in rows),
        remedies=remedies(report),
        warnings=report.warnings,
        cells=cells,
        by=fails.by,
        matrix=where.matrix(fails),
        slices=view.all_slices(report),
        decided_by=decided_by,
        worst=view.worst(report),
        facts=view.provenance(report),
        data=data(report, fails, ledger=ledger),
    )


def fragment(report: Report) -> str:
    """A small table for notebooks, without style and script."""
    table = estimates(report)
    values = {"title": view.title(report), "what": view.what(report), "total": len(report.ids)}
    template = _environment().get_template("fragment.html.j2")
    return whole(template.render(verdict=view.verdict(report), head=table.head, rows=table.rows, **values))


def level(report: Report) -> str:
    """The confidence of the intervals: ``95 %``."""
    levels = {one.confidence for one in report.estimates.values()} or {0.95}
    return f"{min(levels) * 100:g} %"


def rendered(template: str, scripts: Sequence[str], **values: object) -> str:
    """One of our templates with its scripts and style put in, and their hashes in its policy."""
    script, style = _script(tuple(scripts)), _style()
    own = {"script": Markup(script), "style": Markup(style)}  # noqa: S704 - our own files
    hashes = {"script_hash": _hash(script), "style_hash": _hash(style)}
    return whole(_environment().get_template(template).render(version=VERSION, **own, **hashes, **values))


def whole(html: str) -> str:
    """A page that can be written: half a surrogate pair in it becomes the replacement character."""
    try:
        html.encode()
    except UnicodeEncodeError:
        return replace_surrogates(html)
    return html


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(loader=FileSystemLoader(str(ASSETS)), autoescape=True, undefined=StrictUndefined)
    filters: dict[str, Callable[..., object]] = {
        "fragment": lambda select: f"q={_quoted(select)}",
        "pair": lambda item: f"{item[0]}={_quoted(item[1])}",
        "percent": view.percent,
        "as_name": where.quoted_name,
        "breakable": breakable,
    }
    made.filters.update(filters)
    return made


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")


def breakable(name: str) -> Markup:
    """A name that may break after its underscores and before its parameters.

    >>> print(breakable("a_<b(c=1)"))
    a_<wbr>&lt;b<wbr>(c=1)
    """
    parts = [Markup("_<wbr>").join(escape(word) for word in part.split("_")) for part in name.split("(")]
    return Markup("<wbr>(").join(parts)


@cache
def _script(names: tuple[str, ...]) -> str:
    parts = [(ASSETS / f"{name}.js").read_text(encoding="utf-8") for name in names]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();"


@cache
def _style() -> str:
    return (ASSETS / "style.css").read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
