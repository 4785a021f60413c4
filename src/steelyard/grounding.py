"""What passages say about a response: sentence by sentence, which words they hold, where, and what speaks against it.

Rules of this file: it counts, it does not judge. Every number here is plain arithmetic over words with places; the
weights that make a probability of them are data (``calibrated.py``).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from .commonness import weight
from .english import NEGATIONS, PREFIXES, SMALL_TALK, likeness
from .placed import Words, words_in
from .sentences import sentence_spans

ALIKE = 0.7
"""What a word counts for whose like is in the passages (film for movie)."""
KIN = 0.8
"""What a word of the same beginning counts for, times the share of letters that agree (politician for politics)."""
_FAR = 6
"""Words between two neighbours of the response that still count as neighbours in a passage."""
_AROUND = 12
"""Words around a window in which a negation or an opposite still belongs to it."""
_MONTHS = frozenset("januari februari march april june juli august septemb octob novemb decemb".split())
_UNITS = frozenset(
    """
    percent percentag cent dollar euro pound yen usd eur gbp km kilomet mile meter metr foot feet inch cm mm yard
    kg kilogram gram lb ton tonn liter litr gallon acr hectar second minut hour day week month year decad centuri
    million billion trillion thousand hundred degre celsius fahrenheit mph knot watt kilowatt megawatt volt
    """.split()
)


class Passages(NamedTuple):
    """Retrieved passages as one line of stems, a gap (None) after each."""

    words: tuple[Words, ...]
    line: list[str | None]
    bases: list[int]
    places: dict[str, list[int]]
    numbers: dict[str, list[int]]
    begins: dict[str, list[str]]

    def source(self, position: int) -> tuple[int, int, int]:
        """Passage (from 0) and characters of the word at a position of the line."""
        passage = bisect_right(self.bases, position) - 1
        at = position - self.bases[passage]
        return passage, self.words[passage].start[at], self.words[passage].end[at]


@lru_cache(maxsize=16)
def passages_of(contexts: tuple[str, ...]) -> Passages:
    """The passages, indexed; remembered, for several answers and metrics look at the same ones."""
    words = tuple(words_in(text) for text in contexts)
    line: list[str | None] = []
    bases: list[int] = []
    places: dict[str, list[int]] = {}
    numbers: dict[str, list[int]] = {}
    for one in words:
        base = len(line)
        bases.append(base)
        for at, word in enumerate(one.stems, base):
            if word in places:
                places[word].append(at)
            else:
                places[word] = [at]
        for at, number in enumerate(one.numbers, base):
            if number is not None:
                numbers.setdefault(number, []).append(at)
        line += one.stems
        line.append(None)
    begins: dict[str, list[str]] = {}
    for word in places:
        if len(word) >= 4:
            begins.setdefault(word[:4], []).append(word)
    return Passages(words, line, bases, places, numbers, begins)


class Match(NamedTuple):
    """How a word of the response is found: where, and what it counts for."""

    positions: list[int]
    credit: float
    how: str


class Flag(Struct, frozen=True):
    """Something in a sentence that the passages do not bear out: its kind, the words, their place in the response."""

    kind: str
    text: str
    start: int
    end: int
    instead: str = ""


class Aligned(Struct, frozen=True):
    """Words of the response, and the words of a passage (numbered from 1) that bear them out."""

    start: int
    end: int
    passage: int
    passage_start: int
    passage_end: int


class Support(Struct, frozen=True):
    """One sentence of the response against the passages. ``counts`` are what the model weighs."""

    start: int
    end: int
    words: int
    normalised: str
    counts: dict[str, float]
    flags: list[Flag]
    aligned: list[Aligned]


def support(response: str, contexts: Sequence[str]) -> list[Support]:
    """Each sentence of the response that has words, against all the passages.

    >>> one, = support("Ada was born in 1816.", ["Ada Lovelace (born 1815) was a mathematician."])
    >>> [(flag.kind, flag.text) for flag in one.flags]
    [('date', '1816')]
    """
    passages = passages_of(tuple(contexts))
    words = words_in(response)
    found: list[Support] = []
    at = 0
    for start, end in sentence_spans(response):
        first = at
        while at < len(words) and words.start[at] < end:
            at += 1
        if at > first:
            found.append(_Sentence(words, first, at, start, end, passages).support())
    return found


class _Sentence:
    """The work on one sentence; what is found out early is used later."""

    def __init__(self, words: Words, first: int, last: int, start: int, end: int, passages: Passages) -> None:
        self.words, self.first, self.last, self.start, self.end = words, first, last, start, end
        self.passages = passages
        self.stems = words.stems[first:last]
        self.forms = words.forms[first:last]
        self.numbers = words.numbers[first:last]
        content = words.content[first:last]
        talk = {
            stem
            for stem, form, carries in zip(self.stems, self.forms, content, strict=True)
            if carries and form in SMALL_TALK and stem not in passages.places
        }
        self.small_talk = len(talk)
        self.core = [at for at, carries in enumerate(content) if carries and self.stems[at] not in talk]
        self.weights = {self.stems[at]: weight(self.stems[at]) for at in self.core}
        self.total = sum(self.weights.values())
        self.matches = self._matches()
        self.events = sorted((place, stem) for stem, match in self.matches.items() for place in match.positions)

    def support(self) -> Support:
        """All counts, flags and alignments of the sentence."""
        length = len(self.stems)
        near, _ = self._window(length + 4)
        wide, window = self._window(2 * length + 8)
        low, high = window
        nearby = {word for word in self.passages.line[max(0, low - _AROUND) : high + _AROUND + 1] if word is not None}
        fragments = self._fragments()
        covered = sum(size for _, size, _ in fragments)
        missing = [at for at in self.core if self.stems[at] not in self.matches]
        flags = [*self._number_flags(window), *self._name_flags(missing), *self._opposites(nearby)]
        negation = self._negation(window)
        flags += negation
        held = [at for at in self.core if self._inside(at, window)]
        kinds = Counter(flag.kind for flag in flags)
        digits = [at for at in range(length) if self.numbers[at] is not None and self.forms[at][0].isdigit()]
        counts = {
            "near": near,
            "wide": wide,
            "bound": self._bound(window) if len(self.core) > 1 else wide,
            "copied": sum(size * size for _, size, _ in fragments) / length**2,
            "covered": covered / length,
            "last": float(bool(held) and held[-1] == self.core[-1]) if self.core else 1.0,
            "alike": float(sum(match.how == "alike" for match in self.matches.values())),
            "numbers_found": float(sum(self._inside(at, window) for at in digits)),
            "numbers_missing": float(kinds["number"] + kinds["date"]),
            "units": float(kinds["unit"]),
            "number_words_missing": float(kinds["number word"]),
            "names_missing": float(kinds["name"]),
            "opposites": float(kinds["opposite"]),
            "negation": float(bool(negation)),
            "repeated": self._repeated(window),
            "small_talk": float(self.small_talk),
            "heaviest_missing": max((self.weights[self.stems[at]] for at in missing), default=0.0),
            "content": float(len(self.weights)),
        }
        aligned = self._aligned(held, window, fragments)
        return Support(self.start, self.end, length, " ".join(self.stems), counts, flags, aligned)

    def relevance(self) -> dict[str, float]:
        """How much the passage is about the sentence."""
        length = len(self.stems)
        near, _ = self._window(length + 4)
        wide, window = self._window(2 * length + 8)
        found = {stem: self.weights[stem] * match.credit for stem, match in self.matches.items()}
        often = sum(math.log1p(len(self.matches[stem].positions)) * worth for stem, worth in found.items())
        missing = [at for at in self.core if self.stems[at] not in self.matches]
        return {
            "near": near,
            "wide": wide,
            "whole": sum(found.values()) / self.total if self.total else 1.0,
            "often": often / self.total if self.total else 1.0,
            "covered": sum(size for _, size, _ in self._fragments()) / length,
            "last": float(bool(self.core) and self._inside(self.core[-1], window)),
            "names_missing": math.log1p(len(self._name_flags(missing))),
            "heaviest_missing": max((self.weights[self.stems[at]] for at in missing), default=0.0),
        }

    def _matches(self) -> dict[str, Match]:
        places, numbers = self.passages.places, self.passages.numbers
        alike = likeness().alike
        matches: dict[str, Match] = {}
        for at in self.core:
            stem, number = self.stems[at], self.numbers[at]
            if stem in matches:
                continue
            if number is not None and number in numbers:
                matches[stem] = Match(numbers[number], 1.0, "number")
            elif stem in places:
                matches[stem] = Match(places[stem], 1.0, "same")
            elif number is None or not stem[0].isdigit():
                synonyms = [word for word in alike.get(stem, ()) if word in places]
                if synonyms:
                    matches[stem] = Match(sorted(at for word in synonyms for at in places[word]), ALIKE, "alike")
                elif (kin := self._kin(stem)) is not None:
                    matches[stem] = Match(places[kin[0]], KIN * kin[1], "kin")
        return matches

    def _kin(self, stem: str) -> tuple[str, float] | None:
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

    def _window(self, size: int) -> tuple[float, tuple[int, int]]:
        """The most weight that any stretch of ``size`` words of a passage holds, as a share, and that stretch."""
        if not self.total:
            return 1.0, (0, -1)
        events, bases = self.events, self.passages.bases
        held: Counter[str] = Counter()
        current = best = 0.0
        low = floor = 0
        span = (0, -1)
        worth = {stem: self.weights[stem] * match.credit for stem, match in self.matches.items()}
        ceiling = -1
        for at, (place, stem) in enumerate(events):
            if place > ceiling:
                passage = bisect_right(bases, place)
                floor = bases[passage - 1]
                ceiling = bases[passage] - 1 if passage < len(bases) else len(self.passages.line)
            if not held[stem]:
                current += worth[stem]
            held[stem] += 1
            while events[low][0] <= place - size or events[low][0] < floor:
                gone = events[low][1]
                held[gone] -= 1
                if not held[gone]:
                    current -= worth[gone]
                low += 1
            if current > best + 1e-9:
                best, span = current, (events[low][0], events[at][0])
        return min(1.0, best / self.total), span

    def _inside(self, at: int, window: tuple[int, int]) -> bool:
        match = self.matches.get(self.stems[at])
        return match is not None and _any_within(match.positions, *window)

    def _bound(self, window: tuple[int, int]) -> float:
        """Share of neighbouring content words that are neighbours, in this order, in the window too."""
        bound = 0
        for a, b in zip(self.core, self.core[1:], strict=False):
            one, other = self.matches.get(self.stems[a]), self.matches.get(self.stems[b])
            if one is None or other is None or self.stems[a] == self.stems[b]:
                continue
            bound += _follows(_within(one.positions, *window), _within(other.positions, *window))
        return bound / (len(self.core) - 1)

    def _fragments(self) -> list[tuple[int, int, int]]:
        """The response cut into the longest runs of words that a passage holds: (word, length, position)."""
        line, places = self.passages.line, self.passages.places
        stems, length = self.stems, len(self.stems)
        found: list[tuple[int, int, int]] = []
        at = 0
        while at < length:
            best, where = 0, -1
            candidates = places.get(stems[at], ())
            if len(candidates) > 40 and at + 1 < length:
                following = places.get(stems[at + 1], ())
                if len(following) < len(candidates):
                    starts = [place - 1 for place in following if place and line[place - 1] == stems[at]]
                    candidates = starts or candidates[:1]
            for place in candidates:
                size = 1
                while at + size < length and line[place + size] == stems[at + size]:
                    size += 1
                if size > best:
                    best, where = size, place
            if best:
                found.append((at, best, where))
            at += max(1, best)
        return found

    def _repeated(self, window: tuple[int, int]) -> float:
        """How often content words stand in the sentence more than once without doing so in the window."""
        said = Counter(self.stems[at] for at in self.core)
        extra = 0
        for stem, count in said.items():
            if count > 1:
                match = self.matches.get(stem)
                extra += count - max(1, len(_within(match.positions, *window)) if match is not None else 0)
        return float(max(0, extra))

    def _number_flags(self, window: tuple[int, int]) -> list[Flag]:
        flags = []
        line, numbers = self.passages.line, self.passages.numbers
        for at, number in enumerate(self.numbers):
            if number is None:
                continue
            digits = self.forms[at][0].isdigit()
            if number in numbers:
                unit = self.stems[at + 1] if at + 1 < len(self.stems) else ""
                if digits and unit in _UNITS:
                    theirs = [line[place + 1] for place in numbers[number]]
                    other = [word for word in theirs if word in _UNITS]
                    if other and unit not in theirs:
                        flags.append(self._flag("unit", at, other[0] or "", through=at + 1))
            elif digits:
                date = len(number) == 4 and number.isdigit() and "1000" <= number <= "2100"
                flags.append(self._flag("date" if date else "number", at, self._other_number(number, window)))
            elif self.forms[at] not in ("one", "first", "once"):
                flags.append(self._flag("number word", at))
        return flags

    def _other_number(self, number: str, window: tuple[int, int]) -> str:
        """A number of as many digits near the window, which may be the right one."""
        said = {*self.numbers}
        for other, places in self.passages.numbers.items():
            if len(other) == len(number) and other not in said and _any_within(places, window[0] - 4, window[1] + 4):
                return other
        return ""

    def _name_flags(self, missing: Iterable[int]) -> list[Flag]:
        """Capitalised words that no passage holds; the first word of a sentence is capitalised anyway."""
        text, start = self.words.text, self.words.start
        capital = [at for at in self.core if text[start[self.first + at]].isupper()]
        if len(capital) > 3 and len(capital) == len(self.core):
            return []  # a heading
        flags = []
        for at in missing:
            if at and text[start[self.first + at]].isupper() and self.numbers[at] is None:
                flags.append(self._flag("date" if self.stems[at] in _MONTHS else "name", at))
        return flags

    def _opposites(self, nearby: set[str]) -> list[Flag]:
        """Words whose opposite is in the window, and they are not."""
        opposite = likeness().opposite
        said = {*self.stems}
        flags = [*self._turned()]
        for at in self.core:
            stem = self.stems[at]
            if stem in nearby:
                continue
            against = next((word for word in sorted(opposite.get(stem, ())) if word in nearby and word not in said), "")
            against = against or next((word for word in _negated(stem) if word in nearby), "")
            if against:
                flags.append(self._flag("opposite", at, against))
        return flags

    def _turned(self) -> Iterator[Flag]:
        """Function words (before, more, up) whose opposite stands where they should, before the same content word."""
        opposite, line = likeness().opposite, self.passages.line
        core = set(self.core)
        for at, stem in enumerate(self.stems):
            against = opposite.get(stem)
            after = next((near for near in range(at + 1, min(at + 4, len(self.stems))) if near in core), None)
            if at in core or not against or after is None or self.stems[after] not in self.matches:
                continue
            before = [set(line[max(0, place - 3) : place]) for place in self.matches[self.stems[after]].positions]
            if any(stem in words for words in before):
                continue
            found = next((word for words in before for word in sorted(against) if word in words), None)
            if found:
                yield self._flag("opposite", at, found)

    def _negation(self, window: tuple[int, int]) -> list[Flag]:
        """A negation in the sentence and none near the window."""
        said = [at for at, form in enumerate(self.forms) if _negates(self.forms, at, form)]
        if not said:
            return []
        low, high = max(0, window[0] - _AROUND), window[1] + _AROUND + 1
        passages = self.passages
        if window[1] >= window[0]:
            passage, _, _ = passages.source(window[0])
            base, forms = passages.bases[passage], passages.words[passage].forms
            around = forms[max(0, low - base) : max(0, high - base)]
            if any(_negates(around, at, form) for at, form in enumerate(around)):
                return []
        return [self._flag("negation", said[0])]

    def _aligned(
        self, held: Sequence[int], window: tuple[int, int], fragments: Sequence[tuple[int, int, int]]
    ) -> list[Aligned]:
        """Runs of two words and more by their longest fragment, other words by their place in the window."""
        pairs: dict[int, int] = {}
        for at, size, place in fragments:
            if size > 1:
                pairs.update((at + step, place + step) for step in range(size))
        for at in held:
            if at not in pairs:
                pairs[at] = _within(self.matches[self.stems[at]].positions, *window)[0]
        for at in self.core:
            if at not in pairs and self.stems[at] in self.matches:
                pairs[at] = self.matches[self.stems[at]].positions[0]
        spans: list[Aligned] = []
        before = (-2, -2)
        for at, place in sorted(pairs.items()):
            passage, start, end = self.passages.source(place)
            here = self.words.start[self.first + at], self.words.end[self.first + at]
            if (at - 1, place - 1) == before and spans:
                spans[-1] = Aligned(spans[-1].start, here[1], passage + 1, spans[-1].passage_start, end)
            else:
                spans.append(Aligned(*here, passage + 1, start, end))
            before = at, place
        return spans

    def _flag(self, kind: str, at: int, instead: str = "", *, through: int | None = None) -> Flag:
        start = self.words.start[self.first + at]
        end = self.words.end[self.first + (at if through is None else through)]
        return Flag(kind, self.words.text[start:end], start, end, instead)


def _negates(forms: Sequence[str], at: int, form: str) -> bool:
    return form in NEGATIONS or (form == "t" and at > 0 and forms[at - 1].endswith("n"))


def _negated(stem: str) -> Iterable[str]:
    """The stems that a prefix makes the opposite of a stem, both ways."""
    for prefix in PREFIXES:
        if len(stem) > len(prefix) + 3 and stem.startswith(prefix):
            yield stem[len(prefix) :]
        if len(stem) > 4:
            yield prefix + stem


def _within(positions: Sequence[int], low: int, high: int) -> Sequence[int]:
    if high < low:
        return ()
    first = bisect_right(positions, low - 1)
    return positions[first : bisect_right(positions, high)]


def _any_within(positions: Sequence[int], low: int, high: int) -> bool:
    first = bisect_right(positions, low - 1)
    return first < len(positions) and positions[first] <= high


def _follows(ones: Sequence[int], others: Sequence[int]) -> bool:
    """Whether, of the closest pair of positions, the second comes after the first and not far from it."""
    if not ones or not others:
        return False
    distance = min((b - a for a in ones for b in others), key=lambda gap: (abs(gap), -gap))
    return 0 < distance <= _FAR


_LOWEST = ("near", "wide", "bound", "copied", "covered")
_SUMMED = (
    "alike",
    "numbers_found",
    "numbers_missing",
    "units",
    "number_words_missing",
    "names_missing",
    "opposites",
    "negation",
    "repeated",
    "small_talk",
)


def pooled(sentences: Sequence[Support]) -> dict[str, float]:
    """The counts of a whole response: shares of its weakest sentence, sums of what was found and missed as
    ``log(1 + sum)``, the mean of ``last``, the heaviest missing word. A response without words supports nothing.
    """
    telling = [one.counts for one in sentences if one.counts["content"]] or [one.counts for one in sentences]
    if not telling:
        return {name: 0.0 for name in (*_LOWEST, *_SUMMED, "last", "heaviest_missing")}
    counts = {name: min(one[name] for one in telling) for name in _LOWEST}
    counts |= {name: math.log1p(sum(one.counts[name] for one in sentences)) for name in _SUMMED}
    total = sum(one.words for one in sentences)
    counts["last"] = sum(one.words * one.counts["last"] for one in sentences) / total
    counts["heaviest_missing"] = max(one["heaviest_missing"] for one in telling)
    return counts


def relevance(question: str, context: str) -> dict[str, float] | None:
    """The question against one passage: the counts that the relevance model weighs; None where either has no words.

    >>> counts = relevance("Who wrote Dracula?", "Dracula is a novel by Bram Stoker.")
    >>> round(counts["whole"], 2), counts["names_missing"]
    (0.61, 0.0)
    """
    words = words_in(question)
    passages = passages_of((context,))
    if not len(words) or not passages.words[0]:
        return None
    return _Sentence(words, 0, len(words), 0, len(question), passages).relevance()
