"""``check`` finds everything that is wrong, at once, with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.core.errors import UnknownName
from steelyard.core.records import Sample
from steelyard.datasets.beir import write_beir
from steelyard.datasets.check_file import check
from steelyard.io.samples import write_samples


def problems(path: Path, **options: str) -> list[str]:
    return [str(problem).removeprefix(f"{path}:") for problem in check(path, **options).problems]  # type: ignore[arg-type]


def test_good_samples_are_counted(tmp_path: Path) -> None:
    """Rows and the fields they give, so that one sees which metrics can run."""
    write_samples(tmp_path / "a.csv", [Sample(id="1", user_input="Q", reference="R"), Sample(id="2", user_input="P")])
    result = check(tmp_path / "a.csv")
    assert (result.kind, result.rows, result.ok, result.total, result.warnings) == ("samples", 2, True, 0, [])
    assert result.fields == {"id": 2, "user_input": 2, "reference": 1}


def test_all_problems_of_samples(tmp_path: Path) -> None:
    """Bad JSON, wrong types and repeated ids of one file stand together."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id": "a"}\n{"question": 5, "answer": []}\n{\n{"id": "a"}\n{"question": "\xff"}\n')
    assert problems(path) == [
        "2: question: expected text, found the number 5",
        "2: answer: expected text, found a list",
        "3: not JSON: unexpected end of the text (expected one JSON object per line)",
        "4: id: the id 'a' is given twice, first at line 1",
        "5: byte 0xff at offset 70 is not UTF-8; if the file is not UTF-8, try --encoding cp1252",
    ]


def test_many_problems_are_counted(tmp_path: Path) -> None:
    """Twenty are listed."""
    (tmp_path / "a.jsonl").write_text("{\n" * 50)
    result = check(tmp_path / "a.jsonl")
    assert (result.rows, len(result.problems), result.more, result.total) == (50, 20, 30, 50)


def test_what_deserves_a_second_look(tmp_path: Path) -> None:
    """Blank texts, repeated questions and passages, unequal lists: warnings with a count and the first id."""
    rows = [
        {"id": "a", "question": "Q", "answer": " ", "contexts": ["c", "c", ""], "retrieved_ids": ["d", "d"]},
        {"id": "b", "question": "Q", "contxts": []},
        {"id": "c", "question": "Q", "reference": ["R", ""]},
    ]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    result = check(tmp_path / "a.json")
    assert result.ok
    assert result.warnings == [
        "line 1: the column 'contxts' is stored as metadata: did you mean 'contexts' (retrieved_contexts)?",
        "blank response: 1 sample, first 'a'",
        "blank passage among the contexts: 1 sample, first 'a'",
        "repeated passage among the contexts: 1 sample, first 'a'",
        "repeated document in retrieved_ids: 1 sample, first 'a'",
        "unequal numbers of contexts and ids: 1 sample, first 'a'",
        "repeated question: 2 samples, first 'b'",
        "blank reference: 1 sample, first 'c'",
    ]


def test_fields_and_encoding_are_passed_on(tmp_path: Path) -> None:
    """As for reading."""
    (tmp_path / "a.jsonl").write_bytes('{"f": "café"}'.encode("cp1252"))
    result = check(tmp_path / "a.jsonl", fields={"user_input": "f"}, encoding="cp1252")
    assert (result.ok, result.fields) == (True, {"id": 1, "user_input": 1})


def test_datasets_and_test_cases(tmp_path: Path) -> None:
    """Their rows are checked as what they are."""
    (tmp_path / "d.json").write_text('{"queries": [{"query": "a"},\n{"query": "a"},\n{"id": "x"}]}')
    assert check(tmp_path / "d.json").kind == "dataset"
    assert problems(tmp_path / "d.json") == [
        "2: id: the id 'a' is given twice, first at line 1",
        "3: query: expected the text of a query, found none",
    ]
    (tmp_path / "t.yaml").write_text("- vars: {question: 1}\n- vars: {question: Q}\n")
    assert problems(tmp_path / "t.yaml") == ["1: question: expected text, found the number 1"]


def test_all_problems_of_a_run(tmp_path: Path) -> None:
    """Columns, scores and repeated documents, however far apart, each with its line."""
    path = tmp_path / "a.run"
    path.write_bytes(b"q Q0 d1 1 2.0 t\n\nq Q0 d2 2 high t\nq Q0 d3\np Q0 d1 1 1 t\nq\tQ0 d1 4 1 t\nq Q0 \xff 5 1 t\n")
    assert problems(path) == [
        "3: score: expected a number, found 'high'",
        "4: 3 columns, expected 6 (query Q0 document rank score run)",
        "7: byte 0xff at offset 75 is not UTF-8; if the file is not UTF-8, try --encoding cp1252",
        "6: document 'd1' is in query 'q' already, from line 1",
    ]
    assert (check(path).rows, check(path).fields) == (6, {"queries": 2})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "q 0 d 1\nq 0 d 2\nq 0 e x\nq 0\n",
            ["3: grade: expected a number", "4: 2 columns, expected 4", "2: document 'd'"],
        ),
        ("query-id\tcorpus-id\tscore\nq\td\t1\nq d 1\n", ["3: 1 column, expected 3"]),
        ("q\td\t1\n\td\t1\n", ["2: an id is empty"]),
    ],
)
def test_all_problems_of_qrels(tmp_path: Path, text: str, found: list[str]) -> None:
    """TREC's and BEIR's."""
    path = tmp_path / "a.txt"
    path.write_text(text)
    listed = problems(path)
    assert len(found) == len(listed)
    assert all(one.startswith(start) for one, start in zip(listed, found, strict=True))


def test_queries_without_relevant_documents_are_a_warning(tmp_path: Path) -> None:
    """They are undefined for every measure."""
    (tmp_path / "a.qrels").write_text("q 0 d 0\np 0 d 1\n")
    assert check(tmp_path / "a.qrels").warnings == ["no relevant documents: 1 query, first 'q'"]


def test_a_beir_folder(tmp_path: Path) -> None:
    """All files of it are checked, and against each other."""
    write_beir(tmp_path / "good", {"d": "t"}, {"q": "Q"}, {"q": {"d": 1}})
    result = check(tmp_path / "good")
    assert (result.ok, result.rows, result.warnings) == (True, 3, [])
    assert result.fields == {"documents": 1, "queries": 1}
    folder = tmp_path / "bad"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "d", "text": ""}\n{"_id": "d", "text": "t"}\n{"text": "t"}\n')
    (folder / "queries.jsonl").write_text('{"_id": 1, "text": 5}\n[]\n')
    (folder / "qrels" / "test.tsv").write_text("q\td\t1\nq\te\tx\nq\tf\t1\n")
    assert [str(problem).removeprefix(f"{folder}/") for problem in check(folder).problems] == [
        "corpus.jsonl:2: an earlier line has the id 'd' already",
        "corpus.jsonl:3: expected an id (text or a whole number), found null",
        "queries.jsonl:1: expected text, found the number 5",
        "queries.jsonl:2: expected an object, found a list",
        "qrels/test.tsv:2: grade: expected a number, found 'x'",
    ]
    assert check(folder).warnings == [
        "corpus.jsonl: blank text: 1 row, first 'd'",
        "qrels/test.tsv: not in queries.jsonl: 1 query, first 'q'",
        "qrels/test.tsv: not in corpus.jsonl: 1 document, first 'f'",
    ]
    (folder / "corpus.jsonl").unlink()
    (folder / "qrels" / "test.tsv").unlink()
    listed = [problem.message for problem in check(folder).problems]
    assert listed[0] == "no corpus.jsonl"
    assert listed[-1] == "no qrels.tsv and no qrels/*.tsv"


def test_what_cannot_be_read_at_all(tmp_path: Path) -> None:
    """A missing file, an unknown one and an empty one are problems, not exceptions."""
    assert problems(tmp_path / "none.jsonl") == [" no such file or directory"]
    for name, message in (
        ("a.txt", " unknown format: neither the suffix nor"),
        ("a.jsonl", " the file has no rows"),
        ("a.run", " the file has no rows"),
    ):
        (tmp_path / name).write_text("")
        (problem,) = problems(tmp_path / name)
        assert problem.startswith(message)
    with pytest.raises(UnknownName, match="unknown format 'rum'"):
        check(tmp_path / "a.run", kind="rum")


def test_real_collections_are_sound(shared: Path) -> None:
    """BEIR folders and run files of real systems have no problem."""
    for name in ("vaswani", "factcheck_evidence"):
        folder = shared / "retrieval" / name
        assert problems(folder) == []
        assert problems(folder / "run.bm25.trec") == []
    assert problems(shared / "retrieval" / "trec_robust03" / "qrels.txt") == []
    for pack in sorted((shared / "packs").glob("*.jsonl")):
        assert problems(pack) == []
