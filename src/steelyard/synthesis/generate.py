"""Make a question set from documents: with a language model, whose questions are filtered, or without one.

Rules of this file: what is asked depends on the seed alone, and what is kept on the replies alone: items are looked at
in the order of their slots, however the calls overlap. Replies are in the ledger, so a run that was killed is played
again up to where it was, and goes on.
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
    from ..models.judge import LLMJudge

if TYPE_CHECKING:
    from ..models.embedder import Embedder
    from ..models.engine import Progress, Result
    from ..models.judge import LLMJudge

RELATED = 3
"""Passages beside its own: a question without an answer finds none there, a known item may be mistaken for them."""
UNFIT, ALONE = "passage unfit for it", "no linked passage"
LIKE = 0.8
"""Questions at least this alike are duplicates."""


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
    """What all rounds share."""

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
    """A set of ``n`` questions on a corpus: a path, texts by id, or documents.

    With a ``judge`` the ``kinds`` are single, multi, comparison and unanswerable, in the ``styles`` plain, keyword,
    conversational and misspelt, each with a share; every item has its sources, the quotes that hold the answer, the
    answer, its type and difficulty, and has passed the filters. Passages of a question on two are linked by rare words
    that they share, or by an ``embedder``. Without a judge the kinds are known_item and cloze.

    An item is tried at most ``attempts`` times; then there are fewer, and ``complete`` is False. With ``out`` items are
    written as they are kept (``partial.jsonl``), and the whole set at the end. The same seed and replies give the same
    set.

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
    with _Partial(out) as partial_file:
        for attempt in range(attempts):
            open_slots = [slot for slot in range(n) if slot not in kept]
            if not open_slots:
                break
            no_reply = 0
            for task, outcome in _tried(setting, setting.planning.round(attempt, open_slots), engine):
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
    """What a set would cost if every first attempt were kept. Nothing is asked."""
    setting = _setting(corpus, n, judge, kinds, styles, None, seed, ledger)
    tasks = [task for task in setting.planning.round(0, range(n)) if task.kind not in PLAIN_KINDS]
    cells = [Cell(task.slot, partial(_rehearsal, task, setting)) for task in tasks]
    return Engine(judge, ledger=ledger).estimate(cells)


def check_out(source: Path, out: Path) -> None:
    """InputError where a set would be written over the documents that it is made from."""
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
    """A corpus from a path, texts by id, or a list of texts or documents."""
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
    """A reason that is the endpoint's, or a limit's."""

    __slots__ = ()


def _tried(setting: _Setting, tasks: Sequence[Task], engine: Engine) -> Iterator[tuple[Task, Draft | str]]:
    """What became of each task, in their order: a draft, or the reason why there is none."""
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
        """Lets the engine end its run."""


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
    """Have one item written and filtered."""
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
    """The requests of an item that is kept at once."""
    drafted = yield from draft(task.kind, task.style, task.passages, number=task.number)
    yield from rehearse(task.kind, f"{drafted.question} {task.slot}", task.passages, _related(task, setting))
    return Value(1.0)


def _related(task: Task, setting: _Setting) -> list[Passage]:
    """Where else an answer to a question without one might be found, and what a known item may be mistaken for."""
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
    """An item as a sample: with its sources, its evidence, its answer and what it is."""
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


class _Partial:
    """Items on disk as they are kept."""

    def __init__(self, folder: str | PathLike[str] | None) -> None:
        self._path = None if folder is None else Path(folder) / "partial.jsonl"

    def __enter__(self) -> _Partial:
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
    """Question and answer pairs from documents, for a quick start; ``synthesize`` gives whole sets.

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
        """Pairs with the passage and the id of the document they are from: single questions of a language model, or
        without one sentences with a gap. There are fewer where the documents do not give as many."""
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
