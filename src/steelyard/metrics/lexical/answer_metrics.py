"""Metrics that compare texts word by word, without a model: the samples' side of ``scalars`` and ``ngrams``.

An absent field leaves a metric undefined; a blank response or an empty list of contexts is a bad one and scores by
formula. Of several references the best counts, unless ``aggregation`` says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Concatenate, Literal, ParamSpec

from ...core.records import Sample, Undefined
from ..registry import Counting, NotNegative, metric
from . import ngrams, token_overlap
from .ngrams import Part
from .token_overlap import Aggregation

ANSWER = ("response", "reference")
NO_REFERENCE = Undefined("reference is an empty list")

P = ParamSpec("P")


def _answer(
    score: Callable[Concatenate[str, Sequence[str], P], float], sample: Sample, *args: P.args, **parameters: P.kwargs
) -> float | Undefined:
    """Score the response against the references."""
    references = sample.references
    return score(sample.response or "", references, *args, **parameters) if references else NO_REFERENCE


@metric(
    needs=ANSWER,
    aliases=("qa_em", "em", "ExactMatch"),
    batch_key="ExactMatch",
    source="Rajpurkar et al. 2016",
    stage="answer",
    stage_rank=60,
    explained_by="reference",
)
def exact_match(sample: Sample, *, aggregation: Aggregation = "best") -> float | Undefined:
    """1 if the normalised response equals the normalised reference, else 0.

    Normalised: see ``normalize_answer``. Punctuation, case and English articles do not count; numbers do, by value.
    """
    return _answer(token_overlap.exact_match, sample, aggregation=aggregation)


@metric(
    needs=ANSWER,
    aliases=("qa_f1", "f1"),
    batch_key="F1",
    source="Rajpurkar et al. 2016",
    stage="answer",
    stage_rank=90,
    explained_by="reference",
)
def token_f1(sample: Sample, *, aggregation: Aggregation = "best") -> float | Undefined:
    """Harmonic mean of token precision and recall, over the multisets of normalised tokens.

    Range 0 to 1. Both without tokens: 1; one of them: 0. Not the F1 over sets: a repeated word counts as often as it is
    matched.
    """
    return _answer(token_overlap.token_f1, sample, aggregation=aggregation)


@metric(
    needs=ANSWER,
    aliases=("containment", "has_answer"),
    source="Chen et al. 2017",
    stage="answer",
    stage_rank=100,
    explained_by="reference",
)
def contains(sample: Sample, *, aggregation: Aggregation = "best") -> float | Undefined:
    """1 if the reference's normalised tokens stand in the response one after the other, else 0.

    Whole tokens count, not letters: "art" is not in "party". Says nothing of what else the response claims.
    """
    return _answer(token_overlap.contains, sample, aggregation=aggregation)


@metric(
    needs=ANSWER,
    aliases=("edit_distance_similarity", "levenshtein"),
    source="Levenshtein 1966",
    stage="answer",
    stage_rank=20,
    explained_by="reference",
)
def edit_similarity(sample: Sample, *, aggregation: Aggregation = "best") -> float | Undefined:
    """1 - Levenshtein distance / length of the longer text, over the characters of the normalised texts.

    Range 0 to 1. Unrelated texts share letters by chance: values under 0.4 say little.
    """
    return _answer(token_overlap.edit_similarity, sample, aggregation=aggregation)


@metric(
    needs=ANSWER,
    aliases=("rouge", "rouge1", "rouge_1"),
    source="Lin 2004",
    stage="answer",
    stage_rank=40,
    explained_by="reference",
)
def rouge_n(
    sample: Sample, *, n: Counting = 1, part: Part = "f", aggregation: Aggregation = "best"
) -> float | Undefined:
    """Overlap of n-grams of words as multisets: F1 of its share of the response and of the reference.

    ``part`` gives ``precision`` (share of the response's) or ``recall`` (share of the reference's) instead. Equals
    rouge-score without stemming on ASCII text; elsewhere words are runs of letters and digits of any script. A text of
    fewer than n words scores 0.
    """
    return _answer(ngrams.rouge_n, sample, n=n, part=part, aggregation=aggregation)


@metric(
    needs=ANSWER,
    aliases=("rougel", "rouge-l", "RougeScore"),
    source="Lin 2004",
    stage="answer",
    stage_rank=50,
    explained_by="reference",
)
def rouge_l(sample: Sample, *, part: Part = "f", aggregation: Aggregation = "best") -> float | Undefined:
    """Longest common subsequence of words: F1 of its share of the response and of the reference.

    The sentence-level form: line breaks mean nothing (not rougeLsum). Words and ``part`` as for ``rouge_n``.
    """
    return _answer(ngrams.rouge_l, sample, part=part, aggregation=aggregation)


@metric(
    needs=ANSWER,
    aliases=("sentence_bleu", "sacrebleu", "BleuScore"),
    source="Papineni et al. 2002; Post 2018",
    stage="answer",
    stage_rank=10,
    explained_by="reference",
)
def bleu(
    sample: Sample,
    *,
    order: Counting = 4,
    lowercase: bool = False,
    aggregation: Aggregation | Literal["together"] = "together",
) -> float | Undefined:
    """Sentence BLEU: brevity penalty times the geometric mean of clipped n-gram precisions, on a scale of 0 to 1.

    Equals sacrebleu's ``sentence_bleu`` / 100 (13a tokens, exponential smoothing, effective order) on text with spaces
    between words; graphemes of unspaced scripts are tokens. Several references make one BLEU, as defined; with
    ``aggregation`` each is scored by itself. The mean over samples is not corpus BLEU, which pools the counts.
    """
    return _answer(ngrams.bleu, sample, order=order, lowercase=lowercase, aggregation=aggregation)


def _check_orders(*, order: int, words: int, **_: object) -> None:
    """That chrF has an order of characters or of words."""
    ngrams.check_orders(order, words)


@metric(
    needs=ANSWER,
    aliases=("chr_f", "sentence_chrf", "ChrfScore"),
    source="Popović 2015; Post 2018",
    check=_check_orders,
    stage="answer",
    stage_rank=30,
    explained_by="reference",
)
def chrf(
    sample: Sample, *, order: int = 6, words: int = 0, beta: NotNegative = 2.0, aggregation: Aggregation = "best"
) -> float | Undefined:
    """F-beta of mean precision and mean recall of character n-grams, on a scale of 0 to 1.

    Equals sacrebleu's ``sentence_chrf`` / 100. ``words=2`` makes it chrF++.
    """
    return _answer(ngrams.chrf, sample, order=order, words=words, beta=beta, aggregation=aggregation)


@metric(needs=ANSWER, batch_key="Accuracy", stage="answer", stage_rank=70, explained_by="reference")
def typed_accuracy(sample: Sample, *, aggregation: Aggregation = "best") -> float | Undefined:
    """Exact match, meant to be read per kind of question: the same number as ``exact_match --by question_type``.

    Called over columns with ``question_types=`` it gives ``Accuracy_<type>`` and ``Accuracy_Overall``.
    """
    return exact_match(sample, aggregation=aggregation)
