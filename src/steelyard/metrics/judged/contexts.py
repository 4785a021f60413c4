"""Metrics of the retrieved contexts, by a judge: relevancy, recall, precision and entity recall.

The request numbers the contexts. They are judged in one request, or one by one (``passages="each"``); contexts that
exceed the judge's window are judged in parts. The evidence names contexts by their numbers, from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from ...core.errors import AskFailed, BadReply, InputError
from ...core.records import Json, Outcome, Sample, Undefined, Value
from ...core.requests import Flow, Prompt, ask, ratio
from ...text.sentences import sentences
from ..registry import metric
from .claim_verdicts import Finding, YesNo, check, claims_of, finding, passage_numbers
from .numbered_requests import TOO_LONG, Passages, Steps, distinct, gathered, judged_contexts, over_references, plain

RAGAS = "Es, James, Espinosa-Anke, Schockaert 2023: RAGAS. arXiv:2309.15217"

HELPS = Prompt(
    "Rate each context for the question: 2 it holds the answer or a main part of it, 1 it holds something that"
    " helps, 0 nothing in it helps. Reason in one sentence, then rating."
)
MISSED = Prompt(
    "Rate what an answer to the question would lose without each context: 0 nothing, 1 a useful detail, 2 facts"
    " that it needs. Reason in one sentence, then rating."
)


class Rating(Struct):
    """What a judge says of the relevance of a context."""

    reason: str
    rating: Literal[0, 1, 2]


@metric(
    needs=("user_input", "retrieved_contexts"),
    revision=1,
    source="the mean of two differently worded relevance judges, as in NVIDIA's metrics for ragas",
    aliases=("context_relevance", "ContextRelevance", "ContextualRelevancyMetric", "contextual_relevancy"),
    ten_point_aliases=("LLMRAGContextRelevancy",),
    hint="look at retrieval: fewer or better passages, a reranker, a cut-off on the score",
)
def context_relevancy(
    sample: Sample,
    *,
    relevant_at: Annotated[float, Meta(gt=0, le=2)] = 1.0,
    graded: bool = False,
    passages: Passages = "together",
) -> Flow:
    """``relevant contexts / contexts``, in [0, 1]: which share of the contexts is relevant to the question?

    Two prompts with different wording rate each context 0, 1 or 2. A context is relevant if the mean of its two
    ratings is at least ``relevant_at``. ``graded=True`` gives the mean rating / 2 instead. Both ratings are always
    used; if one request fails, the score fails, since one rating must not count as two.
    """
    if not 0 < relevant_at <= 2:
        raise InputError(f"context_relevancy(relevant_at={relevant_at:g}): must be above 0 and at most 2")
    question, contexts = sample.user_input or "", sample.retrieved_contexts or []
    by_judge = []
    for prompt in (HELPS, MISSED):
        one = yield from judged_contexts(
            prompt, Rating, contexts, merit=lambda reply: reply.rating, passages=passages, question=question
        )
        by_judge.append(one)
    means = [(a.rating + b.rating) / 2 for a, b in zip(*by_judge, strict=True)]
    rated: list[Json] = [
        {"context": number, "ratings": [a.rating, b.rating], "reasons": [a.reason, b.reason]}
        for number, (a, b) in enumerate(zip(*by_judge, strict=True), 1)
    ]
    part = sum(means) / 2 if graded else sum(mean >= relevant_at for mean in means)
    return ratio(part, len(means), empty="no contexts", evidence={"contexts": rated})


ATTRIBUTE = Prompt(
    "Split the reference into short statements that each stand alone; leave nothing out, add nothing. Do the"
    " contexts state or plainly imply each? Reason in one sentence, verdict yes or no; passages: the numbers of"
    " all contexts that support it."
)


class Attribution(Struct):
    """One statement of the reference and what the judge says of it."""

    statement: str
    reason: str
    verdict: YesNo
    passages: list[int]


class Attributions(Struct):
    """The statements of the reference."""

    statements: list[Attribution]


@lru_cache(maxsize=64)
def attribution_shape(contexts: int) -> type[Attributions]:
    """``Attributions`` whose passage numbers are limited to those of the contexts."""
    numbers = [("passages", passage_numbers(contexts))]
    one = msgspec.defstruct("Attribution", numbers, bases=(Attribution,))
    return msgspec.defstruct("Attributions", [("statements", list[one])], bases=(Attributions,))  # type: ignore[valid-type, return-value]


@metric(
    needs=("reference", "retrieved_contexts"),
    revision=1,
    source=f"{RAGAS}; statements of the reference as in ragas' LLM context recall",
    aliases=("LLMContextRecall", "llm_context_recall", "ContextualRecallMetric", "contextual_recall"),
    ten_point_aliases=("LLMRAGContextRecall",),
    hint="look at retrieval: more passages, better chunks or another retriever",
    stage="retrieval",
    stage_rank=30,
    claims_of="reference",
)
def context_recall(sample: Sample, *, passages: Passages = "together") -> Flow:
    """``statements of the reference that the contexts support / statements``, in [0, 1]: are they all retrieved?

    The judge splits the reference and attributes each statement in one request. If that reply is unusable, if
    the contexts exceed its window, or with ``passages="each"``, the statements are split first and then checked.
    A reference without statements is undefined; the best of several references counts.
    """
    contexts, question = sample.retrieved_contexts or [], sample.user_input

    def against(reference: str) -> Steps[Outcome]:
        found: list[Finding] | None = None
        if passages == "together":
            found = yield from _attributed(reference, question, contexts)
        if found is None:
            found = yield from check((yield from claims_of(reference, question)), contexts, passages=passages)
        supported = sum(one.holds for one in found)
        return ratio(supported, len(found), empty="no statements in the reference", evidence={"claims": plain(found)})

    return (yield from over_references(sample, against))


def _attributed(reference: str, question: str | None, contexts: Sequence[str]) -> Steps[list[Finding] | None]:
    """Attribute the statements of a reference in one request; None if the reply is unusable or the input too long."""
    fields: dict[str, Any] = {"question": question} if question else {}
    try:
        reply = yield from ask(
            ATTRIBUTE, attribution_shape(len(contexts)), **fields, context=contexts, reference=reference
        )
    except BadReply:
        return None
    except AskFailed as error:
        if error.kind != TOO_LONG:
            raise
        return None
    return [
        finding(one.statement, one.verdict, one.reason, one.passages, sources=len(contexts))
        for one in reply.statements
        if one.statement.strip()
    ]


USEFUL = Prompt(
    "Was each context useful for arriving at the answer to the question: does it hold something the answer rests"
    " on? Reason in one sentence, then verdict yes or no."
)
USEFUL_FOR_QUESTION = Prompt(
    "Is each context useful for answering the question: does it hold something a correct answer rests on? Reason"
    " in one sentence, then verdict yes or no."
)


class Usefulness(Struct):
    """What the judge says of the usefulness of a context."""

    reason: str
    verdict: YesNo


@metric(
    needs=("user_input", "retrieved_contexts"),
    revision=1,
    source="ragas' LLM context precision: mean precision at the ranks of useful contexts",
    aliases=("LLMContextPrecisionWithReference", "ContextualPrecisionMetric", "contextual_precision"),
    ten_point_aliases=("LLMRAGContextPrecision",),
    hint="look at ranking: a reranker, or a better score, brings useful passages to the top",
)
def context_precision(
    sample: Sample,
    *,
    against: Literal["reference", "response", "question"] = "reference",
    passages: Passages = "together",
) -> Flow:
    """``sum over k of precision@k v_k / number of useful contexts``, in [0, 1]: do useful contexts rank first?

    ``v_k`` is 1 if the context at rank k is useful for arriving at the reference (or the ``response``, or for
    answering the ``question``), else 0. If none is useful: 0. This is average precision over the retrieved contexts,
    not a share of contexts; for that see ``context_relevancy``. The best of several references counts.

    >>> from steelyard.core.requests import play
    >>> sample = Sample(user_input="When?", reference="1932", retrieved_contexts=["Noise.", "Opened in 1932."])
    >>> no, yes = {"reason": "off topic", "verdict": "no"}, {"reason": "the date", "verdict": "yes"}
    >>> play(context_precision(sample), [{"1": no, "2": yes}]).value
    0.5
    """
    question, contexts = sample.user_input or "", sample.retrieved_contexts or []

    def useful_for(answer: str) -> Steps[Outcome]:
        fields = {"question": question, "answer": answer} if answer else {"question": question}
        replies = yield from judged_contexts(
            USEFUL if answer else USEFUL_FOR_QUESTION,
            Usefulness,
            contexts,
            merit=lambda reply: reply.verdict == "yes",
            passages=passages,
            **fields,
        )
        evidence: dict[str, Json] = {
            "contexts": [
                {"context": number, "verdict": one.verdict, "reason": one.reason}
                for number, one in enumerate(replies, 1)
            ]
        }
        return Value(average_of_useful([one.verdict == "yes" for one in replies]), evidence)

    if against == "question":
        return (yield from useful_for(""))
    if against == "reference":
        return (yield from over_references(sample, useful_for))
    if not (sample.response or "").strip():
        return Undefined("no response")
    return (yield from useful_for(sample.response or ""))


def average_of_useful(useful: Sequence[bool]) -> float:
    """Mean of precision@k over the ranks k of useful items; 0 without useful items.

    >>> average_of_useful([True, False, True])
    0.8333333333333333
    """
    at = [rank for rank, one in enumerate(useful, 1) if one]
    return sum(found / rank for found, rank in enumerate(at, 1)) / len(at) if at else 0.0


EXTRACT = Prompt(
    "Copy out the sentences of the contexts that are needed to answer the question: word for word, nothing else, none"
    " twice. If none is needed, give an empty list."
)


class Extracts(Struct):
    """Sentences that the judge copied out of the contexts."""

    sentences: list[str]


@metric(
    needs=("user_input", "retrieved_contexts"),
    revision=1,
    source=f"{RAGAS}, context relevance",
    hint="look at retrieval: smaller chunks, fewer passages",
)
def sentence_relevancy(sample: Sample) -> Flow:
    """``sentences of the contexts that the question needs / sentences of the contexts``, in [0, 1].

    The judge copies the sentences needed. A distinct sentence counts once, however often it was copied; a copied
    sentence that is not in the contexts is ignored, and listed in the evidence as ``discarded``. No sentences:
    undefined.
    """
    contexts, question = sample.retrieved_contexts or [], sample.user_input or ""
    units = {bare: unit for context in contexts for unit in sentences(context) if (bare := _bare(unit))}

    def copy(part: Sequence[str]) -> Steps[list[str]]:
        reply = yield from ask(EXTRACT, Extracts, question=question, context=part)
        return reply.sentences

    extracts = distinct((yield from gathered(copy, contexts)))
    copied = {extract: _covered(_bare(extract), units) for extract in extracts}
    needed = set().union(*copied.values())
    evidence: dict[str, Json] = {"sentences": [unit for bare, unit in units.items() if bare in needed]}
    if discarded := [extract for extract, covered in copied.items() if not covered]:
        evidence |= {"discarded": [*discarded], "flags": ["not_in_contexts"]}
    return ratio(len(needed), len(units), empty="no sentences in the contexts", evidence=evidence)


_WORD = re.compile(r"\w+")


def _bare(text: str) -> str:
    """The words of a text, without punctuation, bullets, case and spacing."""
    return " ".join(_WORD.findall(text.casefold()))


def _covered(extract: str, units: Iterable[str]) -> set[str]:
    """The units that an extract copies: units contained in it, or the unit of which it is the larger part."""
    return {unit for unit in units if _within(unit, extract) or (_within(extract, unit) and _most(extract, unit))}


def _within(part: str, whole: str) -> bool:
    return bool(part) and f" {part} " in f" {whole} "


def _most(part: str, whole: str) -> bool:
    return 2 * len(part) > len(whole)


ENTITIES = Prompt(
    "List the named things in the text: people, places, organisations, works, products, dates, amounts. Each once, as"
    " it is written there."
)


class Entities(Struct):
    """Names and dates that the judge found in a text."""

    entities: list[str]


@metric(
    needs=("reference", "retrieved_contexts"),
    revision=1,
    source="ragas context entity recall",
    aliases=("ContextEntityRecall",),
    hint="look at retrieval: passages about these people, places and dates are missing",
)
def context_entity_recall(sample: Sample) -> Flow:
    """``distinct entities of the reference that are among those of the contexts / distinct entities``, in [0, 1].

    Case is ignored. An entity that the judge lists but that is not in the text is ignored, and listed in the
    evidence. A reference without entities is undefined; the best of several references counts.
    """
    in_contexts, not_there = yield from _entities(sample.retrieved_contexts or [])

    def against(reference: str) -> Steps[Outcome]:
        wanted, invented = yield from _entities([reference])
        if not wanted:
            return Undefined("no entities in the reference", {"discarded": [*invented]})
        found = wanted & in_contexts
        evidence: dict[str, Json] = {"found": [*sorted(found)], "missing": [*sorted(wanted - found)]}
        if invented | not_there:
            evidence |= {"discarded": [*sorted(invented | not_there)], "flags": ["not_in_text"]}
        return ratio(len(found), len(wanted), empty="no entities in the reference", evidence=evidence)

    return (yield from over_references(sample, against))


def _entities(texts: Sequence[str]) -> Steps[tuple[set[str], set[str]]]:
    """Get the entities of texts, case-folded, and the entities that the judge named but that are not in the texts."""

    def name(part: Sequence[str]) -> Steps[list[str]]:
        reply = yield from ask(ENTITIES, Entities, text=part)
        return reply.entities

    listed = yield from gathered(name, texts)
    whole = "\n".join(map(_folded, texts))
    named = {_folded(entity) for entity in listed if entity.strip()}
    in_texts = {entity for entity in named if entity in whole}
    return in_texts, named - in_texts


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
