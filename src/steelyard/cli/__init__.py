"""The command line, with one file per command."""

from __future__ import annotations

import re
import shlex
import sys
import warnings
from importlib import import_module
from io import TextIOWrapper

import typer

from ..core.errors import SteelyardError
from ..core.records import COMMAND
from .app import app

# Each command imports its libraries inside its function, so that `steelyard --help` starts quickly.

VERBS = (
    "demo", "rank", "eval", "run", "merge", "compare", "show", "history", "metrics", "check", "convert",
    "synth", "review", "calibrate", "label", "agreement", "drift", "prefer",
)  # fmt: skip
"""The modules of the commands, in the order of the help. Importing a module registers its command."""


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit; an error of the user prints one line on standard error, never a traceback."""
    sys.exit(invoke(args))


def invoke(args: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for verb in VERBS:
        import_module(f".{verb}", __package__)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    given = sys.argv[1:] if args is None else args
    command_token, previous_format = COMMAND.set(command_line(given)), warnings.formatwarning
    warnings.formatwarning = _format_warning
    try:
        return app(given or ["--help"], standalone_mode=False) or 0
    except SteelyardError as error:
        print(f"steelyard: {error}", file=sys.stderr)
        return error.exit_code
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        if context is not None:
            print(context.get_usage(), file=sys.stderr)
        print(f"steelyard: {error.format_message()}", file=sys.stderr)
        return 1
    except typer.Abort:
        return 130
    except KeyboardInterrupt:
        print("steelyard: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:
        place = "" if error.filename is None else f"{error.filename}: "
        print(f"steelyard: {place}{(error.strerror or str(error)).lower()}", file=sys.stderr)
        return 1
    finally:
        COMMAND.reset(command_token)
        warnings.formatwarning = previous_format


def _format_warning(message: Warning | str, *_: object, **__: object) -> str:
    """Format a warning as one line, without the source location that Python adds."""
    return f"steelyard: warning: {' '.join(str(message).split())}\n"


def command_line(args: list[str]) -> str:
    """Return the command as a shell line; the part of an address before ``@`` is removed, as it may be a password.

    >>> command_line(["eval", "my data.jsonl", "--judge", "http://ann:pw@host/v1#m"])
    "steelyard eval 'my data.jsonl' --judge 'http://…@host/v1#m'"
    """
    return re.sub(r"(?<=://)[^/@\s]*@", "…@", shlex.join(["steelyard", *args]))
