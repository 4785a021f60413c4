"""Manual review of a question set, item by item: question, answer, and source with marked evidence.

Each decision is written at once as a line of a file next to the set, so that a review can be resumed; the last decision
on an item counts. The set itself is not changed: accepted items are written to another file.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InputError
from ..core.records import Sample
from ..core.wording import pluralize
from ..datasets.dataset import digest_of
from ..evaluate.evaluate_system import read_set
from ..io.samples import write_samples
from ..io.text_files import read_lines
from ..text.find_passage import find_passage

Verdict: TypeAlias = Literal["accept", "reject"]
Read: TypeAlias = Callable[[str], "str | None"]
Write: TypeAlias = Callable[[str], None]

MENU = "[a]ccept  [e]dit  [r]eject  [s]kip  [b]ack  [q]uit > "
WIDTH, AROUND = 100, 300
"""Width of the display in columns, and number of source characters shown on each side of the evidence."""


class Decision(Struct, frozen=True, omit_defaults=True):
    """The decision on one item, with the texts of an edit. ``item`` is the digest of the reviewed item."""

    id: str
    verdict: Verdict
    item: str = ""
    user_input: str | None = None
    reference: str | None = None
    note: str = ""


class Review:
    """A review of a question set, used as ``with Review(path) as review: review.walk()``."""

    def __init__(self, path: Path, *, out: Path | None = None, encoding: str = "utf-8") -> None:
        folder = path if path.is_dir() else path.parent
        stem = "" if path.is_dir() else f"{path.name.partition('.')[0]}."
        self.samples = read_set(path, encoding=encoding).samples
        self.out = out or folder / f"{stem}reviewed.jsonl"
        self.log = folder / f"{stem}review.jsonl"
        self.decisions: dict[str, Decision] = {}
        self._digests = {sample.id: digest_of([sample]) for sample in self.samples}
        logged = {decision.id: decision for decision in self._logged()}
        for decision in logged.values():
            if decision.id in self._digests and decision.item in ("", self._digests[decision.id]):
                self.decisions[decision.id] = decision
        self.stale = len(logged) - len(self.decisions)

    def __enter__(self) -> Review:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or not issubclass(kind, InputError):
            self.save()

    def walk(self, *, read: Read = input, write: Write = print) -> int:
        """Ask for a decision on each open item; return the number of items left.

        ``read`` returns the next line for a prompt, or None at the end of the input.
        """
        at, seen = 0, list[int]()
        while at < len(self.samples):
            sample = self.samples[at]
            if sample.id in self.decisions and at not in seen[-1:]:
                at += 1
                continue
            write(page(self._current(sample), len(self.samples) - self.left, len(self.samples)))
            key = (read(MENU) or "q").strip().lower()[:1]
            if key == "q":
                break
            if key == "b":
                if seen:
                    at = seen.pop()
                    self.decisions.pop(self.samples[at].id, None)
                continue
            if key not in {"a", "e", "r", "s"}:
                write("a, e, r, s, b or q, please")
                continue
            self._decide(sample, key, read)
            seen.append(at)
            at += 1
        return self.left

    @property
    def left(self) -> int:
        """The number of items without a decision."""
        return sum(sample.id not in self.decisions for sample in self.samples)

    @property
    def accepted(self) -> list[Sample]:
        """The accepted items, as edited."""
        return [
            self._current(sample)
            for sample in self.samples
            if sample.id in self.decisions and self.decisions[sample.id].verdict == "accept"
        ]

    def save(self) -> None:
        """Write the accepted items."""
        write_samples(self.out, self.accepted)

    def __str__(self) -> str:
        counts = Counter(decision.verdict for decision in self.decisions.values())
        edited = sum(one.user_input is not None or one.reference is not None for one in self.decisions.values())
        one, many = "earlier decision is for an item", "earlier decisions are for items"
        stale = f"; {pluralize(self.stale, one, many)} no longer in the set" if self.stale else ""
        return (
            f"{counts['accept']} accepted ({edited} edited), {counts['reject']} rejected, {self.left} left;"
            f" accepted items are in {self.out}{stale}"
        )

    def _decide(self, sample: Sample, key: str, read: Read) -> None:
        if key == "s":
            return
        decision = Decision(sample.id, "reject" if key == "r" else "accept", self._digests[sample.id])
        if key == "r":
            decision = replace(decision, note=(read("why (may be blank) > ") or "").strip())
        elif key == "e":
            now = self._current(sample)
            question = (read(f"question [{now.user_input}] > ") or "").strip()
            answer = (read(f"answer [{' / '.join(now.references)}] > ") or "").strip()
            decision = replace(decision, user_input=question or None, reference=answer or None)
        self.decisions[sample.id] = decision
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            log.write(msgspec.json.encode(decision) + b"\n")

    def _current(self, sample: Sample) -> Sample:
        decision = self.decisions.get(sample.id)
        if decision is None:
            return sample
        return replace(
            sample,
            user_input=sample.user_input if decision.user_input is None else decision.user_input,
            reference=sample.reference if decision.reference is None else decision.reference,
        )

    def _logged(self) -> list[Decision]:
        if not self.log.is_file():
            return []
        found = []
        for line in read_lines(self.log):
            try:
                found.append(msgspec.json.decode(line.data, type=Decision))
            except (msgspec.DecodeError, UnicodeDecodeError):
                if line.data.endswith(b"\n"):  # else it was cut off by a kill
                    raise InputError("not a decision of a review", path=self.log, line=line.number) from None
        return found


def page(sample: Sample, done: int, total: int) -> str:
    """Format one item: question, answer, and source with the evidence between ▶ and ◀."""
    tags = "  ".join(f"{name}: {value}" for name, value in sample.tags.items())
    lines = ["", "─" * WIDTH, f"{sample.id}   {done} of {total} done   {tags}".rstrip(), ""]
    lines += _wrapped("question: ", sample.user_input or "")
    lines += _wrapped("answer:   ", " / ".join(sample.references) or _no_answer(sample))
    sources = list(sample.relevance or {}) or [span.doc for span in sample.relevant_spans or ()]
    for number, context in enumerate(sample.reference_contexts or ()):
        name = sources[number] if number < len(sources) else number + 1
        lines += ["", *_wrapped(f"source {name}: ", _marked(context, sample))]
    if not sample.reference_contexts:
        lines += [line for span in sample.relevant_spans or () for line in _wrapped(f"{span.doc}: ", span.text or "")]
    return "\n".join([*lines, ""])


def _no_answer(sample: Sample) -> str:
    """Explain a missing answer."""
    if sample.tags.get("answerable") != "true":
        return "(none: not answerable)"
    kind = sample.tags.get("question_type") == "known_item"
    return "(none: a known item has no answer)" if kind else "(none is given)"


def _marked(context: str, sample: Sample) -> str:
    """Mark the evidence in a source, and leave out text far from it."""
    places = [
        place
        for span in sample.relevant_spans or ()
        if span.text is not None and (place := find_passage(span.text, context, 1.0)) is not None
    ]
    if not places:
        return _safe(context)
    first, last = min(place.start for place in places), max(place.end for place in places)
    low, high = max(0, first - AROUND), min(len(context), last + AROUND)
    text = context
    for place in sorted(places, reverse=True):
        text = f"{text[: place.start]}▶{text[place.start : place.end]}◀{text[place.end :]}"
    shift = 2 * len(places)
    return ("… " if low else "") + _safe(text[low : high + shift]) + (" …" if high < len(context) else "")


def _wrapped(label: str, text: str) -> list[str]:
    return textwrap.wrap(
        _safe(text), WIDTH, initial_indent=label, subsequent_indent=" " * min(len(label), 12), break_long_words=False
    ) or [label]


def _safe(text: str) -> str:
    """Replace control characters, which could change the terminal."""
    return "".join(char if char.isprintable() or char.isspace() else "�" for char in text)
