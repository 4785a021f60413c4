"""BEIR folders."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from steelyard.core.errors import InputError
from steelyard.datasets.beir import read_beir, write_beir
from steelyard.ranking.trec.files import load_rankings

CORPUS = '{"_id": "d1", "title": "A title", "text": "a text"}\n\n{"id": "d2", "title": "", "text": "caf\\u00e9"}\n{"_id": 3}\n'
QUERIES = '{"_id": "q1", "text": "what?", "metadata": {"kind": "short"}}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a test and a dev split."""
    (tmp_path / "corpus.jsonl").write_text(CORPUS)
    (tmp_path / "queries.jsonl").write_text(QUERIES)
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td2\t2\n")
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    return tmp_path


def test_reading(folder: Path) -> None:
    """Titles go before texts, `_id` or `id`, ids as text, the first qrels that are there."""
    corpus, queries, qrels = read_beir(folder)
    assert corpus == {"d1": "A title\na text", "d2": "café", "3": ""}
    assert queries == {"q1": "what?"}
    assert qrels == {"q1": {"d1": 1.0}}
    for wanted in "dev", "qrels/dev.tsv", folder / "qrels" / "dev.tsv":
        assert read_beir(folder, qrels=wanted)[2] == {"q1": {"d2": 2.0}}
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(CORPUS.encode()))
    (folder / "corpus.jsonl").unlink()
    assert read_beir(str(folder))[0] == corpus
    assert load_rankings({"q1": {"d1": 1.0}}, folder).ranks.tolist() == [1]


def test_round_trip(tmp_path: Path) -> None:
    """What is written is read back: line breaks, blanks in ids, fractions of grades; parents are made."""
    corpus = {"doc one": "two\nlines\twith a tab", "d#2": "\u2028", "0042": ""}
    queries = {"q 1": "what?", "q2": ""}
    qrels = {"q 1": {"doc one": 1.0, "0042": -1.0}, "q2": {"d#2": 0.5}}
    write_beir(tmp_path / "a" / "b", corpus, queries, qrels)
    assert read_beir(tmp_path / "a" / "b") == (corpus, queries, qrels)


def test_what_is_not_there_is_named(folder: Path) -> None:
    """FileNotFoundError says what was looked for."""
    with pytest.raises(FileNotFoundError, match=r"looked for train, qrels/train.tsv"):
        read_beir(folder, qrels="train")
    (folder / "queries.jsonl").unlink()
    with pytest.raises(FileNotFoundError, match=r"no queries.jsonl in .*: looked for queries.jsonl, queries.jsonl.gz"):
        read_beir(folder)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"_id": "d9", "text": ', "corpus.jsonl:5: not a JSON object"),
        ("[1]", "corpus.jsonl:5: not a JSON object"),
        ('{"text": "t"}', "corpus.jsonl:5: no _id"),
        ('{"_id": "d1", "text": "t"}', "corpus.jsonl:5: an earlier line has the id 'd1' already"),
        ('{"_id": "d9", "text": 5}', "corpus.jsonl:5: text: expected text, found 5"),
    ],
)
def test_errors_name_the_line(folder: Path, line: str, words: str) -> None:
    """File, line, what was expected."""
    with (folder / "corpus.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(InputError) as caught:
        read_beir(folder)
    assert words in str(caught.value)


@pytest.mark.parametrize("bad", ["a\tb", "a\nb", " a", ""])
def test_ids_that_no_file_can_hold(tmp_path: Path, bad: str) -> None:
    """Refused before anything is written."""
    with pytest.raises(InputError, match=r"cannot be written to a qrels\.tsv"):
        write_beir(tmp_path / "a", {bad: "t"}, {"q1": "t"}, {"q1": {bad: 1}})
    assert not (tmp_path / "a").exists()
