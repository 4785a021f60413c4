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
    """Starts a program once and sends it one question after the other: ``Command(["python", "rag.py"])``.

    The program reads ``{"question": …, "k": …}`` and writes an object (``answer``, ``contexts``, ``ids``, or other
    paths, named as for ``Http``), each on one line of UTF-8; ``{"error": "…"}`` fails that question. Parallel questions
    go to parallel processes. A process that writes no line within ``deadline`` seconds is killed; it is replaced for
    the next question, as is a process that has exited. No shell is used.
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
        """Send one question; AskFailed if the program fails, exceeds the deadline or writes no JSON."""
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
        self._timed_out = False

    def ask(self, question: bytes, deadline: float | None) -> bytes:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = None if deadline is None else threading.Timer(deadline, self._kill_at_deadline)
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
        if self._timed_out:
            raise AskFailed("timeout", f"no line within {deadline:g} s")
        raise AskFailed("failed", f"the command ended ({self._process.wait()}): {self._last_error_line()}")

    def _kill_at_deadline(self) -> None:
        self._timed_out = True
        self._process.kill()

    def _last_error_line(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read()[-4096:].decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:300] if lines else "no output on standard error"

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()
