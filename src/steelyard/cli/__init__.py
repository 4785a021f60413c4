"""The command line. Each verb is a module; what is heavy is imported when the verb runs."""

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

VERBS = (
    "demo", "rank", "eval", "run", "merge", "compare", "show", "history", "metrics", "check", "convert",
    "synth", "review", "calibrate", "label", "agreement", "drift", "prefer",
)  # fmt: skip
"""The modules of the verbs; importing one adds its verb. Help lists them in this order."""


def main(args: list[str] | None = None) -> None:
    """Run the command line; a user's mistake ends in one line on standard error, never in a traceback."""
    sys.exit(invoke(args))


def invoke(args: list[str] | None = None) -> int:
    """The exit code of one command."""
    for verb in VERBS:
        import_module(f".{verb}", __package__)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    given = sys.argv[1:] if args is None else args
    asked, shown = COMMAND.set(command_line(given)), warnings.formatwarning
    warnings.formatwarning = _remark
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
        COMMAND.reset(asked)
        warnings.formatwarning = shown


def _remark(message: Warning | str, *_: object, **__: object) -> str:
    """A warning as one line for people, without the place in our code that gave it."""
    return f"steelyard: warning: {' '.join(str(message).split())}\n"


def command_line(args: list[str]) -> str:
    """The command as it can be typed again, without what stands before an @ in an address: that may be a password.

    >>> command_line(["eval", "my data.jsonl", "--judge", "http://ann:pw@host/v1#m"])
    "steelyard eval 'my data.jsonl' --judge 'http://…@host/v1#m'"
    """
    return re.sub(r"(?<=://)[^/@\s]*@", "…@", shlex.join(["steelyard", *args]))
