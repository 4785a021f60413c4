"""A folder of small files, on this machine or on any storage that fsspec supports.

Rules of this file: a file becomes visible when it is complete. A ``place`` is a path inside the folder, with ``/``
between its parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol
from uuid import uuid4

from ..core.errors import InputError, MissingExtra


class Folder(Protocol):
    """The file operations that a job needs."""

    name: str

    def read(self, place: str) -> bytes | None:
        """Read a file; None if it does not exist."""

    def write(self, place: str, content: bytes) -> None:
        """Write a complete file."""

    def list(self, place: str) -> list[str]:
        """List the names in a subfolder, sorted; empty if it does not exist."""

    def remove(self, place: str) -> None:
        """Remove a file if it exists."""

    def open_append(self, place: str) -> IO[bytes] | None:
        """Open a file for appending; None if the storage writes only complete files."""


def folder_at(name: str) -> Folder:
    """Open a folder by its path or by a URL that fsspec supports (``s3://bucket/job``, ``gs://…``, ``memory://…``).

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as path:
    ...     folder = folder_at(path)
    ...     folder.write("a/b.txt", b"text")
    ...     folder.list("a"), folder.read("a/b.txt"), folder.read("c.txt")
    (['b.txt'], b'text', None)
    """
    return RemoteFolder(name) if "://" in name else LocalFolder(name)


class LocalFolder:
    """A folder on this machine or on a shared file system."""

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

    def open_append(self, place: str) -> IO[bytes] | None:
        """See ``Folder``. The file is unbuffered, so a killed process loses nothing that it wrote."""
        target = self.path / place
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            return target.open("ab", buffering=0)
        except OSError as error:
            raise self._unusable(place, error) from None

    def _unusable(self, place: str, error: OSError) -> InputError:
        return InputError(f"cannot be used: {error.strerror or error}", path=self.path / place)


class RemoteFolder:
    """A folder at a URL. Objects are written complete."""

    def __init__(self, name: str) -> None:
        self.name = name.rstrip("/")
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise MissingExtra("fsspec", extra="fsspec") from None
        try:
            self.system, self.root = url_to_fs(self.name)
        except (ImportError, ValueError) as error:  # the library of a scheme is missing, or the scheme is unknown
            raise InputError(f"cannot be opened: {error}", path=name) from None

    def read(self, place: str) -> bytes | None:
        """See ``Folder``."""
        with self._as_input_error(place):
            try:
                content: bytes = self.system.cat_file(f"{self.root}/{place}")
            except FileNotFoundError:
                return None
            return content

    def write(self, place: str, content: bytes) -> None:
        """See ``Folder``."""
        with self._as_input_error(place):
            self.system.makedirs(f"{self.root}/{place}".rpartition("/")[0], exist_ok=True)
            self.system.pipe_file(f"{self.root}/{place}", content)

    def list(self, place: str) -> list[str]:
        """See ``Folder``."""
        with self._as_input_error(place):
            try:
                found = self.system.ls(f"{self.root}/{place}", detail=False, refresh=True)
            except FileNotFoundError:
                return []
            return sorted(name.rstrip("/").rpartition("/")[2] for name in found)

    def remove(self, place: str) -> None:
        """See ``Folder``."""
        with self._as_input_error(place):
            if self.system.exists(f"{self.root}/{place}"):
                self.system.rm_file(f"{self.root}/{place}")

    def open_append(self, place: str) -> IO[bytes] | None:  # noqa: ARG002
        """See ``Folder``."""
        return None

    @contextmanager
    def _as_input_error(self, place: str) -> Iterator[None]:
        """Convert an error of the storage to an InputError in one line."""
        try:
            yield
        except OSError as error:
            raise InputError(f"cannot be used: {error.strerror or error}", path=f"{self.name}/{place}") from None


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths are one file or folder, through any links."""
    return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))
