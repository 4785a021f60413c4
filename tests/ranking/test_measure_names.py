"""trec_eval's spellings, read and printed."""

from __future__ import annotations

import pytest

from steelyard.core import metric_names
from steelyard.metrics.lookup import get_metric
from steelyard.ranking.trec import measure_names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P.1,3", ["precision@1", "precision@3"]),
        ("P_5", ["precision@5"]),
        ("recall.10", ["recall@10"]),
        ("ndcg_cut.10", ["ndcg@10"]),
        ("ndcg_cut_10", ["ndcg@10"]),
        ("ndcg", ["ndcg"]),
        ("ndcg.1=1,2=3,3=7", ['ndcg(gains="1=1,2=3,3=7")']),
        ("map_cut.1,3", ["map@1", "map@3"]),
        ("success.2,3", ["hit@2", "hit@3"]),
        ("set_F.0.5", ["set_f(weight=0.5)"]),
        ("set_F", ["set_f"]),
        ("iprec_at_recall.0.1,0.5", ["iprec(recall=0.1)", "iprec(recall=0.5)"]),
        ("iprec_at_recall_0.10", ["iprec(recall=0.1)"]),
        ("Rprec_mult_0.20", ["rprec_mult(factor=0.2)"]),
        ("utility.2,-1,0,0", ["utility(a=2.0)"]),
        ("utility_1,-1,0,0", ["utility"]),
        ("recip_rank", ["mrr"]),
        ("gm_map", ["gmap"]),
        ("11pt_avg", ["11pt"]),
        ("relative_P_5", ["relative_p@5"]),
    ],
)
def test_requests_and_printed_forms(text: str, expected: list[str]) -> None:
    """Both forms mean measures of ours, which exist."""
    assert measure_names.metric_names(text) == tuple(expected)
    assert [str(get_metric(name, way="ranking")) for name in expected] == expected


@pytest.mark.parametrize(
    "text", ["ndcg@10", "recall", "success", "faithfulness", "P.x", "P.0", "utility.1,2", "mine.py:P"]
)
def test_other_names_are_left_alone(text: str) -> None:
    """Our own notation, our own words, and what is no request."""
    assert measure_names.metric_names(text) is None


def test_groups() -> None:
    """A group is its members, and what prints as text is no metric."""
    official, everything = measure_names.metric_names("official"), measure_names.metric_names("all_trec")
    assert official is not None
    assert everything is not None
    assert official[:6] == ("num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gmap")
    assert official[-9:] == tuple(f"precision@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000))
    assert len(everything) == 93
    assert set(measure_names.metric_names("set") or ()) < set(everything)


def test_spelling_is_the_inverse() -> None:
    """What a printed form means is printed in that form."""
    for one in measure_names.ORDER:
        for name in measure_names.expand_request(one.trec_eval) or ():
            parsed = metric_names.parse(name)
            shown = measure_names.trec_eval_name(parsed.base, parsed.params)
            assert shown is not None
            assert measure_names.expand_request(shown) == (name,)
    assert measure_names.trec_eval_name("rbp", {}) is None
    assert measure_names.trec_eval_name("precision", {}) is None
    assert measure_names.trec_eval_name("ndcg", {"gain": "exponential"}) is None
