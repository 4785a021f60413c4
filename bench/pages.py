"""How large the pages are and how soon they can be used: ``python bench/pages.py [SIZES…]``.

Needs Chromium and Playwright. ``ready`` is the time from the start of the navigation, from disk, until the grid stands;
``filter`` and ``find`` are the time in which an answer is in the page, laid out; all are the best of several rounds, in
milliseconds: other work on the machine can only slow a round down.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.render.made import made  # noqa: E402 - the data of the tests

from steelyard.render.html import page  # noqa: E402
from steelyard.render.html_comparison import comparison_page  # noqa: E402
from steelyard.reports.compare import compare  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROUNDS = 7
FILTER = 'ndcg@10 < 0.5 and question_type == "temporal"'
TYPE = """([selector, text]) => {
    const input = document.querySelector(selector);
    const start = performance.now();
    input.value = text;
    input.dispatchEvent(new Event("input"));
    document.querySelector(".grid").getBoundingClientRect();
    return performance.now() - start;
}"""
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]


def measured(browser: Browser, html: str, folder: Path) -> dict[str, float]:
    """The best of ROUNDS fresh tabs."""
    path = folder / "page.html"
    path.write_text(html, encoding="utf-8")
    rounds: dict[str, list[float]] = {"ready": [], "filter": [], "find": [], "nodes": []}
    for _ in range(ROUNDS):
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        tab = context.new_page()
        tab.goto(path.as_uri())
        tab.wait_for_selector("html[data-ready]", timeout=60_000)
        rounds["ready"].append(tab.evaluate("performance.getEntriesByName('ready')[0].startTime"))
        rounds["nodes"].append(tab.evaluate("document.querySelectorAll('*').length"))
        tab.wait_for_timeout(1_500)
        rounds["filter"].append(tab.evaluate(TYPE, ["#expression", FILTER]))
        tab.evaluate(TYPE, ["#expression", ""])
        tab.evaluate(TYPE, ["#find", "zel"])
        rounds["find"].append(tab.evaluate(TYPE, ["#find", "zel mar"]))
        context.close()
    return {name: min(values) for name, values in rounds.items()}


def main(sizes: list[int]) -> None:
    """Print a line per page."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=chromium, args=QUIET)
        print(
            f"{'page':<12}{'samples':>8}{'build, CPU s':>14}{'MB':>8}{'ready':>8}{'filter':>8}{'find':>8}{'nodes':>8}"
        )
        for n in sizes:
            report, other = made(n), made(n, shift=-0.05)
            comparison = compare(other, report, by="question_type", max_failed=1.0)
            builds: dict[str, Callable[[], str]] = {
                "report": partial(page, report),
                "comparison": partial(comparison_page, comparison, other, report),
            }
            for name, build in builds.items():
                start = time.process_time()
                html = build()
                spent = time.process_time() - start
                found = measured(browser, html, Path(folder))
                numbers = "".join(f"{found[key]:>8.0f}" for key in ("ready", "filter", "find", "nodes"))
                print(f"{name:<12}{n:>8,}{spent:>14.2f}{len(html.encode()) / 1e6:>8.2f}{numbers}", flush=True)
        browser.close()


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [40, 2_000, 20_000])
