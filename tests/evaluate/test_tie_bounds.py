"""Orders of ties: against every order there is, on small cases, and against what is known of large ones."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from steelyard.core.errors import InputError
from steelyard.evaluate.evaluate_rankings import evaluate_run
from steelyard.evaluate.tie_bounds import EXPECTED, ORDERED, UNORDERED, tied_orders
from steelyard.metrics.lookup import get_metric
from steelyard.ranking.join import join
from steelyard.ranking.policy import Policy
from steelyard.ranking.trec.files import write_qrels, write_run

CASES = [
    "precision@3", "precision", "recall@2", "recall(rel=2)@4", "f@3", "f(beta=2)", "hit@1", "hit@3", "mrr", "mrr@2",
    "map", "map@3", "rprec", "judged@3", "judged", "dcg@3", "ndcg", "ndcg@2", "ndcg(gain=exponential)@4", "rbp",
    "rbp(p=0.5, graded=True)@4", "gmap", "err@3", "err", "bpref", "gbpref", "iprec(recall=0.5)", "11pt",
    "rprec_mult(factor=0.6)", "relative_p@2", "set_p", "set_recall", "set_f", "set_map", "set_relative_p", "num_q",
    "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret", "utility",
]  # fmt: skip


def every_order(scores: dict[str, float]) -> list[list[str]]:
    """All rankings that put higher scores first."""
    levels = [
        [doc for doc, one in scores.items() if one == level] for level in sorted(set(scores.values()), reverse=True)
    ]
    return [
        list(itertools.chain(*parts)) for parts in itertools.product(*(itertools.permutations(one) for one in levels))
    ]


def by_force(names: list[str], scores: dict[str, float], grades: dict[str, float], policy: Policy) -> list[list[float]]:
    """For each metric its value in each of these rankings. All rankings are joined at once, as queries of one run."""
    orders = every_order(scores)
    table = join(
        {f"q{number}": {doc: float(-at) for at, doc in enumerate(order)} for number, order in enumerate(orders)},
        {f"q{number}": grades for number in range(len(orders))},
        policy,
    )
    metrics = [get_metric(name) for name in names]
    return [table.settle(metric.rule(table, **metric.params)).tolist() for metric in metrics]


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([1.0, 2.0, 3.0]), min_size=1),
    st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from([-1.0, 0.0, 1.0, 1.0, 2.0, 3.0]), min_size=1),
    st.sampled_from([Policy(), Policy(compat="trec_eval")]),
)
@pytest.mark.long
def test_every_order_is_between(scores: dict[str, float], grades: dict[str, float], policy: Policy) -> None:
    """Worst, mean and best over all orders, tried one by one, for every measure that is listed."""
    bounds = tied_orders({"q": scores}, {"q": grades}, CASES, compat=policy.compat)
    forced = by_force(CASES, scores, grades, policy)
    for name, found, values in zip(CASES, bounds, forced, strict=True):
        if math.isnan(values[0]):
            assert found.n == 0
            assert found.pooled.worst is None
            continue
        up = get_metric(name).higher_is_better
        pool = (lambda one: max(one, 1e-5)) if get_metric(name).pool == "geometric" else (lambda one: one)
        worst, best = (min, max) if up else (max, min)
        assert found.pooled.worst == pytest.approx(pool(worst(values)), abs=1e-12), name
        assert found.pooled.best == pytest.approx(pool(best(values)), abs=1e-12), name
        assert bool(found.moving) == (max(values) - min(values) > 1e-9), name
        if get_metric(name).name in {*EXPECTED, *UNORDERED}:
            assert found.pooled.expected == pytest.approx(sum(values) / len(values), abs=1e-12), name
        else:
            assert found.pooled.expected is None


def test_every_listed_measure_is_tried() -> None:
    """No measure is on a list that the brute force leaves out."""
    assert {get_metric(name).name for name in CASES} == {*ORDERED, *UNORDERED}


def test_without_ties_nothing_moves() -> None:
    """Distinct scores have one order: worst, expected and best are the value."""
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"a": 1.0}}
    qrels = {"q": {"b": 2, "c": 1}, "r": {"x": 1}}
    for found in tied_orders(run, qrels, ["ndcg@10", "map", "mrr", "hit@2"]):
        pooled = found.pooled
        assert pooled.worst == pooled.best == pytest.approx(pooled.value)
        assert pooled.expected == pytest.approx(pooled.value)
        assert found.moving == {}


def test_the_value_is_that_of_the_report_and_lies_between() -> None:
    """Queries at random with many ties, from a file or a mapping, under either order of ties."""
    rng = np.random.default_rng(3)
    docs = [f"d{at}" for at in range(40)]
    run = {f"q{q}": {doc: float(rng.integers(0, 8)) for doc in docs[: rng.integers(5, 40)]} for q in range(30)}
    qrels = {f"q{q}": {doc: int(rng.integers(0, 3)) for doc in docs[::3]} for q in range(32)}
    names = ["ndcg@10", "map", "mrr@10", "precision@5", "err@10"]
    for ties in ("docid", "given"):
        report = evaluate_run(run, qrels, names, ties=ties)
        for found in tied_orders(run, qrels, names, ties=ties):
            pooled = found.pooled
            assert pooled.value == pytest.approx(report.metrics[found.metric])
            assert found.n == report.coverage[found.metric]
            assert pooled.worst < pooled.value < pooled.best
            assert pooled.expected is None or pooled.worst < pooled.expected < pooled.best
            assert all(one.worst < one.best for one in found.moving.values())


def test_a_file_gives_what_a_mapping_gives(tmp_path: Path) -> None:
    """The levels of equal scores come out of a file, which is read as it streams by, as out of memory."""
    run = {f"q{q}": {f"d{d}": float((7 * q + d) % 4) for d in range(12)} for q in range(5)}
    qrels = {f"q{q}": {f"d{d}": d % 3 for d in range(0, 12, 2)} for q in range(5)}
    write_run(tmp_path / "run", run, tag="x")
    write_qrels(tmp_path / "qrels", qrels)
    asked = ["ndcg@5", "map"]
    from_files = tied_orders(tmp_path / "run", tmp_path / "qrels", asked)
    assert [one.system for one in from_files] == ["x", "x"]
    assert from_files == tied_orders(run, qrels, asked, name="x")


def test_a_level_of_many() -> None:
    """A thousand documents of one score: half of them relevant, a tenth relevant, by the hypergeometric formulas."""
    scores = {f"d{at:04}": 1.0 for at in range(1000)}
    grades = {f"d{at:04}": 1 for at in range(100)}
    found = {
        one.metric: one.pooled for one in tied_orders({"q": scores}, {"q": grades}, ["precision@10", "hit@10", "mrr"])
    }
    assert found["precision@10"].expected == pytest.approx(0.1)
    none = math.comb(900, 10) / math.comb(1000, 10)
    assert found["hit@10"].expected == pytest.approx(1 - none)
    first = sum(math.comb(1000 - j, 99) / math.comb(1000, 100) / j for j in range(1, 902))
    assert found["mrr"].expected == pytest.approx(first)
    assert (found["mrr"].worst, found["mrr"].best) == (1 / 901, 1.0)


def test_measures_without_a_formula_and_rankings_that_are_cut() -> None:
    """What is not known is None, never a guess."""
    run, qrels = {"q": {"a": 1.0, "b": 1.0}}, {"q": {"a": 1}}
    [found] = tied_orders(run, qrels, ["infap"])
    assert (found.pooled.worst, found.pooled.expected, found.pooled.best) == (None, None, None)
    assert found.pooled.value is not None
    from steelyard.evaluate.evaluate_rankings import ranking_metrics
    from steelyard.evaluate.tie_bounds import of_rankings

    with pytest.raises(InputError, match="whole rankings"):
        of_rankings(join(run, qrels, Policy(depth=1)), ranking_metrics(["map"]))
