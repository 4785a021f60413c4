"""Assignment of question kinds to passages; it depends only on the seed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b

from msgspec import Struct

from ..core.errors import InputError, UnknownName
from ..core.wording import did_you_mean
from ..datasets.corpus import Corpus
from ..models.embedder import Embedder, embedder_of
from ..models.judge import LLMJudge, judge_of
from .passages import Links, Passage
from .question_kinds import KINDS, OF_TWO, STYLES

PLAIN_KINDS: dict[str, float] = {"known_item": 0.7, "cloze": 0.3}
"""The kinds without a language model, with their default shares of a set."""
_TRIES = 20


class Task(Struct, frozen=True):
    """One attempt at one item of the set (its ``slot``). ``at`` is the number of its first passage."""

    slot: int
    attempt: int
    kind: str
    style: str
    at: int
    passages: tuple[Passage, ...]
    number: int = 0

    def draw(self, seed: int, what: str) -> random.Random:
        """Return a random generator that depends only on seed, slot, attempt and purpose."""
        return random.Random(f"{seed}/{self.slot}/{self.attempt}/{what}")  # noqa: S311 - no secret hangs on it


class Planning:
    """Plans of further attempts for the open slots."""

    def __init__(
        self,
        passages: Sequence[Passage],
        links: Links | None,
        *,
        wanted: int,
        kinds: Mapping[str, float],
        styles: Mapping[str, float],
        seed: int,
    ) -> None:
        self.passages, self.links, self.seed = passages, links, seed
        self.kinds = assigned(kinds, wanted, f"{seed}/kinds")
        plain = [kind in PLAIN_KINDS for kind in self.kinds]
        chosen = assigned(styles, wanted, f"{seed}/styles")
        self.styles = ["plain" if without else style for without, style in zip(plain, chosen, strict=True)]
        self._order = list(range(len(passages)))
        random.Random(f"{seed}/passages").shuffle(self._order)  # noqa: S311 - no secret hangs on it
        self._uses: Counter[tuple[str, str, tuple[Passage, ...]]] = Counter()

    def round(self, attempt: int, slots: Sequence[int]) -> list[Task]:
        """Plan one attempt for each slot. First attempts use every passage before any passage again."""
        return [self._task(slot, attempt) for slot in slots]

    def _task(self, slot: int, attempt: int) -> Task:
        kind, style = self.kinds[slot], self.styles[slot]
        draw = random.Random(f"{self.seed}/{slot}/{attempt}")  # noqa: S311 - no secret hangs on it
        at = self._order[slot % len(self._order)] if attempt == 0 else draw.randrange(len(self.passages))
        at, other = self._two(at, draw) if kind in OF_TWO else (at, None)
        passages = (self.passages[at],) if other is None else (self.passages[at], self.passages[other])
        used = (kind, style, passages)
        number = self._uses[used]
        self._uses[used] += 1
        return Task(slot, attempt, kind, style, at, passages, number)

    def _two(self, at: int, draw: random.Random) -> tuple[int, int | None]:
        """Return a passage and a linked one; None as the second if no tried passage has a link."""
        assert self.links is not None
        for _ in range(_TRIES):
            partner = self.links.partner(at, draw)
            if partner is not None:
                return at, partner
            at = draw.randrange(len(self.passages))
        return at, None


def shares(
    given: Mapping[str, float] | Sequence[str] | None, known: Mapping[str, float], what: str
) -> dict[str, float]:
    """Return shares by name: as given, equal for names without shares, else the default. Raises InputError if invalid.

    >>> shares(["single", "multi"], KINDS, "kind")
    {'single': 0.5, 'multi': 0.5}
    """
    if given is None:
        return dict(known)
    wanted = dict(given) if isinstance(given, Mapping) else {name: 1.0 / len(given) for name in given}
    for name, share in wanted.items():
        if name not in known:
            raise UnknownName(f"no {what} {name!r}: {did_you_mean(name, known)}")
        if not share >= 0:
            raise InputError(f"{what} {name}: expected a share of at least 0, found {share}")
    if not wanted or sum(wanted.values()) <= 0:
        raise InputError(f"no {what} to choose from")
    return wanted


def assigned(shares: Mapping[str, float], count: int, seed: str) -> list[str]:
    """Assign names to ``count`` slots: their counts by largest remainders, their order by the seed.

    >>> sorted(assigned({"a": 0.5, "b": 0.3, "c": 0.2}, 5, "0"))
    ['a', 'a', 'a', 'b', 'c']
    """
    total = sum(shares.values())
    exact = {name: count * share / total for name, share in shares.items()}
    counts = {name: int(size) for name, size in exact.items()}
    rest = sorted(exact, key=lambda name: (counts[name] - exact[name], list(exact).index(name)))
    for name in rest[: count - sum(counts.values())]:
        counts[name] += 1
    names = [name for name, size in counts.items() for _ in range(size)]
    random.Random(seed).shuffle(names)  # noqa: S311 - no secret hangs on it
    return names


ALL_KINDS = KINDS | PLAIN_KINDS
ALL_STYLES = STYLES


def job_of(
    corpus: Corpus,
    n: int = 100,
    *,
    judge: LLMJudge | str | None = None,
    kinds: Mapping[str, float] | Sequence[str] | None = None,
    styles: Mapping[str, float] | Sequence[str] | None = None,
    embedder: Embedder | str | None = None,
    seed: int = 0,
) -> str:
    """Return a digest of all inputs of a set; a run with the same digest resumes an unfinished one."""
    parts = [
        *(sorted(corpus.texts.items()), n, seed, kinds_of(kinds, judge), shares(styles, ALL_STYLES, "style")),
        "" if judge is None else judge_of(judge).identity,
        "" if embedder is None else embedder_of(embedder).identity,
    ]
    return blake2b(repr(parts).encode(), digest_size=12).hexdigest()


def kinds_of(kinds: Mapping[str, float] | Sequence[str] | None, judge: LLMJudge | str | None) -> dict[str, float]:
    """Return the requested or the default kinds with their shares."""
    return shares(kinds, ALL_KINDS, "kind") if kinds is not None else dict(PLAIN_KINDS if judge is None else KINDS)
