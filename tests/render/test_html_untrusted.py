"""Data stays text: whatever samples, names and reasons hold, the page runs none of it."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from steelyard.core.records import Sample
from steelyard.render.html import fragment, page
from steelyard.render.html_comparison import comparison_page
from steelyard.reports.compare import compare
from steelyard.reports.estimates import pool_report
from steelyard.reports.provenance import DatasetNote, MetricNote
from steelyard.reports.report import Report
from steelyard.stats.pooling import Column

if TYPE_CHECKING:
    from tests.render.opening import Open

EVIL = "</script><script>window.__pwned=1</script><img src=x onerror=window.__pwned=1><svg/onload=window.__pwned=1>"
LINK = "[link](javascript:window.__pwned=1) <a href='javascript:window.__pwned=1'>x</a>"


def evil(sample: Sample | None = None) -> Report:
    """A report in which everything a stranger can write tries to break out."""
    one = sample or Sample(
        id=f"q<1>{EVIL}",
        user_input="Is 1<2 & \"3\">'2'?",
        response=EVIL,
        reference=[LINK, EVIL],
        retrieved_contexts=[LINK, "<!--", "]]>", "{{ 7 * 7 }}{% raw %}", EVIL],
        retrieved_ids=[EVIL, "b", "c", "d", "e"],
        relevance={EVIL: 1.0, LINK: 2.0},
        tags={EVIL: LINK, "`tick`": '"quoted"'},
        metadata={EVIL: [LINK]},
    )
    report = Report(ids=[one.id], samples=[one], system=EVIL, dataset=DatasetNote(LINK, EVIL, EVIL), judge=LINK)
    label = "rubric(criteria=\"<b>'bold'\")"
    claims = {"claims": [{"claim": EVIL, "verdict": "yes", "reason": LINK, "passages": [1]}], EVIL: LINK}
    report.columns = {label: Column(np.array([0.5]), evidence={0: claims}), "broken": Column(np.array([np.nan]))}
    report.columns["broken"].failed[0] = EVIL
    report.notes = {name: MetricNote(name, EVIL, threshold=0.4, remedy=LINK) for name in report.columns}
    report.warnings, report.policy, report.run = [EVIL], {"x": EVIL}, {"command": LINK}
    pool_report(report, by=list(one.tags), clusters=None, confidence=0.95, seed=0)
    return report


def s02(shared: Path) -> Report:
    """The case S02: a script element, an event handler and a javascript: link among the samples."""
    lines = (shared / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    case = next(one for one in map(json.loads, lines) if one["id"] == "S02")
    given = case["input"]["sample"]
    sample = Sample(
        id=given["id"],
        user_input=given["question"],
        response=given["response"],
        retrieved_contexts=given["contexts"],
        tags={"kind": "security"},
    )
    return evil(sample)


class Elements(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep it."""
        self.found.append((tag, dict(attrs)))


def check_elements(html: str, scripts: int) -> None:
    """Only our own scripts, no image, no handler, no link but to a place in the page."""
    found = Elements(html).found
    assert [tag for tag, _ in found].count("script") == scripts
    assert not {"img", "iframe", "object", "embed", "form", "base"} & {tag for tag, _ in found}
    for tag, attributes in found:
        assert not [name for name in attributes if name.startswith("on") or name in {"src", "style", "srcdoc"}]
        if tag == "a":
            assert (attributes["href"] or "").startswith("#")


@pytest.mark.parametrize("which", ["evil", "S02"])
def test_a_page_holds_no_element_from_the_data(which: str, request: pytest.FixtureRequest) -> None:
    """Parsed as HTML, the page has the elements of its templates and no other."""
    report = evil() if which == "evil" else s02(request.getfixturevalue("shared"))
    check_elements(page(report), scripts=6)
    check_elements(comparison_page(compare(report, report), report, report), scripts=6)
    check_elements(fragment(report), scripts=0)
    assert "{{ 7 * 7 }}" not in page(report) or "49" not in page(report).split("{{ 7 * 7 }}")[0][-5:]


@pytest.mark.parametrize("which", ["evil", "S02"])
def test_nothing_runs_in_a_browser(opened: Open, which: str, request: pytest.FixtureRequest) -> None:
    """In list and sample page the text is shown literally, and no script of the data has run."""
    report = evil() if which == "evil" else s02(request.getfixturevalue("shared"))
    tab = opened(page(report))
    tab.locator(".grid").focus()
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#sample:not([hidden]) h2")
    text = tab.inner_text("#sample")
    assert (report.samples[0].response or "") in text
    assert "javascript:" in text
    assert tab.evaluate("window.__pwned") is None
    assert tab.locator("#sample img, #sample script, #sample a").count() == 0
    assert tab.inner_text("#sample-title") == "Is 1<2 & \"3\">'2'?"


def test_nothing_runs_in_a_comparison(opened: Open) -> None:
    """The same in the page of a pair."""
    report = evil()
    tab = opened(comparison_page(compare(report, report), report, report))
    tab.locator(".grid").focus()
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#sample:not([hidden]) h2")
    assert EVIL in tab.inner_text("#sample")
    assert tab.evaluate("window.__pwned") is None


def test_the_policy_names_the_hashes_of_what_it_allows() -> None:
    """No source but the one script and the one style sheet; an inline handler or attribute could not run."""
    policy = next(
        attributes["content"] or ""
        for tag, attributes in Elements(page(evil())).found
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"].startswith("'sha256-")
    assert rules["style-src"].startswith("'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_half_a_surrogate_pair_does_not_stop_a_page() -> None:
    """Text that no file can hold is mended, in the list and in the packed data."""
    broken = Sample(
        id="a", user_input="half \ud83d", response="\udc00", retrieved_contexts=["\ud800"], tags={"t": "\ud800"}
    )
    page(evil(broken)).encode()
