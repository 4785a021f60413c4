"""Which question is asked about which passages: a plan that depends on the seed alone."""

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
"""The kinds that need no language model, with their shares of a set."""
_TRIES = 20


class Task(Struct, frozen=True):
    """One attempt at one item: the slot it may fill, and how. ``at`` is the number of its first passage."""

    slot: int
    attempt: int
    kind: str
    style: str
    at: int
    passages: tuple[Passage, ...]
    number: int = 0

    def draw(self, seed: int, what: str) -> random.Random:
        """Chance that depends on seed, slot and attempt alone."""
        return random.Random(f"{seed}/{self.slot}/{self.attempt}/{what}")  # noqa: S311 - no secret hangs on it


class Planning:
    """Plans attempt after attempt for the slots that are not filled."""

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
        """An attempt for each of some slots. First attempts go through the corpus before a passage comes again."""
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
        """A passage and one that belongs to it; none where none is found for this one and for others."""
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
    """Shares by name: as given, equal for names alone, else the usual ones; a wrong name or share is an InputError.

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
    """Names for ``count`` slots: their numbers by the largest remainders, their order by the seed.

    >>> sorted(assigned({"a": 0.5, "b": 0.3, "c": 0.2}, 5, "0"))
    ['a', 'a', 'a', 'b', 'c']
    """
    total = sum(shares.values())
    exact = {name: count * share / total for name, share in shares.items()}
    whole = {name: int(size) for name, size in exact.items()}
    rest = sorted(exact, key=lambda name: (whole[name] - exact[name], list(exact).index(name)))
    for name in rest[: count - sum(whole.values())]:
        whole[name] += 1
    names = [name for name, size in whole.items() for _ in range(size)]
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
    """What a set depends on, as a digest: a run with the same one goes on where another was left."""
    parts = [
        *(sorted(corpus.texts.items()), n, seed, kinds_of(kinds, judge), shares(styles, ALL_STYLES, "style")),
        "" if judge is None else judge_of(judge).identity,
        "" if embedder is None else embedder_of(embedder).identity,
    ]
    return blake2b(repr(parts).encode(), digest_size=12).hexdigest()


def kinds_of(kinds: Mapping[str, float] | Sequence[str] | None, judge: LLMJudge | str | None) -> dict[str, float]:
    """The kinds that are asked for, or those that go without saying, with their shares."""
    return shares(kinds, ALL_KINDS, "kind") if kinds is not None else dict(PLAIN_KINDS if judge is None else KINDS)
