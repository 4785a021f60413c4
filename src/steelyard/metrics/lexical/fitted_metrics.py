"""Lexical estimates of correctness, faithfulness and relevance, fitted to human labels; no language model is called.

The counts of ``correctness_features`` and ``support_features`` are turned into probabilities by logistic models that
were fitted to human labels; the coefficient files under ``resources`` name the labels. ``docs/agreement.md`` reports
how well the results agree with people, and which errors counting cannot detect. Use a metric in this file to select
samples for closer review.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import itemgetter

import msgspec

from ...core.records import Json, Sample, Undefined, Value
from ...core.requests import Flow, embed
from ...stats.cosine import cosine
from ...stats.logistic import Model, model
from ...text.sentences import sentences
from ...text.tokens import normal_form
from ...text.word_offsets import words_with_offsets
from ...text.word_weights import weight
from ..registry import metric
from .answer_metrics import NO_REFERENCE
from .correctness_features import compared
from .support_features import PassageSupport, nothing_found, pooled, relevance, support, verbatim
from .token_overlap import Aggregation

NEEDS_GROUNDS = ("response", "retrieved_contexts")


@metric(
    name="answer_correctness",
    way="lexical",
    needs=("response", "reference"),
    revision=1,
    source="Steelyard; labels of Wang et al. 2023, EVOUNA. arXiv:2305.12421",
    stage="answer",
    stage_rank=110,
    explained_by="reference",
    checked_against="reference",
)
def answer_correctness(sample: Sample, *, aggregation: Aggregation = "best") -> Value | Undefined:
    """The probability that people would call the response correct, given the reference.

    A logistic model of token F1, content-word F1 (also weighted by the rarity of the words), recall of the reference's
    stems, the share of the response's new words (not in the question) that are in the reference, order, containment,
    fuzzy match and numbers. Fitted to short factual answers in English (EVOUNA, Natural Questions); for other answers,
    read it as a score, not as a probability. The best of several references counts. Range 0 to 1; a blank response
    is 0.

    It compares words, not meaning: a paraphrase without a shared word scores low, and a contradiction in the words of
    the reference scores high.
    """
    if not sample.references:
        return NO_REFERENCE
    used = model("correctness")
    found = [_correct(sample, reference, used) for reference in sample.references]
    return _reduced(sample, used, found, aggregation)


@metric(
    name="semantic_correctness",
    way="lexical",
    needs=("response", "reference"),
    revision=1,
    embeds=True,
    source="Steelyard; labels of Wang et al. 2023, EVOUNA. arXiv:2305.12421",
)
def semantic_correctness(sample: Sample, *, aggregation: Aggregation = "best") -> Flow:
    """``answer_correctness`` [lexical] with one more feature: the cosine of the embeddings of response and reference.

    Needs an embedder; the model was fitted with the embedder ``local``.
    """
    if not sample.references:
        return NO_REFERENCE
    texts = [sample.response or "", *sample.references]
    vectors = yield from embed([text if text.strip() else "-" for text in texts])
    used = model("correctness_cosine")
    found = [
        _correct(sample, reference, used, cosine=max(0.0, cosine(vectors[0], vector)))
        for reference, vector in zip(sample.references, vectors[1:], strict=True)
    ]
    return _reduced(sample, used, found, aggregation)


def _correct(sample: Sample, reference: str, used: Model, **more: float) -> tuple[float, str, dict[str, float]]:
    """The probability for one reference, the reference, and the counts used."""
    response = sample.response or ""
    counts = {**compared(response, reference, sample.user_input or ""), **more}
    normal, wanted = normal_form(response), normal_form(reference)
    if normal == wanted:
        return 1.0, reference, counts
    return used.probability(counts) if normal else 0.0, reference, counts


def _reduced(
    sample: Sample, used: Model, found: Sequence[tuple[float, str, dict[str, float]]], aggregation: Aggregation
) -> Value:
    chosen = (min if aggregation == "worst" else max)(found, key=itemgetter(0))
    value = sum(one for one, _, _ in found) / len(found) if aggregation == "mean" else chosen[0]
    _, reference, counts = chosen
    evidence: dict[str, Json] = {
        "reference": reference,
        "normalised": {"response": normal_form(sample.response or ""), "reference": normal_form(reference)},
        "counts": _rounded(counts),
        "terms": dict(used.terms(counts)),
    }
    return Value(value, evidence)


@metric(
    name="faithfulness",
    way="lexical",
    needs=NEEDS_GROUNDS,
    revision=1,
    source="Steelyard; labels of BEGIN, Q2, WiCE, SummEdits and a set of claims with web passages",
    hint="look at generation: the passages do not support the answers",
    stage="grounding",
    stage_rank=30,
)
def faithfulness(sample: Sample) -> Value:
    """The probability that people would call the response supported by the retrieved passages.

    Each sentence is aligned with the passages and counted: the share of its words, weighted by rarity, in one short
    stretch of a passage; the share of neighbouring words that are neighbours there too; the share that is copied; the
    numbers, dates, units and names that no passage contains; negations and opposites on one side only. A logistic model
    combines these counts; shares are those of the weakest sentence. Range 0 to 1: 1 if passages contain every sentence
    word for word, 0 if they contain none of its content words. No passages, or a blank response: 0.

    The evidence holds for each sentence its support (share of weighted words found in the best stretch), its flags, and
    the characters of the passage that match each word. Use it to select samples for review: it does not detect a
    relation reversed in the same words, nor support for a claim that is only implied.
    """
    contexts, response = sample.retrieved_contexts or [], sample.response or ""
    found = support(response, contexts)
    if not found or not any(map(str.strip, contexts)):
        return Value(0.0, {"sentences": _sentences(response, found)})
    counts, used = pooled(found), model("faithfulness")
    evidence: dict[str, Json] = {
        "sentences": _sentences(response, found),
        "counts": _rounded(counts),
        "terms": dict(used.terms(counts)),
    }
    if verbatim(found):
        return Value(1.0, evidence)
    return Value(0.0 if nothing_found(found) else used.probability(counts), evidence)


@metric(
    name="context_relevancy",
    way="lexical",
    needs=("user_input", "retrieved_contexts"),
    revision=1,
    source="Steelyard; labels of a set of claims with web passages",
    hint="look at retrieval: the passages are not about the question",
)
def context_relevancy(sample: Sample) -> Value:
    """Mean probability, over the retrieved passages, that people would call the passage relevant to the question.

    A logistic model of the question's words, weighted by rarity, in the best short stretch of the passage and in all of
    it, and of the names that the passage lacks. Range 0 to 1. No passages, or a blank question: 0.
    """
    contexts, question = sample.retrieved_contexts or [], sample.user_input or ""
    used = model("relevance")
    return _relevancy([_relevant(question, context, used) for context in contexts])


@metric(
    name="semantic_relevancy",
    way="lexical",
    needs=("user_input", "retrieved_contexts"),
    revision=1,
    embeds=True,
    source="Steelyard; labels of a set of claims with web passages",
    hint="look at retrieval: the passages are not about the question",
)
def semantic_relevancy(sample: Sample) -> Flow:
    """``context_relevancy`` [lexical] with two more features: the cosine of the question with the passage, and with the
    most similar sentence of the passage.

    Needs an embedder; the model was fitted with the embedder ``local``. A passage that shares no word with the question
    can score above 0.
    """
    contexts, question = sample.retrieved_contexts or [], sample.user_input or ""
    if not question.strip() or not any(map(str.strip, contexts)):
        return Value(0.0)
    parts = [[context, *sentences(context)] if context.strip() else [] for context in contexts]
    vectors = yield from embed([question, *(text for texts in parts for text in texts)])
    used, at = model("relevance_cosine"), 1
    rated: list[float] = []
    for context, texts in zip(contexts, parts, strict=True):
        near = [max(0.0, cosine(vectors[0], vector)) for vector in vectors[at : at + len(texts)]]
        at += len(texts)
        counts = relevance(question, context)
        more = {"cosine": near[0], "nearest": max(near[1:])} if near else {}
        rated.append(used.probability(counts | more) if counts is not None and near else 0.0)
    return _relevancy(rated)


def _relevant(question: str, context: str, used: Model) -> float:
    counts = relevance(question, context)
    return used.probability(counts) if counts is not None and counts["whole"] else 0.0


def _relevancy(rated: Sequence[float]) -> Value:
    if not rated:
        return Value(0.0)
    passages: list[Json] = [{"passage": number, "probability": one} for number, one in enumerate(rated, 1)]
    return Value(sum(rated) / len(rated), {"passages": passages})


_DECLINES = re.compile(
    r"\b(?:i (?:do not|don['’]?t|cannot|can['’]?t|could not|couldn['’]?t) (?:know|answer|find|tell|say|provide)"
    r"|(?:i am|i['’]?m) (?:not sure|not certain|unable|sorry)|no (?:relevant )?(?:information|answer)"
    r"|not (?:enough|mentioned|specified|stated|provided)|cannot be (?:answered|determined)|unanswerable)\b",
    re.IGNORECASE,
)


@metric(
    name="answer_relevancy",
    way="lexical",
    needs=("user_input", "response"),
    revision=1,
    source="Steelyard",
    hint="look at the prompt of the generator: answers evade the question or wander off it",
    declines=("noncommittal", "declines"),
)
def answer_relevancy(sample: Sample) -> Value:
    """Share of the question's content words, weighted by rarity, that the response repeats.

    0 if the response declines to answer. Range 0 to 1. A blank response: 0; a question without content words: 0.
    It is not fitted, because no labels were available. A short correct answer that repeats no word of the question
    scores 0, so compare it with a judged metric.
    """
    question, response = sample.user_input or "", sample.response or ""
    words = words_with_offsets(question)
    weights = {stem: weight(stem) for stem, carries in zip(words.stems, words.content, strict=True) if carries}
    declines = _DECLINES.search(response)
    in_response = set(words_with_offsets(response).stems)
    found = [stem for stem in weights if stem in in_response]
    evidence: dict[str, Json] = {
        "found": [*found],
        "missing": [stem for stem in weights if stem not in in_response],
        "declines": declines[0] if declines else None,
    }
    total = sum(weights.values())
    if declines or not total:
        return Value(0.0, evidence)
    return Value(min(1.0, sum(weights[stem] for stem in found) / total), evidence)


def _sentences(response: str, found: Sequence[PassageSupport]) -> list[Json]:
    """The evidence of each sentence as plain JSON."""
    return [
        {
            "text": response[one.start : one.end],
            "start": one.start,
            "end": one.end,
            "support": round(one.counts["wide"], 4),
            "normalised": one.normalised,
            "flags": [msgspec.to_builtins(flag) for flag in one.flags],
            "aligned": [msgspec.to_builtins(pair) for pair in one.aligned],
        }
        for one in found
    ]


def _rounded(counts: Mapping[str, float]) -> dict[str, Json]:
    return {name: round(value, 4) for name, value in counts.items()}
