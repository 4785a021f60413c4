"""Ranking measures of a single ranked list, as plain functions.

Each function calls the measure of the same name over a table of one query, so both use one formula. If the measure is
undefined (no relevant document), the function returns 0.0, as it does for ``k <= 0``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import numpy as np

from ...ranking.join import join
from ...ranking.policy import Policy
from ...ranking.qrels import identifier
from ...ranking.rankings import FloatArray, Rankings
from . import measures, ndcg

Relevance: TypeAlias = "Mapping[str, float] | Iterable[str]"
"""``{document: grade}``, or the relevant documents, each of grade 1."""

_GIVEN = Policy(ties="given")


def dcg_at_k(ranked: Iterable[str], relevance: Relevance, k: int, *, gain: ndcg.Gain = "linear") -> float:
    """Discounted cumulative gain of the first k; see ``dcg``.

    >>> round(dcg_at_k(["d1", "d2", "d3"], {"d1": 2, "d3": 1}, 3), 4)
    2.5
    """
    return _scalar(ranked, relevance, k, lambda table: ndcg.dcg(table, k=k, gain=gain))


def ndcg_at_k(ranked: Iterable[str], relevance: Relevance, k: int, *, gain: ndcg.Gain = "linear") -> float:
    """Normalised discounted cumulative gain of the first k, see ``ndcg``.

    >>> round(ndcg_at_k(["a", "x"], {"a": 1, "b": 1}, 10), 4)
    0.6131
    """
    return _scalar(ranked, relevance, k, lambda table: ndcg.ndcg(table, k=k, gain=gain))


def recall_at_k(ranked: Iterable[str], relevance: Relevance, k: int) -> float:
    """Share of the relevant documents that are among the first k, see ``recall``.

    >>> recall_at_k(["a", "x"], {"a": 1, "b": 1}, 10)
    0.5
    """
    return _scalar(ranked, relevance, k, lambda table: measures.recall(table, k=k))


def precision_at_k(ranked: Iterable[str], relevance: Relevance, k: int) -> float:
    """Relevant documents among the first k, divided by k even if the list is shorter; see ``precision``.

    >>> precision_at_k(["a", "x"], {"a": 1, "b": 1}, 10)
    0.1
    """
    return _scalar(ranked, relevance, k, lambda table: measures.precision(table, k=k))


def reciprocal_rank(ranked: Iterable[str], relevance: Relevance, k: int | None = None) -> float:
    """1 / rank of the first relevant document, 0.0 if the first k contain none; see ``mrr``.

    >>> reciprocal_rank(["x", "a"], {"a": 1}), reciprocal_rank(["x", "a"], {"a": 1}, 1)
    (0.5, 0.0)
    """
    return _scalar(ranked, relevance, k, lambda table: measures.mrr(table, k=k))


def average_precision(ranked: Iterable[str], relevance: Relevance, k: int | None = None) -> float:
    """Sum of the precisions at the relevant ranks up to k, divided by all relevant documents, see ``map``.

    >>> average_precision(["a", "x"], {"a": 1, "b": 1})
    0.5
    """
    return _scalar(ranked, relevance, k, lambda table: measures.average_precision(table, k=k))


RETRIEVAL_METRICS: dict[str, Callable[[Iterable[str], Relevance, int], float]] = {
    "ndcg": ndcg_at_k,
    "recall": recall_at_k,
    "precision": precision_at_k,
    "mrr": reciprocal_rank,
    "map": average_precision,
}
"""Ranking functions with arguments ``(ranked ids, {document: grade}, k)``, by name."""


def _scalar(
    ranked: Iterable[str], relevance: Relevance, k: int | None, measure: Callable[[Rankings], FloatArray]
) -> float:
    """Compute a measure of one list. A repeated document counts at its first rank; an absent id is an error."""
    ranks = dict.fromkeys(identifier(doc, "document") for doc in ranked)
    grades = relevance if isinstance(relevance, Mapping) else dict.fromkeys(relevance, 1.0)
    if not grades or (k is not None and k <= 0):
        return 0.0
    scores = {doc: -float(rank) for rank, doc in enumerate(ranks)}
    value = measure(join({"q": scores}, {"q": grades}, _GIVEN))[0]
    return 0.0 if np.isnan(value) else float(value)
