"""Metrics over the claims of a response and of its reference: faithfulness, correctness, hallucination and others.

All of them use two kinds of request, ``claims_of`` and ``check`` (see ``claim_verdicts``), with the same texts and
words, so that several of these metrics cost little more than one. The evidence lists every claim with its verdict,
reason and the numbers (from 1) of the passages that support it.
"""

from __future__ import annotations

from typing import Literal

from ...core.errors import AskFailed, BadReply, InputError
from ...core.records import Json, Outcome, Sample, Undefined, Value
from ...core.requests import Flow, embed, ratio
from ...stats.cosine import cosine
from ..registry import Positive, metric
from .claim_verdicts import Finding, check, claims_of, located
from .numbered_requests import Passages, Steps, over_references, plain

NO_CLAIMS = "no claims"
NO_REFERENCE_CLAIMS = "no claims in the reference"
RAGAS = "Es, James, Espinosa-Anke, Schockaert 2023: RAGAS. arXiv:2309.15217"
RAGCHECKER = "Ru et al. 2024: RAGChecker. arXiv:2408.08067"


@metric(
    needs=("response", "retrieved_contexts"),
    revision=1,
    source=RAGAS,
    aliases=("Faithfulness", "FaithfulnessMetric"),
    ten_point_aliases=("LLMRAGFaithfulness",),
    hint="look at generation: tell the model to answer from the passages alone, and lower its temperature",
    stage="grounding",
    stage_rank=40,
)
def faithfulness(sample: Sample, *, passages: Passages = "together") -> Flow:
    """``supported claims / claims`` of the response, in [0, 1]: do the passages support the answer?

    The judge splits the response into self-contained claims and checks whether the contexts support each. A response
    without claims (a refusal, a counter-question) is undefined, not 1 and not 0. ``passages="each"`` makes one request
    per context, and a claim is supported if any context supports it.

    Source: Es et al. 2023, section 3, with a verdict for all claims in one request.

    >>> from steelyard.core.requests import play
    >>> sample = Sample(user_input="When?", response="In 1932, by Ada.", retrieved_contexts=["It opened in 1932."])
    >>> claims = {"claims": ["It opened in 1932.", "Ada opened it."]}
    >>> yes = {"reason": "stated", "verdict": "yes", "passages": [1]}
    >>> no = {"reason": "no Ada here", "verdict": "no", "passages": []}
    >>> play(faithfulness(sample), [claims, {"1": yes, "2": no}]).value
    0.5
    """
    claims = yield from claims_of(sample.response or "", sample.user_input)
    found = yield from check(claims, sample.retrieved_contexts or [], passages=passages)
    return ratio(_holding(found), len(found), empty=NO_CLAIMS, evidence={"claims": plain(found)})


def _holding(found: list[Finding]) -> int:
    return sum(one.holds for one in found)


@metric(
    needs=("response", "reference"),
    revision=1,
    source="Min et al. 2023: FActScore. arXiv:2305.14251; claim precision and recall as in RAGChecker",
    aliases=("FactualCorrectness",),
    hint="read the unsupported claims: wrong facts point to retrieval or the model, missing ones to the prompt",
    stage="answer",
    stage_rank=140,
    checked_against="reference",
)
def factual_correctness(
    sample: Sample, *, mode: Literal["f1", "precision", "recall"] = "f1", beta: Positive = 1.0
) -> Flow:
    """Claims of the response checked against the reference, and the reverse; in [0, 1].

    ``precision = supported response claims / response claims``; ``recall = reference claims that the response
    supports / reference claims``; ``f1`` is ``(1 + beta²) P R / (beta² P + R)``, 0 if both are 0. Each side
    divides by its own claims: the other convention, one count of true positives for both, mixes units.

    The score is undefined if the divisor counts no claims. For ``f1``, a response without claims scores 0 if the
    reference has claims. The best of several references counts.
    """
    if beta <= 0:
        raise InputError(f"factual_correctness(beta={beta:g}): must be above 0")
    question, response = sample.user_input, sample.response or ""

    def against(reference: str) -> Steps[Outcome]:
        stated: list[Finding] = []
        wanted: list[Finding] = []
        if mode != "recall":
            stated = yield from check((yield from claims_of(response, question)), [reference])
        if mode != "precision":
            wanted = yield from check((yield from claims_of(reference, question)), [response])
        evidence: dict[str, Json] = {"claims": plain(stated), "reference_claims": plain(wanted)}
        if mode == "precision":
            return ratio(_holding(stated), len(stated), empty=NO_CLAIMS, evidence=evidence)
        if mode == "recall" or not wanted:
            return ratio(_holding(wanted), len(wanted), empty=NO_REFERENCE_CLAIMS, evidence=evidence)
        precision = _holding(stated) / len(stated) if stated else 0.0
        return Value(_f(precision, _holding(wanted) / len(wanted), beta), evidence)

    return (yield from over_references(sample, against))


def _f(precision: float, recall: float, beta: float) -> float:
    below = beta**2 * precision + recall
    return (1 + beta**2) * precision * recall / below if below else 0.0


def _check_weights(*, weights: str) -> None:
    """Check that ``weights`` holds two numbers."""
    _weights(weights)


@metric(
    needs=("response", "reference"),
    revision=1,
    source="ragas answer correctness: weighted F1 over classified claims and semantic similarity",
    aliases=("AnswerCorrectness",),
    may_embed=True,
    hint="read the claims listed as fp and fn: what is wrong, and what is missing",
    check=_check_weights,
    stage="answer",
    stage_rank=150,
    explained_by="reference",
    checked_against="reference",
)
def answer_correctness(sample: Sample, *, weights: str = "0.75,0.25") -> Flow:
    """``w1 F1 + w2 similarity``, in [0, 1]: is the answer correct?

    TP are claims of the response that the reference supports, FP those that it does not support, FN claims of the
    reference that the response does not support; ``F1 = 2 TP / (2 TP + FP + FN)``. Similarity is the cosine of
    the embeddings of response and reference, at least 0. ``weights`` are two numbers, scaled to a sum of 1.
    Without an embedder the weights are (1, 0); the evidence gives the weights used.

    A reference without claims is undefined. The best of several references counts.
    """
    facts, likeness = _weights(weights)
    question, response = sample.user_input, sample.response or ""
    claims = yield from claims_of(response, question)

    def against(reference: str) -> Steps[Outcome]:
        stated = yield from check(claims, [reference])
        wanted = yield from check((yield from claims_of(reference, question)), [response])
        tp, fp, fn = _holding(stated), len(stated) - _holding(stated), len(wanted) - _holding(wanted)
        similarity = (yield from _similarity(response, reference)) if likeness else None
        used = (facts, likeness) if similarity is not None else (1.0, 0.0)
        f1 = 2 * tp / (2 * tp + fp + fn) if tp else 0.0
        evidence: dict[str, Json] = {
            "tp": plain([one for one in stated if one.holds]),
            "fp": plain([one for one in stated if not one.holds]),
            "fn": plain([one for one in wanted if not one.holds]),
            "f1": f1,
            "similarity": similarity,
            "weights": [*used],
        }
        if not wanted:
            return Undefined(NO_REFERENCE_CLAIMS, evidence)
        return Value(used[0] * f1 + used[1] * (similarity or 0.0), evidence)

    return (yield from over_references(sample, against))


def _weights(text: str) -> tuple[float, float]:
    try:
        facts, likeness = map(float, text.split(","))
    except ValueError:
        facts = likeness = -1.0
    if not (facts >= 0 and likeness >= 0 and 0 < facts + likeness < float("inf")):
        raise InputError(f"answer_correctness(weights={text!r}): expected two numbers, such as '0.75,0.25'")
    return facts / (facts + likeness), likeness / (facts + likeness)


def _similarity(response: str, reference: str) -> Steps[float | None]:
    """Cosine of two texts, at least 0; None without an embedder."""
    try:
        vectors = yield from embed([response, reference])
    except AskFailed as error:
        if error.kind != "no_embedder":
            raise
        return None
    if len(vectors) != 2:
        raise BadReply("embedding", f"expected 2 vectors, got {len(vectors)}")
    return max(0.0, cosine(vectors[0], vectors[1]))


@metric(
    needs=("reference", "retrieved_contexts"),
    revision=1,
    source=RAGCHECKER,
    hint="look at retrieval: more passages, better chunks or another retriever",
    stage="retrieval",
    stage_rank=40,
    claims_of="reference",
)
def claim_recall(sample: Sample, *, passages: Passages = "together") -> Flow:
    """``reference claims that the contexts support / reference claims``, in [0, 1]: are all needed facts retrieved?

    Like ``context_recall``, but the claims come from a separate request, which the other claim metrics share.
    A reference without claims is undefined; the best of several references counts.
    """
    contexts = sample.retrieved_contexts or []

    def against(reference: str) -> Steps[Outcome]:
        wanted = yield from claims_of(reference, sample.user_input)
        found = yield from check(wanted, contexts, passages=passages)
        return ratio(_holding(found), len(found), empty=NO_REFERENCE_CLAIMS, evidence={"claims": plain(found)})

    return (yield from over_references(sample, against))


@metric(
    needs=("response", "reference", "retrieved_contexts"),
    revision=1,
    source=RAGCHECKER,
    hint="look at generation: the facts were retrieved, but the answer omits them",
    claims_of="reference",
)
def context_utilization(sample: Sample, *, passages: Passages = "together") -> Flow:
    """``reference claims in contexts and response / reference claims in contexts``, in [0, 1]: are they used?

    Undefined if the contexts support no reference claim. (In ragas this name means context precision against the
    response: ``context_precision(against=response)`` here.)
    """
    contexts, response = sample.retrieved_contexts or [], sample.response or ""

    def against(reference: str) -> Steps[Outcome]:
        wanted = yield from claims_of(reference, sample.user_input)
        retrieved = yield from check(wanted, contexts, passages=passages)
        used = yield from check(wanted, [response])
        both = sum(a.holds and b.holds for a, b in zip(retrieved, used, strict=True))
        evidence: dict[str, Json] = {"claims": plain(retrieved), "by_response": plain(used)}
        return ratio(both, _holding(retrieved), empty="no reference claim in the contexts", evidence=evidence)

    return (yield from over_references(sample, against))


@metric(
    needs=("response", "reference", "retrieved_contexts"),
    revision=1,
    aliases=("HallucinationMetric",),
    source=RAGCHECKER,
    higher_is_better=False,
    hint="look at generation: these claims come from the model, and they are wrong",
)
def hallucination(sample: Sample, *, passages: Passages = "together") -> Flow:
    """``response claims that neither reference nor contexts support / response claims``, in [0, 1]; lower is better.

    A response without claims is undefined. Of several references, the one with the fewest such claims counts.
    """
    return (yield from _beyond_contexts(sample, passages, correct=False))


@metric(
    needs=("response", "reference", "retrieved_contexts"),
    revision=1,
    source=RAGCHECKER,
    higher_is_better=False,
    hint="look at retrieval: the model knows these facts, but the passages lack them",
)
def self_knowledge(sample: Sample, *, passages: Passages = "together") -> Flow:
    """``response claims that the reference supports and the contexts do not / response claims``, in [0, 1].

    These are correct claims that come from the model, not from the passages; lower is better if answers must be
    grounded. A response without claims is undefined. Of several references, the one with the fewest such claims counts.
    """
    return (yield from _beyond_contexts(sample, passages, correct=True))


def _beyond_contexts(sample: Sample, passages: Passages, *, correct: bool) -> Steps[Outcome]:
    """The share of response claims without support in the contexts that are correct (or wrong) by the reference."""
    claims = yield from claims_of(sample.response or "", sample.user_input)
    grounded = yield from check(claims, sample.retrieved_contexts or [], passages=passages)

    def against(reference: str) -> Steps[Outcome]:
        right = yield from check(claims, [reference])
        count = sum(not a.holds and b.holds is correct for a, b in zip(grounded, right, strict=True))
        evidence: dict[str, Json] = {"claims": plain(grounded), "by_reference": plain(right)}
        return ratio(count, len(claims), empty=NO_CLAIMS, evidence=evidence)

    return (yield from over_references(sample, against, best=min))


@metric(
    needs=("response", "reference", "retrieved_contexts"),
    revision=1,
    source=f"{RAGCHECKER}, noise sensitivity",
    aliases=("NoiseSensitivity",),
    higher_is_better=False,
    hint="look at ranking and at the prompt: the model repeats wrong statements of the passages",
)
def noise_sensitivity(
    sample: Sample, *, mode: Literal["relevant", "irrelevant"] = "relevant", passages: Passages = "together"
) -> Flow:
    """Wrong response claims that a context supports / response claims; in [0, 1], lower is better.

    A claim is wrong if the reference does not support it. A context is relevant if it supports a reference claim.
    ``relevant`` counts wrong claims that a relevant context supports; ``irrelevant`` counts those that only irrelevant
    contexts support. The two and ``hallucination`` add up to the share of wrong claims.

    A response without claims is undefined. A reply that reports support without a supporting context is a bad reply.
    """
    contexts, question = sample.retrieved_contexts or [], sample.user_input
    claims = yield from claims_of(sample.response or "", question)
    taken = yield from check(claims, contexts, passages=passages)

    def against(reference: str) -> Steps[Outcome]:
        right = yield from check(claims, [reference])
        wanted = yield from check((yield from claims_of(reference, question)), contexts, passages=passages)
        relevant = {number for one in wanted for number in located(one)}
        wrong = [set(located(a)) for a, b in zip(taken, right, strict=True) if a.holds and not b.holds]
        count = sum(bool(at & relevant) is (mode == "relevant") for at in wrong)
        evidence: dict[str, Json] = {
            "claims": plain(taken),
            "by_reference": plain(right),
            "reference_claims": plain(wanted),
            "relevant_passages": [*sorted(relevant)],
        }
        return ratio(count, len(claims), empty=NO_CLAIMS, evidence=evidence)

    return (yield from over_references(sample, against, best=min))
