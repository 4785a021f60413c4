"""The ledger: an append-only SQLite file that caches the replies to requests.

Rules of this file: the key of a request is a hash of everything that can change its reply. Usable replies and
embeddings are stored; failures are not; unusable replies are stored separately, as evidence. A row is in the file when
``add`` returns, so that a killed run loses only the calls in flight.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from array import array
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Protocol, TypeAlias

from msgspec import Struct, structs

from ..core.errors import InputError

VERSION = 1
DEFAULT = Path(".steelyard/ledger.sqlite")
MEMORY = ":memory:"
_TIDY = 250  # rows after which SQLite's log is moved into the file
_TRIES = 20  # to move all of it
_SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
  key TEXT PRIMARY KEY, judge TEXT, prompt TEXT, reply TEXT, parsed TEXT, finish TEXT, prompt_tokens INTEGER,
  completion_tokens INTEGER, estimated INTEGER, attempts INTEGER, seconds REAL, at REAL, asked_again TEXT);
CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB, at REAL);
CREATE TABLE IF NOT EXISTS unusable (key TEXT, judge TEXT, prompt TEXT, reply TEXT, kind TEXT, message TEXT, at REAL);
CREATE INDEX IF NOT EXISTS unusable_key ON unusable (key);
"""
_INSERT = {
    "replies": "INSERT OR IGNORE INTO replies VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
    "vectors": "INSERT OR IGNORE INTO vectors VALUES (?,?,?)",
    "unusable": "INSERT INTO unusable VALUES (?,?,?,?,?,?,?)",
}
Row: TypeAlias = tuple[object, ...]


class Entry(Struct, frozen=True):
    """A usable reply. ``parsed`` is its JSON; ``asked_again`` is the key of the second prompt, if one was needed."""

    key: str
    judge: str
    prompt: str
    reply: str
    parsed: str
    finish: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    attempts: int = 1
    seconds: float = 0.0
    at: float = 0.0
    asked_again: str | None = None


class Unusable(Struct, frozen=True):
    """An unusable reply, and the reason."""

    key: str
    judge: str
    prompt: str
    reply: str | None
    kind: str
    message: str
    at: float = 0.0


def request_key(prompt: str, shape: bytes, judge: str, draw: int = 0, repeat: int = 0) -> str:
    """The ledger key of a request: 32 hexadecimal digits that depend on prompt, shape, judge, draw and repeat.

    >>> request_key("Is it so?", b"", "a") == request_key("Is it so?", b"", "b")
    False
    """
    digest = blake2b(prompt.encode("utf-8", "surrogatepass"), digest_size=16)
    digest.update(f"\0{shape.hex()}\0{judge}\0{draw}\0{repeat}".encode())
    return digest.hexdigest()


def ledger_path(given: str | Path | None = None) -> Path:
    """The path of the ledger: as given, else STEELYARD_LEDGER, else ``./.steelyard/ledger.sqlite``."""
    return Path(given or os.environ.get("STEELYARD_LEDGER") or DEFAULT)


class ReplyStore(Protocol):
    """A store of replies: this file's ``Ledger`` on one machine, ``Segments`` in a job."""

    def reply(self, key: str) -> Entry | None:
        """Look up the usable reply to a request; None if there is none."""

    def vector(self, key: str) -> Sequence[float] | None:
        """Look up an embedding; None if there is none."""

    def unusable(self, key: str) -> list[Unusable]:
        """The unusable replies to a request, oldest first."""

    def add(self, row: Entry | Unusable) -> None:
        """Store a reply."""

    def add_vectors(self, vectors: Iterable[tuple[str, Sequence[float]]]) -> None:
        """Store embeddings under their keys."""

    def flush(self) -> None:
        """Wait until everything is stored."""

    def close(self) -> None:
        """Store all pending rows and release the files."""


class Ledger:
    """A ledger in a file that is created with the first row; ``Ledger(":memory:")`` uses no file.

    Processes may share the file. Raises InputError if the file cannot be read or written.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if str(path) == MEMORY else ledger_path(path)
        self._file: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._since_tidied = 0
        self._tidying: threading.Thread | None = None

    def reply(self, key: str) -> Entry | None:
        """Look up the usable reply to a request; None if there is none."""
        rows = self._rows("SELECT * FROM replies WHERE key = ?", key)
        if not rows:
            return None
        entry = Entry(*rows[0])  # type: ignore[arg-type]
        return structs.replace(entry, estimated=bool(entry.estimated))

    def vector(self, key: str) -> Sequence[float] | None:
        """Look up an embedding; None if there is none."""
        rows = self._rows("SELECT vector FROM vectors WHERE key = ?", key)
        if not rows:
            return None
        assert isinstance(rows[0][0], bytes)
        return array("f", rows[0][0])

    def unusable(self, key: str) -> list[Unusable]:
        """The unusable replies to a request, oldest first."""
        rows = self._rows("SELECT * FROM unusable WHERE key = ? ORDER BY rowid", key)
        return [Unusable(*row) for row in rows]  # type: ignore[arg-type]

    def add(self, row: Entry | Unusable) -> None:
        """Store a reply."""
        table, prompt = ("replies" if isinstance(row, Entry) else "unusable"), "" if self.path is None else row.prompt
        self._write(table, [structs.astuple(structs.replace(row, prompt=prompt, at=time.time()))])

    def add_vectors(self, vectors: Iterable[tuple[str, Sequence[float]]]) -> None:
        """Store embeddings under their keys, in single precision."""
        now = time.time()
        self._write("vectors", [(key, array("f", vector).tobytes(), now) for key, vector in vectors])

    def flush(self) -> None:
        """Do nothing: a row that was added is already in the file."""

    def close(self) -> None:
        """Close the file; the ledger can be used again. A ledger in memory keeps its rows."""
        with self._lock:
            tidying, self._tidying = self._tidying, None
        if tidying is not None:
            tidying.join()
        with self._lock:
            if self._file is not None and self.path is not None:
                self._file.close()
                self._file = None

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def _rows(self, query: str, key: str) -> list[Row]:
        with self._lock:
            file = self._open(make=False)
            if file is None:
                return []
            try:
                return file.execute(query, (key,)).fetchall()
            except sqlite3.Error as error:
                raise self._unreadable(error) from None

    def _write(self, table: str, rows: Sequence[Row]) -> None:
        with self._lock:
            file = self._open(make=True)
            assert file is not None
            try:
                if len(rows) == 1:  # a transaction of its own
                    file.execute(_INSERT[table], rows[0])
                else:
                    file.execute("BEGIN IMMEDIATE")
                    file.executemany(_INSERT[table], rows)
                    file.execute("COMMIT")
            except sqlite3.Error as error:
                raise self._unreadable(error) from None
            self._since_tidied += len(rows)
            if self._since_tidied >= _TIDY and self.path is not None:
                self._since_tidied = 0
                self._tidy(self.path)

    def _tidy(self, path: Path) -> None:
        """Move rows from SQLite's log into its file, in a thread, since that waits for the disk."""
        if self._tidying is None or not self._tidying.is_alive():
            self._tidying = threading.Thread(target=_move, args=(path,), name="steelyard-ledger", daemon=True)
            self._tidying.start()

    def _open(self, *, make: bool) -> sqlite3.Connection | None:
        if self._file is None and (make or (self.path is not None and self.path.exists())):
            self._file = self._connect()
        return self._file

    def _connect(self) -> sqlite3.Connection:
        try:
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(
                self.path or MEMORY, timeout=30.0, isolation_level=None, check_same_thread=False
            )
        except (OSError, sqlite3.Error) as error:
            raise self._unreadable(error) from None
        try:
            _prepare(connection)
        except (ValueError, sqlite3.Error) as error:
            connection.close()
            raise self._unreadable(error) from None
        return connection

    def _unreadable(self, error: Exception) -> InputError:
        return InputError(f"cannot be used as a ledger: {error} (move it, or name another file)", path=self.path)


def _move(path: Path) -> None:
    with suppress(sqlite3.Error):  # a later call does it
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, isolation_level=None)
        try:
            before = -1
            for _ in range(_TRIES):
                _, logged, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                if logged == before:  # no writes meanwhile: the next writer restarts the log
                    break
                before = logged
        finally:
            connection.close()


def _prepare(connection: sqlite3.Connection) -> None:
    """Set up a connection and create the tables in an empty file; ValueError for another program's file."""
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")  # another process may be creating them too
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if version == 0 and tables:
            raise ValueError("a database of another program")
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {version or VERSION}")
        connection.execute("COMMIT")
    if version not in {0, VERSION}:
        raise ValueError(f"written by version {version}, this is {VERSION}")
