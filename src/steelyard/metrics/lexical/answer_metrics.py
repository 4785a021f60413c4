"""Metrics that compare the response with the reference word by word: samples for ``token_overlap`` and ``ngrams``.

A metric is undefined if a field is absent; a blank response or an empty list of contexts is scored by formula. If there
are several references, the best score counts unless ``aggregation`` states otherwise.
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

    For the normalisation see ``normalize_answer``: punctuation, case and English articles are ignored, and numbers are
    compared by value.
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

    Range 0 to 1. 1 if neither text has tokens, 0 if only one has. Not the F1 over sets: a repeated word counts as often
    as it is matched.
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
    """1 if the response contains the reference's normalised tokens as a contiguous sequence, else 0.

    Whole tokens count, not letters: "art" is not in "party". Other claims of the response do not change the score.
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

    Range 0 to 1. Unrelated texts share letters by chance, so that values below 0.4 mean little.
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

    ``part`` selects ``precision`` (share of the response's n-grams) or ``recall`` (share of the reference's) instead.
    Equals rouge-score without stemming on ASCII text; in other text, words are runs of letters and digits of any
    script. A text of fewer than n words scores 0.
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

    This is the sentence-level form: line breaks are ignored (not rougeLsum). Words and ``part`` as for ``rouge_n``.
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
    between words; in scripts without spaces, graphemes are tokens. By definition, several references give one BLEU;
    with ``aggregation`` each is scored by itself. The mean over samples is not corpus BLEU, which pools the counts.
    """
    return _answer(ngrams.bleu, sample, order=order, lowercase=lowercase, aggregation=aggregation)


def _check_orders(*, order: int, words: int, **_: object) -> None:
    """Check that chrF has an order of characters or of words."""
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

    Equals sacrebleu's ``sentence_chrf`` / 100. ``words=2`` gives chrF++.
    """
    return _answer(ngrams.chrf, sample, order=order, words=words, beta=beta, aggregation=aggregation)


@metric(needs=ANSWER, batch_key="Accuracy", stage="answer", stage_rank=70, explained_by="reference")
def typed_accuracy(sample: Sample, *, aggregation: Aggregation = "best") -> float | Undefined:
    """Exact match, for reports by type of question: the same number as ``exact_match --by question_type``.

    Over columns with ``question_types=`` it returns ``Accuracy_<type>`` and ``Accuracy_Overall``.
    """
    return exact_match(sample, aggregation=aggregation)
