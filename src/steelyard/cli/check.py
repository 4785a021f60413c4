"""``steelyard check`` and ``steelyard convert``: files before and between evaluations."""

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
    paths: Annotated[list[Path], typer.Argument(help="Samples, datasets, qrels, runs or BEIR folders.")],
    corpus: Annotated[Path | None, typer.Option(help="Corpus to check the labels against.")] = None,
    old_corpus: Annotated[
        Path | None, typer.Option(help="Corpus for which the labels were made, if it has changed since.")
    ] = None,
    repair: Annotated[
        Path | None, typer.Option(help="Write the set with updated labels to this file or folder.")
    ] = None,
    overwrite: Overwrite = False,
    field: Fields = None,
    encoding: Encoding = "utf-8",
) -> int:
    """Look for everything that is wrong with files, all at once, each with its line.

    With --corpus every label (document, chunk or span) is valid, moved, merged, split or gone, and --repair re-anchors
    what is certain. Exit code 1 where there is a problem left.
    """
    from ..core.wording import pluralize
    from ..datasets.check_file import check as look

    if corpus is None and (old_corpus is not None or repair is not None):
        raise InputError("--old-corpus and --repair need --corpus")
    if repair is not None:
        check_free(repair, overwrite=overwrite)
    wrong = 0
    for path in _with_samples(paths):
        found = look(path, fields=pairs(field, "--field") or None, encoding=encoding)
        for problem in found.problems:
            print(problem)
        for warning in found.warnings:
            print(f"{path}: note: {warning}")
        if found.more:
            print(f"{path}: and {pluralize(found.more, 'more problem')}")
        print(f"{path}: {found.kind}, {pluralize(found.rows, 'row')}, {pluralize(found.total, 'problem')}")
        wrong += found.total
    if corpus is not None and not wrong:
        wrong = _against(paths, corpus, old_corpus, repair, pairs(field, "--field") or None, encoding)
    return 1 if wrong else 0


def _with_samples(paths: list[Path]) -> list[Path]:
    """The paths, and of folders that are sets their samples too."""
    return [one for path in paths for one in (path, path / "samples.jsonl") if one is path or one.is_file()]


def _against(
    paths: list[Path],
    corpus: Path,
    old_corpus: Path | None,
    repair: Path | None,
    fields: dict[str, str] | None,
    encoding: str,
) -> int:
    """Hold sets against a corpus; how many labels are not valid, or could not be repaired."""
    from ..core.wording import pluralize
    from ..datasets.check_against_corpus import check_against_corpus
    from ..datasets.convert import write_contents
    from ..datasets.corpus import read_corpus
    from ..datasets.dataset import Dataset, EvalQuery
    from ..datasets.label_status import repair_labels
    from ..datasets.set_folder import write_set

    if repair is not None and len(paths) > 1:
        raise InputError("--repair writes one set: give one path")
    now, then = (
        read_corpus(corpus, encoding=encoding),
        None if old_corpus is None else read_corpus(old_corpus, encoding=encoding),
    )
    wrong = 0
    for path in paths:
        contents = _labelled(path, fields, encoding)
        found = check_against_corpus(contents.samples, now, then)
        print("\n".join([*now.notes, *found.lines()]))
        wrong += len(found.invalid)
        if repair is not None:
            contents.samples, left = repair_labels(contents.samples, found.labels)
            if (old := contents.dataset) is not None:
                queries = [EvalQuery.of(sample) for sample in contents.samples]
                contents.dataset = Dataset(old.name, old.version, queries, corpus=now.texts if old.corpus else None)
            lost = write_contents(repair, contents) if repair.suffix else []
            if not repair.suffix:
                write_set(repair, contents.samples, now)
            mended = pluralize(len(found.invalid) - len(left), "label")
            said = "it was" if len(left) == 1 else "they were"
            print(f"wrote {repair}: {mended} re-anchored, {len(left)} left as {said}")
            print("\n".join(f"not written: {line}" for line in lost), end="\n" if lost else "")
            wrong = len(left)
    return wrong


def _labelled(path: Path, fields: dict[str, str] | None, encoding: str) -> Contents:
    """What a set holds, in whatever format: samples, a dataset, qrels, a folder."""
    from ..datasets.convert import Contents, read_contents
    from ..evaluate.evaluate_system import read_set

    if (path / "samples.jsonl").is_file():
        return Contents("samples", read_set(path, fields=fields, encoding=encoding).samples)
    contents = read_contents(path, fields=fields, encoding=encoding)
    if contents.kind == "run":
        raise InputError("a run has no labels: expected samples, a dataset, qrels or a folder", path=path)
    return contents
