"""``steelyard check``: validation of input files, and of labels against a changed corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import InputError
from .app import app
from .options import Encoding, Fields, Overwrite, check_free, pairs

if TYPE_CHECKING:
    from ..datasets.convert import Contents


@app.command("check")
def check(
    paths: Annotated[list[Path], typer.Argument(help="Files or folders: samples, datasets, qrels, runs, BEIR.")],
    corpus: Annotated[Path | None, typer.Option(help="Check that the labels are valid for this corpus.")] = None,
    old_corpus: Annotated[Path | None, typer.Option(help="The corpus for which the labels were made.")] = None,
    repair: Annotated[
        Path | None, typer.Option(help="Write the set with updated labels to this file or folder.")
    ] = None,
    overwrite: Overwrite = False,
    field: Fields = None,
    encoding: Encoding = "utf-8",
) -> int:
    """Check input files, and print every problem with its line.

    With `--corpus`, the command reports each label (document, chunk or span) as valid, moved, merged, split or gone.
    `--repair` updates unambiguous labels. Exits with 1 if problems remain, else with 0.
    """
    from ..core.wording import pluralize
    from ..datasets.check_file import check as check_file

    if corpus is None and (old_corpus is not None or repair is not None):
        raise InputError("--old-corpus and --repair need --corpus")
    if repair is not None:
        check_free(repair, overwrite=overwrite)
    problems = 0
    for path in _with_samples(paths):
        found = check_file(path, fields=pairs(field, "--field") or None, encoding=encoding)
        for problem in found.problems:
            print(problem)
        for warning in found.warnings:
            print(f"{path}: note: {warning}")
        if found.more:
            print(f"{path}: and {pluralize(found.more, 'more problem')}")
        print(f"{path}: {found.kind}, {pluralize(found.rows, 'row')}, {pluralize(found.total, 'problem')}")
        problems += found.total
    if corpus is not None and not problems:
        problems = _check_against_corpus(
            paths, corpus, old_corpus, repair, fields=pairs(field, "--field") or None, encoding=encoding
        )
    return 1 if problems else 0


def _with_samples(paths: list[Path]) -> list[Path]:
    """Return the paths, and for the folder of a question set also its samples file."""
    return [one for path in paths for one in (path, path / "samples.jsonl") if one is path or one.is_file()]


def _check_against_corpus(
    paths: list[Path],
    corpus: Path,
    old_corpus: Path | None,
    repair: Path | None,
    *,
    fields: dict[str, str] | None,
    encoding: str,
) -> int:
    """Check the labels of question sets against a corpus; return the number of labels that are not valid at the end."""
    from ..core.wording import pluralize
    from ..datasets.check_against_corpus import check_against_corpus
    from ..datasets.convert import write_contents
    from ..datasets.corpus import read_corpus
    from ..datasets.dataset import Dataset, EvalQuery
    from ..datasets.label_status import repair_labels
    from ..datasets.set_folder import write_set

    if repair is not None and len(paths) > 1:
        raise InputError("--repair writes one question set: give one path")
    current = read_corpus(corpus, encoding=encoding)
    previous = None if old_corpus is None else read_corpus(old_corpus, encoding=encoding)
    invalid = 0
    for path in paths:
        contents = _read_contents(path, fields, encoding)
        found = check_against_corpus(contents.samples, current, previous)
        print("\n".join([*current.notes, *found.lines()]))
        invalid += len(found.invalid)
        if repair is not None:
            contents.samples, left = repair_labels(contents.samples, found.labels)
            if (old := contents.dataset) is not None:
                queries = [EvalQuery.of(sample) for sample in contents.samples]
                contents.dataset = Dataset(old.name, old.version, queries, corpus=current.texts if old.corpus else None)
            lost = write_contents(repair, contents) if repair.suffix else []
            if not repair.suffix:
                write_set(repair, contents.samples, current)
            updated = pluralize(len(found.invalid) - len(left), "label")
            print(f"wrote {repair}: {updated} updated, {len(left)} unchanged")
            print("\n".join(f"not converted: {line}" for line in lost), end="\n" if lost else "")
            invalid = len(left)
    return invalid


def _read_contents(path: Path, fields: dict[str, str] | None, encoding: str) -> Contents:
    """Read a question set from samples, a dataset, qrels or a folder."""
    from ..datasets.convert import Contents, read_contents
    from ..evaluate.evaluate_system import read_set

    if (path / "samples.jsonl").is_file():
        return Contents("samples", read_set(path, fields=fields, encoding=encoding).samples)
    contents = read_contents(path, fields=fields, encoding=encoding)
    if contents.kind == "run":
        raise InputError("a run has no labels: expected samples, a dataset, qrels or a folder", path=path)
    return contents
