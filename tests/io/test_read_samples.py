"""Samples from files, tables and objects: what is read, and what is said of what cannot be."""

from __future__ import annotations

import base64
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from msgspec import structs

from steelyard.core.errors import InputError, InputErrors, UnknownName, WrongType
from steelyard.core.records import Sample, Span
from steelyard.io.samples import check_samples, iter_samples, read_samples, write_samples

ROW = {"id": "a", "question": "Q?", "answer": "A", "contexts": ["c1", "c2"], "ground_truth": "R"}
SAMPLE = Sample(id="a", user_input="Q?", response="A", retrieved_contexts=["c1", "c2"], reference="R")


def text_file(path: Path, *lines: str) -> Path:
    path.write_bytes("\n".join(lines).encode("utf-8"))
    return path


def one(row: object, **options: Any) -> Sample:
    (sample,) = read_samples([row], **options)
    return sample


# Where rows come from


def test_every_kind_of_source_gives_the_same_sample(tmp_path: Path) -> None:
    """Files by suffix, tables, mappings, columns and foreign objects read alike."""
    jsonl = text_file(tmp_path / "a.jsonl", json.dumps(ROW))
    csv_row = {**ROW, "contexts": json.dumps(ROW["contexts"])}
    pd.DataFrame([csv_row]).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame([csv_row]).to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    pd.DataFrame([csv_row]).to_csv(tmp_path / "semicolon.csv", index=False, sep=";")
    pl.DataFrame([ROW]).write_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(jsonl.read_bytes()))
    with pa.CompressedOutputStream(pa.OSFile(str(tmp_path / "a.jsonl.zst"), "wb"), "zstd") as file:
        file.write(jsonl.read_bytes())
    dumped = SimpleNamespace(model_dump=lambda: ROW)
    sources: list[object] = [
        jsonl,
        str(jsonl),
        [jsonl],
        *(tmp_path / name for name in ("a.csv", "a.tsv", "semicolon.csv", "a.parquet", "a.jsonl.gz", "a.jsonl.zst")),
        text_file(tmp_path / "list.json", json.dumps([ROW], indent=2)),
        text_file(tmp_path / "object.json", json.dumps({"version": 1, "samples": [ROW]})),
        text_file(tmp_path / "columns.json", json.dumps({name: [value] for name, value in ROW.items()})),
        text_file(tmp_path / "lines.json", json.dumps(ROW), ""),
        text_file(tmp_path / "list.jsonl", json.dumps([ROW])),
        text_file(tmp_path / "no_suffix", json.dumps(ROW)),
        [ROW],
        (row for row in [ROW]),
        [SAMPLE],
        {name: [value] for name, value in ROW.items()},
        pl.DataFrame([ROW]),
        pl.DataFrame([ROW]).lazy(),
        pd.DataFrame([ROW]),
        pd.DataFrame([{**ROW, "contexts": np.array(["c1", "c2"])}]),
        pa.Table.from_pylist([ROW]),
        [dumped],
        SimpleNamespace(samples=[dumped], to_list=lambda: [ROW]),
        SimpleNamespace(samples=lambda: [SAMPLE]),
        SimpleNamespace(samples=[SAMPLE]),
    ]
    for source in sources:
        assert read_samples(source) == [SAMPLE], source


def test_a_set_with_column_names_is_read_row_by_row() -> None:
    """A Hugging Face split is an iterable of dicts; a mapping of splits is refused with their names."""

    class Split:
        column_names = ("question",)

        def __iter__(self) -> Iterator[dict[str, str]]:
            return iter([{"question": "Q?"}])

        def to_list(self) -> list[object]:
            raise AssertionError("the whole set was loaded")

    assert [Sample(id="1", user_input="Q?")] == read_samples(Split())
    with pytest.raises(WrongType, match="one split of the data, found train, test"):
        read_samples({"train": Split(), "test": Split()})


@pytest.mark.parametrize("source", [SAMPLE, ROW, 3, None])
def test_one_sample_or_none_is_a_wrong_type(source: object) -> None:
    """One sample must stand in a list, and what cannot be iterated is no source."""
    with pytest.raises(WrongType, match="expected"):
        read_samples(source)


def test_importing_and_reading_json_imports_no_tables(tmp_path: Path) -> None:
    """JSONL, JSON and CSV need neither polars nor numpy."""
    text_file(tmp_path / "a.jsonl", json.dumps(ROW))
    write_samples(tmp_path / "a.csv", [SAMPLE])
    code = (
        "import sys; from steelyard.io.samples import read_samples; "
        f"read_samples([{str(tmp_path / 'a.jsonl')!r}]); read_samples({str(tmp_path / 'a.csv')!r}); "
        "print(sorted({'polars', 'pandas', 'numpy', 'pyarrow'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_several_files_are_one_list_and_ids_may_not_repeat(tmp_path: Path) -> None:
    """Rows without id are numbered through; the same id in two files names both places."""
    first = text_file(tmp_path / "a.jsonl", '{"question": "1"}', '{"question": "2"}')
    second = text_file(tmp_path / "b.jsonl", "", '{"question": "3"}')
    assert [sample.id for sample in read_samples([first, second])] == ["1", "2", "3"]
    with_id = text_file(tmp_path / "c.jsonl", '{"id": "x", "question": "1"}')
    again = text_file(tmp_path / "d.jsonl", "", '{"id": "x", "question": "1"}')
    with pytest.raises(InputError) as caught:
        read_samples([with_id, again])
    assert f"{again}:2: id: the id 'x' is given twice, first at {with_id} line 1" == str(caught.value)


# Ids


def test_ids_are_text_and_absent_ones_are_numbered_from_one() -> None:
    """Zeros in front stay, whole numbers are written out, rows without id count."""
    rows = [{"id": "0042", "input": ""}, {"id": 7, "input": ""}, {"input": ""}, {"id": None, "input": ""}]
    assert [sample.id for sample in read_samples(rows)] == ["0042", "7", "3", "4"]
    assert one({"_id": "k", "input": ""}).id == "k"
    assert Sample(id="k", user_input="", metadata={"query_id": 9}) == one({"id": "k", "query_id": 9, "query": ""})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": "a"}, {"id": "b"}, {"id": "a"}], "row 3: the id 'a' is given twice, first at row 1"),
        ([{"input": ""}, {"id": "1"}], "row 2: the id '1' is the number of row 1, which has no id"),
        ([{"id": "2"}, {"input": ""}], "row 2: the id '2' is given twice, first at row 1"),
        ([{"id": 1.0}], "id: row 1: expected an id (text or a whole number), found the number 1.0"),
        ([{"id": True}], "id: row 1: expected an id (text or a whole number), found true"),
    ],
)
def test_ids_that_cannot_be(rows: list[object], message: str) -> None:
    """Two rows of one id, a number that another row has already, and what is no id."""
    with pytest.raises(InputError) as caught:
        read_samples(rows)
    assert message in str(caught.value)


# D01: the shapes of contexts


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_contexts_of_every_shape_d01(tmp_path: Path) -> None:
    """Case D01: lists, JSON text, a printed list, a bare text, arrays, objects, null and empty."""
    contexts = [
        ["c1", "c2"],
        '["c1", "c2"]',
        "['c1', 'c2']",
        "just one passage",
        np.array(["c1", "c2"]),
        [{"text": "c1"}, {"text": "c2"}],
        None,
        [],
    ]
    expected = [["c1", "c2"], ["c1", "c2"], ["c1", "c2"], ["just one passage"], ["c1", "c2"], ["c1", "c2"], None, []]
    rows = [{"question": "Q", "answer": "A", "contexts": value} for value in contexts]
    assert expected == [sample.retrieved_contexts for sample in read_samples(rows)]
    assert expected == [sample.retrieved_contexts for sample in read_samples(pd.DataFrame(rows))]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("one passage", "row 1: contexts: expected a list, found a text; it was read as one passage"),
        ('["c1", \'c2"\']', "row 1: contexts: the printed form of a Python list was read as a list"),
    ],
)
def test_what_is_read_with_a_caveat_is_told_once(value: str, message: str) -> None:
    """The first row is named; a check counts the others."""
    rows = [{"question": "Q", "contexts": value}] * 3
    with pytest.warns(UserWarning, match=message) as caught:
        read_samples(rows)
    assert len(caught) == 1
    (warning,) = check_samples(rows).warnings
    assert warning.startswith(message)
    assert warning.endswith("(and 2 more rows)")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "value", [["it's", 'a "b"'], ["line\nbreak\ttab", "back\\slash"], ["é \x07 \u2028"], [], ["a, 'b'"]]
)
def test_a_printed_list_reads_back_as_it_was(value: list[str]) -> None:
    """What ``str(list)`` makes of texts is undone exactly."""
    assert value == one({"question": "Q", "contexts": str(value)}).retrieved_contexts


@pytest.mark.parametrize("value", [str(np.array(["c1", "c2"])), repr(np.array(["c1"])), str([{"text": "c1"}])])
def test_a_printed_array_is_refused(value: str) -> None:
    """``['c1' 'c2']`` would be one text to Python; no item is guessed."""
    with pytest.raises(InputError, match="contexts: row 1: expected a JSON list, found a printed Python object"):
        one({"question": "Q", "contexts": value})


@pytest.mark.parametrize("value", ["[1] See below.", "['a', 'b"])
def test_a_note_in_brackets_is_a_passage(value: str) -> None:
    """A text that begins with a bracket but is no list stays a text."""
    with pytest.warns(UserWarning, match="one passage"):
        assert [value] == one({"question": "Q", "contexts": value}).retrieved_contexts


def test_objects_give_their_text_their_ids_and_keep_the_rest() -> None:
    """Text under text, content or page_content; ids become retrieved_ids; nothing is lost."""
    documents = [SimpleNamespace(page_content="c2", metadata={"source": "s"})]
    assert one({"question": "Q", "documents": documents}).retrieved_contexts == ["c2"]
    sample = one({"question": "Q", "contexts": [{"content": "c1", "id": 7, "score": 0.5}]})
    assert (sample.retrieved_contexts, sample.retrieved_ids) == (["c1"], ["7"])
    assert sample.metadata == {"contexts": [{"id": 7, "score": 0.5}]}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"contexts": 5}, "contexts: row 1: expected a list of texts, found the number 5"),
        (
            {"contexts": ["c", 5]},
            "contexts: row 1: item 2: expected text, or an object with its text under text, content",
        ),
        ({"contexts": ["c", None]}, "contexts: row 1: item 2: expected text, or an object"),
        ({"contexts": {"a": 1}}, "contexts: row 1: expected a list of texts, found an object"),
        ({"question": 5}, "question: row 1: expected text, found the number 5"),
        ({"question": ["a"]}, "question: row 1: expected text, found a list"),
        ({"answer": True}, "answer: row 1: expected text, found true"),
        ({"reference": ["a", 1]}, "reference: row 1: item 2: expected text, found the number 1"),
        ({"reference": {"a": 1}}, "reference: row 1: expected text or a list of texts, found an object"),
        ({"retrieved_ids": "d1"}, "retrieved_ids: row 1: expected a list of ids, found the text 'd1'"),
        (
            {"retrieved_ids": [None]},
            "retrieved_ids: row 1: item 1: expected an id (text or a whole number), found null",
        ),
        ({"relevance": {"d": "high"}}, "relevance: row 1: grade of 'd': expected a number, found the text 'high'"),
        ({"relevance": {"d": None}}, "relevance: row 1: grade of 'd': expected a number, found null"),
        ({"relevance": 3}, "relevance: row 1: expected a list of ids, found the number 3"),
        ({"relevant_spans": [{"doc": "d"}]}, "item 1: expected start and end, or text, found neither"),
        (
            {"relevant_spans": [{"doc": "d", "start": "0", "end": 2}]},
            "item 1: start: expected a whole number, found the",
        ),
        ({"relevant_spans": [3]}, "item 1: expected a span with doc and start, end or text, found the number 3"),
        ({"tags": {"a": [1]}}, "tags: row 1: expected a tag (a text or a number), found a list"),
        (
            {"question": "a\ud800"},
            "user_input: row 1: found half of a surrogate pair (U+D800), which is not valid text",
        ),
        (
            {"question": "Q", "x": ["\udc00"]},
            "metadata: row 1: found half of a surrogate pair (U+DC00), which is not valid text",
        ),
        ({"question": "Q", "x": float("inf")}, "x: row 1: expected a finite number, found inf"),
        ([1], "row 1: expected an object with fields, found a list"),
        (5, "row 1: expected an object with fields, found the number 5"),
    ],
)
def test_wrong_types_name_row_column_and_what_was_expected(row: object, message: str) -> None:
    """Nothing is turned into text, split or dropped to make it fit."""
    with pytest.raises(InputError) as caught:
        one(row)
    assert message in str(caught.value)


# The other fields


def test_references_of_every_shape() -> None:
    """One text, several, JSON text in a column for several, an empty list, and the shape of SQuAD."""
    assert one({"ground_truth": "R"}).reference == "R"
    assert one({"answers": ["R", "S"]}).reference == ["R", "S"]
    assert one({"ground_truths": '["R", "S"]'}).reference == ["R", "S"]
    assert one({"reference": '["R"]'}).reference == '["R"]'
    assert one({"reference": []}).reference == []
    squad = one({"question": "Q", "answers": {"text": ["R", "S"], "answer_start": [1, 9]}})
    assert (squad.reference, squad.metadata) == (["R", "S"], {"answers": [{"answer_start": [1, 9]}]})


def test_relevance_of_every_shape() -> None:
    """Grades by document, lists of relevant ids, JSON text; grades win over a list of ids, which is kept."""
    assert one({"relevance": {"d1": 2, "d2": 0.5}}).relevance == {"d1": 2.0, "d2": 0.5}
    assert one({"relevant_ids": ["d1", 7]}).relevance == {"d1": 1.0, "7": 1.0}
    assert one({"relevance": '{"d1": 3}'}).relevance == {"d1": 3.0}
    both = one({"relevance": {"d1": 2}, "relevant_ids": ["d1"]})
    assert (both.relevance, both.metadata) == ({"d1": 2.0}, {"relevant_ids": ["d1"]})
    assert one({"relevance": {}, "relevant_ids": ["d1"]}, fields={"relevance": "relevant_ids"}).relevance == {"d1": 1.0}


def test_spans_tags_and_metadata() -> None:
    """Spans by place or text, tags as text, metadata as JSON holds it."""
    sample = one(
        {
            "question": "Q",
            "relevant_spans": [{"doc": 7, "start": 0, "end": 4}, {"doc": "d", "text": "so"}],
            "tags": {"lang": "de", "hops": 2, "hard": True, "none": None},
            "question_type": "temporal",
            "metadata": {"model": "m", "none": None},
            "score": 0.5,
        }
    )
    assert [Span("7", 0, 4), Span("d", text="so")] == sample.relevant_spans
    assert sample.tags == {"lang": "de", "hops": "2", "hard": "true", "question_type": "temporal"}
    assert sample.metadata == {"model": "m", "none": None, "score": 0.5}
    with pytest.warns(UserWarning, match="tags without names"):
        assert one({"question": "Q", "tags": ["a"]}).metadata == {"tags": ["a"]}


def test_no_value_of_a_table_is_none() -> None:
    """NaN, NA and null cells are absent, in every field."""
    frame = pd.DataFrame([{"question": "Q", "answer": "A", "n": 1.0}, {"question": float("nan"), "answer": None}])
    first, second = read_samples(frame)
    assert Sample(id="1", user_input="Q", response="A", metadata={"n": 1.0}) == first
    assert Sample(id="2") == second
    frame = pd.DataFrame({"question": pd.array(["Q", pd.NA], dtype="string"), "n": pd.array([1, pd.NA], dtype="Int64")})
    assert [Sample(id="1", user_input="Q", metadata={"n": 1}), Sample(id="2")] == read_samples(frame)


def test_structs_of_a_table_leave_out_what_is_null() -> None:
    """A struct column has all keys in every row; those of other rows are no tags and no grades."""
    rows = [{"q": "1", "tags": {"a": "x", "b": None}, "relevance": {"d1": 1, "d2": None}}]
    frame = pl.DataFrame(rows).rename({"q": "question"})
    (sample,) = read_samples(frame)
    assert (sample.tags, sample.relevance) == ({"a": "x"}, {"d1": 1.0})


# Columns


def test_two_columns_for_one_field_are_an_error_unless_one_is_chosen() -> None:
    """Both are named; fields= chooses and keeps the other; columns that complement each other are no clash."""
    rows = [{"question": "Q", "prompt": "P"}, {"question": "Q2", "prompt": "P2"}]
    with pytest.raises(InputError) as caught:
        read_samples(rows)
    assert "user_input: row 1: 'question' and 'prompt' fill the same field" in str(caught.value)
    assert len(check_samples(rows).problems) == 1
    sample = read_samples(rows, fields={"user_input": "prompt"})[0]
    assert (sample.user_input, sample.metadata) == ("P", {"question": "Q"})
    rows = [{"question": "Q", "prompt": None}, {"question": None, "prompt": "P"}]
    assert [sample.user_input for sample in read_samples(rows)] == ["Q", "P"]


def test_fields_reach_into_cells_and_make_tags() -> None:
    """Dotted paths, list indices, every item of a list, JSON text of a cell; targets may be tags and metadata."""
    row = {
        "meta": {"q": "Q"},
        "hits": [{"doc": {"body": "c1"}}, {"doc": {"body": "c2"}}],
        "lang": "de",
        "raw": '{"a": "A"}',
    }
    fields = {
        "question": "meta.q",
        "retrieved_contexts": "hits.*.doc.body",
        "reference": "hits.-1.doc.body",
        "response": "raw.a",
        "tags.lang": "lang",
        "metadata.first": "hits.0.doc.body",
    }
    sample = one(row, fields=fields)
    assert (
        sample.user_input,
        sample.retrieved_contexts,
        sample.reference,
        sample.response,
    ) == ("Q", ["c1", "c2"], "c2", "A")
    assert sample.tags == {"lang": "de"}
    assert {"first": "c1", "meta": row["meta"], "hits": row["hits"], "raw": row["raw"]} == sample.metadata
    assert one({"meta.q": "Q", "meta": {"q": "no"}}, fields={"user_input": "meta.q"}).user_input == "Q"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"user_imput": "question"}, "fields: samples have no field 'user_imput': did you mean user_input?"),
        ({"user_input": "qestion"}, "no row has the column 'qestion' (for user_input): did you mean question?"),
        ({"user_input": "meta.q"}, "no row has the column 'meta.q' (for user_input)"),
        ({"user_input": ""}, "expected the name of a column for 'user_input'"),
    ],
)
def test_fields_that_name_nothing(fields: dict[str, str], message: str) -> None:
    """A field or column that is not there is an error, with the nearest names."""
    with pytest.raises(InputError) as caught:
        read_samples([{"question": "Q"}], fields=fields)
    assert message in str(caught.value)
    assert isinstance(caught.value, UnknownName) or "expected the name" in message


def test_a_misspelt_column_is_kept_with_a_hint_d05() -> None:
    """Case D05: nothing is scored for it, and the reader says which name it resembles."""
    with pytest.warns(UserWarning, match="'refrence' is stored as metadata: did you mean 'reference'"):
        sample = one({"question": "Q", "response": "A", "refrence": "A"})
    assert (sample.reference, sample.metadata) == (None, {"refrence": "A"})
    with pytest.warns(UserWarning, match=r"did you mean 'contexts' \(retrieved_contexts\)"):
        one({"question": "Q", "contxts": ["A"]})
    with pytest.raises(
        InputError, match=r"no column matches a field of a sample; map columns with fields= \(found: foo, bar\)"
    ):
        one({"foo": 1, "bar": 2})


def test_names_are_known_however_they_are_written() -> None:
    """Case, blanks, hyphens and humps do not matter; in a test case, context is the ideal context."""
    row = {"Question": "Q", "Actual Output": "A", "retrievalContext": ["c"], "context": ["i"], "expected-output": "R"}
    expected = Sample(
        id="1", user_input="Q", response="A", retrieved_contexts=["c"], reference="R", reference_contexts=["i"]
    )
    assert expected == one(row)
    ragas = {"user_input": "Q", "retrieved_context_ids": ["d1"], "reference_context_ids": ["d2"]}
    sample = one(ragas)
    assert (sample.retrieved_ids, sample.relevance) == (["d1"], {"d2": 1.0})


# Text files


def test_bom_crlf_blank_lines_and_line_separators(tmp_path: Path) -> None:
    """U+2028, U+0085 and form feeds do not end a line; a BOM and CRLF do no harm; blank lines do not count."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        '\ufeff{"question": "a\u2028b\u0085c\x0c"}\r\n\r\n   \r\n{"question": "é"}'.encode().replace(b"\x0c", b"")
    )
    assert [sample.user_input for sample in read_samples(path)] == ["a\u2028b\u0085c", "é"]
    path = tmp_path / "a.csv"
    path.write_bytes('\ufeffquestion,answer\r\n\r\n"a\r\nb",x\r\n'.encode())
    assert [(sample.user_input, sample.response) for sample in read_samples(path)] == [("a\r\nb", "x")]


def test_text_does_not_go_through_the_platform_encoding_d04(tmp_path: Path) -> None:
    """Case D04: UTF-8 under any locale; other bytes are an error with line, offset and what to try."""
    good = base64.b64decode(
        "77u/eyJxdWVzdGlvbiI6ICJDbyBtb8W8ZXN6IHBvd2llZHppZcSHPyIsICJyZXNwb25zZSI6ICLml6XmnKzoqp4g2KfZhNi52LHYqNmK2Kkgw6ki"
        "fQ0KDQp7InF1ZXN0aW9uIjogInEyIiwgInJlc3BvbnNlIjogInIifQ0KICAgCg=="
    )
    (tmp_path / "d.jsonl").write_bytes(good)
    code = (
        "from steelyard.io.samples import read_samples, write_samples; import sys; "
        "samples = read_samples(sys.argv[1]); write_samples(sys.argv[2], samples); "
        "assert samples == read_samples(sys.argv[2]); print(len(samples), ascii(samples[0].user_input))"
    )
    environment = {**os.environ, "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    for copy in ("copy.jsonl", "copy.csv"):
        command = [sys.executable, "-c", code, str(tmp_path / "d.jsonl"), str(tmp_path / copy)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        assert done.stdout == "2 'Co mo\\u017cesz powiedzie\\u0107?'\n"
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(base64.b64decode("eyJxdWVzdGlvbiI6ICJjYWbpIiwgInJlc3BvbnNlIjogInIifQo="))
    with pytest.raises(InputError) as caught:
        read_samples(bad)
    hint = "if the file is not UTF-8, try --encoding cp1252"
    assert f"{bad}:1: byte 0xe9 at offset 17 is not UTF-8; {hint}" == str(caught.value)
    assert read_samples(bad, encoding="cp1252")[0].user_input == "café"


@pytest.mark.parametrize("name", ["a.csv", "a.json"])
def test_bad_bytes_are_found_in_every_text_format(tmp_path: Path, name: str) -> None:
    """CSV and JSON name the byte too, and read with the right encoding."""
    content = "question,answer\nok,x\ncafé,y\n" if name == "a.csv" else '[{"question": "ok"},\n\n{"question": "café"}]'
    path = tmp_path / name
    path.write_bytes(content.encode("cp1252"))
    with pytest.raises(InputError, match=r":3: byte 0xe9 at offset \d+ is not UTF-8") as caught:
        read_samples(path)
    assert path.read_bytes()[int(str(caught.value).split("offset ")[1].split()[0])] == 0xE9
    for encoding in ("cp1252", "utf-16"):
        path.write_bytes(content.encode(encoding))
        assert [sample.user_input for sample in read_samples(path, encoding=encoding)] == ["ok", "café"]
    with pytest.raises(InputError, match="try --encoding utf-16"):
        read_samples(path)
    with pytest.raises(InputError, match="unknown encoding 'utf-88'"):
        read_samples(path, encoding="utf-88")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.jsonl",
            b'{"question": "Q"}\n\n{"question": }\n',
            ":3: not JSON: invalid character at byte 14 (expected one",
        ),
        (
            "a.jsonl",
            b'{"question": "Q"}\n{"question": "R"\n',
            ":2: not JSON: unexpected end of the text (expected one JSON object",
        ),
        ("a.jsonl", b'{"question": "\\ud800"}\n', ":1: not JSON"),
        ("a.jsonl", b'{"q": ' + b"[" * 100_000, ":1: not JSON: nested too deeply"),
        ("a.jsonl", b'"text"\n', ":1: expected an object with fields, found the text 'text'"),
        ("a.json", b'[{"question": "Q"},\n{"question": }]', ":2: not JSON: invalid character"),
        ("a.json", b'[{"question": "Q"},\n\n', ":1: not JSON: unexpected end of the text"),
        ("a.json", b'{"a": {"0": 1}, "b": {"0": 2}}', ":1: expected a list of objects, found an object of objects"),
        ("a.json", b'[{"question": "Q"},\n\n  {\n"question": 5}]', ":3: question: expected text, found the number 5"),
        ("a.json", b'{"name": "d", "queries": [\n{"question": 5}]}', ":2: question: expected text, found the number 5"),
        ("a.csv", b"question,question\na,b\n", ":1: the column 'question' occurs twice in the header"),
        ("a.csv", b"question,answer\na,b\nc\n", ":3: found 1 cell, expected 2 as in the header"),
        ("a.csv", b'question,answer\na,"b\nc,d\n', ":2: not CSV: unexpected end of data"),
        ("a.csv", b'question,answer\n"a"b,c\n', ":2: not CSV: ',' expected after '\"'"),
        ("a.parquet", b"question\n", ": not a Parquet file"),
        ("a.parquet", b"PAR1 and no more", ": cannot be read as Parquet"),
        ("a.jsonl.gz", gzip.compress(b'{"question": "Q"}' * 99, mtime=0)[:30], ": the gzip data is damaged"),
        ("a.txt", b"hello\n", ": unknown format (expected .jsonl"),
    ],
)
def test_damage_names_file_and_line(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    """Each kind of damage is one line that says where and what."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_samples(path)
    assert f"{path}{message}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_directory(tmp_path: Path) -> None:
    """Both are one line with the path."""
    with pytest.raises(InputError, match=r"none\.jsonl: no such file or directory"):
        read_samples(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match=r"is a directory \(expected a file\)"):
        read_samples(tmp_path)


def test_not_a_number_is_a_missing_cell(tmp_path: Path) -> None:
    """Many programs write NaN into JSON; it is null outside of texts and itself within."""
    row = '{"question": "NaN", "answer": NaN, "x": [NaN, 1]}'
    for name, lines in (("a.jsonl", [row]), ("a.json", ["[", row, "]"])):
        (sample,) = read_samples(text_file(tmp_path / name, *lines))
        assert (sample.user_input, sample.response, sample.metadata) == ("NaN", None, {"x": [None, 1]})


def test_an_empty_file_has_no_samples(tmp_path: Path) -> None:
    """Nothing, blank lines, an empty list and a lone header are no rows."""
    for name, text in (
        ("a.jsonl", ""),
        ("b.jsonl", "\n \n"),
        ("a.json", "[]"),
        ("b.json", ""),
        ("a.csv", "question\n"),
    ):
        assert read_samples(text_file(tmp_path / name, text)) == []


def test_long_cells_and_the_process_wide_limit(tmp_path: Path) -> None:
    """A passage may be longer than the csv module's limit, which is as before afterwards."""
    import csv

    limit, long = csv.field_size_limit(), "x" * 200_000
    path = text_file(tmp_path / "a.csv", "question,answer", f"{long},A")
    assert long == next(iter_samples(path)).user_input
    assert limit == csv.field_size_limit()


# All problems at once


def test_all_problems_at_once(tmp_path: Path) -> None:
    """Reading tells the first problems together; a check counts the rest and goes to the end."""
    lines = [json.dumps({"question": 5 if number % 2 else "Q", "answer": "A"}) for number in range(100)]
    path = text_file(tmp_path / "a.jsonl", *lines, '{"question": 1, "answer": 2}')
    with pytest.raises(InputErrors) as caught:
        read_samples(path)
    problems = caught.value.problems
    assert f"{path}:2: question: expected text, found the number 5" == str(problems[0])
    assert [*range(2, 42, 2), None] == [problem.line for problem in problems]
    result = check_samples(path)
    assert (result.rows, len(result.problems), result.more, result.ok) == (101, 20, 32, False)
    assert result.fields == {"id": 50, "user_input": 50, "response": 50}
    with pytest.raises(InputErrors, match="and 32 more problems"):
        result.raise_problems()


def test_a_stream_gives_what_stands_before_a_problem(tmp_path: Path) -> None:
    """``iter_samples`` raises at the bad row, not before."""
    path = text_file(tmp_path / "a.jsonl", '{"question": "Q"}', "{", '{"question": "R"}')
    stream = iter_samples(path)
    assert next(stream).user_input == "Q"
    with pytest.raises(InputError, match=":2: not JSON"):
        next(stream)


def test_samples_are_checked_too() -> None:
    """A sample made by hand with a bare text for contexts is not read letter by letter."""
    odd = structs.replace(SAMPLE, retrieved_contexts="passage")
    with pytest.warns(UserWarning, match="one passage"):
        assert one(odd).retrieved_contexts == ["passage"]
