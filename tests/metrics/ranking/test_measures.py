"""Hand-worked values of what no oracle has, and the cases that broke other tools."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from steelyard.core.errors import InputError
from steelyard.metrics.ranking import measures, ndcg, trec_measures
from steelyard.metrics.ranking.single_ranking import (
    RETRIEVAL_METRICS,
    average_precision,
    dcg_at_k,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
)
from steelyard.ranking.join import join
from steelyard.ranking.policy import Policy
from steelyard.ranking.rankings import Rankings


def table(order: str, grades: dict[str, float], **policy: object) -> Rankings:
    """One query whose documents are letters, best first."""
    run = {doc: float(-at) for at, doc in enumerate(order)}
    return join({"q": run}, {"q": grades}, Policy(**policy))  # type: ignore[arg-type]


WORKED = table("axbcy", {"a": 1, "b": 3, "c": 2, "d": 2, "x": 0})
"""Grades down the list: 1, 0, 3, 2, unjudged; d, of grade 2, is missed. R = 4 and the highest grade is 3."""


def value(measure: object, **params: object) -> float:
    """A measure of the worked example."""
    return float(measure(WORKED, **params)[0])  # type: ignore[operator]


def test_hit() -> None:
    """1 from the first relevant rank on."""
    late = table("xya", {"a": 1})
    assert [measures.hit(late, k=k)[0] for k in (1, 2, 3)] == [0.0, 0.0, 1.0]
    assert value(measures.hit, k=2, rel=3) == 0.0


def test_f() -> None:
    """Precision 2/3 and recall 2/4 at 3; beta 2 weighs recall four times."""
    assert value(measures.f_measure, k=3) == pytest.approx(2 * (2 / 3) * 0.5 / (2 / 3 + 0.5))
    assert value(measures.f_measure, k=3, beta=2.0) == pytest.approx(5 * (2 / 3) * 0.5 / (4 * (2 / 3) + 0.5))
    assert measures.f_measure(table("xy", {"a": 1}))[0] == 0.0


def test_rbp() -> None:
    """Relevant at ranks 1, 3 and 4; graded, g / 3 stands for 1."""
    assert value(measures.rbp, p=0.5) == pytest.approx(0.5 * (1 + 0.25 + 0.125))
    assert value(measures.rbp, p=0.5, k=3) == pytest.approx(0.5 * (1 + 0.25))
    graded = 0.5 * (1 / 3 + 0.25 + 0.125 * 2 / 3)
    assert value(measures.rbp, p=0.5, graded=True) == pytest.approx(graded)


def test_err() -> None:
    """Stop chances 1/8, 0, 7/8, 3/8."""
    first, third = 1 / 8, (7 / 8) * (7 / 8) / 3
    fourth = (3 / 8) * (7 / 8) * (1 / 8) / 4
    assert value(measures.err) == pytest.approx(first + third + fourth)
    assert value(measures.err, k=3) == pytest.approx(first + third)


def test_grades_whose_power_of_two_is_no_number() -> None:
    """err has a value for grade 2000, where 2^2000 is none; a sum of such gains is refused in a line."""
    high = join({"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 1, "a": 2000}})
    assert measures.err(high).tolist() == [1.0]
    for measure in (ndcg.ndcg, ndcg.dcg):
        with pytest.raises(InputError, match="gain='exponential': expected grades of at most 1000, found 2000"):
            measure(high, gain="exponential")


def test_the_highest_grade_is_that_of_the_whole_qrels() -> None:
    """err of a query of small grades does not rise because of that."""
    run = {"q1": {"a": 1.0}, "q2": {"b": 1.0}}
    both = join(run, {"q1": {"a": 1}, "q2": {"b": 3}})
    assert measures.err(both).tolist() == [1 / 8, 7 / 8]


def test_judged() -> None:
    """a, x, b and c are judged, y is not; short lists divide by their length."""
    assert value(measures.judged, k=5) == 0.8
    assert value(measures.judged, k=2) == 1.0
    assert value(measures.judged, k=100) == 0.8


def test_exponential_ndcg() -> None:
    """Gains 1, 0, 7, 3 against 7, 3, 3, 1."""
    dcg = 1 + 7 / log2(4) + 3 / log2(5)
    ideal = 7 + 3 / log2(3) + 3 / log2(4) + 1 / log2(5)
    assert value(ndcg.ndcg, gain="exponential") == pytest.approx(dcg / ideal)
    assert value(ndcg.dcg, gain="exponential") == pytest.approx(dcg)
    assert value(ndcg.ndcg, gain="exponential", k=1) == pytest.approx(1 / 7)


def test_gains_by_grade() -> None:
    """A table of gains, in which a higher grade may gain less."""
    dcg = 5 + 1 / log2(4) + 2 / log2(5)
    ideal = 5 + 2 / log2(3) + 2 / log2(4) + 1 / log2(5)
    assert value(ndcg.ndcg, gains="1=5,3=1") == pytest.approx(dcg / ideal)


def test_rel_overrides_the_level() -> None:
    """With rel=2 the relevant are b, c and d."""
    assert value(measures.recall, k=3, rel=2) == pytest.approx(1 / 3)
    assert value(measures.mrr, rel=2) == pytest.approx(1 / 3)
    assert measures.mrr(table("ab", {"a": 1, "b": 2}, relevance_level=2))[0] == 0.5


@pytest.mark.parametrize("measure", [measures.precision, ndcg.ndcg, measures.mrr, measures.err, trec_measures.infap])
def test_nothing_relevant_is_undefined(measure: object) -> None:
    """NaN, never a number; settled to 0 only where the policy says so."""
    empty = table("ab", {"a": 0, "b": -1})
    assert np.isnan(measure(empty)[0])  # type: ignore[operator]
    assert table("ab", {"a": 0}, undefined="zero").settle(np.array([np.nan])).tolist() == [0.0]


def test_a_query_judged_without_documents_is_a_query() -> None:
    """It is undefined, and not ignored."""
    both = join({"q1": {"a": 1.0}, "q2": {"a": 1.0}}, {"q1": {"a": 1}, "q2": {}})
    assert both.queries == ("q1", "q2")
    assert both.counts.ignored == ()
    assert np.isnan(measures.recall(both)).tolist() == [False, True]


def test_counts_are_defined_where_nothing_is_relevant() -> None:
    """num_* and utility count."""
    empty = table("ab", {"a": 0})
    assert trec_measures.num_ret(empty).tolist() == [2.0]
    assert trec_measures.num_rel(empty).tolist() == [0.0]
    assert trec_measures.utility(empty).tolist() == [-2.0]


def test_bad_parameters_are_errors() -> None:
    """A parameter out of its range is named."""
    for measure, params in (
        (measures.rbp, {"p": 1.0}),
        (measures.iprec, {"recall": 1.5}),
        (ndcg.ndcg, {"gain": "log"}),
        (ndcg.ndcg, {"gains": "1:2"}),
        (trec_measures.rprec_mult, {"factor": 0.0}),
    ):
        with pytest.raises(InputError, match=str(next(iter(params)))):
            measure(WORKED, **params)  # type: ignore[operator]


def test_r01_ties_are_broken_by_document_id_for_all_measures() -> None:
    """Equal scores: the greater id, as text, ranks first, whatever the order given; ties="given" keeps the order."""
    docs = ["d1", "d2", "d3"]
    for order in docs, docs[::-1]:
        tied = join({"q1": dict.fromkeys(order, 1.0)}, {"q1": {"d3": 1}})
        values = [measure(tied)[0] for measure in (measures.mrr, measures.average_precision, ndcg.ndcg)]
        assert values == [1.0, 1.0, 1.0]
        assert tied.counts.tied == 1
    nine = join({"q1": {"9": 1.0, "10": 1.0}}, {"q1": {"10": 1}})
    assert measures.mrr(nine).tolist() == [0.5]
    given = join({"q1": dict.fromkeys(docs, 1.0)}, {"q1": {"d3": 1}}, Policy(ties="given"))
    assert measures.mrr(given).tolist() == pytest.approx([1 / 3])


def test_r02_a_repeated_document_counts_once() -> None:
    """Values stay in [0, 1]; the best rank counts."""
    assert [recall_at_k(["id1", "id1"], {"id1": 1}, 10), average_precision(["id1", "id1"], {"id1": 1})] == [1.0, 1.0]
    assert recall_at_k(["A", "A"], ["A", "B"], 10) == 0.5
    assert ndcg_at_k(["A", "A"], {"A": 1, "B": 1}, 10) == pytest.approx(0.613, abs=5e-4)
    assert recall_at_k(["A"], ["A", "A"], 10) == 1.0


def test_r03_missing_queries_score_zero_and_are_named() -> None:
    """The mean is over the qrels; the mean over what both have must be asked for."""
    run, qrels = {"q1": {"a": 1.0}, "q9": {"z": 1.0}}, {"q1": {"a": 1}, "q2": {"b": 1}}
    both = join(run, qrels)
    assert measures.average_precision(both).tolist() == [1.0, 0.0]
    assert (both.counts.missing, both.counts.ignored) == (("q2",), ("q9",))
    skipped = join(run, qrels, Policy(missing="skip"))
    assert measures.average_precision(skipped).tolist() == [1.0]
    assert skipped.counts.missing == ("q2",)


def test_r05_negative_grades_are_judged_and_gain_nothing() -> None:
    """-2 is a judgement; the two gains are two measures."""
    negative = join({"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}, {"q1": {"d1": -2, "d2": 1, "d3": 2}})
    assert ndcg.ndcg(negative)[0] == pytest.approx(0.61990623)
    assert ndcg.ndcg(negative, gain="exponential")[0] == pytest.approx(0.58688267)
    assert measures.mrr(negative)[0] == 0.5
    assert measures.precision(negative, k=3)[0] == pytest.approx(2 / 3)
    assert measures.judged(negative, k=3)[0] == 1.0
    kept = join({"q1": {"d1": 3.0, "d2": 2.0}}, {"q1": {"d1": -2, "d2": 1}}, Policy(judged_only=True))
    assert kept.ranks.tolist() == [1, 2]


def test_r10_hits_equal_to_the_query_stay_unless_dropped() -> None:
    """Document 0 of query 0 is a document; drop_self takes it away, closes the rank and counts it."""
    docs = [str(at) for at in range(10)]
    run, qrels = {"0": dict.fromkeys(docs, 1.0)}, {"0": dict.fromkeys(docs, 1)}
    kept = join(run, qrels)
    for measure in measures.recall, measures.precision, ndcg.ndcg:
        assert measure(kept, k=10)[0] == 1.0
    dropped = join(run, qrels, Policy(drop_self=True))
    assert dropped.counts.dropped_self == 1
    assert measures.recall(dropped, k=10)[0] == 0.9
    shifted = join({"7": {"7": 2.0, "a": 1.0}}, {"7": {"a": 1}}, Policy(drop_self=True))
    assert (shifted.ranks.tolist(), shifted.retrieved.tolist(), shifted.num_judged.tolist()) == ([1], [1], [1])


def test_r11_empty_and_short_lists() -> None:
    """Nothing retrieved is 0, k stays k, no relevant is 0.0 for a scalar, and a null id is an error."""
    both = {"a": 1, "b": 1}
    assert [function([], both, 10) for function in RETRIEVAL_METRICS.values()] == [0.0] * 5
    assert precision_at_k(["a", "x"], both, 10) == 0.1
    assert recall_at_k(["a", "x"], both, 10) == 0.5
    assert ndcg_at_k(["a", "x"], both, 10) == pytest.approx(0.61314719)
    assert average_precision(["a", "x"], both) == 0.5
    assert [function(["a"], {}, 10) for function in RETRIEVAL_METRICS.values()] == [0.0] * 5
    assert [function(["a"], {"a": 0}, 10) for function in RETRIEVAL_METRICS.values()] == [0.0] * 5
    for ranked, relevant in (([None], {"a": 1}), (["a"], {None: 1})):
        with pytest.raises(InputError, match="document id must be text, found None"):
            recall_at_k(ranked, relevant, 10)  # type: ignore[arg-type]


def test_scalars_on_graded_judgements() -> None:
    """Worked by hand: grades 2, 0, 1 down the list, an ideal of 3, 2, 1."""
    grades = {"a": 2, "b": 1, "c": 3}
    ranked = ["a", "x", "b"]
    assert dcg_at_k(ranked, grades, 3) == pytest.approx(2 + 1 / 2)
    assert ndcg_at_k(ranked, grades, 3) == pytest.approx(2.5 / (3 + 2 / log2(3) + 1 / 2))
    assert reciprocal_rank(["x", "b"], grades) == 0.5
    assert average_precision(ranked, grades) == pytest.approx((1 + 2 / 3) / 3)
    assert average_precision(ranked, grades, 1) == pytest.approx(1 / 3)
    assert [function(ranked, grades, 0) for function in RETRIEVAL_METRICS.values()] == [0.0] * 5
    assert recall_at_k(ranked, grades, -1) == 0.0
