"""Corpora: folders of texts, BEIR folders, files of rows, one text; what is wrong with them, with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.core.errors import InputError
from steelyard.core.records import Span
from steelyard.datasets.corpus import read_corpus


def test_a_folder_of_texts(tmp_path: Path) -> None:
    """Texts under their path; hidden and blank files are no documents, and other kinds are counted."""
    for name, text in {"a.md": "A", "in/b.txt": "B", ".hidden.md": "C", "blank.txt": " \n", "c.pdf": "%PDF"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    corpus = read_corpus(tmp_path)
    assert corpus.texts == {"a.md": "A", "in/b.txt": "B"}
    assert corpus.notes == ["skipped 1 unsupported file (supported: .txt, .text, .md, .markdown, .rst)"]


def test_one_text_is_one_document(tmp_path: Path) -> None:
    """Under its name."""
    (tmp_path / "manual.md").write_text("# Lamps\n\nTrim them.", encoding="utf-8")
    assert read_corpus(tmp_path / "manual.md").texts == {"manual.md": "# Lamps\n\nTrim them."}


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("a.jsonl", '{"_id": 1, "title": "T", "text": "B"}\n{"id": "0042", "body": "C"}\n', {"1": "T\nB", "0042": "C"}),
        ("a.json", '[{"doc_id": "d", "content": "B"}]', {"d": "B"}),
        ("a.csv", "doc_id,page_content\n007,B\n", {"007": "B"}),
        ("a.tsv", "_id\ttext\nd\tB\n", {"d": "B"}),
    ],
)
def test_files_of_rows(tmp_path: Path, name: str, content: str, texts: dict[str, str]) -> None:
    """Columns under their usual names; ids are text."""
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert read_corpus(tmp_path / name).texts == texts


def test_chunks_know_their_place(tmp_path: Path) -> None:
    """Source and offset at the top or in the metadata; the title is not part of the place."""
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "d#0", "source": "d", "start": 0, "text": "abc"}\n'
        '{"_id": "d#1", "title": "T", "text": "defg", "metadata": {"source": "d", "start_index": 3}}\n'
        '{"_id": "e", "text": "no place"}\n'
    )
    assert read_corpus(tmp_path).places == {"d#0": Span("d", 0, 3), "d#1": Span("d", 3, 7)}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "a.jsonl",
            b'{"_id": "d", "text": "B"}\n{"_id": "d", "text": "C"}\n',
            ":2: an earlier row has the id 'd' already",
        ),
        ("a.jsonl", b'{"text": "B"}\n', ":1: no id"),
        ("a.jsonl", b'{"_id": "d", "text": 5}\n', ":1: text: expected a text, found 5"),
        ("a.jsonl", b'{"_id": "d", "te\n', ":1: not JSON"),
        ("a.jsonl", b"", "no documents"),
        ("a.json", b"[1]", ":1: expected an object with an id and a text"),
        ("a.txt", b"caf\xe9", ":1: byte 0xe9 at offset 3 is not UTF-8"),
        ("a.txt", b"  ", "no documents"),
        ("a.pdf", b"%PDF", "unknown format"),
    ],
)
def test_what_is_wrong_has_its_place(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    """One line with file and line."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_corpus(tmp_path / name)
    assert words in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / name))


def test_other_encodings(tmp_path: Path) -> None:
    """A file that is not UTF-8 is read when its encoding is said."""
    (tmp_path / "a.txt").write_bytes("café".encode("cp1252"))
    assert read_corpus(tmp_path / "a.txt", encoding="cp1252").texts == {"a.txt": "café"}
