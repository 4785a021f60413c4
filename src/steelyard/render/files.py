"""A report as files: ``report.json``, ``report.md``, ``report.html``."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from ..reports.gate import Rule
from ..reports.report import Report
from .html import page


def write(
    report: Report,
    directory: str | PathLike[str],
    *,
    found: Sequence[Rule] | None = None,
    max_failed: float = 0.0,
) -> list[Path]:
    """Write all three files to a directory, which is created if necessary; return their paths.

    ``found`` are the checked rules of the gate, which the page shows first.
    """
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    report.save(target / "report.json")
    (target / "report.md").write_text(report.markdown(), encoding="utf-8")
    (target / "report.html").write_text(page(report, found=found, max_failed=max_failed), encoding="utf-8")
    return [target / name for name in ("report.json", "report.md", "report.html")]
