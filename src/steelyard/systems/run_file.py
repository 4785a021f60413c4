"""A run file as a system, so that rankings of other tools can be compared with systems that are called here."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

from ..core.errors import InputError
from ..core.records import Run
from ..ranking.trec.files import read_run


class RunFile:
    """Returns the ranking of a run file for a query. ``queries`` maps the ids in the run to texts of queries."""

    def __init__(self, run: Run | str | PathLike[str], queries: Mapping[str, str], *, name: str = "run") -> None:
        self.name = name
        self._run = run if isinstance(run, Mapping) else read_run(run)
        self._ids: dict[str, str] = {}
        for key, text in queries.items():
            if self._ids.setdefault(text, key) != key:
                raise InputError(
                    f"queries {self._ids[text]!r} and {key!r} have the same text: the run cannot distinguish them"
                )

    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        """The ranking of the file: score descending, then id descending; empty for a query that is not in the file."""
        found = self._run.get(self._ids.get(query, ""), {})
        return sorted(found.items(), key=lambda hit: (hit[1], hit[0].encode()), reverse=True)[:limit]
