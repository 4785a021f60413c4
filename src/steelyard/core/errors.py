"""The exceptions of the package, one class for each cause.

    SteelyardError              .exit_code 1: the command could not run
    ├── InputError              the user's input: a file, a row, a field, an argument (also a ValueError)
    │   ├── UnknownName         no such metric, group or column; lists the nearest names (also a LookupError)
    │   └── InputErrors         several problems at once, each with its location
    ├── WrongType               the user's argument: an object of an unsupported type (also a TypeError)
    ├── MissingExtra            the installation: names the package to install (also an ImportError)
    ├── Stopped                 a job was stopped or lost its workers; it resumes when it is started again
    ├── AskFailed               the endpoint, or a limit set by the user: no reply was received
    └── BadReply                the judge: its reply cannot be used

``AskFailed`` and ``BadReply`` mark one cell of a score table as ``failed``; the others end the command.
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
    """The base class of all errors of the package; never raised itself."""

    exit_code = 1


class InputError(SteelyardError, ValueError):
    """Invalid input; the message states location, value found and value expected in one line.

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
        location = self.path or ""
        if self.line is not None:
            location = f"{location}:{self.line}" if location else f"line {self.line}"
        return ": ".join(part for part in (location, self.field, self.message) if part)


class UnknownName(InputError, LookupError):
    """A name that does not exist; the message lists the nearest names that do."""


class InputErrors(InputError):
    """Several problems of one input, printed one a line."""

    def __init__(self, problems: Iterable[InputError]) -> None:
        self.problems: Sequence[InputError] = list(problems)
        super().__init__(f"{len(self.problems)} problems")

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class WrongType(SteelyardError, TypeError):
    """An argument of a type that the function does not support."""


class MissingExtra(SteelyardError, ImportError):
    """An optional dependency is not installed.

    >>> str(MissingExtra("bm25s", extra="systems"))
    "bm25s is not installed: pip install 'steelyard[systems]'"
    """

    def __init__(self, module: str, *, extra: str) -> None:
        super().__init__(f"{module} is not installed: pip install 'steelyard[{extra}]'")


class Stopped(SteelyardError):
    """A job ended before it was complete; it resumes from its stored results when it is started again."""


class AskFailed(SteelyardError):
    """No reply: transport, rate limit, deadline, budget or ``--offline``. ``kind`` is a short word that is stable."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind, self.message = kind, message
        super().__init__(kind, message)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


class BadReply(SteelyardError):
    """A reply that cannot be used (malformed, truncated, refusal, …). ``reply`` is its raw text, for evidence."""

    def __init__(self, kind: str, message: str, reply: str | None = None) -> None:
        self.kind, self.message, self.reply = kind, message, reply
        super().__init__(kind, message)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


def reason_of(error: BaseException) -> str:
    """Describe an exception in one line: its type, its message, and the file and line that raised it.

    >>> reason_of(BadReply("empty", "the reply has no text"))
    'empty: the reply has no text'
    >>> reason_of(ValueError("no index:\\n  it is closed"))
    'ValueError: no index: it is closed'
    """
    message = " ".join(str(error).encode("utf-8", "backslashreplace").decode().split())
    if isinstance(error, AskFailed | BadReply):
        return message
    frames = traceback.extract_tb(error.__traceback__)
    location = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {message}{location}"


def check_range(name: str, value: Amount, low: float, high: float | None = None) -> Amount:
    """Return ``value`` if it is a finite number from ``low`` to ``high``, or None; else raise InputError with its name.

    >>> check_range("max_failed", 0.1, 0, 1)
    0.1
    >>> check_range("budget", float("nan"), 0)
    Traceback (most recent call last):
    ...
    steelyard.core.errors.InputError: budget=nan: must be at least 0
    """
    if value is not None and not low <= value <= (sys.float_info.max if high is None else high):
        raise InputError(
            f"{name}={value:g}: must be " + (f"at least {low:g}" if high is None else f"in [{low:g}, {high:g}]")
        )
    return value
