"""The ledger of a part: segments that only grow, in a folder and in a store of whole objects."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from steelyard.core.errors import InputError, MissingExtra
from steelyard.io.storage import Folder, folder_at
from steelyard.models.ledger import Entry, Unusable
from steelyard.models.ledger_segments import Segments, compact


@pytest.fixture(params=["path", "file", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Folder]:
    """A folder of this machine, and the same behind a URL."""
    if request.param == "path":
        yield folder_at(str(tmp_path / "job"))
        return
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    yield folder_at(f"memory://{uuid4().hex}" if request.param == "memory" else f"file://{tmp_path}/job")


def entry(key: str, reply: str = "yes", **more: object) -> Entry:
    return Entry(key=key, judge="j", prompt="p", reply=reply, parsed=f'"{reply}"', **more)  # type: ignore[arg-type]


def test_what_an_attempt_wrote_the_next_reads(folder: Folder) -> None:
    """Replies, unusable replies and vectors; each attempt has a segment of its own."""
    first = Segments(folder, "ledger/00003")
    first.add(entry("a", prompt_tokens=7))
    first.add(Unusable("a", "j", "p", "nonsense", "malformed", "no JSON"))
    first.add_vectors([("v", [0.25, -1.0])])
    first.close()
    second = Segments(folder, "ledger/00003")
    assert (second.reply("a").prompt_tokens, second.reply("b")) == (7, None)  # type: ignore[union-attr]
    assert list(second.vector("v") or ()) == [0.25, -1.0]
    assert [one.reply for one in second.unusable("a")] == ["nonsense"]
    second.add(entry("b"))
    second.close()
    assert len(folder.list("ledger/00003")) == 2
    assert set(Segments(folder, "ledger/00003").replies) == {"a", "b"}
    assert not Segments(folder, "ledger/00004").replies


def test_the_first_reply_counts(folder: Folder) -> None:
    """Two attempts at once, neither of which sees the other: the earlier reply wins, for everybody who comes later."""
    one, two = Segments(folder, "l"), Segments(folder, "l")
    one.add(entry("a", "first"))
    time.sleep(0.002)
    two.add(entry("a", "second"))
    two.close()
    one.close()
    assert Segments(folder, "l").reply("a").reply == "first"  # type: ignore[union-attr]
    compact(folder, "l")
    assert len(folder.list("l")) == 1
    assert Segments(folder, "l").reply("a").reply == "first"  # type: ignore[union-attr]


def test_a_zombie_harms_nothing(tmp_path: Path) -> None:
    """An attempt that was given up goes on writing, after its segment was merged away."""
    folder = folder_at(str(tmp_path))
    zombie = Segments(folder, "l")
    zombie.add(entry("a"))
    other = Segments(folder, "l")
    other.add(entry("b"))
    other.close()
    compact(folder, "l")
    zombie.add(entry("c"))
    zombie.close()
    assert {"a", "b"} <= set(Segments(folder, "l").replies) <= {"a", "b", "c"}


def test_a_torn_last_line_is_skipped(tmp_path: Path) -> None:
    """A kill while writing costs that line; anything else that cannot be read is told with its place."""
    segments = Segments(folder_at(str(tmp_path)), "l")
    segments.add(entry("a"))
    segments.add(entry("b"))
    (path,) = (tmp_path / "l").iterdir()  # not closed: what was added is there
    content = path.read_bytes()
    segments.close()
    for end in range(len(content) - 1, len(content) - 60, -7):
        path.write_bytes(content[:end])
        assert set(Segments(folder_at(str(tmp_path)), "l").replies) == {"a"}
    path.write_bytes(b"\0" * 9 + b"\n" + content)
    with pytest.raises(InputError, match=r"\.jsonl:1: not a line of a segment"):
        Segments(folder_at(str(tmp_path)), "l")


def test_objects_go_up_in_time_and_in_number() -> None:
    """Every N rows, every so often, and at the end; each time a new object."""
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    folder = folder_at(f"memory://{uuid4().hex}")
    by_number = Segments(folder, "n", every=60, many=10)
    for number in range(10):
        by_number.add(entry(str(number)))
    _until(lambda: folder.list("n") == [f"{by_number.attempt}-000000.jsonl"])
    by_number.add(entry("10"))
    assert len(Segments(folder, "n").replies) == 10
    by_number.close()
    assert len(Segments(folder, "n").replies) == 11
    by_time = Segments(folder, "t", every=0.02)
    by_time.add(entry("a"))
    _until(lambda: len(folder.list("t")) == 1)
    by_time.close()


def test_replies_that_were_paid_for_are_claimed_once(tmp_path: Path) -> None:
    """What an earlier attempt asked is charged to the first who asks for it again."""
    folder = folder_at(str(tmp_path))
    first = Segments(folder, "l")
    first.add(entry("a"))
    first.close()
    second = Segments(folder, "l")
    second.add(entry("b"))
    assert [one.key for one in second.claimed(["a", "b", "a", "x"])] == ["a"]
    assert second.claimed(["a"]) == []
    second.close()


def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line each: a file in the way, a scheme nobody knows, fsspec that is not installed."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="cannot be used"):
        folder_at(str(tmp_path / "file")).write("a/b", b"")
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    with pytest.raises(InputError, match="cannot be opened"):
        folder_at("nosuchscheme://x/y")
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(MissingExtra, match=r"pip install 'steelyard\[fsspec\]'"):
        folder_at("memory://x")


def _until(so: object) -> None:
    """Wait for a thread, at most ten seconds."""
    assert callable(so)
    end = time.monotonic() + 10
    while not so():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_store_that_fails_is_told(tmp_path: Path) -> None:
    """What cannot go up is said to who comes with a row or closes, in one line."""
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    segments = Segments(folder_at(f"file://{tmp_path}"), "l/00001", every=0.01)
    (tmp_path / "l").write_bytes(b"in the way")
    segments.add(entry("a"))
    with pytest.raises(InputError, match="cannot be used"):
        segments.close()
