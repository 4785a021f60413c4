"""Find duplicate texts: equal apart from case, punctuation and white space, or nearly equal.

Near duplicates are pairs whose sets of character 5-grams have a Jaccard similarity of at least ``least``. Candidates
come from min-hashing in bands (Broder 1997; Indyk and Motwani 1998), which misses almost none at 0.8 and above, and
the similarity of every candidate is computed exactly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .tokens import words

GRAM = 5
BANDS, ROWS = 20, 4
LEAST = 0.8
Grams: TypeAlias = NDArray[np.uint64]

_SEED = 5
_SLICE = 4096


class DuplicatePair(NamedTuple):
    """The ids of two texts and their similarity: 1 for equal texts."""

    first: str
    second: str
    similarity: float


def duplicates(texts: Mapping[str, str], *, least: float = LEAST) -> list[DuplicatePair]:
    """The pairs of texts that are equal or near duplicates, in the order of their second text.

    A text is paired only with the first text equal to it, so that n copies of a boilerplate text make n - 1 pairs.

    >>> duplicates({"a": "Who built the tower?", "b": "who built the  tower", "c": "When was it lit?"})
    [DuplicatePair(first='a', second='b', similarity=1.0)]
    """
    firsts: dict[str, str] = {}
    pairs: list[tuple[int, DuplicatePair]] = []
    rank = {key: at for at, key in enumerate(texts)}
    grams: dict[str, Grams] = {}
    for key, text in texts.items():
        plain = " ".join(words(text))
        if not plain:
            continue
        if (first := firsts.setdefault(plain, key)) != key:
            pairs.append((rank[key], DuplicatePair(first, key, 1.0)))
        else:
            grams[key] = grams_of(plain)
    for first, second in _candidates(grams):
        alike = jaccard(grams[first], grams[second])
        if alike >= least:
            pairs.append((rank[second], DuplicatePair(first, second, alike)))
    return [pair for _, pair in sorted(pairs, key=lambda item: (item[0], rank[item[1].first]))]


def grams_of(text: str) -> Grams:
    """The distinct character 5-grams of a text, hashed, ascending; a shorter text is one gram."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    if len(codes) < GRAM:
        codes = np.concatenate([codes, np.zeros(GRAM - len(codes), dtype=np.uint64)])
    hashed = np.zeros(len(codes) - GRAM + 1, dtype=np.uint64)
    for at in range(GRAM):
        hashed = hashed * np.uint64(0x100000001B3) + codes[at : at + len(hashed)]
    return np.unique(_mix(hashed))


def jaccard(one: Grams, other: Grams) -> float:
    """The Jaccard similarity of two sets of grams: size of the intersection / size of the union."""
    both = len(np.intersect1d(one, other, assume_unique=True))
    return both / (len(one) + len(other) - both)


def _mix(values: Grams) -> Grams:
    """Spread hashes over all 64 bits (the finaliser of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _candidates(grams: Mapping[str, Grams]) -> list[tuple[str, str]]:
    """Pairs whose minimum hashes agree in all rows of a band."""
    salts = np.random.default_rng(_SEED).integers(1, 2**63, size=BANDS * ROWS, dtype=np.uint64)
    buckets: dict[tuple[int, bytes], list[str]] = defaultdict(list)
    found: dict[tuple[str, str], None] = {}
    for key, own in grams.items():
        least = np.array([_mix(own ^ salt).min() for salt in salts]) if len(own) > _SLICE else _min_hashes(own, salts)
        for band in range(BANDS):
            bucket = buckets[band, least[band * ROWS : (band + 1) * ROWS].tobytes()]
            for other in bucket:
                found[other, key] = None
            bucket.append(key)
    return list(found)


def _min_hashes(own: Grams, salts: Grams) -> Grams:
    least: Grams = _mix(own[:, None] ^ salts[None, :]).min(axis=0)
    return least


class DuplicateFilter:
    """Accepts texts one by one and rejects duplicates of those accepted before."""

    def __init__(self, *, least: float = LEAST) -> None:
        self.least = least
        self._plain: set[str] = set()
        self._grams: list[Grams] = []

    def add(self, text: str) -> bool:
        """Add a text and return True, or return False if it is a duplicate."""
        plain = " ".join(words(text))
        if plain in self._plain:
            return False
        grams = grams_of(plain)
        if any(_sizes_allow(grams, other, self.least) and jaccard(grams, other) >= self.least for other in self._grams):
            return False
        self._plain.add(plain)
        self._grams.append(grams)
        return True


def _sizes_allow(one: Sequence[object] | Grams, other: Sequence[object] | Grams, least: float) -> bool:
    """Whether the sizes of two sets allow a Jaccard similarity of ``least``."""
    return min(len(one), len(other)) >= least * max(len(one), len(other))
