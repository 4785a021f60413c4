"""Runs and qrels in files of every shape that is met, and errors that name the place."""

from __future__ import annotations

import base64
import gzip
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from steelyard.core.errors import InputError, WrongType
from steelyard.ranking.join import join
from steelyard.ranking.policy import Policy
from steelyard.ranking.rankings import Rankings
from steelyard.ranking.trec import block_parser
from steelyard.ranking.trec.block_parser import ROOM, FieldColumn, Ids, NeedsSlowParser, TextBuffer, pair_hashes
from steelyard.ranking.trec.files import load_rankings, read_qrels, read_run, write_qrels, write_run
from steelyard.ranking.trec.number_parser import parse_column

RUN = "q1 Q0 a 1 3.5 t\nq1 Q0 b 2 2.5 t\nq2 Q0 c 1 1.0 t\n"
QRELS = "q1 0 b 1\nq2 0 c 2\n"


def saved(folder: Path, run: str | bytes = RUN, qrels: str | bytes = QRELS) -> tuple[Path, Path]:
    """Two files."""
    paths = folder / "a.run", folder / "a.qrels"
    for path, text in zip(paths, (run, qrels), strict=True):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return paths


def found(rankings: Rankings) -> tuple[object, ...]:
    """What was found, in a form that compares."""
    arrays = (rankings.starts, rankings.ranks, rankings.grades, rankings.retrieved, rankings.judged, rankings.present)
    counts = rankings.counts
    return rankings.queries, *(array.tolist() for array in arrays), counts.tied, counts.ignored, counts.missing


PLAIN = found(join({"q1": {"a": 3.5, "b": 2.5}, "q2": {"c": 1.0}}, {"q1": {"b": 1}, "q2": {"c": 2}}))


@pytest.mark.parametrize(
    "run",
    [
        RUN.replace(" ", "\t"),
        RUN.replace(" ", "  \t "),
        RUN.replace("\n", "\r\n"),
        "\ufeff" + RUN,
        "\n\n" + RUN.replace("\n", "\n \n"),
        RUN.rstrip("\n"),
        "  " + RUN,
        RUN.replace("3.5", "35e-1").replace("2.5", "+2.5"),
        RUN.replace("3.5", "3.50").replace("2.5", "2.49999999999999999999"),
        "\n".join(np.array(RUN.split("\n"))[[0, 2, 1, 3]]),
    ],
    ids=["tabs", "runs", "crlf", "bom", "blank lines", "no end", "indented", "exponents", "digits", "ungrouped"],
)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_shapes_of_run_files(tmp_path: Path, run: str, packed: bool) -> None:
    """One and the same run, however it is written and packed."""
    path, qrels = saved(tmp_path, gzip.compress(run.encode()) if packed else run)
    assert found(load_rankings(path, qrels)) == PLAIN
    assert read_run(path) == {"q1": {"a": 3.5, "b": 2.5}, "q2": {"c": 1.0}}


ZSTD = base64.b64decode("KLUv/QRoRQEAAgIHDNA9CMdBUCFZJkA0YrCWuO+c8RhhXUG+z2K+BgMAIAgwtBnmEoAvEZs=")
"""The run with tabs."""


def test_zstd_files_on_any_number_of_threads(tmp_path: Path) -> None:
    """Packed by another tool, told by its content and not by its name."""
    path, qrels = saved(tmp_path, ZSTD)
    assert found(load_rankings(path, qrels)) == PLAIN
    assert read_run(path) == {"q1": {"a": 3.5, "b": 2.5}, "q2": {"c": 1.0}}
    show = "import sys; from steelyard.ranking.trec.files import load_rankings as load; print(load(*sys.argv[1:]).ranks.tolist())"
    for threads in "1", "4":
        command = [sys.executable, "-c", show, str(path), str(qrels)]
        shown = subprocess.check_output(command, env={**os.environ, "POLARS_MAX_THREADS": threads}, text=True)
        assert shown == "[2, 1]\n"


@pytest.mark.parametrize(
    "qrels",
    [
        "q1\t0\tb\t1\nq2\t0\tc\t2\n",
        "query-id\tcorpus-id\tscore\nq1\tb\t1\nq2\tc\t2\n",
        "\ufeffquery-id\tcorpus-id\tscore\r\n\r\nq1\tb\t1\r\nq2\tc\t2",
        "q1\tb\t1\nq2\tc\t2\n",
        "q2 0 c 2\n\nq1   0 b 1.0",
    ],
    ids=["tabs", "beir", "beir with all", "no header", "blanks"],
)
def test_shapes_of_qrels_files(tmp_path: Path, qrels: str) -> None:
    """TREC's four columns, BEIR's three."""
    run, path = saved(tmp_path, qrels=qrels)
    assert found(load_rankings(run, path)) == PLAIN
    assert read_qrels(path) == {"q1": {"b": 1.0}, "q2": {"c": 2.0}}
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert found(load_rankings(run, path)) == PLAIN


def test_r06_the_files_that_broke_other_readers(tmp_path: Path) -> None:
    """BOM, CRLF, blank lines, an id with a blank and one with a hash, tabs and runs of blanks."""
    tsv = base64.b64decode("77u/cXVlcnktaWQJY29ycHVzLWlkCXNjb3JlDQpxMQlkb2Mgb25lCTENCg0KcTEJZCMyCTENCg==")
    _, path = saved(tmp_path, qrels=tsv)
    assert read_qrels(path) == {"q1": {"doc one": 1.0, "d#2": 1.0}}
    run, qrels = saved(tmp_path, b"q1\tP0\td#2\t1\t9.5\ttag\nq1 Q0 d3 2 1e-3 tag\n", b"q1 0 d#2 1\nq1\t0\td3   1\n\n")
    rankings = load_rankings(run, qrels)
    assert rankings.ranks.tolist() == [1, 2]
    assert rankings.run_id == "tag"
    for columns, line in ((5, "q1 Q0 d3 2 1e-3"), (7, "q1 Q0 d3 2 1e-3 tag more")):
        run.write_text(f"q1 Q0 d1 1 9.5 tag\n{line}\n")
        with pytest.raises(InputError, match=f"a.run:2: {columns} columns, expected 6"):
            load_rankings(run, qrels)
        with pytest.raises(InputError, match=f"a.run:2: {columns} columns, expected 6"):
            read_run(run)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (RUN.replace("2.5", "high"), "a.run:2: score: expected a number, found 'high'"),
        (RUN.replace("2.5", "nan"), "a.run:2: score: expected a number, found 'nan'"),
        (RUN.replace("2.5", "-inf"), "a.run:2: score: expected a finite number, found '-inf'"),
        (RUN.replace("2.5", "1e400"), "a.run:2: score: expected a finite number, found '1e400'"),
        (RUN.replace("2.5", "1_0"), "a.run:2: score: expected a number, found '1_0'"),
        (RUN.replace("2.5", "2,5"), "a.run:2: score: expected a number, found '2,5'"),
        (RUN.replace(" b ", " "), "a.run:2: 5 columns, expected 6"),
        (RUN + "q1 Q0 a 9 0.1 t\n", "a.run:4: document 'a' is in query 'q1' already, from line 1"),
        (RUN + "q2 Q0 c 9 0.1 t\n", "a.run:4: document 'c' is in query 'q2' already, from line 3"),
        ("", "a.run: the file is empty"),
        (" \n\n", "a.run: the file is empty"),
        (RUN.encode() + b"q3 Q0 caf\xe9 1 1 t\n", "a.run:4: byte 0xe9 at offset 57 is not UTF-8"),
    ],
)
def test_errors_of_run_files(tmp_path: Path, run: str | bytes, words: str) -> None:
    """One line: file, number, what was found, what was expected."""
    path, qrels = saved(tmp_path, run)
    for read in (lambda: load_rankings(path, qrels), lambda: read_run(path)):
        with pytest.raises(InputError) as caught:
            read()
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("qrels", "words"),
    [
        (QRELS + "q1 0 b 0\n", "a.qrels:3: document 'b' is in query 'q1' already, from line 1"),
        (QRELS.replace(" 1", " yes"), "a.qrels:1: grade: expected a number, found 'yes'"),
        (QRELS.replace(" 1", " 1e400"), "a.qrels:1: grade: expected a finite number, found '1e400'"),
        ("q1\tb\tinf\n", "a.qrels:1: grade: expected a finite number, found 'inf'"),
        ("q1 b 1\n", "a.qrels:1: 3 columns, expected 4 (query 0 document grade), or 3 (query-id"),
        ("query-id\tcorpus-id\tscore\nq1\t\t1\n", "a.qrels:2: an id is empty"),
        ("query-id\tcorpus-id\tscore\n", "a.qrels: no relevance judgments after the header"),
        ("", "a.qrels: the file is empty"),
    ],
)
def test_errors_of_qrels_files(tmp_path: Path, qrels: str, words: str) -> None:
    """The same for judgements."""
    run, path = saved(tmp_path, qrels=qrels)
    for read in (lambda: load_rankings(run, path), lambda: read_qrels(path)):
        with pytest.raises(InputError) as caught:
            read()
        assert words in str(caught.value)


def test_other_encodings_are_read_when_named(tmp_path: Path) -> None:
    """Latin letters and UTF-16."""
    for encoding in "cp1252", "utf-16":
        run, qrels = saved(tmp_path, "q1 Q0 café 1 2 t\n".encode(encoding), "q1 0 café 1\n".encode(encoding))
        assert load_rankings(run, qrels, encoding=encoding).ranks.tolist() == [1]
        assert read_run(run, encoding=encoding) == {"q1": {"café": 2.0}}


def test_missing_files_are_input_errors(tmp_path: Path) -> None:
    """No traceback for a name that is wrong, nor for what is no run at all."""
    run, qrels = saved(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        load_rankings(tmp_path / "b.run", qrels)
    with pytest.raises(InputError, match="no such file"):
        load_rankings(run, tmp_path / "b.qrels")
    with pytest.raises(WrongType, match="a run is a path"):
        load_rankings(3, qrels)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match=r"looked for qrels.tsv, qrels/test.tsv"):
        load_rankings(run, tmp_path)


def test_a_damaged_gzip_file_is_an_input_error(tmp_path: Path) -> None:
    """Cut short."""
    run, qrels = saved(tmp_path)
    run.write_bytes(gzip.compress(RUN.encode() * 50)[:60])
    with pytest.raises(InputError, match=r"a\.run: "):
        load_rankings(run, qrels)


@pytest.mark.parametrize(
    ("run", "qrels", "words"),
    [
        (["101", "102"], ["101.1", "102.1"], "the run has '101', '102'; the qrels have '101.1', '102.1'"),
        (["101", "102"], ["101.1", "102.1"], "suffix such as '.1'"),
        (["001", "002"], ["1", "2"], "leading zeros"),
        (["Q1"], ["q1"], "case is ignored"),
        (["q1", "q2"], ["1", "2"], "prefix such as 'q'"),
        (["a", "b", "c", "d"], ["x"], "the run has 'a', 'b', 'c'; the qrels have 'x'"),
    ],
)
def test_r08_no_common_query_id(tmp_path: Path, run: list[str], qrels: list[str], words: str) -> None:
    """Three examples of each side, and the reason where it shows."""
    files = saved(tmp_path, "".join(f"{q} Q0 d 1 1 t\n" for q in run), "".join(f"{q} 0 d 1\n" for q in qrels))
    mappings = ({q: {"d": 1.0} for q in run}, {q: {"d": 1} for q in qrels})
    for one, other in (files, mappings):
        with pytest.raises(InputError) as caught:
            load_rankings(one, other)  # type: ignore[arg-type]
        assert str(caught.value).startswith("no query id in common: ")
        assert words in str(caught.value)


IDS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=30)
NUMBERS = st.one_of(
    st.integers(-3, 3).map(str),
    st.integers(0, 9).map(lambda n: f"{n}.5"),
    st.floats(-1e3, 1e3).map(lambda x: f"{x:.6f}"),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)


@settings(max_examples=200, deadline=None)
@given(
    run=st.dictionaries(IDS, st.dictionaries(IDS, NUMBERS, min_size=1, max_size=12), min_size=1, max_size=6),
    chance=st.randoms(use_true_random=False),
    shuffled=st.booleans(),
    compat=st.sampled_from(["steelyard", "trec_eval"]),
    ties=st.sampled_from(["docid", "given"]),
)
@pytest.mark.long
def test_a_file_is_the_mapping_that_it_writes(
    tmp_path_factory: pytest.TempPathFactory,
    run: dict[str, dict[str, str]],
    chance: random.Random,
    shuffled: bool,
    compat: str,
    ties: str,
) -> None:
    """Whatever the ids, the numbers, the white space and the order of lines, a file and its mapping agree."""
    lines = [[q, "Q0", doc, "1", score, "t"] for q, ranking in run.items() for doc, score in ranking.items()]
    if shuffled:
        chance.shuffle(lines)
    blank = chance.choice([" ", "\t", "  "])
    end = chance.choice(["\n", "\r\n", "\n\n"])
    text = end.join(blank.join(line) for line in lines)
    qrels = {
        q: {doc: chance.randint(-1, 3) for doc in [*chance.sample(list(ranking), len(ranking) // 2), "d"]}
        for q, ranking in run.items()
    }
    folder = tmp_path_factory.mktemp("runs")
    path, judged = saved(folder, text)
    write_qrels(judged, qrels)
    table: dict[str, dict[str, float]] = {}
    for query, _, doc, _, score, _ in lines:
        table.setdefault(query, {})[doc] = float(score)
    policy: dict[str, Any] = {"compat": compat, "ties": ties}
    assert found(load_rankings(path, judged, **policy)) == found(join(table, qrels, Policy(**policy)))


@settings(max_examples=300, deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=20))
def test_numbers_are_the_nearest_doubles(texts: list[str]) -> None:
    """As Python reads them, to the last bit."""
    assert numbers_in(texts).tolist() == [float(text) for text in texts]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 7), st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=20))
def test_fixed_decimals_are_the_nearest_doubles(decimals: int, digits: list[int]) -> None:
    """Many numbers of one form, which take the fast way."""
    texts = [f"{'-' * (n < 0)}{abs(n) // 10**decimals}" for n in digits]
    if decimals:
        texts = [f"{text}.{abs(n) % 10**decimals:0{decimals}}" for text, n in zip(texts, digits, strict=True)]
    assert numbers_in(texts).tolist() == [float(text) for text in texts]


@pytest.mark.parametrize("text", ["1/2", "1:5", "1.2.3", "--1", "-", ".", "1.5x", "0x10", "١", "1e", "", "1 2"])
def test_what_is_no_number_is_odd(text: str) -> None:
    """Among numbers of the same length, where only one byte differs."""
    with pytest.raises(NeedsSlowParser):
        numbers_in(["1.5", text, "2.5"])


def test_short_ids_in_pairs_have_hashes_of_their_own() -> None:
    """Sums of the hashes of digits met often, and judgements of 70,000 queries were taken for repeated ones."""
    chance = random.Random(1)
    queries = [f"{one}" for one in chance.sample(range(1_100_000), 30_000) for _ in range(4)]
    docs = [f"{one}" for one in chance.choices(range(8_841_823), k=len(queries))]
    assert len({*zip(queries, docs, strict=True)}) == len(set(pair_hashes(hashes(queries), hashes(docs)).tolist()))


def hashes(ids: list[str]) -> np.ndarray:
    """The hashes of some ids."""
    return Ids.of(ids).hashes()


def numbers_in(texts: list[str]) -> np.ndarray:
    """The numbers of some fields."""
    fields = [text.encode() for text in texts]
    sizes = np.array([len(field) for field in fields])
    return parse_column(TextBuffer.of(b"".join(fields)), FieldColumn(ROOM + np.cumsum(sizes) - sizes, sizes))


def test_long_ids_and_long_rankings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids that agree in their first forty bytes, and a query that is larger than a block."""
    monkeypatch.setattr(block_parser, "BLOCK", 256)
    docs = [f"{'x' * 40}{at:05}" for at in range(500)]
    ranking = {doc: 1000.0 - at for at, doc in enumerate(docs)}
    path, qrels = tmp_path / "a.run", tmp_path / "a.qrels"
    write_run(path, {"q" * 30 + "1": ranking, "q" * 30 + "2": ranking})
    write_qrels(qrels, {"q" * 30 + "1": {docs[7]: 1}, "q" * 30 + "2": {docs[400]: 1, docs[499]: 2}})
    assert load_rankings(path, qrels).ranks.tolist() == [8, 401, 500]


def test_the_best_of_repeated_documents(tmp_path: Path) -> None:
    """The better score counts, in files that take the fast way and in those that do not."""
    lines = ["q1 Q0 a 1 1.0 t", "q1 Q0 b 2 2.0 t", "q1 Q0 a 3 3.0 t", "q1 Q0 c 4 0.5 t"]
    for text in ("\n".join(lines), "\n".join([*lines[:3], "q2 Q0 z 1 1.0 t", lines[3]])):
        run, qrels = saved(tmp_path, text, "q1 0 a 1\nq1 0 b 1\nq1 0 c 1\n")
        best = load_rankings(run, qrels, duplicates="best")
        assert best.ranks.tolist() == [1, 2, 3]
        assert (best.retrieved.tolist(), best.counts.duplicates) == ([3], 1)
        assert read_run(run, duplicates="best")["q1"] == {"a": 3.0, "b": 2.0, "c": 0.5}


def test_written_files_read_back(tmp_path: Path) -> None:
    """Runs and qrels round-trip, to the last digit of a score, plain and gzip."""
    run = {"q1": {"a": 0.1 + 0.2, "b": 1e-300}, "0042": {"d#1": -3.0}}
    qrels = {"q1": {"a": 1.0, "b": 0.5}, "0042": {"d#1": -1.0}}
    for suffix in "", ".gz":
        write_run(tmp_path / f"a.run{suffix}", run, tag="mine")
        write_qrels(tmp_path / f"a.qrels{suffix}", qrels)
        assert read_run(tmp_path / f"a.run{suffix}") == run
        assert read_qrels(tmp_path / f"a.qrels{suffix}") == qrels
    assert (tmp_path / "a.qrels").read_text() == "q1 0 a 1\nq1 0 b 0.5\n0042 0 d#1 -1\n"
    with pytest.raises(InputError, match="'doc one' cannot be written to a TREC file"):
        write_run(tmp_path / "b.run", {"q1": {"doc one": 1.0}})
    assert not (tmp_path / "b.run").exists()
