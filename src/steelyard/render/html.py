"""A report as one self-contained HTML page. The page makes no request and is readable without JavaScript.

Only templates of this package are rendered, with escaping. Data enters as template values, as text nodes, or packed in
base64. The content security policy allows only the script and the style sheet of the page, by their hashes.
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
from . import html_failures as failure_view, html_view as view
from .html_data import data, replace_surrogates
from .table import estimates, failures, suggested_fixes

if TYPE_CHECKING:
    from jinja2 import Environment

ASSETS = files("steelyard.render") / "assets"
SCRIPTS = ("dom", "unpack", "expression", "filters", "grid", "controls", "sample", "browser")


def page(
    report: Report, *, found: Sequence[Rule] | None = None, max_failed: float = 0.0, ledger: Path | None = None
) -> str:
    """Return the report as one self-contained page.

    ``found`` are the rules of the gate with their verdicts; without them, the thresholds that gate and the share of
    failures (``max_failed``) are checked. Prompts and replies come from the ``ledger``, or from the ledger that the
    report names if it exists.
    """
    failure_groups = analyse_failures(report)
    rows = view.metric_rows(report)
    cells = failure_view.described_groups(failure_groups)
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
        suggested_fixes=suggested_fixes(report),
        warnings=report.warnings,
        cells=cells,
        by=failure_groups.by,
        matrix=failure_view.failure_matrix(failure_groups),
        slices=view.all_slices(report),
        decided_by=decided_by,
        worst=view.worst(report),
        facts=view.provenance(report),
        data=data(report, failure_groups, ledger=ledger),
    )


def fragment(report: Report) -> str:
    """Return a small table for notebooks, without style and script."""
    table = estimates(report)
    values = {"title": view.title(report), "what": view.what(report), "total": len(report.ids)}
    template = _environment().get_template("fragment.html.j2")
    return replace_unencodable(
        template.render(verdict=view.verdict(report), head=table.head, rows=table.rows, **values)
    )


def level(report: Report) -> str:
    """Return the confidence level of the intervals, such as ``95 %``."""
    levels = {one.confidence for one in report.estimates.values()} or {0.95}
    return f"{min(levels) * 100:g} %"


def rendered(template: str, scripts: Sequence[str], **values: object) -> str:
    """Render a template with its scripts and style, and their hashes in the content security policy."""
    script, style = _script(tuple(scripts)), _style()
    own = {"script": Markup(script), "style": Markup(style)}  # noqa: S704 - our own files
    hashes = {"script_hash": _hash(script), "style_hash": _hash(style)}
    return replace_unencodable(_environment().get_template(template).render(version=VERSION, **own, **hashes, **values))


def replace_unencodable(html: str) -> str:
    """Replace half surrogate pairs by the replacement character, so that the page can be encoded."""
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
        "as_name": failure_view.quoted_name,
        "breakable": breakable,
    }
    made.filters.update(filters)
    return made


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")


def breakable(name: str) -> Markup:
    """Return a name with line breaks allowed after its underscores and before its parameters.

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
