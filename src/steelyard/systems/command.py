"""A system that is a program: one JSON line with the question in, one JSON line with the output out."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO

import msgspec

from ..core.errors import AskFailed, InputError
from .json_mapping import Paths
from .outputs import Output


class Command:
    """Runs a program once and asks it question by question: ``Command(["python", "rag.py"])``.

    It gets ``{"question": …, "k": …}`` and replies with an object (``answer``, ``contexts``, ``ids``; or other places,
    named as for ``Http``), each on one line of UTF-8; ``{"error": "…"}`` fails that question. Questions that come at
    once are asked of as many processes. One that says nothing within ``deadline`` seconds is ended and started anew,
    as is one that ended by itself. No shell is involved.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | PathLike[str] | None = None,
        deadline: float | None = 60.0,
        name: str = "",
        paths: Paths | None = None,
        **places: str,
    ) -> None:
        self.command = shlex.split(command) if isinstance(command, str) else list(command)
        if not self.command:
            raise InputError("a command needs a program")
        self.name, self.cwd, self.deadline = name or self.command[0], cwd, deadline
        program = self.command[0]
        if shutil.which(program if Path(program).name == program else str(Path(cwd or ".", program))) is None:
            raise InputError(f"cannot run {program!r}: no such program")
        self.paths = Paths(**places) if paths is None else paths
        self._idle: SimpleQueue[_Process] = SimpleQueue()

    def ask(self, question: str, k: int) -> Output:
        """Ask one question; AskFailed where the program fails, says nothing or something that is no JSON."""
        try:
            process = self._idle.get_nowait()
        except Empty:
            process = _Process(self.command, self.cwd)
        try:
            line = process.ask(msgspec.json.encode({"question": question, "k": k}), self.deadline)
        except AskFailed:
            process.end()
            raise
        self._idle.put(process)
        try:
            reply = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeError):
            raise AskFailed("bad_output", f"not a line of JSON: {line[:120]!r}") from None
        if isinstance(reply, Mapping) and (error := reply.get("error")):
            raise AskFailed("failed", str(error)[:300])
        return self.paths.read(reply)

    def close(self) -> None:
        """End the processes."""
        while not self._idle.empty():
            self._idle.get().end()

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Process:
    def __init__(self, command: Sequence[str], cwd: str | PathLike[str] | None) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own command, without a shell
                command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
            )
        except OSError as error:
            self._errors.close()
            raise InputError(f"cannot run {command[0]!r}: {error.strerror}") from None
        self._late = False

    def ask(self, question: bytes, deadline: float | None) -> bytes:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = None if deadline is None else threading.Timer(deadline, self._out_of_time)
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            self._process.stdin.write(question + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = b""
        finally:
            if timer is not None:
                timer.cancel()
        if line.endswith(b"\n"):
            return line
        if self._late:
            raise AskFailed("timeout", f"no line within {deadline:g} s")
        raise AskFailed("failed", f"the command ended ({self._process.wait()}): {self._last_words()}")

    def _out_of_time(self) -> None:
        self._late = True
        self._process.kill()

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read()[-4096:].decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:300] if lines else "it said nothing on standard error"

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()
