"""Checks of the documentation: generated pages, examples, links, names of files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from steelyard.metrics.lookup import requested_metrics
from tests.docs.generated import DOCS, GENERATED
from tests.test_structure import SOURCE

ROOT = DOCS.parent
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])


@pytest.mark.parametrize("name", GENERATED)
def test_generated_pages_are_up_to_date(name: str) -> None:
    """The generated pages equal the output of ``make docs``."""
    assert (DOCS / name).read_text(encoding="utf-8") == GENERATED[name](), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All ```python blocks of a page run in order, in one namespace. ```python no-run marks a block that does not run."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {"__name__": "example"}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", sorted(DOCS.glob("from-*.md")), ids=lambda page: page.name)
def test_names_of_other_tools_are_known(page: Path) -> None:
    """Every metric name in the tables resolves, and the names in one row are the same metric."""
    rows = re.findall(r"^\|(.*)\|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    columns = next(row for row in rows if "here" in row).split("|")
    here = next(at for at, cell in enumerate(columns) if cell.strip() == "here")
    rows = [row for row in rows if not re.search(r"---|threshold=|assert_test", row) and "`" in row]
    assert len(rows) > 4
    for row in rows:
        cells = [re.findall("`([^`]+)`", cell) for cell in row.split("|")]
        ours = {requested_metrics([name], judged=True)[0].metric.name for name in cells[here]}
        theirs = {requested_metrics([name], judged=True)[0].metric.name for cell in cells[:here] for name in cell}
        assert theirs <= ours, row


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """A link to a file of this project points to an existing file."""
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_exist(page: Path) -> None:
    """If a page names a source file, and a class or function in it, then both exist."""
    for path, name in re.findall(r"`((?:\w+/)+\w+\.py)(?::\s+(\w+))?`", page.read_text(encoding="utf-8")):
        file = next((at / path for at in (SOURCE, ROOT) if (at / path).is_file()), None)
        assert file is not None, path
        assert not name or re.search(rf"^(?:class|def) {name}\b", file.read_text(encoding="utf-8"), re.MULTILINE), name
