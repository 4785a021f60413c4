"""A run file as a system, so that rankings made elsewhere are weighed beside systems that run here."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

from ..core.errors import InputError
from ..core.records import Run
from ..ranking.trec.files import read_run


class RunFile:
    """Answers a query with what a run file ranks for it. ``queries`` are the texts by which it will be asked, by id."""

    def __init__(self, run: Run | str | PathLike[str], queries: Mapping[str, str], *, name: str = "run") -> None:
        self.name = name
        self._run = run if isinstance(run, Mapping) else read_run(run)
        self._ids: dict[str, str] = {}
        for key, text in queries.items():
            if self._ids.setdefault(text, key) != key:
                raise InputError(f"queries {self._ids[text]!r} and {key!r} have the same text, a run tells them by id")

    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        """The ranking of the file: score descending, then id descending; nothing for a query that it lacks."""
        found = self._run.get(self._ids.get(query, ""), {})
        return sorted(found.items(), key=lambda hit: (hit[1], hit[0].encode()), reverse=True)[:limit]
