"""ROUGE, BLEU and chrF: worked by hand, equal to the established scorers on English, and their laws."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
import sacrebleu
from hypothesis import given, strategies as st
from rouge_score.rouge_scorer import RougeScorer

from steelyard import InputError
from steelyard.core.records import Sample, Undefined
from steelyard.metrics.lexical import answer_metrics, ngrams

ENGLISH = st.text(alphabet="abc Ab12.,-&;'\"()<>$%\n", max_size=40)
SOME = ["the", "cat", "sat", "on", "a", "mat", ".", ",", "and", "3.5", "u.s.", "mid-19", "it's"]
WORDS = st.lists(st.sampled_from(SOME), max_size=14).map(" ".join)
SEVERAL = st.lists(st.one_of(ENGLISH, WORDS), min_size=1, max_size=3)
ANY = st.text(alphabet="ab cdéжحज漢あก한1,.-'A", max_size=30)
ROUGE = RougeScorer(["rouge1", "rouge2", "rouge3", "rougeL"])
MEASURES = (ngrams.rouge_n, ngrams.rouge_l, ngrams.bleu, ngrams.chrf)


def test_rouge_by_hand() -> None:
    """Response of 4 words and reference of 3; 2 words and 1 pair in common; "the sat" is the longest common sequence."""
    response, reference = "the cat sat down", "sat the cat"

    assert ngrams.rouge_n(response, reference, part="precision") == 3 / 4
    assert ngrams.rouge_n(response, reference, part="recall") == 1.0
    assert ngrams.rouge_n(response, reference, n=2) == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))
    assert ngrams.rouge_l(response, reference, part="precision") == 2 / 4
    assert ngrams.rouge_l(response, reference, part="recall") == 2 / 3
    assert ngrams.rouge_n("cat", "cat", n=2) == 0.0


def test_bleu_by_hand() -> None:
    """Precisions 3/3, 1/2 and, smoothed, 1/2; brevity exp(1 - 4/3)."""
    expected = math.exp(1 - 4 / 3) * (1 * (1 / 2) * (1 / 2)) ** (1 / 3)

    assert ngrams.bleu("cat sat the", "the cat sat down") == pytest.approx(expected)
    assert ngrams.bleu("cat sat the", "the cat sat down", order=1) == pytest.approx(math.exp(1 - 4 / 3))
    assert ngrams.bleu("", "the cat") == ngrams.bleu("dog", "cat") == 0.0


def test_chrf_by_hand() -> None:
    """Characters of "ab" and "abc": precisions 1, 1; recalls 2/3, 1/2; F2 of their means."""
    precision, recall = 1.0, (2 / 3 + 1 / 2) / 2

    assert ngrams.chrf("a b", "abc") == pytest.approx(5 * precision * recall / (4 * precision + recall))
    assert ngrams.chrf("", "abc") == 0.0


@given(st.one_of(ENGLISH, WORDS), SEVERAL)
def test_rouge_equals_rouge_score(response: str, references: list[str]) -> None:
    """Precision, recall and F1 of ROUGE-1, 2, 3 and L, one and several references."""
    one = ROUGE.score(references[0], response)
    several = ROUGE.score_multi(references, response)
    for n in (1, 2, 3):
        assert ngrams.rouge_n(response, references[0], n=n, part="precision") == pytest.approx(
            one[f"rouge{n}"].precision
        )
        assert ngrams.rouge_n(response, references[0], n=n, part="recall") == pytest.approx(one[f"rouge{n}"].recall)
        assert ngrams.rouge_n(response, references, n=n) == pytest.approx(several[f"rouge{n}"].fmeasure)
    assert ngrams.rouge_l(response, references[0], part="recall") == pytest.approx(one["rougeL"].recall)
    assert ngrams.rouge_l(response, references) == pytest.approx(several["rougeL"].fmeasure)


@given(st.one_of(ENGLISH, WORDS), SEVERAL)
def test_bleu_and_chrf_equal_sacrebleu(response: str, references: list[str]) -> None:
    """Sentence BLEU with several references, chrF and chrF++, as sacrebleu computes them."""
    assert ngrams.bleu(response, references) == pytest.approx(sacrebleu.sentence_bleu(response, references).score / 100)
    assert ngrams.bleu(response, references, lowercase=True) == pytest.approx(
        sacrebleu.sentence_bleu(response, references, lowercase=True).score / 100
    )
    assert ngrams.chrf(response, references) == pytest.approx(sacrebleu.sentence_chrf(response, references).score / 100)
    plus = sacrebleu.sentence_chrf(response, references, word_order=2).score / 100
    assert ngrams.chrf(response, references, words=2) == pytest.approx(plus)


@given(st.text(alphabet="ab", max_size=90), st.text(alphabet="ab", max_size=90))
def test_chrf_of_repetitive_texts(response: str, reference: str) -> None:
    """Short and long texts take different ways to the same counts, overlapping repeats included."""
    assert ngrams.chrf(response, reference) == pytest.approx(sacrebleu.sentence_chrf(response, [reference]).score / 100)


def test_real_answers_equal_the_established_scorers(shared: Path) -> None:
    """English answers of real systems, with an unrelated second reference."""
    with (shared / "packs" / "evouna_nq.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines][::7]
    rows = [row for row in rows if (row["response"] + "".join(row["reference"])).isascii()]
    draw = random.Random(1)
    assert len(rows) > 200
    for row in rows:
        response, references = row["response"], [*row["reference"], draw.choice(rows)["response"]]
        rouge = ROUGE.score_multi(references, response)
        assert ngrams.rouge_n(response, references) == pytest.approx(rouge["rouge1"].fmeasure)
        assert ngrams.rouge_n(response, references, n=2) == pytest.approx(rouge["rouge2"].fmeasure)
        assert ngrams.rouge_l(response, references) == pytest.approx(rouge["rougeL"].fmeasure)
        bleu = sacrebleu.sentence_bleu(response, references).score / 100
        assert ngrams.bleu(response, references) == pytest.approx(bleu)
        assert ngrams.chrf(response, references) == pytest.approx(
            sacrebleu.sentence_chrf(response, references).score / 100
        )


@given(ANY, ANY)
def test_laws(a: str, b: str) -> None:
    """All lie in [0, 1]; a text with words scores 1 with itself; ROUGE is symmetric."""
    for measure in MEASURES:
        assert 0.0 <= measure(a, b) <= 1.0
        if any(map(str.isalnum, a)):
            assert measure(a, a) == pytest.approx(1.0)
    assert ngrams.rouge_n(a, b) == pytest.approx(ngrams.rouge_n(b, a))
    assert ngrams.rouge_l(a, b) == pytest.approx(ngrams.rouge_l(b, a))
    assert ngrams.rouge_l(a, b) <= ngrams.rouge_n(a, b) + 1e-12


@given(st.text(alphabet="abc", max_size=80), st.text(alphabet="abc", max_size=80))
def test_common_subsequence_equals_the_table(a: str, b: str) -> None:
    """The bit-parallel length equals that of the textbook table."""
    row = [0] * (len(b) + 1)
    for mine in a:
        above, row = row, [0]
        for at, theirs in enumerate(b):
            row.append(above[at] + 1 if mine == theirs else max(above[at + 1], row[at]))

    assert ngrams.common_subsequence(a, b) == row[-1]


def test_bleu_takes_references_together_or_apart() -> None:
    """Together, "the cat" and "sat down" cover the response; apart, neither does."""
    references = ["the cat", "sat down"]

    assert ngrams.bleu("the cat sat down", references, order=1) == 1.0
    assert ngrams.bleu("the cat sat down", references, order=1, aggregation="best") == 0.5


def test_parameters_are_checked() -> None:
    """Orders below 1 are the caller's mistake."""
    with pytest.raises(InputError, match="n is 0"):
        ngrams.rouge_n("a", "a", n=0)
    with pytest.raises(InputError, match="order is 0"):
        ngrams.bleu("a", "a", order=0)
    with pytest.raises(InputError, match="order is 0"):
        ngrams.chrf("a", "a", order=0)


def test_metrics_take_samples() -> None:
    """The metric of a name is its scalar function over a sample."""
    sample = Sample(id="1", response="the cat sat", reference=["the cat sat", "dogs"])

    assert (
        answer_metrics.rouge_n(sample, n=3)
        == answer_metrics.rouge_l(sample)
        == answer_metrics.chrf(sample, words=2)
        == 1.0
    )
    assert answer_metrics.bleu(sample) == pytest.approx(1.0)
    assert isinstance(answer_metrics.bleu(Sample(id="2", response="the cat", reference=[])), Undefined)
