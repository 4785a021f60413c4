"""The ledger: what it keeps, what it survives, what it refuses."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from steelyard.core.errors import InputError
from steelyard.models.ledger import Entry, Ledger, Unusable, ledger_path, request_key


def entry(key: str, reply: str = '{"a":1}') -> Entry:
    return Entry(key=key, judge="j", prompt="p\n\u2028\x00", reply=reply, parsed=reply, finish="stop", estimated=True)


def test_rows_are_found_before_and_after_they_are_written(tmp_path: Path) -> None:
    """A reply is known at once, from the file later, and by another ledger on the same file."""
    ledger = Ledger(tmp_path / "deep" / "l.sqlite")
    assert ledger.reply("k") is None
    assert not (tmp_path / "deep").exists()
    ledger.add(entry("k"))
    before = ledger.reply("k")
    ledger.add_vectors([("v", [1.0, -0.5])])
    ledger.add(Unusable("k", "j", "p", "junk", "malformed", "why"))
    ledger.flush()
    assert ledger.reply("k") == before
    ledger.close()
    other = Ledger(tmp_path / "deep" / "l.sqlite")
    assert other.reply("k") == before
    assert list(other.vector("v") or ()) == [1.0, -0.5]
    assert [row.reply for row in other.unusable("k")] == ["junk"]
    other.close()


def test_the_first_reply_stays(tmp_path: Path) -> None:
    """The ledger only grows: a key is never rewritten."""
    ledger = Ledger(tmp_path / "l.sqlite")
    for reply in ("1", "2"):
        ledger.add(entry("k", reply))
        ledger.flush()
    assert ledger.reply("k").reply == "1"  # type: ignore[union-attr]
    ledger.close()


def test_a_closed_ledger_opens_again(tmp_path: Path) -> None:
    """One ledger serves several runs."""
    ledger = Ledger(tmp_path / "l.sqlite")
    for number in range(3):
        ledger.add(entry(f"k{number}"))
        ledger.close()
    assert all(ledger.reply(f"k{number}") for number in range(3))
    ledger.close()


def test_no_file_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name that SQLite gives to memory means no file."""
    monkeypatch.chdir(tmp_path)
    ledger = Ledger(":memory:")
    ledger.add(entry("k"))
    ledger.add(Unusable("k", "j", "p", "junk", "malformed", "why"))
    ledger.flush()
    assert ledger.reply("k") is not None
    assert [row.kind for row in ledger.unusable("k")] == ["malformed"]
    ledger.close()
    assert not list(tmp_path.iterdir())


def test_where_the_ledger_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """An argument counts before the environment, and that before the default."""
    monkeypatch.delenv("STEELYARD_LEDGER", raising=False)
    assert ledger_path() == Path(".steelyard/ledger.sqlite")
    monkeypatch.setenv("STEELYARD_LEDGER", "/tmp/x")
    assert ledger_path() == Path("/tmp/x")
    assert ledger_path("y") == Path("y")


def test_keys_change_with_all_that_changes_a_reply() -> None:
    """Prompt, shape, judge, draw and repeat each make another request."""
    base = ("prompt", b"shape", "judge", 0, 0)
    others = [
        ("prompt 2", *base[1:]),
        (base[0], b"s2", *base[2:]),
        (*base[:2], "j2", 0, 0),
        (*base[:3], 1, 0),
        (*base[:4], 1),
    ]
    assert len({request_key(*one) for one in (base, *others)}) == 6  # type: ignore[arg-type]


def test_what_is_no_ledger_is_one_clear_error(tmp_path: Path) -> None:
    """A broken file, another program's database and another version are named, and not written to."""
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"no database at all" * 100)
    foreign, newer = tmp_path / "foreign.sqlite", tmp_path / "newer.sqlite"
    for path, statement in ((foreign, "CREATE TABLE t (a)"), (newer, "PRAGMA user_version = 99")):
        with sqlite3.connect(path) as connection:
            connection.execute(statement)
        connection.close()
    for path, words in (
        (broken, "not a database"),
        (foreign, "another program"),
        (newer, "by version 99"),
        (tmp_path, "unable to open"),
    ):
        ledger = Ledger(path)
        with pytest.raises(InputError, match=words) as caught:
            ledger.add(entry("k"))
        assert str(caught.value).startswith(str(path))
        with pytest.raises(InputError, match=words):
            ledger.reply("k")


WRITER = """
import itertools, sys
from steelyard.models.ledger import Entry, Ledger
ledger = Ledger(sys.argv[1])
for number in itertools.count(int(sys.argv[2])):
    ledger.add(Entry(key=f"k{number}", judge="j", prompt="p" * 2000, reply=str(number), parsed=str(number)))
    if number % 50 == 49:
        ledger.flush()
        print(number, flush=True)
"""


@pytest.mark.long
def test_the_ledger_survives_kill_at_random_points(tmp_path: Path) -> None:
    """Twenty times: what was flushed before the kill is there, whole, and the file is sound."""
    path, rng, done = tmp_path / "l.sqlite", random.Random(0), 0
    for _ in range(20):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(done)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(rng.random() * 0.05)
        os.kill(writer.pid, signal.SIGKILL)
        told = [first, *writer.stdout.readlines()]
        writer.wait()
        writer.stdout.close()
        done = int(told[-1] if told[-1].endswith("\n") else told[-2]) + 1
        ledger = Ledger(path)
        assert ledger.reply(f"k{done - 1}").reply == str(done - 1)  # type: ignore[union-attr]
        ledger.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        (rows,) = connection.execute("SELECT count(*) FROM replies WHERE reply = parsed").fetchone()
    connection.close()
    assert rows >= done >= 1000


SHARER = """
import sys
from steelyard.models.ledger import Entry, Ledger
ledger = Ledger(sys.argv[1])
for number in range(300):
    key = f"{number}" if number % 3 == 0 else f"{sys.argv[2]}-{number}"
    ledger.add(Entry(key=key, judge="j", prompt="", reply="r", parsed="r"))
ledger.close()
"""


def test_processes_share_a_ledger(tmp_path: Path) -> None:
    """Four processes that begin it together lose no row and meet no lock."""
    path = tmp_path / "l.sqlite"
    writers = [subprocess.Popen([sys.executable, "-c", SHARER, str(path), str(number)]) for number in range(4)]
    assert [writer.wait() for writer in writers] == [0] * 4
    with sqlite3.connect(path) as connection:
        (rows,) = connection.execute("SELECT count(*) FROM replies").fetchone()
    connection.close()
    assert rows == 100 + 4 * 200
