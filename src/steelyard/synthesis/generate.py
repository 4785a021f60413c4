"""Generation of a question set from documents, with a language model and filters, or without a model.

The requests depend only on the seed, and the accepted items only on the replies: items are checked in the order of
their slots, even if calls overlap. Replies are cached in the ledger, so an interrupted run resumes from the cached
replies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ..core.errors import AskFailed, BadReply, InputError, reason_of
from ..core.records import Json, Sample, Span, Undefined, Usage, Value
from ..core.requests import Flow
from ..core.wording import pluralize
from ..datasets.corpus import Corpus, read_corpus
from ..datasets.dataset import Dataset, EvalQuery, digest_of
from ..datasets.set_folder import JOB_FILE, write_set
from ..io.text_files import writing
from ..models.cell import Cell
from ..models.cost_estimate import CostEstimate
from ..models.engine import Engine
from ..systems.hits import hit_of
from ..text.near_duplicates import DuplicateFilter
from .filters import DUPLICATE, plain_refusal, refusal, rehearse
from .known_items import Salience, known_item
from .misspelling import misspelt
from .passages import Links, Passage, passages_of
from .planning import ALL_STYLES, PLAIN_KINDS, Planning, Task, job_of, kinds_of, shares
from .question_kinds import OF_TWO, Draft, draft

if TYPE_CHECKING:
    from ..models.embedder import Embedder
    from ..models.engine import Progress, Result
    from ..models.judge import LLMJudge

RELATED = 3
"""Number of related passages of an unanswerable question or a known item."""
UNFIT, ALONE = "passage unfit for it", "no linked passage"
LIKE = 0.8
"""Similarity from which two questions are duplicates."""


@dataclass
class Synthesis:
    """A question set and how it was made: accepted items, counts of rejections by reason, attempts and usage."""

    corpus: Corpus
    wanted: int
    samples: list[Sample] = field(default_factory=list)
    rejected: dict[str, int] = field(default_factory=dict)
    attempts: int = 0
    usage: Usage = field(default_factory=Usage)
    warnings: list[str] = field(default_factory=list)
    job: str = ""

    @property
    def complete(self) -> bool:
        """Whether there are as many items as were wanted."""
        return len(self.samples) == self.wanted

    @property
    def dataset(self) -> Dataset:
        """The set with its corpus."""
        queries = [EvalQuery.of(sample) for sample in self.samples]
        return Dataset(f"{self.corpus.name}-questions", queries=queries, corpus=self.corpus.texts)

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the set as a folder for ``eval``, ``rank`` and ``run``, and ``synthesis.json`` with the counts."""
        target = Path(folder)
        told = {
            "wanted": self.wanted,
            "kept": len(self.samples),
            "attempts": self.attempts,
            "rejected": self.rejected,
            "job": self.job,
            "samples": digest_of(self.samples),
        }
        with writing(target / JOB_FILE) as file:  # first: a set that stands half written is known to be of this job
            file.write(msgspec.json.format(msgspec.json.encode(told), indent=2) + b"\n")
        write_set(target, self.samples, self.corpus)

    def __str__(self) -> str:
        lines = [f"{len(self.samples)} of {pluralize(self.wanted, 'item')} after {pluralize(self.attempts, 'attempt')}"]
        kinds = Counter(sample.tags["question_type"] for sample in self.samples)
        lines.append("kept: " + (", ".join(f"{count} {kind}" for kind, count in kinds.most_common()) or "none"))
        if self.rejected:
            lines.append("rejected: " + ", ".join(f"{count} {reason}" for reason, count in self.rejected.items()))
        return "\n".join([*lines, *self.warnings])


class _Setting(NamedTuple):
    """The settings of all rounds."""

    corpus: Corpus
    planning: Planning
    links: Links | None
    salience: Salience
    seed: int


def synthesize(
    corpus: object,
    n: int = 100,
    *,
    judge: LLMJudge | str | None = None,
    kinds: Mapping[str, float] | Sequence[str] | None = None,
    styles: Mapping[str, float] | Sequence[str] | None = None,
    embedder: Embedder | str | None = None,
    seed: int = 0,
    attempts: int = 10,
    out: str | PathLike[str] | None = None,
    ledger: str | Path | None = None,
    concurrency: int = 16,
    budget: float | None = None,
    max_calls: int | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> Synthesis:
    """Generate ``n`` questions on a corpus: a path, texts by id, or documents.

    With a ``judge`` the ``kinds`` are single, multi, comparison and unanswerable, and the ``styles`` plain, keyword,
    conversational and misspelt, each with a share. Every item has sources, quotes with the answer, the answer, a type
    and a difficulty, and has passed the filters. The two passages of one question are linked by shared rare words, or
    by an ``embedder``. Without a judge the kinds are known_item and cloze.

    Each item has at most ``attempts`` attempts; if all fail, the set has fewer items and ``complete`` is False. With
    ``out``, accepted items are written at once (``partial.jsonl``), and the complete set at the end. The same seed and
    replies give the same set.

    >>> text = "The tower was built of granite by Robert Stevenson in 1811, on a reef that the sea covers at times."
    >>> made = synthesize({"tower": text}, 1, kinds=["cloze"])
    >>> made.samples[0].relevance, made.samples[0].reference in text
    ({'tower': 1.0}, True)
    """
    if out is not None and isinstance(corpus, str | PathLike):
        check_out(Path(corpus), Path(out))
    corpus = corpus_of(corpus)
    setting = _setting(corpus, n, judge, kinds, styles, embedder, seed, ledger)
    if attempts < 1:
        raise InputError(f"attempts must be at least 1, not {attempts}")
    engine = Engine(
        judge,
        ledger=ledger,
        concurrency=concurrency,
        budget=budget,
        max_calls=max_calls,
        offline=offline,
        progress=progress,
    )
    made = Synthesis(setting.corpus, n, warnings=list(setting.corpus.notes))
    made.job = job_of(corpus, n, judge=judge, kinds=kinds, styles=styles, embedder=embedder, seed=seed)
    kept: dict[int, Sample] = {}
    rejected: Counter[str] = Counter()
    seen = DuplicateFilter(least=LIKE)
    with _PartialFile(out) as partial_file:
        for attempt in range(attempts):
            open_slots = [slot for slot in range(n) if slot not in kept]
            if not open_slots:
                break
            no_reply = 0
            for task, outcome in _run_tasks(setting, setting.planning.round(attempt, open_slots), engine):
                made.attempts += 1
                if isinstance(outcome, Draft) and seen.add(outcome.question):
                    kept[task.slot] = sample = _sample(task, outcome, setting, n)
                    partial_file.add(sample)
                else:
                    rejected[DUPLICATE if isinstance(outcome, Draft) else str(outcome)] += 1
                    no_reply += isinstance(outcome, _NoReply)
            if no_reply == len(open_slots):
                made.warnings.append("stopped: no request was answered in the last round")
                break
    made.samples = [kept[slot] for slot in sorted(kept)]
    made.rejected, made.usage = dict(rejected.most_common()), engine.usage
    made.warnings += engine.notes
    if out is not None:
        made.save(out)
        partial_file.remove()
    return made


def plan_synthesis(
    corpus: object,
    n: int = 100,
    *,
    judge: LLMJudge | str,
    kinds: Mapping[str, float] | Sequence[str] | None = None,
    styles: Mapping[str, float] | Sequence[str] | None = None,
    seed: int = 0,
    ledger: str | Path | None = None,
) -> CostEstimate:
    """Estimate the cost of a set if every first attempt is accepted, without making any call."""
    setting = _setting(corpus, n, judge, kinds, styles, None, seed, ledger)
    tasks = [task for task in setting.planning.round(0, range(n)) if task.kind not in PLAIN_KINDS]
    cells = [Cell(task.slot, partial(_rehearsal, task, setting)) for task in tasks]
    return Engine(judge, ledger=ledger).estimate(cells)


def check_out(source: Path, out: Path) -> None:
    """Raise InputError if the set would overwrite its own documents."""
    own = source.is_file() and source.name in ("samples.jsonl", "queries.jsonl", "corpus.jsonl", "partial.jsonl")
    if out.resolve() == source.resolve() or (own and out.resolve() == source.resolve().parent):
        raise InputError("the set would overwrite its own documents: name another folder", path=out)


def _setting(
    given: object,
    n: int,
    judge: LLMJudge | str | None,
    kinds: Mapping[str, float] | Sequence[str] | None,
    styles: Mapping[str, float] | Sequence[str] | None,
    embedder: Embedder | str | None,
    seed: int,
    ledger: str | Path | None,
) -> _Setting:
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise InputError(f"n must be at least 1, not {n!r}")
    chosen = kinds_of(kinds, judge)
    if judge is None and (needs := [kind for kind in chosen if kind not in PLAIN_KINDS]):
        raise InputError(f"the kind {needs[0]} needs a judge, such as --judge openai:gpt-4o-mini (judge=)")
    corpus = corpus_of(given)
    passages = passages_of(corpus.texts)
    if not passages:
        raise InputError(f"the corpus {corpus.name} has no passage long enough for a question")
    linked = not chosen.keys().isdisjoint({*OF_TWO, "unanswerable", "known_item"})
    links = Links(passages, embedder=embedder, ledger=ledger) if linked else None
    planning = Planning(passages, links, wanted=n, kinds=chosen, styles=shares(styles, ALL_STYLES, "style"), seed=seed)
    return _Setting(corpus, planning, links, Salience(passages), seed)


def corpus_of(given: object) -> Corpus:
    """Make a corpus from a path, texts by id, or a list of texts or documents."""
    if isinstance(given, Corpus):
        return given
    if isinstance(given, str | PathLike):
        return read_corpus(given)
    if isinstance(given, Mapping):
        if (odd := next((key for key, text in given.items() if not isinstance(text, str)), None)) is not None:
            raise InputError(f"document {odd!r} has no text: {str(given[odd])[:120]!r}")
        return Corpus("documents", {str(key): text for key, text in given.items()})
    if not isinstance(given, Iterable):
        raise InputError(f"expected a path, texts or documents, found {type(given).__name__}")
    corpus = Corpus("documents")
    for number, one in enumerate(given, 1):
        if isinstance(one, str):
            corpus.texts[str(number)] = one
            continue
        hit = hit_of(one, need_id=False)
        if hit.text is None:
            raise InputError(f"document {number} has no text: {str(one)[:120]!r}")
        key = hit.chunk or hit.id or str(number)
        corpus.texts[key if key not in corpus.texts else f"{key}#{number}"] = hit.text
    return corpus


class _NoReply(str):
    """The reason of a missing reply: an error of the endpoint, or a limit."""

    __slots__ = ()


def _run_tasks(setting: _Setting, tasks: Sequence[Task], engine: Engine) -> Iterator[tuple[Task, Draft | str]]:
    """Yield the result of each task, in order: a draft, or the reason of a rejection."""
    drafts: dict[int, Draft] = {}
    asked = [task for task in tasks if task.kind not in PLAIN_KINDS]
    cells = (Cell(task.slot, partial(_rule, task, setting, drafts)) for task in asked)
    results = engine.run(cells) if asked else iter(())
    done: dict[int, Result] = {}
    for task in tasks:
        if task.kind in PLAIN_KINDS:
            yield task, _without_model(task, setting)
            continue
        while task.slot not in done:
            result = next(results)
            assert isinstance(result.key, int)
            done[result.key] = result
        yield task, _outcome(done.pop(task.slot), drafts)
    for _ in results:
        """Let the engine finish its run."""


def _outcome(result: Result, drafts: Mapping[int, Draft]) -> Draft | str:
    error = result.error
    if isinstance(error, AskFailed):
        return _NoReply(f"no reply ({error.kind})")
    if isinstance(error, BadReply):
        return f"unusable reply ({error.kind})"
    if error is not None:
        return f"failed: {reason_of(error)}"
    if isinstance(result.outcome, Undefined):
        return result.outcome.reason
    assert isinstance(result.key, int)
    return drafts[result.key]


def _rule(task: Task, setting: _Setting, drafts: dict[int, Draft]) -> Flow:
    """Generate and filter one item."""
    if task.kind in OF_TWO and len(task.passages) < 2:
        return Undefined(ALONE)
    drafted = yield from draft(task.kind, task.style, task.passages, number=task.number)
    reason = plain_refusal(task.kind, drafted, task.passages)
    if reason is None:
        reason = yield from refusal(task.kind, drafted, task.passages, _related(task, setting))
    if reason is not None:
        return Undefined(reason)
    drafts[task.slot] = drafted
    return Value(1.0)


def _rehearsal(task: Task, setting: _Setting) -> Flow:
    """Make the requests of an item that is accepted at its first attempt."""
    drafted = yield from draft(task.kind, task.style, task.passages, number=task.number)
    yield from rehearse(task.kind, f"{drafted.question} {task.slot}", task.passages, _related(task, setting))
    return Value(1.0)


def _related(task: Task, setting: _Setting) -> list[Passage]:
    """Return related passages, for the check of unanswerable questions and for mistaken words of known-item queries."""
    if task.kind not in {"unanswerable", "known_item"} or setting.links is None:
        return []
    return [setting.planning.passages[other] for other in setting.links.near(task.at, RELATED)]


def _without_model(task: Task, setting: _Setting) -> Draft | str:
    draw, (passage,) = task.draw(setting.seed, task.kind), task.passages
    if task.kind == "known_item":
        simple = known_item(setting.salience, passage, draw, _related(task, setting))
    else:
        simple = setting.salience.cloze(passage, draw)
    return UNFIT if simple is None else Draft(simple.question, simple.answer, (simple.span,), "")


def _sample(task: Task, drafted: Draft, setting: _Setting, n: int) -> Sample:
    """Convert an item to a sample with its sources, evidence, answer and tags."""
    spans = [span for span in drafted.spans if span is not None]
    question = drafted.question.strip()
    if task.style == "misspelt":
        question = misspelt(question, task.draw(setting.seed, "slips"))
    answerable = task.kind != "unanswerable"
    tags = {"question_type": task.kind, "style": task.style, "answerable": "true" if answerable else "false"}
    if drafted.difficulty:
        tags["difficulty"] = drafted.difficulty
    places: list[Json] = [{"doc": one.doc, "start": one.start, "end": one.end} for one in task.passages]
    grade = 1.0 if answerable else 0.0
    return Sample(
        id=f"q{task.slot + 1:0{len(str(n))}}",
        user_input=question,
        reference=drafted.answer,
        reference_contexts=[passage.text for passage in task.passages] if answerable else None,
        relevance={passage.doc: grade for passage in task.passages},
        relevant_spans=[Span(one.doc, one.start, one.end, one.text) for one in spans] or None,
        tags=tags,
        metadata={"passages": places, "attempt": task.attempt + 1},
    )


class _PartialFile:
    """The file of accepted items of an unfinished set."""

    def __init__(self, folder: str | PathLike[str] | None) -> None:
        self._path = None if folder is None else Path(folder) / "partial.jsonl"

    def __enter__(self) -> _PartialFile:
        if self._path is not None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self._path.open("wb")
            except OSError as error:
                raise InputError(f"no folder for a set: {error.strerror}", path=self._path.parent) from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._path is not None:
            self._file.close()

    def add(self, sample: Sample) -> None:
        if self._path is not None:
            self._file.write(msgspec.json.encode(sample) + b"\n")
            self._file.flush()

    def remove(self) -> None:
        if self._path is not None:
            self._path.unlink(missing_ok=True)


class EvalDatasetBuilder:
    """Generate question and answer pairs from documents; ``synthesize`` generates complete question sets.

    >>> text = "The tower was built of granite by Robert Stevenson in 1811, on a reef that the sea covers at times."
    >>> (pair,) = EvalDatasetBuilder(None, [text]).generate_qa_pairs(1)
    >>> sorted(pair), pair["source"]
    (['answer', 'context', 'question', 'source'], '1')
    """

    def __init__(
        self, judge: LLMJudge | str | None, documents: object, *, ledger: str | Path | None = None, seed: int = 0
    ) -> None:
        self.judge, self.documents, self.ledger, self.seed = judge, documents, ledger, seed

    def generate_qa_pairs(self, num_pairs: int = 100) -> list[dict[str, str]]:
        """Generate pairs with their passage and the id of their document: single questions of a language model, or
        without a model sentences with a gap. There are fewer pairs if the documents do not give enough."""
        made = synthesize(
            self.documents,
            num_pairs,
            judge=self.judge,
            kinds=["cloze" if self.judge is None else "single"],
            styles=["plain"],
            ledger=self.ledger,
            seed=self.seed,
        )
        return [
            {
                "question": sample.user_input or "",
                "answer": sample.references[0],
                "context": (sample.reference_contexts or [""])[0],
                "source": next(iter(sample.relevance or {})),
            }
            for sample in made.samples
        ]
