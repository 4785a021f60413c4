"""A folder of small whole files, here or anywhere that fsspec reaches.

Rules of this file: a file appears when it is whole. A place is a path inside the folder, with ``/`` between its parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol
from uuid import uuid4

from ..core.errors import InputError, MissingExtra


class Folder(Protocol):
    """What a job needs of the place where its files are."""

    name: str

    def read(self, place: str) -> bytes | None:
        """A file's content; None where there is no such file."""

    def write(self, place: str, content: bytes) -> None:
        """Write a whole file."""

    def list(self, place: str) -> list[str]:
        """The names in a folder inside, sorted; none where it is not there."""

    def remove(self, place: str) -> None:
        """Remove a file, if it is there."""

    def appending(self, place: str) -> IO[bytes] | None:
        """A new file whose bytes are kept as they are written; None where files are written whole or not at all."""


def folder_at(name: str) -> Folder:
    """A path, or a URL that fsspec knows (``s3://bucket/job``, ``gs://…``, ``memory://…``).

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as path:
    ...     folder = folder_at(path)
    ...     folder.write("a/b.txt", b"text")
    ...     folder.list("a"), folder.read("a/b.txt"), folder.read("c.txt")
    (['b.txt'], b'text', None)
    """
    return RemoteFolder(name) if "://" in name else LocalFolder(name)


class LocalFolder:
    """A folder of this machine, or of a file system that several share."""

    def __init__(self, name: str) -> None:
        self.path = Path(name).absolute()
        self.name = str(self.path)

    def read(self, place: str) -> bytes | None:
        """See ``Folder``."""
        try:
            return (self.path / place).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unusable(place, error) from None

    def write(self, place: str, content: bytes) -> None:
        """See ``Folder``."""
        target = self.path / place
        part = target.with_name(f".{target.name}.{uuid4().hex}.part")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                part.write_bytes(content)
                part.replace(target)
            finally:
                part.unlink(missing_ok=True)
        except OSError as error:
            raise self._unusable(place, error) from None

    def list(self, place: str) -> list[str]:
        """See ``Folder``."""
        try:
            return sorted(one.name for one in (self.path / place).iterdir() if not one.name.startswith("."))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._unusable(place, error) from None

    def remove(self, place: str) -> None:
        """See ``Folder``."""
        (self.path / place).unlink(missing_ok=True)

    def appending(self, place: str) -> IO[bytes] | None:
        """See ``Folder``. Nothing waits in a buffer of this process, so a kill loses nothing that was written."""
        target = self.path / place
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            return target.open("ab", buffering=0)
        except OSError as error:
            raise self._unusable(place, error) from None

    def _unusable(self, place: str, error: OSError) -> InputError:
        return InputError(f"cannot be used: {error.strerror or error}", path=self.path / place)


class RemoteFolder:
    """A folder behind a URL. Objects are written whole."""

    def __init__(self, name: str) -> None:
        self.name = name.rstrip("/")
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise MissingExtra("fsspec", extra="fsspec") from None
        try:
            self.system, self.root = url_to_fs(self.name)
        except (ImportError, ValueError) as error:  # the library behind a scheme is missing, or nobody knows it
            raise InputError(f"cannot be opened: {error}", path=name) from None

    def read(self, place: str) -> bytes | None:
        """See ``Folder``."""
        with self._blamed(place):
            try:
                content: bytes = self.system.cat_file(f"{self.root}/{place}")
            except FileNotFoundError:
                return None
            return content

    def write(self, place: str, content: bytes) -> None:
        """See ``Folder``."""
        with self._blamed(place):
            self.system.makedirs(f"{self.root}/{place}".rpartition("/")[0], exist_ok=True)
            self.system.pipe_file(f"{self.root}/{place}", content)

    def list(self, place: str) -> list[str]:
        """See ``Folder``."""
        with self._blamed(place):
            try:
                found = self.system.ls(f"{self.root}/{place}", detail=False, refresh=True)
            except FileNotFoundError:
                return []
            return sorted(name.rstrip("/").rpartition("/")[2] for name in found)

    def remove(self, place: str) -> None:
        """See ``Folder``."""
        with self._blamed(place):
            if self.system.exists(f"{self.root}/{place}"):
                self.system.rm_file(f"{self.root}/{place}")

    def appending(self, place: str) -> IO[bytes] | None:  # noqa: ARG002
        """See ``Folder``."""
        return None

    @contextmanager
    def _blamed(self, place: str) -> Iterator[None]:
        """What a store says, in one line."""
        try:
            yield
        except OSError as error:
            raise InputError(f"cannot be used: {error.strerror or error}", path=f"{self.name}/{place}") from None
