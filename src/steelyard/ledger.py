"""What was asked before, and what the answer was: an append-only SQLite file.

Rules of this file: a request is found by a hash of all that can change its reply. Usable replies and embeddings are
kept; failures are not; unusable replies are kept apart, as evidence. Rows are written by a thread of the ledger's
own, at once, and together with what comes while it writes; until then they are found in memory.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from array import array
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, structs

from .errors import InputError

VERSION = 1
DEFAULT = Path(".steelyard/ledger.sqlite")
_LOOK = 0.05  # seconds after which a reader sees what other processes have written
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
    """A usable reply. ``parsed`` is its JSON; ``asked_again`` the key of the second prompt where one was needed."""

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
    """A reply that could not be used, and why."""

    key: str
    judge: str
    prompt: str
    reply: str | None
    kind: str
    message: str
    at: float = 0.0


def request_key(prompt: str, shape: bytes, judge: str, draw: int = 0, repeat: int = 0) -> str:
    """The name of a request: 32 hexadecimal digits that change with prompt, shape, judge, draw and repeat.

    >>> request_key("Is it so?", b"", "a") == request_key("Is it so?", b"", "b")
    False
    """
    digest = blake2b(prompt.encode("utf-8", "surrogatepass"), digest_size=16)
    digest.update(f"\0{shape.hex()}\0{judge}\0{draw}\0{repeat}".encode())
    return digest.hexdigest()


def ledger_path(given: str | Path | None = None) -> Path:
    """Where the ledger is: what is given, else STEELYARD_LEDGER, else ``./.steelyard/ledger.sqlite``."""
    return Path(given or os.environ.get("STEELYARD_LEDGER") or DEFAULT)


class Ledger:
    """A ledger in a file that is made when the first row is written; ``Ledger(":memory:")`` keeps no file.

    Processes may share the file. Raises InputError where the file cannot be read or written.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if str(path) == ":memory:" else ledger_path(path)
        self._replies: dict[str, Entry] = {}
        self._vectors: dict[str, array[float]] = {}
        self._waiting: list[tuple[str, str, Row]] = []
        self._unusable: list[Unusable] = []
        self._reader: sqlite3.Connection | None = None
        self._stale, self._seen = True, 0.0
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._closing = False
        self._broken: InputError | None = None

    def reply(self, key: str) -> Entry | None:
        """The usable reply to a request, if there is one."""
        if (entry := self._replies.get(key)) is not None:
            return entry
        rows = self._rows("SELECT * FROM replies WHERE key = ?", key)
        if not rows:
            return None
        entry = Entry(*rows[0])  # type: ignore[arg-type]
        return structs.replace(entry, estimated=bool(entry.estimated))

    def vector(self, key: str) -> Sequence[float] | None:
        """An embedding, if it is there."""
        if (vector := self._vectors.get(key)) is not None:
            return vector
        rows = self._rows("SELECT vector FROM vectors WHERE key = ?", key)
        if not rows:
            return None
        assert isinstance(rows[0][0], bytes)
        return array("f", rows[0][0])

    def unusable(self, key: str) -> list[Unusable]:
        """The unusable replies to a request, oldest first."""
        self.flush()
        rows = self._rows("SELECT * FROM unusable WHERE key = ? ORDER BY rowid", key)
        return [one for one in self._unusable if one.key == key] + [Unusable(*row) for row in rows]  # type: ignore[arg-type]

    def add(self, row: Entry | Unusable) -> None:
        """Keep a reply."""
        self._begin()
        stamped = structs.replace(row, at=time.time())
        if isinstance(stamped, Entry):
            self._replies[stamped.key] = structs.replace(stamped, prompt="") if self.path is None else stamped
        elif self.path is None:
            self._unusable.append(stamped)
        self._write("replies" if isinstance(stamped, Entry) else "unusable", stamped.key, structs.astuple(stamped))

    def add_vector(self, key: str, vector: Sequence[float]) -> None:
        """Keep an embedding, in single precision."""
        self._begin()
        self._vectors[key] = kept = array("f", vector)
        self._write("vectors", key, (key, kept.tobytes(), time.time()))

    def flush(self) -> None:
        """Wait until everything is in the file."""
        while self._thread is not None and self._thread.is_alive() and self._waiting:
            self._wake.set()
            time.sleep(0.001)
        if self._broken is not None:
            raise self._broken

    def close(self) -> None:
        """Write what is left and close the file; the ledger can be used again."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._closing = True
            self._wake.set()
            thread.join()
            self._closing = False
        with self._lock:
            if self._reader is not None:
                self._reader.close()
            self._reader = None
        if self._broken is not None:
            raise self._broken

    def _rows(self, query: str, key: str) -> list[Row]:
        with self._lock:
            reader = self._open_reader()
            if reader is None:
                return []
            try:
                if self._stale or time.monotonic() - self._seen > _LOOK:
                    self._look_again(reader)
                return reader.execute(query, (key,)).fetchall()
            except sqlite3.Error as error:
                raise self._unreadable(error) from None

    def _look_again(self, reader: sqlite3.Connection) -> None:
        """See what has been written meanwhile. In between, one look serves many queries, which is much cheaper."""
        if reader.in_transaction:
            reader.execute("COMMIT")
        self._stale = False
        reader.execute("BEGIN")
        self._seen = time.monotonic()

    def _open_reader(self) -> sqlite3.Connection | None:
        if self._reader is None and self.path is not None and self.path.exists():
            self._reader = self._connect(self.path)
        return self._reader

    def _connect(self, path: Path) -> sqlite3.Connection:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=30.0, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise self._unreadable(error) from None
        try:
            _prepare(connection)
        except (ValueError, sqlite3.Error) as error:
            connection.close()
            raise self._unreadable(error) from None
        return connection

    def _unreadable(self, error: Exception) -> InputError:
        return InputError(f"cannot be used as a ledger: {error} (move it away, or name another)", path=self.path)

    def _begin(self) -> None:
        """Make the file at the first row. What is wrong with it is said here, to who comes with a row."""
        if self._broken is not None:
            raise self._broken
        if self.path is not None and self._thread is None:
            self._connect(self.path).close()
            self._thread = threading.Thread(target=self._keep_writing, name="steelyard-ledger", daemon=True)
            self._thread.start()

    def _write(self, table: str, key: str, row: Row) -> None:
        if self.path is not None:
            self._waiting.append((table, key, row))
            self._wake.set()

    def _keep_writing(self) -> None:
        assert self.path is not None
        try:
            connection = self._connect(self.path)
            while not (self._closing and not self._waiting):
                self._wake.wait()
                self._wake.clear()
                self._commit(connection)
            connection.close()
        except InputError as error:
            self._broken = error

    def _commit(self, connection: sqlite3.Connection) -> None:
        batch = self._waiting[:]
        if not batch:
            return
        try:
            connection.execute("BEGIN IMMEDIATE")
            for table, statement in _INSERT.items():
                connection.executemany(statement, [row for name, _, row in batch if name == table])
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._unreadable(error) from None
        self._stale = True  # before the rows leave memory, so that no query misses them in both places
        del self._waiting[: len(batch)]
        for _, key, _ in batch:
            self._replies.pop(key, None)
            self._vectors.pop(key, None)


def _prepare(connection: sqlite3.Connection) -> None:
    """Set a connection up, and make the tables in an empty file. Another program's file is a ValueError."""
    connection.execute("PRAGMA synchronous = NORMAL")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")  # another process may be making them too
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if version == 0 and tables:
            raise ValueError("it is a database of something else")
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {version or VERSION}")
        connection.execute("COMMIT")
    if version not in {0, VERSION}:
        raise ValueError(f"it is of version {version}, this is {VERSION}")
