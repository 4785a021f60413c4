"""A random retriever: the lowest baseline."""

from __future__ import annotations

import random
from collections.abc import Iterable


class Shuffled:
    """Documents in a random order, the same for the same query and seed."""

    def __init__(self, corpus: Iterable[str], *, seed: int = 0, name: str = "random") -> None:
        self.name, self.seed, self._ids = name, seed, list(corpus)

    def search(self, query: str, limit: int) -> list[str]:
        """Random documents, at most ``limit``."""
        draw = random.Random(f"{self.seed}/{query}")  # noqa: S311 - not used for security
        return draw.sample(self._ids, min(limit, len(self._ids)))

    def retrieve(self, query: str, k: int) -> list[str]:
        """The same as ``search``."""
        return self.search(query, k)
