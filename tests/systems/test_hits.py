"""Results of retrievers and of whole systems, in the shapes of the usual libraries."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest

from steelyard.core.errors import InputError, WrongType
from steelyard.core.records import Usage
from steelyard.systems.hits import Hit, document_id, document_ids, hit_of, listed
from steelyard.systems.outputs import Output, answer_of, output_of


@dataclass
class HaystackDocument:
    """As Haystack's: text in ``content``, place in ``meta``."""

    id: str
    content: str
    meta: dict[str, Any] = field(default_factory=dict)
    score: float | None = None


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("d1", Hit("d1")),
        (7, Hit("7")),
        (np.int64(7), Hit("7")),
        (("d1", 0.5), Hit("d1", score=0.5)),
        (["d1", np.float32(0.5)], Hit("d1", score=0.5)),
        ({"id": "d1", "text": "Words.", "score": 2}, Hit("d1", "Words.", 2.0)),
        ({"_id": "d1", "contents": "Words."}, Hit("d1", "Words.")),
        ({"id": "c7", "metadata": {"source": "d1"}}, Hit("d1", chunk="c7")),
        ({"id": "d1", "metadata": {"id": "d1"}}, Hit("d1")),
        (SimpleNamespace(source_id="d1", text="Words.", score=1.0), Hit("d1", "Words.", 1.0)),
        ((SimpleNamespace(page_content="Words.", metadata={"source": "d1", "start_index": 4}, id=None), 0.25),
         Hit("d1", "Words.", 0.25, None, 4, 10)),
        (HaystackDocument("c1", "Words.", {"source_id": "d1", "split_idx_start": 3}, 0.5),
         Hit("d1", "Words.", 0.5, "c1", 3, 9)),
        (Hit("d1", "Words."), Hit("d1", "Words.")),
    ],
)  # fmt: skip
def test_shapes_of_hits(result: object, expected: Hit) -> None:
    """Ids, pairs, mappings, objects and documents become the same record."""
    assert expected == hit_of(result)


@pytest.mark.parametrize("result", [None, True, "", (), {}, {"text": "no id"}, 1.5, {"id": 1.5}, {"id": ""}])
def test_a_result_without_id_is_named(result: object) -> None:
    """What has no id is an error that shows the result, never a document called None."""
    with pytest.raises(InputError, match=r"document id"):
        document_id(result)


def test_a_text_alone_is_a_hit_where_ids_are_not_needed() -> None:
    """Whole systems may give texts without ids."""
    assert Hit(text="Words.") == hit_of({"text": "Words."}, need_id=False)


def test_chunks_count_as_their_document_at_its_best_rank() -> None:
    """Several chunks of a document are one document, and the repeats are counted."""
    hits = [{"id": "a#1", "metadata": {"source": "a"}}, "b", {"id": "a#2", "metadata": {"source": "a"}}, "c"]
    assert document_ids(hits, 2) == (["a", "b"], 1)


class Found(NamedTuple):
    """A hit whose first field is no id."""

    text: str
    doc_id: str


def test_pairs_are_pairs_of_a_result_and_its_score() -> None:
    """A second part that is no number is told; a named tuple is read by its names."""
    with pytest.raises(InputError, match=r"a pair is \(id or document, score\), found .*'words'"):
        hit_of(("d1", "words"))
    assert Hit("d1", "Words.") == hit_of(Found("Words.", "d1"))


def test_rows_of_data_frames_are_hits() -> None:
    """Of polars and of pandas, as PyTerrier's; never their column names."""
    columns = {"docno": ["d1", "d2"], "score": [2.0, 1.0]}
    for frame in (pl.DataFrame(columns), pd.DataFrame(columns)):
        assert output_of(frame).hits == [Hit("d1", score=2.0), Hit("d2", score=1.0)]


@pytest.mark.parametrize("result", ["d1", b"d1", None, 5, {"no": "list"}, {"d1", "d2"}])
def test_what_is_no_list_of_results(result: object) -> None:
    """A text is not taken for a list of letters."""
    with pytest.raises(WrongType, match="a retriever returns a list"):
        listed(result)


def test_wrapped_lists() -> None:
    """Components that wrap their documents are looked into."""
    assert listed({"documents": ["d1"]}) == ["d1"]
    assert listed(SimpleNamespace(hits=["d1"])) == ["d1"]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("Ada.", Output(answer="Ada.")),
        ("", Output(answer="")),
        ([], Output([])),
        (("Ada.", ["d1"]), Output([Hit("d1")], "Ada.")),
        ({"answer": "Ada.", "context": "One text."}, Output([Hit(text="One text.")], "Ada.")),
        ({"response": "Ada.", "contexts": ["a", "b"], "ids": ["1", "2"]}, Output([Hit("1", "a"), Hit("2", "b")], "Ada.")),
        ({"result": "Ada.", "source_documents": [{"id": "d1", "page_content": "a"}]}, Output([Hit("d1", "a")], "Ada.")),
        ({"documents": [{"id": "d1"}]}, Output([Hit("d1")])),
        ({"ids": [["d1", "d2"]], "documents": [["a", "b"]]}, Output([Hit("d1", "a"), Hit("d2", "b")])),
        (SimpleNamespace(response="Ada.", source_nodes=[SimpleNamespace(node={"id_": "n", "text": "a"}, score=0.5)]),
         Output([Hit("n", "a", 0.5)], "Ada.")),
        (SimpleNamespace(content="Ada.", usage_metadata={"input_tokens": 9, "output_tokens": 2}),
         Output(answer="Ada.", usage=Usage(calls=1, prompt_tokens=9, completion_tokens=2))),
        ({"answer": "Ada.", "usage": {"prompt_tokens": 9, "completion_tokens": 2, "cost": 0.5}},
         Output(answer="Ada.", usage=Usage(calls=1, prompt_tokens=9, completion_tokens=2, cost=0.5))),
    ],
)  # fmt: skip
def test_shapes_of_whole_systems(result: object, expected: Output) -> None:
    """Texts, pairs, mappings and response objects become one record."""
    assert expected == output_of(result)


@pytest.mark.parametrize("result", [None, 5, {"answer": {"nested": 1}}, {"answer": 5}])
def test_what_is_no_output(result: object) -> None:
    """A result that says nothing readable is an error, never an empty answer."""
    with pytest.raises(WrongType):
        output_of(result)


def test_contexts_and_ids_of_unequal_number() -> None:
    """Two contexts with one id are not zipped."""
    with pytest.raises(InputError, match="2 contexts and 1 id: "):
        output_of({"answer": "", "contexts": ["a", "b"], "ids": ["1"]})


def test_answers() -> None:
    """An answerer's result is a text, a message, or an object with one."""
    assert [answer_of(one) for one in ("a", SimpleNamespace(content="b"), {"answer": "c"})] == ["a", "b", "c"]
    with pytest.raises(WrongType, match="an answer is a text"):
        answer_of(5)


def test_ids_of_hits_without_ids_are_unknown() -> None:
    """Ids are all known or unknown."""
    assert Output([Hit("d1"), Hit(text="words")]).ids is None
