"""A headless Chromium for the pages. Its tests skip where Chromium or Playwright is absent."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.render.opening import Open

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of this folder; closed with it, for its driver holds an event loop."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium: Browser, tmp_path: Path) -> Iterator[Open]:
    """Open a page from disk: ``page = opened(html)``. At the end no error was logged and no request had left."""
    complaints: list[str] = []
    contexts = []

    def open_page(
        html: str, fragment: str = "", *, scripts: bool = True, width: int = 1280, dark: bool = False
    ) -> Page:
        path = tmp_path / f"page{len(contexts)}.html"
        path.write_text(html, encoding="utf-8")
        context = chromium.new_context(
            java_script_enabled=scripts,
            viewport={"width": width, "height": 800},
            color_scheme="dark" if dark else "light",
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        address = path.as_uri()
        page.on(
            "request",
            lambda request: None if request.url.startswith((address, "data:")) else complaints.append(request.url),
        )
        page.goto(address + fragment)
        if scripts:
            page.wait_for_selector("html[data-ready]", timeout=30_000)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
