"""Runs and qrels in DataFrames."""

from __future__ import annotations

import pytest

from steelyard.core.errors import InputError
from steelyard.ranking.trec.files import load_rankings

pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

ROWS = {"qid": ["q1", "q1", "q2"], "docno": ["a", "b", "c"], "score": [3.5, 2.5, 1.0]}
JUDGED = {"query_id": ["q1", "q2"], "doc_id": ["b", "c"], "relevance": [1, 2]}


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table], ids=["polars", "pandas", "arrow"])
def test_tables_are_joined(make: type) -> None:
    """Columns go by their usual names."""
    rankings = load_rankings(make(ROWS), make(JUDGED))
    assert rankings.ranks.tolist() == [2, 1]
    beir = {"query-id": ["q1", "q2"], "corpus-id": ["b", "c"], "score": [1, 2]}
    assert load_rankings(make(ROWS), make(beir)).grades.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame], ids=["polars", "pandas"])
def test_whole_numbers_are_ids_as_text(make: type) -> None:
    """A column of integers means the text of each."""
    run = make({"qid": [1, 1, 2], "docno": [9, 10, 10], "score": [1, 1, 1]})
    assert load_rankings(run, {"1": {"10": 1}, "2": {"10": 1}}).ranks.tolist() == [2, 1]


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame], ids=["polars", "pandas"])
def test_errors_of_tables(make: type) -> None:
    """Absent columns, ids and numbers, and a document twice, with the row."""
    with pytest.raises(InputError, match="no column for the document: expected one of doc_id"):
        load_rankings(make({"qid": ["q1"], "score": [1.0]}), make(JUDGED))
    with pytest.raises(InputError, match=r"document id must be text, found (None|nan)"):
        load_rankings(make({**ROWS, "docno": ["a", None, "c"]}), make(JUDGED))
    with pytest.raises(InputError, match="line 2: score: expected a finite number, found"):
        load_rankings(make({**ROWS, "score": [1.0, None, 2.0]}), make(JUDGED))
    with pytest.raises(InputError, match="the run:2: document 'a' is in query 'q1' already, from line 1"):
        load_rankings(make({**ROWS, "docno": ["a", "a", "c"]}), make(JUDGED))
    assert (
        load_rankings(make({**ROWS, "docno": ["b", "b", "c"]}), make(JUDGED), duplicates="best").counts.duplicates == 1
    )
    with pytest.raises(InputError, match="the table is empty"):
        load_rankings(make({"qid": [], "docno": [], "score": []}), make(JUDGED))


def test_errors_of_mappings() -> None:
    """The same for mappings: no number, no id, nothing."""
    qrels = {"q1": {"a": 1}}
    with pytest.raises(InputError, match=r"score is not a finite number: 'high' \(query 'q1', document 'b'\)"):
        load_rankings({"q1": {"a": 1.0, "b": "high"}}, qrels)  # type: ignore[dict-item]
    with pytest.raises(InputError, match=r"score is not a finite number: nan \(query 'q1', document 'b'\)"):
        load_rankings({"q1": {"a": 1.0, "b": float("nan")}}, qrels)
    with pytest.raises(InputError, match=r"score is not a finite number: -inf \(query 'q1', document 'b'\)"):
        load_rankings({"q1": {"a": 1.0, "b": float("-inf")}}, qrels)
    for grade in (float("inf"), 10**400):
        with pytest.raises(InputError, match="grade is not a finite number: "):
            load_rankings({"q1": {"a": 1.0}}, {"q1": {"a": grade}})
    with pytest.raises(InputError, match="relevance_level=nan: must be a finite number"):
        load_rankings({"q1": {"a": 1.0}}, qrels, relevance_level=float("nan"))
    with pytest.raises(InputError, match="document id must be text, found None"):
        load_rankings({"q1": {"a": 1.0, None: 2.0}}, qrels)  # type: ignore[dict-item]
    with pytest.raises(InputError, match="grade is not a finite number: None"):
        load_rankings({"q1": {"a": 1.0}}, {"q1": {"a": None}})  # type: ignore[dict-item]
    with pytest.raises(InputError, match="the qrels are empty"):
        load_rankings({"q1": {"a": 1.0}}, {})
    with pytest.raises(InputError, match="the run is empty"):
        load_rankings({}, qrels)
    with pytest.raises(InputError, match="must be 'docid' or 'given'"):
        load_rankings({"q1": {"a": 1.0}}, qrels, ties="random")  # type: ignore[arg-type]
    assert load_rankings({1: {9: 1.0, 10: 1.0}}, {1: {10: 1}}).ranks.tolist() == [2]  # type: ignore[dict-item]
