"""Everybody can read the pages: axe-core finds no serious fault, in light and dark, in list and sample."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from steelyard.render.html import page
from steelyard.render.html_comparison import comparison_page
from steelyard.reports.compare import compare
from tests.render.made import made

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.render.opening import Open

REPORT = made(40, failed=0.05)
WORSE = made(40, shift=-0.1)


def faults(tab: Page) -> list[str]:
    """Serious and critical violations of WCAG 2.2 AA and axe's best practices."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed").Axe()
    found = axe.run(tab, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{one['id']}: {node['html'][:160]} {node['failureSummary']}"
        for one in found
        if one["impact"] in {"serious", "critical"}
        for node in one["nodes"][:3]
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_report(opened: Open, dark: bool) -> None:
    """The list and, with a claim in focus, the page of a sample."""
    tab = opened(page(REPORT), dark=dark)
    assert faults(tab) == []
    row = next(row for row, value in enumerate(REPORT.columns["faithfulness"].values) if value == 0.75)
    tab.evaluate(f"location.hash = '#sample={REPORT.ids[row]}&metric=faithfulness'")
    tab.wait_for_selector("#sample:not([hidden]) .claims button")
    tab.locator(".claims button").last.focus()
    assert faults(tab) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_comparison(opened: Open, dark: bool) -> None:
    """The list and the page of a pair whose answers differ."""
    tab = opened(comparison_page(compare(WORSE, REPORT, by="question_type"), WORSE, REPORT), dark=dark)
    assert faults(tab) == []
    tab.evaluate("location.hash = '#sample=q00003'")
    tab.wait_for_selector("#sample:not([hidden]) h2")
    assert faults(tab) == []


def test_narrow(opened: Open) -> None:
    """At the width of a phone."""
    assert faults(opened(page(REPORT), width=400)) == []
    comparison = comparison_page(compare(WORSE, REPORT, by="question_type"), WORSE, REPORT)
    assert faults(opened(comparison, width=400, dark=True)) == []


class Outline(HTMLParser):
    """Elements by name, and the labels of landmarks."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.lang = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count it."""
        self.tags.append(tag)
        if tag == "html":
            self.lang = dict(attrs).get("lang") or ""


def test_structure() -> None:
    """A language, one h1, the landmarks, a caption for every table, a state never by colour alone."""
    for html in (page(REPORT), comparison_page(compare(WORSE, REPORT), WORSE, REPORT)):
        outline = Outline(html)
        assert outline.lang == "en"
        assert [outline.tags.count(tag) for tag in ("h1", "main", "header", "nav")] == [1, 1, 1, 1]
        assert outline.tags.count("table") == outline.tags.count("caption")
        assert "@media print" in html
        assert "prefers-color-scheme: dark" in html
    states = re.findall(r'<span class="state (\w+)"><span aria-hidden="true">(.)</span> (\w+)</span>', page(REPORT))
    assert states
    assert {(kind, sign) for kind, sign, _ in states} <= {
        ("pass", "●"),
        ("fail", "▼"),
        ("failed", "✕"),
        ("undefined", "◇"),
    }
    assert all(kind == word for kind, _, word in states)
