"""A plain run file cut into pieces between its queries, so that several threads or machines read it at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from ...core.errors import InputError
from ...io.text_files import BOM
from .blocks import BLOCK, Reader

_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")  # gzip, zstd


class Piece(NamedTuple):
    """Bytes ``start`` to ``end`` of a file: the lines of some whole queries that stand together."""

    path: Path
    start: int
    end: int

    def reader(self) -> Reader:
        """Its bytes. The file is open only while they are read, as who reads may stop anywhere."""
        place = self.start

        def read(into: memoryview) -> int:
            nonlocal place
            wanted = min(len(into), self.end - place)
            if not wanted:
                return 0
            with _opened(self.path) as file:
                file.seek(place)
                got = int(file.readinto(into[:wanted]))  # type: ignore[attr-defined]
            place += got
            return got

        return read


def pieces_of(path: Path, count: int) -> list[Piece]:
    """A file in at most ``count`` pieces of about the same size; one piece or none where it cannot be cut.

    A cut lies before a line whose query is another than that of the line before it. Packed files cannot be cut.
    """
    with _opened(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        head = file.read(4)
        if head.startswith(_PACKED):
            return []
        first = len(BOM) if head.startswith(BOM) else 0
        cuts = [first]
        for number in range(1, count):
            cut = _cut(file, first + (size - first) * number // count, size)
            if cut > cuts[-1]:
                cuts.append(cut)
    return [Piece(path, start, end) for start, end in zip(cuts, [*cuts[1:], size], strict=True) if end > start]


def _cut(file: IO[bytes], near: int, size: int) -> int:
    """The first place from ``near`` on where a query begins; the end of the file where none does."""
    before: bytes | None = None
    for place, line in _lines(file, near):
        query = line.split(None, 1)[:1]
        if query:
            if before is not None and query[0] != before:
                return place
            before = query[0]
    return size


def _lines(file: IO[bytes], near: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines that begin after ``near``, with their places."""
    file.seek(near)
    place = near + len(file.readline(BLOCK))
    while line := file.readline(BLOCK):
        yield place, line
        place += len(line)


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        expected = "is a directory (expected a file)" if path.is_dir() else (error.strerror or str(error)).lower()
        raise InputError(expected, path=path) from None
