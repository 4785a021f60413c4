"""The page of a comparison: blockers on top, verdict in words, flips first, both answers with their difference."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import pytest

from steelyard.render.html import ASSETS
from steelyard.render.html_comparison import comparison_page, sentence
from steelyard.reports.compare import compare
from steelyard.reports.comparison import Comparison
from steelyard.reports.report import Report
from tests.render.made import made

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.render.opening import Open


@cache
def reports() -> tuple[Report, Report]:
    """A system, and the same made worse."""
    return made(60, failed=0.0), made(60, failed=0.0, shift=-0.15)


@cache
def found() -> Comparison:
    """The two compared, by kind of question."""
    before, after = reports()
    return compare(after, before, by="question_type")


@cache
def html() -> str:
    """Its page."""
    before, after = reports()
    return comparison_page(found(), after, before)


def ids(page: Page) -> list[str]:
    """The ids of the rows in view, from top to bottom."""
    seen: list[str] = page.eval_on_selector_all(".grid .line a", "links => links.map(link => link.textContent)")
    return seen


def test_verdict_and_blockers_in_words() -> None:
    """A regression, a pass, and what may not be compared at all."""
    before, after = reports()
    assert sentence(found()).startswith("Does not pass: faithfulness falls from 0.")
    assert sentence(compare(before, before)) == ("Passes: no change beyond the tolerance.")
    assert sentence(compare(before, after)).startswith("Passes: faithfulness rises from 0.")
    other = made(60, failed=0.0)
    other.judge = "openai:another"
    blocked = compare(other, before)
    assert sentence(blocked) == (
        "Not comparable: different judge: openai:gpt-4o-mini before, openai:another now (used by faithfulness,"
        " answer_correctness, context_relevancy)."
    )
    assert "These two reports are not comparable" in comparison_page(blocked, other, before)


def test_the_table_holds_every_delta() -> None:
    """Values, delta, interval, p, win / tie / loss, pairs, slices: as the comparison has them."""
    text = " ".join(html().split())
    for one in found().deltas:
        if not one.slice:
            assert f"{one.win:,} / {one.tie:,} / {one.loss:,}" in text
            assert f"{one.to_fail:,} pass → fail" in text or not one.to_fail
    assert text.count('<tr> <th scope="row"><a href="#by=') == 7
    assert all(f"</span> {value}</a>" in text for value in ("single", "temporal", "comparison", "unanswerable"))


def test_the_judges_noise_stands_beside_the_delta_where_it_is_known(opened: Open) -> None:
    """A column of its own, also on a narrow page, and none without repeats."""
    before, after = made(30, failed=0.0), made(30, failed=0.0, shift=0.02)
    for side in (before, after):
        column = side.columns["faithfulness"]
        rows = enumerate(column.values.tolist())
        column.draws = {row: [value, 1 - value] for row, value in rows if not math.isnan(value)}
    noisy = compare(after, before)
    page = opened(comparison_page(noisy, after, before), width=400)
    (delta,) = [one for one in noisy.deltas if one.noise is not None]
    shown = page.inner_text(".deltas tbody tr:has-text('faithfulness') td[data-label=noise]")
    assert shown == f"± {delta.noise:.3f}"
    assert page.inner_text(".deltas tbody tr:has-text('contains') td[data-label=noise]") == "–"
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert ">Noise</th>" not in html()


def test_flips_come_first(opened: Open) -> None:
    """Those from pass to fail, the largest change first, then from fail to pass."""
    page = opened(html())
    before, after = reports()
    old, new = before.columns["faithfulness"].values, after.columns["faithfulness"].values
    flips = [row for row in range(60) if old[row] >= 0.7 > new[row]]
    flips.sort(key=lambda row: (-round(old[row] - new[row], 6), row))
    assert ids(page)[: len(flips)] == [after.ids[row] for row in flips][: len(ids(page))]
    page.click('.chips [data-word="fail → pass"]')
    assert set(ids(page)) == {after.ids[row] for row in range(60) if old[row] < 0.7 <= new[row]}


def test_filter_by_delta_and_another_metric(opened: Open) -> None:
    """Expressions name current, baseline and delta; the link of a metric shows its changes and its scatter."""
    page = opened(html())
    before, after = reports()
    old, new = before.columns["token_f1"].values, after.columns["token_f1"].values
    page.fill("#expression", "delta.token_f1 < -0.2 and baseline.token_f1 > 0.5")
    wanted = {after.ids[row] for row in range(60) if round(new[row] - old[row], 6) < -0.2 and old[row] > 0.5}
    assert page.inner_text(".found strong") == str(len(wanted))
    assert set(ids(page)) <= wanted
    page.locator(".deltas a", has_text="rouge_l").click()
    assert page.input_value("#by") == "rouge_l"
    label = page.get_attribute(".scatter", "aria-label") or ""
    delta = next(one for one in found().deltas if one.metric == "rouge_l" and not one.slice)
    assert label.startswith(f"rouge_l: {delta.n} pairs, {delta.win} better, {delta.loss} worse")


def test_a_pair_side_by_side(opened: Open) -> None:
    """Both answers, with what was added marked; passages in both and in one alone; both sets of claims."""
    page = opened(html(), "#sample=q00003")
    page.wait_for_selector("#sample:not([hidden]) h2")
    before, after = (report.samples[3].response or "" for report in reports())
    added = page.locator("#sample ins").all_inner_texts()
    assert added
    assert page.locator("#sample del").count() == 0
    assert sum(len(text) for text in added) == len(after) - len(before)
    assert page.locator("#sample .context", has_text="only here").count() == 2
    assert page.locator("#sample .context", has_text="in both").count() == 8
    assert page.locator("#sample .pair > div").count() == 2
    page.keyboard.press("Escape")
    assert page.is_visible("#overview")


def test_without_scripts_the_losses_read(opened: Open) -> None:
    """The table and the worst pairs stand in the page itself."""
    page = opened(html(), scripts=False)
    assert page.locator("#worst article").count() == 20
    assert "Does not pass" in page.inner_text("main")


@pytest.mark.parametrize(
    ("before", "after", "gone", "new"),
    [
        ("the cat sat", "the dog sat", ["cat"], ["dog"]),
        ("a b c", "a b c", [], []),
        ("", "all new", [], ["all new"]),
        ("one two three", "two three four", ["one "], [" four"]),
        ("日本語です", "日本語でした", ["日本語です"], ["日本語でした"]),
    ],
)
def test_difference_of_texts(chromium: Browser, before: str, after: str, gone: list[str], new: list[str]) -> None:
    """Word by word; put together again, the runs are the texts."""
    context = chromium.new_context()
    source = (ASSETS / "difference.js").read_text(encoding="utf-8")
    result = context.new_page().evaluate(f"([a, b]) => {{ {source}; return difference(a, b); }}", [before, after])
    context.close()
    assert "".join(text for _, text in result["before"]) == before
    assert "".join(text for _, text in result["after"]) == after
    assert [text for same, text in result["before"] if not same] == gone
    assert [text for same, text in result["after"] if not same] == new


def test_a_trend_of_stored_runs() -> None:
    """Given stored estimates, the page has a table of them."""
    before, after = reports()
    runs = [("2026-03-01", before.estimates["token_f1"]), ("2026-03-02", after.estimates["token_f1"])]
    text = comparison_page(found(), after, before, trend={"token_f1": runs})
    assert "token_f1, oldest run first" in text
    assert text.index("2026-03-01") < text.index("2026-03-02")
