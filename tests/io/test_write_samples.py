"""What is written reads back identical, in every format."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from steelyard.core.errors import InputError
from steelyard.core.records import Sample
from steelyard.io.csv_cells import escape, unescape
from steelyard.io.samples import iter_samples, read_samples, write_samples
from tests.io.any_samples import sets, texts

FORMATS = ("jsonl", "json", "csv", "tsv", "parquet", "jsonl.gz", "csv.gz")

plain_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@pytest.mark.parametrize("suffix", FORMATS[:5])
@given(written=sets)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_written_samples_read_back_identical(tmp_path: Path, suffix: str, written: list[Sample]) -> None:
    """Any text in any field, none, empty and absent told apart."""
    path = tmp_path / f"a.{suffix}"
    write_samples(path, written)
    assert written == read_samples(path)


@pytest.mark.parametrize("suffix", FORMATS)
def test_lists_are_not_joined_d03(tmp_path: Path, suffix: str) -> None:
    """Case D03: tables, pipes, empty passages and U+2028 come back as they were."""
    row = {
        "question": "cost?",
        "contexts": ["a | b", "| Plan | Price |\n| --- | --- |", 'x;y, "z"', "", "emoji 😀 \u2028 sep"],
        "tags": {"lang": "de"},
    }
    path = tmp_path / f"a.{suffix}"
    write_samples(path, read_samples([row]))
    (sample,) = read_samples(path)
    assert (row["question"], row["contexts"], row["tags"]) == (
        sample.user_input,
        sample.retrieved_contexts,
        sample.tags,
    )


@pytest.mark.parametrize("suffix", FORMATS)
def test_no_samples_read_back_as_none(tmp_path: Path, suffix: str) -> None:
    """An empty set is a file that reads as an empty set."""
    write_samples(tmp_path / f"a.{suffix}", [])
    assert read_samples(tmp_path / f"a.{suffix}") == []


def test_samples_without_id_stay_without(tmp_path: Path) -> None:
    """The reader numbers them; the file does not."""
    for suffix in FORMATS:
        write_samples(tmp_path / f"a.{suffix}", [Sample(user_input="a"), Sample(user_input="b")])
        assert [sample.id for sample in read_samples(tmp_path / f"a.{suffix}")] == ["1", "2"]


def test_no_cell_of_a_csv_file_is_a_formula(tmp_path: Path) -> None:
    """Cells that a spreadsheet would run stand behind an apostrophe; other text is as it is."""
    dangerous = ['=HYPERLINK("http://x","y")', "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1"]
    path = tmp_path / "a.csv"
    write_samples(path, [Sample(id=text, user_input=text, response="'tis so", reference=text) for text in dangerous])
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert [f"'{text}" for text in dangerous] == [row[1] for row in rows[1:]]
    assert all(cell[:1] not in ("=", "+", "-", "@", "\t", "\r", "\n") for row in rows for cell in row)
    assert {"'tis so"} == {row[2] for row in rows[1:]}
    assert dangerous == [sample.id for sample in read_samples(path)]


@given(texts, st.booleans())
def test_escaped_cells_are_unescaped(text: str, maybe_list: bool) -> None:
    """The reader takes off exactly what the writer put on, and leaves what needs nothing."""
    cell = escape(text, maybe_list=maybe_list)
    assert text == unescape(cell, maybe_list=maybe_list)
    assert unescape(text, maybe_list=maybe_list) == text or text[:1] == "'"


def test_the_columns_of_a_parquet_file_have_types(tmp_path: Path) -> None:
    """Lists are lists for other programs; several references have their own column."""
    path = tmp_path / "a.parquet"
    write_samples(path, [Sample(id="1", reference="a"), Sample(id="2", reference=["a"], retrieved_contexts=[])])
    frame = pl.read_parquet(path)
    assert {"id": pl.String, "retrieved_contexts": pl.List(pl.String)}.items() <= dict(frame.schema).items()
    assert frame.select("reference", "references").rows() == [("a", None), (None, ["a"])]


def test_equal_samples_make_equal_files(tmp_path: Path) -> None:
    """A compressed file holds no time of writing."""
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        write_samples(tmp_path / name, [Sample(id="1")])
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


@pytest.mark.parametrize(
    "sample",
    [
        Sample(id="x", metadata={"a": float("inf")}),
        Sample(id="x", user_input="\ud800"),
        Sample(id="x", relevance={"d": float("inf")}),
    ],
)
def test_what_a_file_cannot_hold_is_an_error_and_leaves_no_file(tmp_path: Path, sample: Sample) -> None:
    """Nothing is written in its place, and a file that was there stays."""
    for suffix in FORMATS:
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(b"before")
        with pytest.raises(InputError, match="sample 'x': cannot be written"):
            write_samples(path, [sample])
        assert path.read_bytes() == b"before"
    assert len(FORMATS) == len(list(tmp_path.iterdir()))


def test_unknown_and_unwritable_names(tmp_path: Path) -> None:
    """The name tells the format, and zstd can be read only."""
    with pytest.raises(InputError, match="unknown format"):
        write_samples(tmp_path / "a.txt", [])
    with pytest.raises(InputError, match="cannot write zstd"):
        write_samples(tmp_path / "a.jsonl.zst", [])


def test_folders_are_made_and_a_json_file_has_a_sample_a_line(tmp_path: Path) -> None:
    """Files are for people and for line tools too."""
    path = tmp_path / "new" / "a.json"
    write_samples(path, [Sample(id="1"), Sample(id="2")])
    assert path.read_text().splitlines() == ["[", '{"id":"1"},', '{"id":"2"}', "]"]
    assert json.loads(path.read_text()) == [{"id": "1"}, {"id": "2"}]


def test_a_large_file_streams(tmp_path: Path) -> None:
    """Memory does not grow with the samples, only (little) with the ids that were given."""
    import tracemalloc

    path, long = tmp_path / "a.jsonl", "x" * 5_000
    write_samples(path, (Sample(id=f"s{number}", user_input=long) for number in range(4_000)))
    tracemalloc.start()
    assert sum(1 for _ in iter_samples(path)) == 4_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > 20_000_000
    assert peak < 2_000_000
