"""Random rankings against pytrec_eval, which runs trec_eval's own code."""

from __future__ import annotations

from math import exp

import pytest
from hypothesis import given, settings, strategies as st

from steelyard.metrics.lookup import get_metric
from steelyard.metrics.registry import Metric
from steelyard.ranking.join import join
from steelyard.ranking.policy import Policy
from steelyard.ranking.trec import measure_names

pytrec_eval = pytest.importorskip("pytrec_eval")

TEXTS = {"runid", "relstring", "num_q"}
THEIRS = sorted(set(pytrec_eval.supported_measures) - TEXTS)


def ours() -> dict[str, Metric]:
    """Our metrics by trec_eval's printed name."""
    wanted = [get_metric(name, way="ranking") for one in THEIRS for name in measure_names.expand_request(one) or ()]
    return {str(measure_names.trec_eval_name(one.name, one.params)): one for one in wanted}


documents = st.sampled_from([f"d{at}" for at in range(40)])
queries = st.sampled_from(["q1", "q2", "q10", "Q"])
scores = st.one_of(
    st.integers(0, 3).map(float), st.floats(-1e6, 1e6, allow_nan=False), st.floats(1, 1 + 1e-6, allow_nan=False)
)


@settings(max_examples=150, deadline=None)
@given(
    qrels=st.dictionaries(queries, st.dictionaries(documents, st.integers(0, 4), min_size=1), min_size=1),
    run=st.dictionaries(queries, st.dictionaries(documents, scores, min_size=1), min_size=1),
    level=st.integers(1, 3),
)
@pytest.mark.long
def test_every_measure_equals_pytrec_eval(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]], level: int
) -> None:
    """All measures on random runs with ties, unjudged documents and missing queries."""
    expected = pytrec_eval.RelevanceEvaluator(qrels, THEIRS, relevance_level=level).evaluate(run)
    if not expected:
        return
    rankings = join(run, qrels, Policy(compat="trec_eval", relevance_level=level))
    assert sorted(expected) == list(rankings.queries)
    for name, one in ours().items():
        values = rankings.settle(one.rule(rankings, **one.params)).tolist()  # type: ignore[arg-type, attr-defined]
        theirs = [expected[query][name] for query in rankings.queries]
        if one.pool == "geometric":  # pytrec_eval gives the logarithm that is summed
            theirs, values = [exp(value) for value in theirs], [max(value, 1e-5) for value in values]
        assert values == pytest.approx(theirs, rel=1e-12, abs=0), name
