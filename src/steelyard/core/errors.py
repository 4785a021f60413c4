"""What can go wrong, named by whose fault it is.

    SteelyardError              .exit_code 1: it could not run
    ├── InputError              yours: a file, a row, a field, an argument (also a ValueError)
    │   ├── UnknownName         no such metric, group, column: lists the nearest (also a LookupError)
    │   └── InputErrors         several at once, each with its place
    ├── WrongType               yours: an object of a kind that cannot be used here (also a TypeError)
    ├── MissingExtra            the installation's: says what to install (also an ImportError)
    ├── Stopped                 nobody's: a job was stopped or lost its workers, and can be gone on with
    ├── AskFailed               the endpoint's, or a limit of yours: no reply to be had
    └── BadReply                the judge's: a reply that cannot be used

``AskFailed`` and ``BadReply`` end one cell of a table as ``failed``; the others end the command.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TypeVar

Amount = TypeVar("Amount", bound=float | None)


class SteelyardError(Exception):
    """The parent of all; never raised itself."""

    exit_code = 1


class InputError(SteelyardError, ValueError):
    """Bad input: what was found, where, and what was expected, in one line.

    >>> str(InputError("score is not a number: 'high'", path="a.run", line=3, field="score"))
    "a.run:3: score: score is not a number: 'high'"
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | PathLike[str] | None = None,
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        self.message, self.line, self.field = message, line, field
        self.path = None if path is None else fspath(path)
        super().__init__(message)

    def __str__(self) -> str:
        place = self.path or ""
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"line {self.line}"
        return ": ".join(part for part in (place, self.field, self.message) if part)


class UnknownName(InputError, LookupError):
    """A name that is on no list; the message carries the nearest names."""


class InputErrors(InputError):
    """All problems of one input at once, one line each."""

    def __init__(self, problems: Iterable[InputError]) -> None:
        self.problems: Sequence[InputError] = list(problems)
        super().__init__(f"{len(self.problems)} problems")

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class WrongType(SteelyardError, TypeError):
    """An object of a kind that cannot be used here."""


class MissingExtra(SteelyardError, ImportError):
    """An optional dependency is absent.

    >>> str(MissingExtra("bm25s", extra="systems"))
    "bm25s is not installed: pip install 'steelyard[systems]'"
    """

    def __init__(self, module: str, *, extra: str) -> None:
        super().__init__(f"{module} is not installed: pip install 'steelyard[{extra}]'")


class Stopped(SteelyardError):
    """A job ended before it was done; started again, it goes on where it was left."""


class AskFailed(SteelyardError):
    """No reply: transport, rate limit, deadline, budget or ``--offline``. ``kind`` is a short stable word."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind, self.message = kind, message
        super().__init__(kind, message)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


class BadReply(SteelyardError):
    """A reply that cannot be used (malformed, truncated, refusal, …). ``reply`` is the raw text, as evidence."""

    def __init__(self, kind: str, message: str, reply: str | None = None) -> None:
        self.kind, self.message, self.reply = kind, message, reply
        super().__init__(kind, message)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


def reason_of(error: BaseException) -> str:
    """An exception in one line: its type, its words, and where it arose.

    >>> reason_of(BadReply("empty", "the reply has no text"))
    'empty: the reply has no text'
    >>> reason_of(ValueError("no index:\\n  it is closed"))
    'ValueError: no index: it is closed'
    """
    words = " ".join(str(error).encode("utf-8", "backslashreplace").decode().split())
    if isinstance(error, AskFailed | BadReply):
        return words
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {words}{place}"


def within(name: str, value: Amount, low: float, high: float | None = None) -> Amount:
    """A finite number from ``low`` to ``high``, or InputError that says which number it is; None is no number.

    >>> within("max_failed", 0.1, 0, 1)
    0.1
    >>> within("budget", float("nan"), 0)
    Traceback (most recent call last):
    ...
    steelyard.core.errors.InputError: budget=nan: must be at least 0
    """
    if value is not None and not low <= value <= (sys.float_info.max if high is None else high):
        raise InputError(
            f"{name}={value:g}: must be " + (f"at least {low:g}" if high is None else f"in [{low:g}, {high:g}]")
        )
    return value
