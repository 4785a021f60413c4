"""The join against the plainest program that does the same: sort, cut, filter."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings, strategies as st

from steelyard.ranking.join import join
from steelyard.ranking.policy import Policy

IDS = st.sampled_from(["1", "10", "2", "d", "e", "é", "Z", "d-1", "doc"])
SCORES = st.one_of(st.integers(0, 2).map(float), st.floats(-1, 1), st.floats(1, 1 + 1e-7))


def single(score: float) -> float:
    """A score in single precision."""
    return float(struct.unpack("f", struct.pack("f", score))[0])


def plainly(
    run: dict[str, dict[str, float]], qrels: dict[str, dict[str, int]], policy: Policy
) -> list[tuple[str, int, list[tuple[int, float]]]]:
    """Query, documents retrieved, and (rank, grade) of those judged."""
    rows = []
    for query in sorted(qrels):
        if query not in run and policy.missing == "skip":
            continue
        ranking = [(single(s) if policy.trec else s, doc) for doc, s in run.get(query, {}).items()]
        if policy.ties == "docid":
            ranking.sort(key=lambda item: item[1].encode(), reverse=True)
        ranking.sort(key=lambda item: item[0], reverse=True)
        docs = [doc for _, doc in ranking if not (policy.drop_self and doc == query)]
        docs = docs[: policy.depth]
        if policy.judged_only:
            docs = [doc for doc in docs if doc in qrels[query] and not (policy.trec and qrels[query][doc] < 0)]
        hits = [(rank, qrels[query][doc]) for rank, doc in enumerate(docs, start=1) if doc in qrels[query]]
        rows.append((query, len(docs), hits))
    return rows


@settings(max_examples=400, deadline=None)
@given(
    run=st.dictionaries(IDS, st.dictionaries(IDS, SCORES), min_size=1, max_size=4),
    qrels=st.dictionaries(IDS, st.dictionaries(IDS, st.integers(-2, 3), min_size=1), min_size=1, max_size=4),
    policy=st.builds(
        Policy,
        compat=st.sampled_from(["steelyard", "trec_eval"]),
        missing=st.sampled_from(["zero", "skip"]),
        ties=st.sampled_from(["docid", "given"]),
        drop_self=st.booleans(),
        judged_only=st.booleans(),
        depth=st.one_of(st.none(), st.integers(1, 4)),
    ),
)
@pytest.mark.long
def test_all_policies_together(
    run: dict[str, dict[str, float]], qrels: dict[str, dict[str, int]], policy: Policy
) -> None:
    """Ties, single precision, own hits, depth, judged only and missing queries, in any combination."""
    if not run.keys() & qrels.keys():
        return
    table = join(run, qrels, policy)
    bounds = table.starts.tolist()
    actual = [
        (query, table.retrieved[at], list(zip(table.ranks[begin:end], table.grades[begin:end], strict=True)))
        for at, (query, begin, end) in enumerate(zip(table.queries, bounds, bounds[1:], strict=False))
    ]
    assert actual == plainly(run, qrels, policy)
    tied = sum(
        len({single(s) if policy.trec else s for s in run[query].values()}) < len(run[query])
        for query in run.keys() & qrels.keys()
    )
    assert table.counts.tied == tied
