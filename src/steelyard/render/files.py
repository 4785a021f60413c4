"""A report as files: ``report.json``, ``report.md``, ``report.html``."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from ..report import Report


def write(report: Report, directory: str | PathLike[str]) -> list[Path]:
    """Write all three into a directory, which is made if need be; the paths written."""
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    report.save(target / "report.json")
    (target / "report.md").write_text(report.markdown(), encoding="utf-8")
    (target / "report.html").write_text(report.html(), encoding="utf-8")
    return [target / name for name in ("report.json", "report.md", "report.html")]
