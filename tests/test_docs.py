"""Documentation that a machine checks: generated parts, examples, links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs_generated import DOCS, GENERATED

ROOT = DOCS.parent
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])


@pytest.mark.parametrize("name", GENERATED)
def test_generated_pages_are_up_to_date(name: str) -> None:
    """``make docs`` would change nothing."""
    assert (DOCS / name).read_text(encoding="utf-8") == GENERATED[name](), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every ```python block of a page runs, in order and in one namespace; ```python no-run shows a fragment."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {"__name__": "example"}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """A link to a file of this project leads to one that exists."""
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target
