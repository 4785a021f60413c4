"""Run a system over samples: what it retrieved and answered, what failed and why, and what that took.

Rules of this file: a failure is one sample's, with its reason, whatever was raised. Nothing is scored here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from ..core.async_bridge import wait
from ..core.errors import InputError, WrongType, reason_of
from ..core.progress import Count, PartProgress
from ..core.records import Json, Sample, Span, Usage
from ..core.wording import pluralize
from .adapters import BATCH, alone, caller_of, method
from .call_pool import PLAIN, CallPolicy, CallResult, call_all
from .hits import Hit
from .output_cache import OutputCache
from .outputs import Output, answer_of, output_of

if TYPE_CHECKING:
    from ..models.engine import Progress


class Stage(Struct):
    """What one stage took: calls, kept outputs used instead, failures, seconds by row, tokens."""

    calls: int = 0
    kept: int = 0
    failed: int = 0
    retried: int = 0
    seconds: dict[int, float] = field(default_factory=dict)
    usage: Usage = Usage()

    def plain(self) -> dict[str, Json]:
        """The stage for the ``run`` block of a report."""
        took = list(self.seconds.values())
        told: dict[str, Json] = {"calls": self.calls, "failed": self.failed, "seconds": round(sum(took), 4)}
        if took:
            told |= {"median": _quantile(took, 0.5), "p95": _quantile(took, 0.95)}
        told |= {name: count for name, count in (("kept", self.kept), ("retried", self.retried)) if count}
        if self.usage.prompt_tokens or self.usage.completion_tokens:
            told |= {"prompt_tokens": self.usage.prompt_tokens, "completion_tokens": self.usage.completion_tokens}
        if self.usage.cost is not None:
            told["cost"] = self.usage.cost
        return told


def _quantile(seconds: Sequence[float], share: float) -> float:
    """Between the two nearest of the seconds, in proportion: the same definition for the median and the 95th."""
    return round(float(np.quantile(seconds, share)), 5)


class CollectedOutputs(NamedTuple):
    """Samples with what the system gave, the reasons of those it failed on by row, notes, and what each stage took."""

    samples: list[Sample]
    failed: dict[int, str]
    notes: list[str]
    stages: dict[str, Stage]


class Item(NamedTuple):
    """One row and what is asked for it: a question, and of an answerer the context."""

    row: int
    question: str
    context: str = ""


def collect(
    system: object,
    samples: Sequence[Sample],
    *,
    answerer: object = None,
    k: int = 10,
    patience: CallPolicy = PLAIN,
    keeping: OutputCache | None = None,
    texts: Mapping[str, str] | None = None,
    places: Mapping[str, Span] | None = None,
    need_ids: bool = False,
    measured: bool = False,
    progress: Progress | None = None,
) -> CollectedOutputs:
    """Ask a system every sample's question, and an answerer with what was retrieved.

    Without ``answerer`` the answer is the system's own, if it gives one. Retrieved texts are the system's own, else
    those of its ``context_text(id)``, else of ``texts``; an id without text is left out of the contexts and counted.
    ``places`` says where a chunk's id stands in its source. ``measured`` puts seconds and usage into the metadata.
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError(f"k={k!r}: expected a whole number of at least 1")
    failed: dict[int, str] = {}
    for row, sample in enumerate(samples):
        if not (sample.user_input or "").strip():
            failed[row] = "no user_input"
    index = _spent(system)
    retrieving = _retrieving(system, k, patience, keeping, failed)
    tally = retrieving.progress = PartProgress(progress)
    outputs = retrieving.run([Item(row, one.user_input or "") for row, one in enumerate(samples) if row not in failed])
    reading = _SampleUpdates(method(system, "context_text"), texts, places, k, need_ids=need_ids)
    found: dict[int, Sample] = {}
    for row, output in sorted(outputs.items()):
        try:
            found[row] = reading.sample(samples[row], output)
        except Exception as error:  # noqa: BLE001 - a result that is none, or context_text raised
            retrieving.fail(row, error)
    retrieving.stage.usage += _spent(system)
    stages = {"index": Stage(calls=index.calls, usage=index)} if index.calls else {}
    stages["retrieve"], broken = retrieving.stage, retrieving.broken
    if answerer is not None:
        answering = _answering(answerer, patience, keeping, failed)
        tally.next_part()
        answering.progress = tally
        stages["answer"] = answering.stage
        asked = [
            Item(row, one.user_input or "", "\n\n".join(one.retrieved_contexts or ())) for row, one in found.items()
        ]
        for row, answer in answering.run(asked).items():
            found[row] = replace(found[row], response=answer.answer)
            outputs[row] = replace(outputs[row], usage=_sum(outputs[row].usage, answer.usage))
        broken += answering.broken
    if measured:
        found = {row: _measured(one, row, stages, outputs[row].usage) for row, one in found.items()}
    if keeping is not None:
        keeping.finish()
    notes = reading.notes()
    if broken:
        held = pluralize(broken, "result")
        notes.append(f"{held} held halves of surrogate pairs, which became question marks")
    return CollectedOutputs([found.get(row, one) for row, one in enumerate(samples)], failed, notes, stages)


def _spent(system: object) -> Usage:
    """What a system of ours spent since it was asked last, such as on embeddings."""
    take = method(system, "take_usage")
    taken = take() if take is not None else None
    return taken if isinstance(taken, Usage) else Usage()


def _retrieving(
    system: object, k: int, patience: CallPolicy, keeping: OutputCache | None, failed: dict[int, str]
) -> _StageCalls:
    caller = caller_of(system)
    many = caller.many
    together = None if many is None else (lambda items: many([item.question for item in items], k))
    return _StageCalls(
        f"k={k}", lambda item: caller.one(item.question, k), together, output_of, patience, keeping, failed
    )


def _answering(
    answerer: object, patience: CallPolicy, keeping: OutputCache | None, failed: dict[int, str]
) -> _StageCalls:
    one, many = method(answerer, "answer"), method(answerer, "answer_batch")
    if one is None and many is None and callable(answerer):
        one = answerer
    if one is None and many is not None:
        one = partial(alone, many)
    if one is None:
        raise WrongType(f"{type(answerer).__name__} has no method answer")
    answer = one
    together = None
    if many is not None:
        together = partial(_many_answers, many)
    return _StageCalls(
        "answer", lambda item: answer(item.question, item.context), together, _answer, patience, keeping, failed
    )


def _many_answers(many: Callable[..., object], items: Sequence[Item]) -> object:
    return many([item.question for item in items], [item.context for item in items])


def _answer(result: object) -> Output:
    return result if isinstance(result, Output) else Output(answer=answer_of(result))


class _StageCalls:
    """One stage: calls that are made, kept outputs that spare them, and failures by row."""

    def __init__(
        self,
        label: str,
        one: Callable[[Item], object],
        many: Callable[[Sequence[Item]], object] | None,
        read: Callable[[object], Output],
        patience: CallPolicy,
        keeping: OutputCache | None,
        failed: dict[int, str],
    ) -> None:
        self.label, self.one, self.many, self.read = label, one, many, read
        self.patience, self.keeping, self.failed = patience, keeping, failed
        self.stage = Stage()
        self.outputs: dict[int, Output] = {}
        self.broken = 0
        self.progress: Progress | None = None

    def run(self, items: Sequence[Item]) -> dict[int, Output]:
        """The outputs of the rows that did not fail."""
        items = [item for item in items if not self._kept(item)]
        if self.many is not None and items:
            items = self._together(items, self.many)
        for called in call_all(items, self.one, self.patience):
            self._count(called)
            if called.error is not None:
                self.fail(items[called.at].row, called.error)
            else:
                self._take(items[called.at], called.result, called.seconds)
            self._tell()
        return self.outputs

    def fail(self, row: int, error: Exception) -> None:
        """Note why a row has no output."""
        self.failed[row] = reason_of(error)
        self.stage.failed += 1
        self.outputs.pop(row, None)

    def _together(self, items: Sequence[Item], many: Callable[[Sequence[Item]], object]) -> list[Item]:
        """Batch calls; the items of a batch that failed as a whole are left, to be asked one by one."""
        batches = [items[at : at + BATCH] for at in range(0, len(items), BATCH)]
        deadline = None if self.patience.deadline is None else self.patience.deadline * BATCH
        left: list[Item] = []
        for called in call_all(batches, many, CallPolicy(self.patience.workers, deadline)):
            batch = batches[called.at]
            self._count(called)
            results = called.result
            if called.error is not None or not isinstance(results, list | tuple) or len(results) != len(batch):
                left += batch
                continue
            for item, result in zip(batch, results, strict=True):
                if isinstance(result, Exception):
                    self.fail(item.row, result)
                else:
                    self._take(item, result, called.seconds / len(batch))
            self._tell()
        return left

    def _kept(self, item: Item) -> bool:
        if self.keeping is None:
            return False
        try:
            output = self.keeping.get(self.label, item.question, item.context)
        except Exception as error:  # noqa: BLE001 - offline, and it was never asked
            self.fail(item.row, error)
            return True
        if output is None:
            return False
        self.stage.kept += 1
        self.outputs[item.row] = output
        return True

    def _count(self, called: CallResult[object]) -> None:
        self.stage.calls += called.attempts
        self.stage.retried += called.attempts - 1

    def _tell(self) -> None:
        stage, usage = self.stage, self.stage.usage
        if self.progress is not None:
            used = replace(usage, calls=stage.calls, cached=stage.kept)
            self.progress(Count(len(self.outputs) + stage.failed, failed=stage.failed, usage=used))

    def _take(self, item: Item, result: object, seconds: float) -> None:
        try:
            given = self.read(result)
        except Exception as error:  # noqa: BLE001 - a result that is none is this sample's failure
            self.fail(item.row, error)
            return
        output = given.kept
        self.broken += output != given
        self.outputs[item.row] = output
        if output.usage is not None and output.usage.seconds:  # of many at once each knows best what it took
            seconds = output.usage.seconds
        self.stage.seconds[item.row] = seconds
        self.stage.usage = _sum(self.stage.usage, output.usage) or Usage()
        if self.keeping is not None:
            self.keeping.put(output, self.label, item.question, item.context, seconds=seconds)


class _SampleUpdates:
    """Puts outputs into samples: ids at their best rank, contexts, and where these stand in their sources."""

    def __init__(
        self,
        text_of: Callable[..., object] | None,
        texts: Mapping[str, str] | None,
        places: Mapping[str, Span] | None,
        k: int,
        *,
        need_ids: bool,
    ) -> None:
        self.text_of, self.texts, self.places, self.k, self.need_ids = text_of, texts, places, k, need_ids
        self.repeated = self.without_text = self.by_chunk = 0

    def sample(self, sample: Sample, output: Output) -> Sample:
        """The sample with an output in it."""
        hits, ids = output.hits, output.ids
        if hits is None and self.need_ids:
            raise WrongType("a retriever returns a list of results, and this is an answer alone")
        if hits is None:
            return replace(sample, response=output.answer)
        if ids is None and self.need_ids:
            raise InputError("a result without a document id")
        if ids is not None:
            self.repeated += len(hits) - len(ids)
            labels = sample.relevance or {}
            self.by_chunk += sum(hit.chunk in labels and hit.id not in labels for hit in hits)
        passages = list(dict.fromkeys(replace(hit, score=None) for hit in hits))[: self.k]
        contexts, spans = [], []
        for hit in passages:
            text = self._text(hit)
            if text is not None and text.strip():
                contexts.append(text)
                spans.append(self._place(hit, text))
            else:
                self.without_text += 1
        known = contexts or not passages or self.text_of is not None or self.texts is not None
        placed = sample.relevant_spans is not None and any(span is not None for span in spans)
        metadata: dict[str, Json] = {**sample.metadata, "retrieved_spans": list[Json](spans)} if placed else {}
        return replace(
            sample,
            retrieved_ids=None if ids is None else ids[: self.k],
            retrieved_contexts=contexts if known else None,
            response=output.answer,
            metadata=metadata or sample.metadata,
        )

    def notes(self) -> list[str]:
        """What a reader of the report should know of the results."""
        notes = []
        if self.repeated:
            repeated = pluralize(self.repeated, "repeated document")
            notes.append(f"{repeated} in the results: each counts once, at its best rank")
        if self.by_chunk:
            one = "result is labelled by the id of its chunk, but counts as the document that it names as source"
            many = "results are labelled by the id of their chunk, but count as the document that they name as source"
            label = "label the documents, or give the ids of the chunks alone"
            notes.append(f"{pluralize(self.by_chunk, one, many)}: {label}")
        if self.without_text and (self.text_of is not None or self.texts is not None):
            lacking = pluralize(
                self.without_text, "retrieved document has no text and was", "retrieved documents have no text and were"
            )
            notes.append(f"{lacking} left out of the contexts")
        return notes

    def _text(self, hit: Hit) -> str | None:
        if hit.text is not None:
            return hit.text
        if self.text_of is not None and hit.id is not None:
            found = self.text_of(hit.chunk or hit.id)
            found = wait(found) if inspect.isawaitable(found) else found
            return found if isinstance(found, str) else None
        return None if self.texts is None else self.texts.get(hit.chunk or hit.id or "")

    def _place(self, hit: Hit, text: str) -> Json:
        """Where a context stands in its source: as the hit says, as its id says, or the whole of a document."""
        if hit.start is not None and hit.end is not None and hit.id is not None:
            return {"doc": hit.id, "start": hit.start, "end": hit.end}
        known = None if self.places is None else self.places.get(hit.chunk or hit.id or "")
        if known is not None:
            return {"doc": known.doc, "start": known.start, "end": known.end}
        whole = None if self.texts is None or hit.id is None else self.texts.get(hit.id)
        if hit.id is not None and (whole == text or (hit.text is None and hit.chunk is None)):
            return {"doc": hit.id, "start": 0, "end": len(text)}
        return None


def _sum(one: Usage | None, other: Usage | None) -> Usage | None:
    return other if one is None else one if other is None else one + other


def _measured(sample: Sample, row: int, stages: Mapping[str, Stage], usage: Usage | None) -> Sample:
    told: dict[str, Json] = {}
    spent = [stage.seconds[row] for stage in stages.values() if row in stage.seconds]
    if spent:
        told["seconds"] = sum(spent)
    if usage is not None:
        told["usage"] = {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            **({} if usage.cost is None else {"cost": usage.cost}),
        }
    return replace(sample, metadata={**sample.metadata, **told})
