"""Call a system with the questions of samples and collect its outputs, its failures, and the cost of each stage.

``collect`` records an exception as the failure of one sample, with its reason; ``retrieve_ids`` raises it. Nothing is
scored here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from ..core.errors import InputError, WrongType, reason_of
from ..core.progress import Count, PartProgress
from ..core.records import Json, Sample, Span, Usage
from ..core.wording import pluralize
from .adapters import BATCH, adapt, ask_batch_of_one, find_method, resolve
from .call_pool import PLAIN, CallPolicy, CallResult, call_all
from .hits import Hit
from .output_cache import OutputCache
from .outputs import Output, answer_of, output_of, ranked_ids

if TYPE_CHECKING:
    from ..models.engine import Progress


class Stage(Struct):
    """The cost of one stage: calls, outputs from the cache (``kept``), failures, seconds by row, tokens."""

    calls: int = 0
    kept: int = 0
    failed: int = 0
    retried: int = 0
    seconds: dict[int, float] = field(default_factory=dict)
    usage: Usage = Usage()

    def plain(self) -> dict[str, Json]:
        """The stage for the ``run`` block of a report."""
        seconds = list(self.seconds.values())
        block: dict[str, Json] = {"calls": self.calls, "failed": self.failed, "seconds": round(sum(seconds), 4)}
        if seconds:
            block |= {"median": _quantile(seconds, 0.5), "p95": _quantile(seconds, 0.95)}
        block |= {name: count for name, count in (("kept", self.kept), ("retried", self.retried)) if count}
        if self.usage.prompt_tokens or self.usage.completion_tokens:
            block |= {"prompt_tokens": self.usage.prompt_tokens, "completion_tokens": self.usage.completion_tokens}
        if self.usage.cost is not None:
            block["cost"] = self.usage.cost
        return block


def _quantile(seconds: Sequence[float], share: float) -> float:
    """The quantile with linear interpolation between the two nearest values, as for the median."""
    return round(float(np.quantile(seconds, share)), 5)


class CollectedOutputs(NamedTuple):
    """Samples with the outputs of a system, reasons of failed samples by row, notes, and the cost of each stage."""

    samples: list[Sample]
    failed: dict[int, str]
    notes: list[str]
    stages: dict[str, Stage]


class Item(NamedTuple):
    """The question of one row; for an answerer also the context."""

    row: int
    question: str
    context: str = ""


def collect(
    system: object,
    samples: Sequence[Sample],
    *,
    answerer: object = None,
    k: int = 10,
    policy: CallPolicy = PLAIN,
    cache: OutputCache | None = None,
    texts: Mapping[str, str] | None = None,
    places: Mapping[str, Span] | None = None,
    need_ids: bool = False,
    measured: bool = False,
    progress: Progress | None = None,
) -> CollectedOutputs:
    """Call a system with the question of every sample, and an answerer with the retrieved contexts.

    Without ``answerer`` the answer of the system is used, if it returns one. The texts of contexts come from the
    results, or else from ``context_text(id)`` of the system, or else from ``texts``; an id without text is left out of
    the contexts and counted. ``places`` maps the id of a chunk to its span in the source document. ``need_ids`` fails
    a sample whose output is not a ranking of ids. ``measured`` stores seconds and usage in the metadata.
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError(f"k={k!r}: expected a whole number of at least 1")
    failed: dict[int, str] = {}
    for row, sample in enumerate(samples):
        if not (sample.user_input or "").strip():
            failed[row] = "no user_input"
    index = _usage_since_last_call(system)
    retrieval = _retrieval_calls(system, k, policy, cache, failed)
    part_progress = retrieval.progress = PartProgress(progress)
    outputs = retrieval.run([Item(row, one.user_input or "") for row, one in enumerate(samples) if row not in failed])
    updates = _SampleUpdates(find_method(system, "context_text"), texts, places, k, need_ids=need_ids)
    updated: dict[int, Sample] = {}
    for row, output in sorted(outputs.items()):
        try:
            updated[row] = updates.sample(samples[row], output)
        except Exception as error:  # noqa: BLE001 - the output is no ranking, or context_text raised
            retrieval.fail(row, error)
    retrieval.stage.usage += _usage_since_last_call(system)
    stages = {"index": Stage(calls=index.calls, usage=index)} if index.calls else {}
    stages["retrieve"], broken = retrieval.stage, retrieval.broken
    if answerer is not None:
        answers = _answer_calls(answerer, policy, cache, failed)
        part_progress.next_part()
        answers.progress = part_progress
        stages["answer"] = answers.stage
        items = [
            Item(row, one.user_input or "", "\n\n".join(one.retrieved_contexts or ())) for row, one in updated.items()
        ]
        for row, answer in answers.run(items).items():
            updated[row] = replace(updated[row], response=answer.answer)
            outputs[row] = replace(outputs[row], usage=_sum(outputs[row].usage, answer.usage))
        broken += answers.broken
    if measured:
        updated = {row: _measured(one, row, stages, outputs[row].usage) for row, one in updated.items()}
    if cache is not None:
        cache.finish()
    notes = updates.notes()
    if broken:
        results = pluralize(broken, "result")
        notes.append(f"{results} held halves of surrogate pairs, which became question marks")
    return CollectedOutputs([updated.get(row, one) for row, one in enumerate(samples)], failed, notes, stages)


class RetrievedIds(NamedTuple):
    """The ids of each query, each document once at its best rank, and the number of repeated results."""

    ids: dict[str, list[str]]
    repeated: int


def retrieve_ids(retriever: object, queries: Mapping[str, str], k: int) -> RetrievedIds:
    """The ids of at most ``k`` documents for each query, best first; ``queries`` maps ids of queries to texts.

    An exception of the retriever, or of reading its result, is raised to the caller with the query in a note. A batch
    call that fails is repeated query by query, so that the exception is that of its query.

    >>> retrieve_ids(lambda query, k: ["d2", "d1", "d2"], {"q1": "Which?"}, 2)
    RetrievedIds(ids={'q1': ['d2', 'd1']}, repeated=1)
    """
    names = list(queries)
    calls = _retrieval_calls(retriever, k, PLAIN, None, {}, read=_read_ranking, raise_for=names)
    outputs = calls.run([Item(row, text) for row, text in enumerate(queries.values())])
    ids: dict[str, list[str]] = {}
    repeated = 0
    for row, name in enumerate(names):
        unique = ranked_ids(outputs[row])
        repeated += len(outputs[row].hits or ()) - len(unique)
        ids[name] = unique[:k]
    return RetrievedIds(ids, repeated)


def _read_ranking(result: object) -> Output:
    output = output_of(result)
    ranked_ids(output)
    return output


def _usage_since_last_call(system: object) -> Usage:
    """The usage that a built-in system counted since the last call of this function, such as for embeddings."""
    take = find_method(system, "take_usage")
    taken = take() if take is not None else None
    return taken if isinstance(taken, Usage) else Usage()


def _retrieval_calls(
    system: object,
    k: int,
    policy: CallPolicy,
    cache: OutputCache | None,
    failed: dict[int, str],
    *,
    read: Callable[[object], Output] = output_of,
    raise_for: Sequence[str] | None = None,
) -> _StageCalls:
    adapter = adapt(system)
    many = adapter.many
    batch = None if many is None else (lambda items: many([item.question for item in items], k))
    return _StageCalls(
        f"k={k}", lambda item: adapter.one(item.question, k), batch, read, policy, cache, failed, raise_for=raise_for
    )


def _answer_calls(
    answerer: object, policy: CallPolicy, cache: OutputCache | None, failed: dict[int, str]
) -> _StageCalls:
    one, many = find_method(answerer, "answer"), find_method(answerer, "answer_batch")
    if one is None and many is None and callable(answerer):
        one = answerer
    if one is None and many is not None:
        one = partial(ask_batch_of_one, many)
    if one is None:
        raise WrongType(f"{type(answerer).__name__} has no method answer")
    answer = one
    batch = None if many is None else partial(_answer_batch, many)
    return _StageCalls(
        "answer", lambda item: answer(item.question, item.context), batch, _read_answer, policy, cache, failed
    )


def _answer_batch(many: Callable[..., object], items: Sequence[Item]) -> object:
    return many([item.question for item in items], [item.context for item in items])


def _read_answer(result: object) -> Output:
    return result if isinstance(result, Output) else Output(answer=answer_of(result))


class _StageCalls:
    """The calls of one stage, with cached outputs and failures by row.

    With ``raise_for``, the names of the rows, an exception is raised with the name of its row in a note instead of
    being recorded, and outputs are not cleaned for storage.
    """

    def __init__(
        self,
        label: str,
        one: Callable[[Item], object],
        many: Callable[[Sequence[Item]], object] | None,
        read: Callable[[object], Output],
        policy: CallPolicy,
        cache: OutputCache | None,
        failed: dict[int, str],
        *,
        raise_for: Sequence[str] | None = None,
    ) -> None:
        self.label, self.one, self.many, self.read = label, one, many, read
        self.policy, self.cache, self.failed, self.raise_for = policy, cache, failed, raise_for
        self.stage = Stage()
        self.outputs: dict[int, Output] = {}
        self.broken = 0
        self.progress: Progress | None = None

    def run(self, items: Sequence[Item]) -> dict[int, Output]:
        """The outputs of the rows that did not fail."""
        items = [item for item in items if not self._cached(item)]
        if self.many is not None and items:
            items = self._call_batches(items, self.many)
        for called in call_all(items, self.one, self.policy):
            self._count(called)
            if called.error is not None:
                self.fail(items[called.at].row, called.error)
            else:
                self._take(items[called.at], called.result, called.seconds)
            self._report_progress()
        return self.outputs

    def fail(self, row: int, error: Exception) -> None:
        """Record the reason why a row has no output, or raise the exception."""
        if self.raise_for is not None:
            error.add_note(f"while retrieving for query {self.raise_for[row]!r}")
            raise error
        self.failed[row] = reason_of(error)
        self.stage.failed += 1
        self.outputs.pop(row, None)

    def _call_batches(self, items: Sequence[Item], many: Callable[[Sequence[Item]], object]) -> list[Item]:
        """Call the batch method; return the items of failed batches, which are called one by one."""
        batches = [items[at : at + BATCH] for at in range(0, len(items), BATCH)]
        deadline = None if self.policy.deadline is None else self.policy.deadline * BATCH
        uncalled: list[Item] = []
        for called in call_all(batches, many, CallPolicy(self.policy.workers, deadline)):
            batch = batches[called.at]
            self._count(called)
            results = called.result
            if called.error is not None or not isinstance(results, list | tuple) or len(results) != len(batch):
                uncalled += batch
                continue
            for item, result in zip(batch, results, strict=True):
                if isinstance(result, Exception):
                    self.fail(item.row, result)
                else:
                    self._take(item, result, called.seconds / len(batch))
            self._report_progress()
        return uncalled

    def _cached(self, item: Item) -> bool:
        if self.cache is None:
            return False
        try:
            output = self.cache.get(self.label, item.question, item.context)
        except Exception as error:  # noqa: BLE001 - offline, and there is no cached output
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

    def _report_progress(self) -> None:
        stage, usage = self.stage, self.stage.usage
        if self.progress is not None:
            used = replace(usage, calls=stage.calls, cached=stage.kept)
            self.progress(Count(len(self.outputs) + stage.failed, failed=stage.failed, usage=used))

    def _take(self, item: Item, result: object, seconds: float) -> None:
        try:
            output = self.read(result)
        except Exception as error:  # noqa: BLE001 - an unreadable result is the failure of its sample
            self.fail(item.row, error)
            return
        if self.raise_for is None:
            cleaned = output.without_surrogates
            self.broken += cleaned != output
            output = cleaned
        self.outputs[item.row] = output
        if output.usage is not None and output.usage.seconds:  # in a batch, each output counts its own seconds
            seconds = output.usage.seconds
        self.stage.seconds[item.row] = seconds
        self.stage.usage = _sum(self.stage.usage, output.usage) or Usage()
        if self.cache is not None:
            self.cache.put(output, self.label, item.question, item.context, seconds=seconds)


class _SampleUpdates:
    """Writes outputs into samples: ids at their best rank, contexts, and the spans of contexts in their sources."""

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
        """The sample with the output of a system."""
        hits, ids = output.hits, ranked_ids(output) if self.need_ids else output.ids
        if hits is None:
            return replace(sample, response=output.answer)
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
                spans.append(self._span(hit, text))
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
        """Warnings about the results, for the report."""
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
            text = resolve(self.text_of(hit.chunk or hit.id))
            return text if isinstance(text, str) else None
        return None if self.texts is None else self.texts.get(hit.chunk or hit.id or "")

    def _span(self, hit: Hit, text: str) -> Json:
        """The span of a context in its source: from the hit, from the id of the chunk, or the whole document."""
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
    measured: dict[str, Json] = {}
    seconds = [stage.seconds[row] for stage in stages.values() if row in stage.seconds]
    if seconds:
        measured["seconds"] = sum(seconds)
    if usage is not None:
        measured["usage"] = {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            **({} if usage.cost is None else {"cost": usage.cost}),
        }
    return replace(sample, metadata={**sample.metadata, **measured})
