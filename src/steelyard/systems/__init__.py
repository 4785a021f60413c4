"""Systems under evaluation: adapters, calls, outputs, and built-in retrievers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bm25 import BM25 as BM25
    from .command import Command as Command
    from .dense import Dense as Dense
    from .extractive import Extractive as Extractive
    from .hits import Hit as Hit
    from .http import Http as Http
    from .hybrid import Hybrid as Hybrid
    from .json_mapping import Described as Described
    from .llm_answerer import LLMAnswerer as LLMAnswerer
    from .outputs import Output as Output
    from .overlap import Overlap as Overlap
    from .random import Shuffled as Shuffled
    from .run_file import RunFile as RunFile

# The built-in systems can be imported from here; each is loaded on first use.
_HOME = {
    "BM25": "bm25",
    "Command": "command",
    "Dense": "dense",
    "Described": "json_mapping",
    "Extractive": "extractive",
    "Hit": "hits",
    "Http": "http",
    "Hybrid": "hybrid",
    "LLMAnswerer": "llm_answerer",
    "Output": "outputs",
    "Overlap": "overlap",
    "RunFile": "run_file",
    "Shuffled": "random",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - the one list of names is the table above


def __getattr__(name: str) -> object:
    """Import a built-in system when it is first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'steelyard.systems' has no attribute {name!r}")
    value: object = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
