"""The ledger of one part of a job: append-only segments, a new one for every attempt.

Rules of this file: there are no locks and no waits. An attempt writes to its own files and has read those of all
earlier attempts, so that an abandoned attempt that still runs does no harm. The first of several replies to a request
counts. A last line that was cut off by a kill is ignored. If files can grow, a row is in the file when ``add`` returns;
if they are written as a whole (object stores), rows are uploaded every ``every`` seconds or every ``many`` rows.
"""

from __future__ import annotations

import threading
import time
from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from typing import IO
from uuid import uuid4

import msgspec
from msgspec import Struct, structs

from ..core.errors import InputError
from ..core.validation import decode_problem
from ..io.storage import Folder
from .ledger import Entry, Unusable

EVERY, MANY = 2.0, 500


class _Vector(Struct, frozen=True):
    """An embedding: single-precision numbers, little-endian, in base64."""

    key: str
    numbers: str
    at: float = 0.0


class _Line(Struct, frozen=True, omit_defaults=True):
    """A line of a segment: a reply, an unusable reply or a vector."""

    reply: Entry | None = None
    unusable: Unusable | None = None
    vector: _Vector | None = None

    @property
    def at(self) -> float:
        return next(one.at for one in (self.reply, self.unusable, self.vector) if one is not None)


class Segments:
    """The ledger in a folder of segments, which is read when it is opened."""

    def __init__(self, folder: Folder, place: str, *, every: float = EVERY, many: int = MANY) -> None:
        self.folder, self.place = folder, place
        self.attempt = uuid4().hex
        self.replies: dict[str, Entry] = {}
        self.vectors: dict[str, array[float]] = {}
        self._unusable: dict[str, list[Unusable]] = {}
        for line in read_segments(folder, place):
            self._index(line)
        self._unclaimed = set(self.replies)
        self._file: IO[bytes] | None = None
        self._every, self._many = every, many
        self._waiting: list[bytes] = []
        self._uploads = 0
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._sender: threading.Thread | None = None
        self._closing = False
        self._broken: Exception | None = None

    def reply(self, key: str) -> Entry | None:
        """Look up the usable reply to a request; None if there is none."""
        return self.replies.get(key)

    def vector(self, key: str) -> Sequence[float] | None:
        """Look up an embedding; None if there is none."""
        return self.vectors.get(key)

    def unusable(self, key: str) -> list[Unusable]:
        """The unusable replies to a request, oldest first."""
        return self._unusable.get(key, [])

    def add(self, row: Entry | Unusable) -> None:
        """Store a reply."""
        stamped = structs.replace(row, at=time.time())
        self._write([_Line(reply=stamped) if isinstance(stamped, Entry) else _Line(unusable=stamped)])

    def add_vectors(self, vectors: Iterable[tuple[str, Sequence[float]]]) -> None:
        """Store embeddings under their keys, in single precision."""
        now = time.time()
        packed = [(key, array("f", vector).tobytes()) for key, vector in vectors]
        self._write([_Line(vector=_Vector(key, b64encode(numbers).decode(), now)) for key, numbers in packed])

    def claimed(self, keys: Iterable[str]) -> list[Entry]:
        """The replies under some keys that an earlier attempt paid for and that were not claimed before."""
        wanted = dict.fromkeys(key for key in keys if key in self._unclaimed)
        self._unclaimed.difference_update(wanted)
        return [self.replies[key] for key in wanted]

    def flush(self) -> None:
        """Wait until everything is stored."""
        self._send()
        if self._broken is not None:
            raise self._broken

    def close(self) -> None:
        """Store all pending rows and close the segment."""
        sender, self._sender = self._sender, None
        if sender is not None:
            self._closing = True
            self._wake.set()
            sender.join()
            self._closing = False
        self.flush()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _index(self, line: _Line) -> None:
        if line.reply is not None:
            self.replies.setdefault(line.reply.key, line.reply)
        if line.vector is not None:
            self.vectors.setdefault(line.vector.key, array("f", b64decode(line.vector.numbers)))
        if line.unusable is not None:
            self._unusable.setdefault(line.unusable.key, []).append(line.unusable)

    def _write(self, lines: Sequence[_Line]) -> None:
        if self._broken is not None:
            raise self._broken
        for line in lines:
            self._index(line)
        content = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        if self._file is None and self._sender is None:
            self._file = self.folder.open_append(f"{self.place}/{self.attempt}.jsonl")
        if self._file is not None:
            try:
                self._file.write(content)
            except OSError as error:
                raise InputError(f"cannot be written: {error}", path=f"{self.folder.name}/{self.place}") from None
            return
        with self._lock:
            self._waiting += [content] * bool(content)
            if len(self._waiting) >= self._many:
                self._wake.set()
        if self._sender is None:
            self._sender = threading.Thread(target=self._keep_sending, name="steelyard-segments", daemon=True)
            self._sender.start()

    def _keep_sending(self) -> None:
        while not self._closing:
            self._wake.wait(self._every)
            self._wake.clear()
            try:
                self._send()
            except Exception as error:  # noqa: BLE001 - every store has its own errors; the next ``add`` raises it
                self._broken = error
                return

    def _send(self) -> None:
        with self._lock:
            if self._waiting:
                place = f"{self.place}/{self.attempt}-{self._uploads:06}.jsonl"
                self.folder.write(place, b"".join(self._waiting))
                self._waiting.clear()
                self._uploads += 1


def read_segments(folder: Folder, place: str) -> Iterator[_Line]:
    """Read the lines of all segments, oldest first."""
    lines: list[_Line] = []
    decoder = msgspec.json.Decoder(_Line)
    for name in folder.list(place):
        content = folder.read(f"{place}/{name}") or b""
        whole = content.split(b"\n")[:-1]  # text after the last line end was cut off
        for number, line in enumerate(whole, 1):
            try:
                lines.append(decoder.decode(line))
            except msgspec.DecodeError as error:
                where = f"{folder.name}/{place}/{name}"
                raise InputError(f"not a line of a segment: {decode_problem(error)}", path=where, line=number) from None
    yield from sorted(lines, key=lambda line: line.at)


def compact(folder: Folder, place: str) -> None:
    """Replace several segments by one with each request once. Writes to an old segment do no harm."""
    names = folder.list(place)
    if len(names) < 2:
        return
    seen: set[str] = set()
    lines = []
    for line in read_segments(folder, place):
        key = None if (row := line.reply or line.vector) is None else row.key
        if key is None or key not in seen:
            lines.append(msgspec.json.encode(line) + b"\n")
        if key is not None:
            seen.add(key)
    folder.write(f"{place}/{uuid4().hex}.jsonl", b"".join(lines))
    for name in names:
        folder.remove(f"{place}/{name}")
