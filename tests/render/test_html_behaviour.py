"""The page of a report in a browser: it renders from disk, filters, sorts, links, and obeys the keyboard."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from steelyard.render.html import page as render
from steelyard.reports.report import Report
from tests.render.made import made

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.render.opening import Open

MEGABYTE = 1_000_000
NODES = """() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    let count = 0;
    while (walker.nextNode()) if (walker.currentNode.nodeType === 1 || walker.currentNode.data.trim()) count++;
    return count;
}"""
FILTER = 'faithfulness < 0.5 and question_type == "temporal"'


@cache
def report(n: int) -> Report:
    """A report that several tests look at."""
    return made(n, length=80 if n < 10_000 else 20)


@cache
def html(n: int) -> str:
    """Its page."""
    return render(report(n))


def ids(page: Page) -> list[str]:
    """The ids of the rows in view, from top to bottom."""
    found: list[str] = page.eval_on_selector_all(".grid .line a", "links => links.map(link => link.textContent)")
    return found


def shown(page: Page) -> int:
    """How many samples the filter leaves."""
    return int(page.inner_text(".found strong").replace(",", ""))


def await_text(page: Page, selector: str, text: str) -> None:
    """Wait until an element says this."""
    from playwright.sync_api import expect

    expect(page.locator(selector)).to_have_text(text)


def await_count(page: Page, selector: str, count: int) -> None:
    """Wait until so many elements are there."""
    from playwright.sync_api import expect

    expect(page.locator(selector)).to_have_count(count)


def expected(n: int) -> list[str]:
    """The ids that FILTER leaves, by Python."""
    one = report(n)
    column = one.columns["faithfulness"].values
    return [
        one.ids[row]
        for row, sample in enumerate(one.samples)
        if column[row] < 0.5 and sample.tags["question_type"] == "temporal"
    ]


@pytest.mark.parametrize("n", [40, 2_000, 20_000])
def test_renders_and_filters_at_every_size(opened: Open, n: int) -> None:
    """The grid shows all samples, an expression leaves those it should, and the page never grows with them."""
    page = opened(html(n))
    assert shown(page) == n
    page.fill("#expression", FILTER)
    assert shown(page) == len(expected(n))
    assert set(ids(page)) <= set(expected(n))
    page.fill("#expression", "")
    page.eval_on_selector(".grid", "grid => grid.scrollTo(0, grid.scrollHeight)")
    page.wait_for_timeout(200)
    assert len(ids(page)) > 5
    assert page.evaluate(NODES) < 3_000


def test_a_page_of_2000_samples_stays_under_6_megabytes() -> None:
    """Contexts stand once and all data is packed; none of it is readable text in the file."""
    one = html(2_000)
    assert len(one.encode()) < 6 * MEGABYTE
    assert (report(2_000).samples[1_000].retrieved_contexts or [""])[0] not in one


def test_a_filter_is_a_link(opened: Open) -> None:
    """What was filtered and sorted stands in the fragment, and a page opened with it shows the same."""
    page = opened(html(40))
    page.fill("#expression", FILTER)
    page.click('.grid .head button:has-text("rouge_l")')
    before = ids(page)
    again = opened(html(40), page.evaluate("location.hash"))
    assert again.input_value("#expression") == FILTER
    assert ids(again) == before


def test_sorting_by_a_column(opened: Open) -> None:
    """A head sorts up, then down, then not; missing values stand last both ways, and screen readers are told."""
    page, one = opened(html(40)), report(40)
    values = dict(zip(one.ids, one.columns["rouge_l"].values.tolist(), strict=True))
    head = page.locator('.grid [role="columnheader"]', has_text="rouge_l")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert [values[id_] for id_ in ids(page)] == sorted(values.values())[: len(ids(page))]
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert [values[id_] for id_ in ids(page)] == sorted(values.values(), reverse=True)[: len(ids(page))]
    head.locator("button").click()
    assert head.get_attribute("aria-sort") is None


def test_chips_count_what_the_table_counts(opened: Open) -> None:
    """The counts of the four states, per metric, are those of the estimates; a chip leaves these samples."""
    page, one = opened(html(2_000)), report(2_000)
    estimate = one.estimates["answer_correctness"]
    page.select_option("#by", "answer_correctness")
    passed = round((estimate.pass_rate or 0) * estimate.n)
    chips = page.locator(".chips button").all_inner_texts()
    assert [" ".join(chip.split()) for chip in chips] == [
        f"● pass {passed:,}",
        f"▼ fail {estimate.n - passed:,}",
        f"✕ failed {estimate.failed:,}",
    ]
    page.click('.chips [data-word="failed"]')
    assert shown(page) == estimate.failed
    page.click('button:has-text("Clear")')
    assert shown(page) == 2_000


def test_finding_text_and_tags(opened: Open) -> None:
    """Text is found in the whole of responses, beyond what the grid shows of them; tags choose from a list."""
    page, one = opened(html(2_000)), report(2_000)
    needle = (one.samples[77].response or "")[-60:]
    page.fill("#find", needle.upper())
    await_text(page, ".found strong", "1")
    assert ids(page) == [one.ids[77]]
    page.fill("#find", "")
    page.get_by_label("question_type", exact=True).select_option("temporal")
    assert shown(page) == 500
    page.fill("#expression", 'response contains "zel" and year in ("1902", "1906")')
    want = [s.id for s in one.samples if "zel" in (s.response or "").lower() and s.tags["year"] in {"1902", "1906"}]
    assert shown(page) == len(
        [id_ for id_ in want if one.samples[one.ids.index(id_)].tags["question_type"] == "temporal"]
    )


def test_a_wrong_expression_says_where(opened: Open) -> None:
    """A mistake is told beside the field, with the nearest name; the list stays as it was."""
    page = opened(html(40))
    page.fill("#expression", "faithfullness < 0.5")
    assert "did you mean faithfulness?" in page.inner_text("#problem")
    assert page.get_attribute("#expression", "aria-invalid") == "true"
    assert shown(page) == 40
    page.fill("#expression", "faithfulness <")
    assert "expected a value at the end" in page.inner_text("#problem")


def test_the_keyboard_alone(opened: Open) -> None:
    """From the grid: j moves, Enter opens, j and k step, Escape comes back to the row one was on."""
    page = opened(html(40))
    order = ids(page)
    page.locator(".grid").focus()
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    assert page.get_attribute(".grid", "aria-activedescendant") == "row-2"
    page.keyboard.press("Enter")
    page.wait_for_selector("#sample:not([hidden]) h2")
    assert page.inner_text("#sample .labels .id") == order[2]
    assert page.evaluate("document.activeElement.id") == "sample-title"
    page.keyboard.press("j")
    await_text(page, "#sample .labels .id", order[3])
    page.keyboard.press("k")
    await_text(page, "#sample .labels .id", order[2])
    page.keyboard.press("Escape")
    assert page.is_visible("#overview")
    assert page.get_attribute(".grid", "aria-activedescendant") == "row-2"
    assert page.evaluate("document.activeElement.className").startswith("grid")


def test_a_claim_shows_its_passage(opened: Open) -> None:
    """Focusing a claim marks the passages that the judge named, and in them the sentence that is closest."""
    one = report(40)
    row = next(row for row, value in enumerate(one.columns["faithfulness"].values) if value == 0.75)
    page = opened(html(40), f"#sample={one.ids[row]}&metric=faithfulness")
    page.wait_for_selector(".claims button")
    claims = one.columns["faithfulness"].evidence[row]["claims"]
    assert isinstance(claims, list)
    for at, claim in enumerate(claims):
        assert isinstance(claim, dict)
        page.locator(".claims button").nth(at).focus()
        supporting = page.locator(".context.supports h4").all_inner_texts()
        if claim["verdict"] == "no":
            assert supporting == []
        else:
            assert [text.split()[0] for text in supporting] == [f"[{number}]" for number in claim["passages"]]
            assert page.inner_text("mark").rstrip(".") == str(claim["claim"]).rstrip(".")


def test_the_page_of_a_sample(opened: Open) -> None:
    """It holds question, response, reference, every passage, the ranking with grades, and what was missed."""
    one = report(40)
    sample = one.samples[1]
    page = opened(html(40), f"#sample={sample.id}")
    page.wait_for_selector("#sample:not([hidden]) h2")
    text = page.inner_text("#sample")
    assert sample.response in text
    assert sample.reference in text
    assert all(passage in text for passage in sample.retrieved_contexts or [])
    assert "✕ missed\tlost-1\t● 1" in text
    assert "20 documents retrieved, 1 relevant missed" in text
    page.go_back()


def test_links_to_cells_slices_and_back(opened: Open) -> None:
    """A cell of the failures and a slice are one click from their samples; Back undoes it."""
    page = opened(html(40))
    cell = page.locator(".cells tbody tr").first
    wanted = int(cell.locator("td").first.inner_text())
    cell.locator("a").click()
    await_text(page, ".found strong", str(wanted))
    page.go_back()
    await_text(page, ".found strong", "40")
    page.locator(".slices a", has_text="temporal").click()
    await_text(page, ".found strong", "10")


def test_without_scripts_the_summary_and_the_worst_read(opened: Open) -> None:
    """The verdict, the table and the 20 worst samples stand in the page itself."""
    page = opened(html(2_000), scripts=False)
    text = page.inner_text("main")
    assert "Incomplete: " in text
    assert "faithfulness [judged]" in text
    assert page.locator("#worst article").count() == 20
    assert page.is_hidden("#browser")
    assert "Provenance" in text


def test_narrow_pages_do_not_scroll_sideways(opened: Open) -> None:
    """At the width of a phone everything but the grid's own box fits."""
    page = opened(html(40), width=400)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.evaluate("location.hash = '#sample=q00003'")
    page.wait_for_selector("#sample:not([hidden]) h2")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_print_shows_the_worst_samples(opened: Open) -> None:
    """On paper the controls and the grid are gone and the list stands in their place."""
    page = opened(html(40))
    page.emulate_media(media="print")
    await_count(page, "#worst article", 20)
    assert page.is_visible("#worst article >> nth=0")
    assert page.is_hidden("#browser")
    page.emulate_media(media="screen")
    await_count(page, "#worst article", 0)
