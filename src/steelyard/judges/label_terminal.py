"""Labelling of a sheet in the terminal, sample by sample. Each label is saved at once.

Samples are untrusted text: control characters, which could move the cursor or rewrite the screen, are printed as
escapes.
"""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Callable, Mapping

from ..core.errors import InputError
from ..core.records import Sample
from .annotations import Sheet, value_of

HELP = "a number, yes or no · s skip · b back · q quit"
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SHOWN = ("question", "response", "claim_text", "reference", "contexts")


def visible(text: str) -> str:
    r"""Replace control characters by escapes; line breaks and tabs stay.

    >>> print(visible("a\x1b[2Jb\u202ec"))
    a\x1b[2Jb\u202ec
    """
    return _UNSEEN.sub(lambda found: ascii(found[0])[1:-1], text.replace("\r\n", "\n"))


def label_in_terminal(
    sheet: Sheet,
    samples: Mapping[str, Sample],
    *,
    bounds: tuple[float, float] | None = (0.0, 1.0),
    annotator: str = "",
    ask: Callable[[str], str] = input,
    write: Callable[[str], None] = print,
) -> int:
    """Ask for each missing value of the sheet, in order; return the number of new values.

    ``samples`` supply texts that the sheet lacks. A value must be within ``bounds``. ``s`` skips a row, ``b`` goes back
    to the previous one, ``q`` or the end of the input stops. Each value is saved at once.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> answers = iter(["1", "maybe", "no", "q"])
    >>> with TemporaryDirectory() as folder:
    ...     rows = [{"sample": name, "value": None} for name in "abc"]
    ...     sheet = Sheet(Path(folder) / "sheet.csv", ["sample", "value"], rows)
    ...     label_in_terminal(sheet, {}, ask=lambda prompt: next(answers), write=lambda line: None)
    2
    >>> [row["value"] for row in rows]
    ['1', '0', None]
    """
    value, sample = sheet.column("value"), sheet.column("sample")
    waiting = [at for at, row in enumerate(sheet.rows) if not row.get(value)]
    given, at = 0, 0
    while at < len(waiting):
        row = sheet.rows[waiting[at]]
        write(page(row, samples.get(row[sample] or ""), at + 1, len(waiting)))
        answer = _answer(ask, write, bounds)
        if answer == "q":
            break
        if answer == "b":
            at = max(at - 1, 0)
            continue
        if answer != "s":
            given += not row.get(value)
            row[value] = answer
            if annotator and "annotator" in sheet.columns:
                row["annotator"] = annotator
            sheet.save()
        at += 1
    return given


def _answer(ask: Callable[[str], str], write: Callable[[str], None], bounds: tuple[float, float] | None) -> str:
    """Ask until the answer is ``q``, ``b``, ``s`` or a valid value, and return it as text."""
    while True:
        try:
            given = ask(f"[{HELP}] ").strip()
        except EOFError:
            return "q"
        if given.casefold() in {"q", "b", "s"}:
            return given.casefold()
        try:
            number = value_of(given)
        except InputError as error:
            write(f"  {error.message}")
            continue
        if number is None:
            continue
        if bounds is not None and not bounds[0] <= number <= bounds[1]:
            write(f"  expected a number from {bounds[0]:g} to {bounds[1]:g}, found {number:g}")
            continue
        return f"{number:g}"


def page(row: Mapping[str, str | None], sample: Sample | None, number: int, of: int) -> str:
    """Format one sample for the terminal: question, response, claim, reference and contexts."""
    width = min(shutil.get_terminal_size((80, 24)).columns, 100)
    texts = {name: row.get(name) for name in _SHOWN}
    if sample is not None:
        texts["question"] = texts["question"] or sample.user_input
        texts["response"] = texts["response"] or sample.response
        texts["reference"] = texts["reference"] or "\n".join(sample.references)
        texts["contexts"] = "\n\n".join(f"{at}. {one}" for at, one in enumerate(sample.retrieved_contexts or (), 1))
    title = " · ".join(filter(None, (f"{number} of {of}", row.get("sample") or row.get("id"), row.get("metric"))))
    lines = ["", "─" * width, visible(title)]
    for name, text in texts.items():
        if text:
            lines += ["", f"{name.removesuffix('_text')}:"]
            lines += [
                textwrap.fill(part, width, initial_indent="  ", subsequent_indent="  ") if part.strip() else ""
                for part in visible(text).split("\n")
            ]
    return "\n".join([*lines, ""])
