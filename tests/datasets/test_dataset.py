"""Datasets: queries with what is known of them, their files and their identity."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec import structs

from steelyard.core.errors import InputError, InputErrors, WrongType
from steelyard.core.records import Sample, Span
from steelyard.datasets.beir import write_beir
from steelyard.datasets.dataset import Dataset, EvalQuery, digest_of
from steelyard.io.samples import read_samples, write_samples

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["=1", "'", '["a"]', "\r\n", " "]
)
words = texts.filter(bool)
grades = st.floats(allow_nan=False, allow_infinity=False)
queries = st.builds(
    EvalQuery,
    query=words,
    relevant_ids=st.lists(texts, max_size=2, unique=True).map(tuple),
    relevance=st.none() | st.dictionaries(texts, grades, max_size=2),
    context=st.none() | words | st.lists(texts, max_size=3),
    reference_answer=st.none() | words | st.lists(texts, max_size=2),
    id=texts,
    relevant_spans=st.none() | st.lists(st.builds(Span, doc=texts, text=texts), max_size=2),
    tags=st.dictionaries(texts, texts, max_size=2),
    metadata=st.dictionaries(texts, texts | grades | st.none(), max_size=2),
)
datasets = st.builds(
    Dataset,
    words,
    st.none() | texts,
    st.lists(queries, max_size=4, unique_by=lambda query: query.id),
    corpus=st.none() | st.dictionaries(texts, texts, max_size=2),
)
IN_FOLDER = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def of_queries(*queries: EvalQuery) -> Dataset:
    return Dataset("d", queries=queries)


# Queries


def test_the_id_is_the_query_text_unless_it_is_given() -> None:
    """Ids are text; a query needs a text or an id."""
    assert (EvalQuery("Who?").id, EvalQuery("Who?", id=7).id) == ("Who?", "7")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a query needs a text or an id"):
        EvalQuery("")


def test_grades_override_relevant_ids() -> None:
    """Relevant ids are grades of 1; empty grades say nothing beside a list; neither is None."""
    assert EvalQuery("q", relevant_ids=["a", "b"]).grades == {"a": 1.0, "b": 1.0}  # type: ignore[arg-type]
    assert EvalQuery("q", relevant_ids=("a",), relevance={"c": 2}).grades == {"c": 2.0}
    assert EvalQuery("q", relevant_ids=("a",), relevance={}).grades == {"a": 1.0}
    assert EvalQuery("q", relevance={}).grades == {}
    assert EvalQuery("q").grades is None


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"query": 5}, "query 5: expected text, found the number 5"),
        ({"relevant_ids": "d1"}, "query 'q': expected a list of ids, found the text 'd1'"),
        ({"relevant_ids": [None]}, "query 'q': item 1: expected an id"),
        ({"relevance": {"d": "high"}}, "query 'q': grade of 'd': expected a number"),
        ({"id": 1.5}, "query 'q': expected an id"),
    ],
)
def test_what_is_no_query(query: dict[str, Any], message: str) -> None:
    """A query of the wrong types is an error that names it."""
    with pytest.raises(InputError) as caught:
        EvalQuery(**{"query": "q", **query})
    assert message in str(caught.value)


def test_a_query_becomes_a_sample() -> None:
    """The context is what an answer rests on, and the reference is the accepted answer."""
    query = EvalQuery("Who?", ("d",), context="c", reference_answer=["Ada"], tags={"t": "x"}, metadata={"m": 1})
    expected = Sample(
        id="Who?",
        user_input="Who?",
        reference=["Ada"],
        reference_contexts=["c"],
        relevance={"d": 1.0},
        tags={"t": "x"},
        metadata={"m": 1},
    )
    assert expected == query.sample()
    assert structs.replace(query, relevant_ids=(), relevance={"d": 1.0}) == EvalQuery.of(query.sample())
    with pytest.raises(InputError, match="sample 'x' has no query"):
        EvalQuery.of(Sample(id="x"))


# Datasets


def test_a_dataset_holds_each_id_once() -> None:
    """Adding gives the dataset back; a second query of the same id, or what is no query, is an error."""
    dataset = Dataset("d").add(EvalQuery("a", ("d1",))).add(EvalQuery("b"))
    assert (len(dataset), dataset.qrels, dataset.query_texts) == (2, {"a": {"d1": 1.0}}, {"a": "a", "b": "b"})
    assert ["a", "b"] == [query.id for query in dataset.queries] == [sample.id for sample in dataset.samples()]
    with pytest.raises(InputError, match="dataset 'd' has a query with the id 'a' already"):
        dataset.add(EvalQuery("a"))
    with pytest.raises(WrongType, match="expected an EvalQuery, found dict"):
        dataset.add({"query": "a"})  # type: ignore[arg-type]
    assert repr(dataset) == "<Dataset 'd', 2 queries>"


@given(dataset=datasets)
@IN_FOLDER
def test_a_saved_dataset_loads_equal(tmp_path: Path, dataset: Dataset) -> None:
    """The own shape holds everything: relevant ids beside grades, documents, tags."""
    dataset.save(tmp_path / "d.json")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dataset == Dataset.load(tmp_path / "d.json")


@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv", "tsv", "parquet"])
@given(dataset=datasets)
@settings(IN_FOLDER, max_examples=20)
def test_the_digest_does_not_depend_on_the_format(tmp_path: Path, suffix: str, dataset: Dataset) -> None:
    """Every format, and a reversed order, give the same content."""
    dataset.save(tmp_path / f"d.{suffix}")
    assert dataset.digest == digest_of(read_samples(tmp_path / f"d.{suffix}")) == digest_of(reversed(dataset.samples()))
    assert dataset.digest == Dataset.load(tmp_path / f"d.{suffix}").digest


def test_what_the_digest_covers() -> None:
    """What is given counts; what a system did, names and order of keys do not."""
    given = Sample(
        id="q",
        user_input="Q",
        reference="R",
        relevance={"a": 1, "b": 2},
        tags={"x": "1", "y": "2"},
        reference_contexts=["c"],
    )
    digest = digest_of([given])
    for same in (
        {"response": "A", "retrieved_contexts": ["c"], "retrieved_ids": ["a"], "metadata": {"model": "m"}},
        {"reference": ["R"], "relevance": {"b": 2.0, "a": 1.0}, "tags": {"y": "2", "x": "1"}},
    ):
        assert digest == digest_of([structs.replace(given, **same)])
    for other in (
        {"id": "r"},
        {"user_input": "Q2"},
        {"reference": ["R", "S"]},
        {"reference": None},
        {"reference_contexts": None},
        {"relevance": {"a": 1}},
        {"relevant_spans": [Span("d", text="x")]},
        {"tags": {"x": "1"}},
    ):
        assert digest != digest_of([structs.replace(given, **other)])
    assert digest_of([given, given]) != digest
    assert len(digest) == 24
    assert of_queries(EvalQuery("a")).digest == Dataset("other", "2", [EvalQuery("a")], corpus={"d": "t"}).digest


def test_the_digest_stays_what_it_was() -> None:
    """Reports of earlier versions can be compared: a change here is a change of the format of reports."""
    assert (
        digest_of([Sample(id="q", user_input="Q", reference="R", relevance={"d": 1}, tags={"t": "x"})])
        == "c90b117a11aa1ee1f6664c06"
    )


# The other shape


RECALL = {
    "Name": "wiki",
    "version": "3",
    "Queries": [
        {"ID": "q1", "Query": "Who?", "RelevantIDs": ["d1", "d2"]},
        {"Query": "What?", "RelevantIDs": None, "relevance": {"d1": 2}, "context": "c", "reference_answer": "r"},
        {"id": "", "query": "When?", "relevantids": [], "context": "", "reference_answer": ""},
    ],
}
WIKI = Dataset(
    "wiki",
    "3",
    [
        EvalQuery("Who?", ("d1", "d2"), id="q1"),
        EvalQuery("What?", relevance={"d1": 2.0}, context="c", reference_answer="r"),
        EvalQuery("When?"),
    ],
)


def test_the_recall_shape_loads_and_saves(tmp_path: Path) -> None:
    """Keys are read without regard to case; blank texts are absent; the id defaults to the query."""
    (tmp_path / "r.json").write_text(json.dumps(RECALL))
    assert Dataset.load(tmp_path / "r.json") == WIKI
    WIKI.save(tmp_path / "s.json", shape="recall")
    written = json.loads((tmp_path / "s.json").read_text())
    assert ({"Name", "version", "Queries"}, "wiki", "3") == (set(written), written["Name"], written["version"])
    assert written["Queries"][0] == {"ID": "q1", "Query": "Who?", "RelevantIDs": ["d1", "d2"]}
    assert {"relevance": {"d1": 2.0}, "context": "c", "reference_answer": "r"}.items() <= written["Queries"][1].items()
    assert Dataset.load(tmp_path / "s.json") == WIKI
    assert [sample.id for sample in read_samples(tmp_path / "r.json")] == ["q1", "2", "3"]


def test_what_the_recall_shape_cannot_hold_is_named(tmp_path: Path) -> None:
    """Saving still works; the warning lists the rest."""
    dataset = Dataset("d", corpus={"d": "t"}).add(
        EvalQuery("q", context=["a", "b"], reference_answer=["r", "s"], tags={"a": "b"})
    )
    expected = "does not support the corpus, the bounds of several contexts, second references, tags"
    with pytest.warns(UserWarning, match=expected):
        dataset.save(tmp_path / "d.json", shape="recall")
    (query,) = Dataset.load(tmp_path / "d.json").queries
    assert (query.context, query.reference_answer) == ("a\n\nb", "r")
    with pytest.raises(InputError, match="unknown shape 'other'"):
        dataset.save(tmp_path / "d.json", shape="other")  # type: ignore[arg-type]


# Loading


def test_files_of_samples_and_folders_load(tmp_path: Path) -> None:
    """The name is the file's; a BEIR folder brings its documents."""
    samples = [Sample(id="1", user_input="Q", reference="R", response="A")]
    for suffix in ("jsonl", "csv", "json"):
        write_samples(tmp_path / f"set.{suffix}", samples)
        assert Dataset("set", queries=[EvalQuery("Q", reference_answer="R", id="1")]) == Dataset.load(
            tmp_path / f"set.{suffix}"
        )
    write_beir(tmp_path / "wiki", {"d": "text"}, {"q": "Q", "r": "R"}, {"q": {"d": 2}})
    expected = Dataset("wiki", queries=[EvalQuery("Q", relevance={"d": 2}, id="q"), EvalQuery("R", id="r")])
    loaded = Dataset.load(tmp_path / "wiki")
    assert loaded.corpus == {"d": "text"}
    assert expected.queries == loaded.queries == Dataset.from_beir(tmp_path / "wiki").queries


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"queries": [{"query": "a"}, {"query": "a"}]}, "the id 'a' is given twice, first at line 1"),
        ({"queries": [{"id": "a"}]}, "query: expected the text of a query, found none"),
        ({"queries": [{"query": 5}]}, "query: expected text, found the number 5"),
        ({"queries": [{"query": "a", "relevant_ids": [None]}]}, "relevant_ids: item 1: expected an id"),
        ({"queries": [], "corpus": {"d": 5}}, "corpus: expected an object of texts by id"),
    ],
)
def test_bad_datasets_name_file_and_line(tmp_path: Path, content: object, message: str) -> None:
    """As for samples."""
    path = tmp_path / "d.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError) as caught:
        Dataset.load(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_all_problems_of_a_dataset_at_once(tmp_path: Path) -> None:
    """Two bad queries are two lines."""
    (tmp_path / "d.json").write_text('{"queries": [\n{"query": 5},\n{"query": "a", "tags": {"a": []}}]}')
    with pytest.raises(InputErrors) as caught:
        Dataset.load(tmp_path / "d.json")
    assert [problem.line for problem in caught.value.problems] == [2, 3]
