"""Read and write text files of any compression and encoding as numbered lines of UTF-8 bytes.

Rules of this file: the platform's default encoding is never used, only ``\\n`` ends a line (U+2028 does not), and the
error for an invalid byte names its file, line and offset.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, NamedTuple

from ..core.errors import InputError

BOM = b"\xef\xbb\xbf"
COMPRESSIONS = (".gz", ".zst", ".zstd")
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Line(NamedTuple):
    """One line: its number from 1, its bytes with the line end, and its byte offset in the file."""

    number: int
    data: bytes
    offset: int

    def encoding_error(self, path: Path) -> InputError | None:
        """An error that names the first byte that is not UTF-8 and an encoding to try; None if the line is UTF-8."""
        try:
            self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            guess = "utf-16" if self.number == 1 and self.data[:2] in _UTF16 else "cp1252"
            byte, at = self.data[error.start], self.offset + error.start
            message = f"byte 0x{byte:02x} at offset {at} is not UTF-8; if the file is not UTF-8, try --encoding {guess}"
            return InputError(message, path=path, line=self.number)
        return None


def suffix_of(path: Path) -> str:
    """The suffix of a file name in lower case, without that of a compression.

    >>> suffix_of(Path("a.JSONL.gz"))
    '.jsonl'
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def read_lines(path: str | PathLike[str], encoding: str = "utf-8") -> Iterator[Line]:
    """The lines of a plain, gzip or zstd file as UTF-8, without byte order mark.

    Bytes of a UTF-8 file are not checked: a parser calls ``encoding_error`` if it cannot parse a line.
    """
    path, plain = Path(path), _is_utf8(encoding)
    if _starts_with(path, _ZSTD):
        if not plain:
            raise InputError("a zstd file must be UTF-8: decompress it first", path=path)
        yield from _numbered(path, _zstd_lines(path))
        return
    with open_bytes(path) as file:
        if plain:
            yield from _numbered(path, file)
        else:
            yield from _decoded(path, file, encoding)


def read_utf8(path: Path, encoding: str = "utf-8") -> bytes:
    """Read a whole text file as UTF-8; an invalid byte is an error."""
    lines = []
    for line in read_lines(path, encoding):
        if encoding_error := line.encoding_error(path):
            raise encoding_error
        lines.append(line.data)
    return b"".join(lines)


def peek(path: Path, size: int = 4096) -> bytes:
    """The first bytes of a file, decompressed."""
    if not _starts_with(path, _ZSTD):
        with open_bytes(path) as file, _as_input_error(path):
            return file.read(size)
    head = b""
    for line in _zstd_lines(path):
        head += line
        if len(head) >= size:
            break
    return head[:size]


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading bytes; gzip is decompressed, whatever the file's name."""
    zipped = _starts_with(path, _GZIP)
    with _as_input_error(path):
        return gzip.open(path, "rb") if zipped else path.open("rb")  # type: ignore[return-value]


@contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing bytes, gzip if its suffix is ``.gz``; it is replaced only if the block succeeds."""
    if path.suffix.lower() in (".zst", ".zstd"):
        raise InputError("cannot write zstd (expected a plain or .gz name)", path=path)
    part = path.with_name(f".{path.name}.part")
    with _as_input_error(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # The gzip header contains no time stamp, so that equal content makes equal files.
            zipped = path.suffix.lower() == ".gz"
            with part.open("wb") as raw:
                if zipped:
                    with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
                        yield file  # type: ignore[misc]
                else:
                    yield raw
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def _is_utf8(encoding: str) -> bool:
    try:
        found = codecs.lookup(encoding)
    except LookupError:
        raise InputError(f"unknown encoding {encoding!r} (expected utf-8, cp1252, utf-16 …)") from None
    if not getattr(found, "_is_text_encoding", True):  # rot13, hex, zip: bytes to bytes, or text to text
        raise InputError(f"{encoding!r} is not a text encoding (expected utf-8, cp1252, utf-16 …)")
    return found.name in ("utf-8", "utf-8-sig", "ascii")


def _starts_with(path: Path, magic: bytes) -> bool:
    with _as_input_error(path), path.open("rb") as file:
        return file.read(len(magic)) == magic


@contextmanager
def _as_input_error(path: Path) -> Iterator[None]:
    """Convert errors of opening, reading and decompressing a file to an InputError in one line."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"the gzip data is damaged: {error}", path=path) from None
    except OSError as error:
        message = "is a directory (expected a file)" if path.is_dir() else (error.strerror or str(error)).lower()
        raise InputError(message, path=path) from None


def _numbered(path: Path, lines: Iterable[bytes]) -> Iterator[Line]:
    """Lines with number and offset, the first without its byte order mark."""
    offset = 0
    with _as_input_error(path):
        for number, data in enumerate(lines, 1):
            if number == 1 and data.startswith(BOM):
                yield Line(1, data[len(BOM) :], len(BOM))
            else:
                yield Line(number, data, offset)
            offset += len(data)


def _decoded(path: Path, file: IO[bytes], encoding: str) -> Iterator[Line]:
    number = 0
    with io.TextIOWrapper(file, encoding=encoding, newline="\n") as text, _as_input_error(path):
        try:
            for number, line in enumerate(text, 1):
                yield Line(number, (line.removeprefix("\ufeff") if number == 1 else line).encode("utf-8"), 0)
        except UnicodeError as error:
            message = f"not {encoding} at or soon after this line: {error}"
            raise InputError(message, path=path, line=number + 1) from None


def _zstd_lines(path: Path) -> Iterator[bytes]:
    """Lines of a zstd file, decompressed by polars; a separator that no text contains keeps each line in one column."""
    import polars as pl

    table = pl.scan_csv(path, has_header=False, separator="\0", quote_char=None, infer_schema=False, glob=False)
    try:
        for batch in table.collect_batches(maintain_order=True):
            for line in batch.to_series():
                yield b"\n" if line is None else line.encode("utf-8") + b"\n"
    except pl.exceptions.NoDataError:
        return
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{reason} (a zstd file must be UTF-8: decompress it first)", path=path) from None
