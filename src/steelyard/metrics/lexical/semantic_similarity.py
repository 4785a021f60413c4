"""Similarity of response and reference, by embeddings."""

from __future__ import annotations

from ...core.records import Json, Sample, Undefined, Value
from ...core.requests import Flow, embed
from ...stats.cosine import cosine
from ..registry import metric


@metric(
    needs=("response", "reference"),
    way="lexical",
    embeds=True,
    aliases=("answer_similarity", "SemanticSimilarity", "sas"),
    batch_key="SemanticSimilarity",
    source="Risch et al. 2021. arXiv:2108.06130",
)
def semantic_similarity(sample: Sample) -> Flow:
    """Cosine of the embeddings of response and reference, at least 0; the best of several references counts.

    Range 0 to 1. Needs an embedder, and depends on it: unrelated texts seldom score 0, and a sentence and its negation
    score near 1. Undefined if the response or the reference is blank.

    >>> from steelyard.core.requests import play
    >>> sample = Sample(response="It opened in 1932.", reference=["In 1932.", "1932"])
    >>> play(semantic_similarity(sample), [[[1, 0], [3, 0], [0, 1]]]).value
    1.0
    """
    response = sample.response or ""
    references = [one for one in sample.references if one.strip()]
    if not response.strip() or not references:
        return Undefined("the response is blank" if references else "no reference with text")
    vectors = yield from embed([response, *references])
    similarities = [cosine(vectors[0], vector) for vector in vectors[1:]]
    best = max(similarities)
    evidence: dict[str, Json] = {
        "reference": references[similarities.index(best)],
        "similarities": [*similarities],
    }
    return Value(max(0.0, best), evidence)
