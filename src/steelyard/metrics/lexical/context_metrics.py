"""Metrics of retrieved contexts by the tokens that they share with the reference, without a model."""

from __future__ import annotations

from ...core.records import Sample, Undefined
from ..registry import metric
from . import token_overlap
from .answer_metrics import NO_REFERENCE
from .token_overlap import Aggregation

NEEDS = ("reference", "retrieved_contexts")


@metric(needs=NEEDS, way="lexical", name="context_recall", stage="retrieval", stage_rank=10, claims_of="reference")
def context_recall(sample: Sample, *, aggregation: Aggregation = "best") -> float | Undefined:
    """Share of the reference's distinct normalised tokens found in the retrieved contexts together.

    No contexts: 0. Reference without tokens: 0. Range 0 to 1. The judged metric of this name is the share of statements
    instead.
    """
    if not sample.references:
        return NO_REFERENCE
    return token_overlap.context_recall(sample.references, sample.retrieved_contexts or [], aggregation=aggregation)


@metric(needs=NEEDS, way="lexical", name="context_precision")
def context_precision(sample: Sample, *, aggregation: Aggregation = "best") -> float | Undefined:
    """Share of the retrieved contexts that contain at least one of the reference's normalised tokens.

    No contexts: 0. Reference without tokens: 0. Range 0 to 1. Ranks are ignored; the judged metric of this name uses
    them.
    """
    if not sample.references:
        return NO_REFERENCE
    return token_overlap.context_precision(sample.references, sample.retrieved_contexts or [], aggregation=aggregation)


@metric(needs=("retrieved_contexts",), aliases=("nonempty_rate",))
def non_empty_rate(sample: Sample) -> float:
    """1 if at least one retrieved context is not blank, else 0; the mean is the share of samples with a context.

    Source: Steelyard.
    """
    return float(any(context and not context.isspace() for context in sample.retrieved_contexts or []))
