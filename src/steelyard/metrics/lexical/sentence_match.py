"""Match of a sentence against passages: the words found, the best stretch, their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ...text.english_lexicon import SMALL_TALK, related_words
from ...text.word_offsets import Words
from ...text.word_weights import weight
from .passage_index import PassageIndex, Window, any_within, within

ALIKE = 0.7
"""The credit of a word if the passages contain a related word (film for movie)."""
KIN = 0.8
"""The credit of a word if the passages contain one with the same beginning (politician for politics), times the share
of letters that agree."""
NOWHERE = Window(0, -1)
_FAR = 6
"""The largest distance in a passage at which two neighbouring words of the sentence still count as neighbours."""
_MANY = 40
"""Up to this number, all positions of a word are tried; beyond it, only those followed by the sentence's next word."""


class WordMatch(NamedTuple):
    """The positions of a word in the passages, its credit, and how it was matched."""

    positions: list[int]
    credit: float
    how: str


class Fragment(NamedTuple):
    """A run of words that a passage contains: its first word in the sentence, its length, its position in the line."""

    at: int
    size: int
    position: int


class SentenceMatch:
    """One sentence matched against the passages.

    ``core`` lists the content words (by number) that are not small talk; ``weights`` are the weights of their stems.
    """

    def __init__(self, words: Words, first: int, last: int, passages: PassageIndex) -> None:
        self.words, self.first, self.passages = words, first, passages
        self.stems = words.stems[first:last]
        self.forms = words.forms[first:last]
        self.numbers = words.numbers[first:last]
        content = words.content[first:last]
        self.small_talk = {
            stem
            for stem, form, carries in zip(self.stems, self.forms, content, strict=True)
            if carries and form in SMALL_TALK and stem not in passages.places
        }
        self.core = [at for at, carries in enumerate(content) if carries and self.stems[at] not in self.small_talk]
        self.weights = {self.stems[at]: weight(self.stems[at]) for at in self.core}
        self.total = sum(self.weights.values())
        self.matches = self._matches()
        self.worth = {stem: self.weights[stem] * match.credit for stem, match in self.matches.items()}
        self.missing = [at for at in self.core if self.stems[at] not in self.matches]
        self._events = sorted((place, stem) for stem, match in self.matches.items() for place in match.positions)

    def __len__(self) -> int:
        return len(self.stems)

    def _matches(self) -> dict[str, WordMatch]:
        places, numbers = self.passages.places, self.passages.numbers
        alike = related_words().alike
        matches: dict[str, WordMatch] = {}
        for at in self.core:
            stem, number = self.stems[at], self.numbers[at]
            if stem in matches:
                continue
            if number is not None and number in numbers:
                matches[stem] = WordMatch(numbers[number], 1.0, "number")
            elif stem in places:
                matches[stem] = WordMatch(places[stem], 1.0, "same")
            elif number is None or not stem[0].isdigit():
                others = [word for word in alike.get(stem, ()) if word in places]
                if others:
                    matches[stem] = WordMatch(sorted(at for word in others for at in places[word]), ALIKE, "alike")
                elif (kin := self._kin(stem)) is not None:
                    matches[stem] = WordMatch(places[kin[0]], KIN * kin[1], "kin")
        return matches

    def _kin(self, stem: str) -> tuple[str, float] | None:
        """The stem in the passages with the longest common beginning, and the share of letters that agree."""
        best: tuple[str, float] | None = None
        for word in self.passages.begins.get(stem[:4], ()) if len(stem) >= 4 else ():
            shared = 4
            for a, b in zip(stem[4:], word[4:], strict=False):
                if a != b:
                    break
                shared += 1
            share = shared / max(len(stem), len(word))
            if share >= 0.6 and (best is None or share > best[1]):
                best = word, share
        return best

    def best_window(self, size: int) -> tuple[float, Window]:
        """The highest share of weight in any stretch of ``size`` words of a passage, and the first such stretch."""
        if not self.total:
            return 1.0, NOWHERE
        events, worth = self._events, self.worth
        counts: Counter[str] = Counter()
        current = best = 0.0
        low = 0
        passage, window = NOWHERE, NOWHERE
        for at, (place, stem) in enumerate(events):
            if place > passage.last:
                passage = self.passages.bounds(place)
            if not counts[stem]:
                current += worth[stem]
            counts[stem] += 1
            floor = max(passage.first, place - size + 1)
            while events[low][0] < floor:
                gone = events[low][1]
                counts[gone] -= 1
                if not counts[gone]:
                    current -= worth[gone]
                low += 1
            if current > best + 1e-9:
                best, window = current, Window(events[low][0], events[at][0])
        return min(1.0, best / self.total), window

    def is_in(self, at: int, window: Window) -> bool:
        """Whether a window contains a word of the sentence."""
        match = self.matches.get(self.stems[at])
        return match is not None and any_within(match.positions, window)

    def bound(self, window: Window) -> float:
        """Share of neighbouring content words that are also neighbours, in the same order, in the window."""
        bound = 0
        for a, b in zip(self.core, self.core[1:], strict=False):
            one, other = self.matches.get(self.stems[a]), self.matches.get(self.stems[b])
            if one is not None and other is not None and self.stems[a] != self.stems[b]:
                bound += _follows(within(one.positions, window), within(other.positions, window))
        return bound / (len(self.core) - 1)

    def fragments(self) -> list[Fragment]:
        """Cut the sentence, from its start, into the longest runs of words that a passage contains."""
        line, stems, length = self.passages.line, self.stems, len(self.stems)
        found: list[Fragment] = []
        at = 0
        while at < length:
            size, where = 0, -1
            for place in self._places(at):
                run = 1
                while at + run < length and line[place + run] == stems[at + run]:
                    run += 1
                if run > size:
                    size, where = run, place
            if size:
                found.append(Fragment(at, size, where))
            at += max(1, size)
        return found

    def _places(self, at: int) -> Sequence[int]:
        places = self.passages.places
        candidates = places.get(self.stems[at], ())
        if len(candidates) <= _MANY or at + 1 == len(self.stems):
            return candidates[:_MANY]
        following = places.get(self.stems[at + 1], ())
        if len(following) >= len(candidates):
            return candidates
        line, stem = self.passages.line, self.stems[at]
        return [place - 1 for place in following if place and line[place - 1] == stem] or candidates[:1]

    def repeated(self, window: Window) -> int:
        """Count the repetitions of content words in the sentence that the window does not have."""
        extra = 0
        for stem, count in Counter(self.stems[at] for at in self.core).items():
            if count > 1:
                match = self.matches.get(stem)
                extra += max(0, count - max(1, len(within(match.positions, window)) if match is not None else 0))
        return extra

    def frequent(self) -> float:
        """BM25 of the passages for the sentence's content words, divided by its limit for very frequent words.

        k1 = 1.2, b = 0.75, and 100 words as the common length.
        """
        if not self.total:
            return 1.0
        norm = 1.2 * (0.25 + 0.75 * self.passages.length / 100)
        counts = {stem: len(match.positions) for stem, match in self.matches.items()}
        return sum(worth * counts[stem] / (counts[stem] + norm) for stem, worth in self.worth.items()) / self.total


def _follows(ones: Sequence[int], others: Sequence[int]) -> bool:
    """Whether, in the closest pair of positions, the second follows the first within ``_FAR`` words."""
    if not ones or not others:
        return False
    distance = min((b - a for a in ones for b in others), key=lambda gap: (abs(gap), -gap))
    return 0 < distance <= _FAR
