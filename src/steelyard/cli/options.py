"""Options that several commands share, and parsers of their values."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from ..core.errors import InputError
from ..io.storage import same_file

if TYPE_CHECKING:
    from ..reports.report import Report

Metrics: TypeAlias = Annotated[
    list[str] | None, typer.Option("--metric", "-m", help="Metric, group of metrics or file.py:name; repeatable.")
]
Out: TypeAlias = Annotated[
    Path | None, typer.Option("--out", help="Write report.json, report.md and report.html to this folder.")
]
Seed: TypeAlias = Annotated[int, typer.Option("--seed", help="Random seed.")]
Confidence: TypeAlias = Annotated[float, typer.Option("--confidence", help="Confidence level of the intervals.")]
Encoding: TypeAlias = Annotated[str, typer.Option("--encoding", help="Encoding of text files.")]
By: TypeAlias = Annotated[list[str] | None, typer.Option("--by", help="Slice by this tag; repeatable.")]
Fields: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--field", help="FIELD=COLUMN: read a field from this column, such as user_input=question."),
]


Keep: TypeAlias = Annotated[
    bool, typer.Option("--keep", help="Store the report in .steelyard/runs, for history and as a baseline.")
]
Overwrite: TypeAlias = Annotated[bool, typer.Option("--overwrite", help="Overwrite existing output.")]
StoreAt: TypeAlias = Annotated[Path | None, typer.Option("--store", help="Folder of stored reports.")]
Tag: TypeAlias = Annotated[str, typer.Option("--tag", help="Store the report under this tag, such as a branch.")]


def keep(report: Report, *, keep_it: bool, store: Path | None, tag: str) -> None:
    """Store a report if any of ``--keep``, ``--store`` and ``--tag`` is given."""
    if keep_it or store is not None or tag:
        from ..reports.store import DEFAULT, Store

        path = Store(store or DEFAULT).keep(report, tag=tag)
        print(f"stored as {path}", file=sys.stderr)


def check_free(path: Path, *, overwrite: bool) -> None:
    """Raise InputError if the output exists and may hold somebody's work, unless ``overwrite`` is set."""
    from ..datasets.set_folder import check_free as check_folder

    if overwrite:
        return
    if path.is_dir():
        check_folder(path)
    elif path.is_file() and path.stat().st_size:
        raise InputError("the file exists: overwrite it with --overwrite, or name another", path=path)


def check_apart(out: Path | None, sources: Iterable[str | Path]) -> None:
    """Raise InputError if the output would overwrite an input file or the folder of an input report."""
    if out is None:
        return
    written = [out, out / "report.json"]
    for name in map(Path, sources):
        if any(same_file(one, other) for one in written for other in (name, name / "report.json")):
            raise InputError("--out is an input of this command: name another file or folder", path=out)


def pairs(given: Sequence[str] | None, option: str) -> dict[str, str]:
    """Parse ``["a=b"]`` into a mapping, split at the last ``=``, so that names of metrics may hold parameters.

    >>> pairs(["ndcg(gain=exponential)@10=0.5"], "--threshold")
    {'ndcg(gain=exponential)@10': '0.5'}
    """
    found = {}
    for text in given or ():
        name, equals, value = text.rpartition("=")
        if not equals or not name.strip() or not value.strip():
            raise InputError(f"{option} {text!r}: expected {'FIELD=COLUMN' if option == '--field' else 'METRIC=VALUE'}")
        if name.strip() in found:
            raise InputError(f"{option} {name.strip()} is given twice")
        found[name.strip()] = value.strip()
    return found


def numbers(given: Sequence[str] | None, option: str) -> dict[str, float]:
    """Parse ``["a=1"]`` into a mapping of numbers."""
    found = {}
    for name, value in pairs(given, option).items():
        try:
            found[name] = float(value)
        except ValueError:
            raise InputError(f"{option} {name}={value}: expected a number") from None
    return found


def listed(given: Sequence[str] | None) -> list[str]:
    """Split repeated options into names: ``-m "ndcg@10 map"`` and ``-m ndcg@10 -m map`` are the same."""
    return [name for text in given or () for name in _split(text)]


def _split(text: str) -> list[str]:
    depth, names, current = 0, [], ""
    for char in text:
        depth += (char == "(") - (char == ")")
        if char.isspace() and depth == 0:
            names.append(current)
            current = ""
        else:
            current += char
    return [name for name in [*names, current] if name]


def scale_of(text: str | None) -> tuple[float, float] | None:
    """Parse ``1-5`` into the lowest and the highest rating.

    >>> scale_of("1-5")
    (1.0, 5.0)
    """
    if text is None:
        return None
    low, _, high = text.rpartition("-")
    try:
        return float(low), float(high)
    except ValueError:
        raise InputError(f"--scale {text}: expected the lowest and the highest rating, such as 1-5") from None
