"""Read collections of ir_datasets by name, such as ``ir_datasets:beir/nfcorpus/test``, in place of a path.

The ir_datasets package downloads and caches its files; it is imported only when such a name is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ..core.errors import InputError, MissingExtra, UnknownName
from ..core.wording import did_you_mean

PREFIX = "ir_datasets:"
_BODIES = ("text", "body", "abstract", "contents", "description")


def collection_name(path: str | PathLike[str]) -> str | None:
    """The name of an ir_datasets collection if the path is one, else None.

    >>> collection_name("ir_datasets:vaswani"), collection_name("vaswani/corpus.jsonl")
    ('vaswani', None)
    """
    text = path.as_posix() if isinstance(path, Path) else fspath(path)
    return text.removeprefix(PREFIX) if text.startswith(PREFIX) else None


class Collection:
    """A collection by its name. Each part is read when it is requested; a missing part is empty."""

    def __init__(self, name: str) -> None:
        if find_spec("ir_datasets") is None:
            raise MissingExtra("ir_datasets", extra="ir")
        import ir_datasets

        self.name = name
        try:
            self._source: Any = ir_datasets.load(name)
        except KeyError:
            hint = did_you_mean(name, [str(one) for one in ir_datasets.registry])
            hint = hint if hint.startswith("did you mean") else "its names are listed at ir-datasets.com"
            raise UnknownName(f"ir_datasets has no {name!r}: {hint}") from None

    @property
    def documents(self) -> dict[str, str]:
        """The texts of the documents by id, all in memory; a title precedes its text on a separate line."""
        return {str(one.doc_id): _text(one) for one in self._all("docs")}

    @property
    def queries(self) -> dict[str, str]:
        """The texts of the queries by id."""
        return {str(one.query_id): _text(one) for one in self._all("queries")}

    @property
    def qrels(self) -> dict[str, dict[str, float]]:
        """The relevance judgments."""
        found: dict[str, dict[str, float]] = {}
        for one in self._all("qrels"):
            grades = found.setdefault(str(one.query_id), {})
            if (doc := str(one.doc_id)) in grades:
                raise self._error(f"document {doc!r} is judged twice for query {str(one.query_id)!r}")
            grades[doc] = float(one.relevance)
        return found

    def _all(self, part: str) -> Iterator[Any]:
        has, read = getattr(self._source, f"has_{part}", None), getattr(self._source, f"{part}_iter", None)
        if not callable(read) or (callable(has) and not has()):
            return
        items = self._start(part, read)
        while True:
            try:
                item = next(items)
            except StopIteration:
                return
            except Exception as error:
                raise self._read_error(part, error) from error
            yield item

    def _start(self, part: str, read: Callable[[], Any]) -> Iterator[Any]:
        try:
            return iter(read())
        except Exception as error:
            raise self._read_error(part, error) from error

    def _read_error(self, part: str, error: Exception) -> InputError:
        """An error of ir_datasets, such as a failed download or a licence that was not accepted, in one line."""
        message = " ".join(str(error).split())
        return self._error(f"ir_datasets cannot read its {part}: {type(error).__name__}: {message[:300]}")

    def _error(self, message: str) -> InputError:
        return InputError(message, path=f"{PREFIX}{self.name}")


def _text(one: Any) -> str:  # noqa: ANN401 - a record of a package without types
    """The text of a document or a query: title and text if it has them, else the record's default text."""
    body = next((value for name in _BODIES if isinstance(value := getattr(one, name, None), str)), None)
    title = getattr(one, "title", None)
    if isinstance(body, str):
        return f"{title}\n{body}" if isinstance(title, str) and title.strip() and hasattr(one, "doc_id") else body
    default = getattr(one, "default_text", None)
    found = default() if callable(default) else title
    return found if isinstance(found, str) else ""
