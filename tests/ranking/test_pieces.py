"""Run files in pieces: cut between queries, read by threads, and never another number than of the whole."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from steelyard import InputError, evaluate_run
from steelyard.cli import invoke
from steelyard.ranking.trec.block_parser import whole_text
from steelyard.ranking.trec.files import load_rankings
from steelyard.ranking.trec.run_scanner import split_run

METRICS = ("ndcg@10", "map", "err@20", "recall@100", "mrr")


def written(folder: Path, *, queries: int = 40, seed: int = 0, lines: str = "grouped") -> tuple[Path, Path]:
    """A run with ties, with queries that are judged and others, and its qrels."""
    draw = random.Random(seed)
    rows, judged = [], []
    for query in range(queries):
        docs = draw.sample(range(500), draw.randint(1, 60))
        rows += [f"q{query} Q0 d{doc} 0 {draw.randint(0, 40) / 8} system\n" for doc in docs]
        judged += [f"q{query} 0 d{doc} {draw.randint(0, 3)}\n" for doc in range(0, 500, 7) if query % 5]
    if lines == "scattered":
        draw.shuffle(rows)
    run, qrels = folder / f"{lines}{seed}.run", folder / f"{lines}{seed}.qrels"
    run.write_text("".join(rows), encoding="utf-8")
    qrels.write_text("".join(judged), encoding="utf-8")
    return run, qrels


@pytest.mark.parametrize("lines", ["grouped", "scattered"])
@pytest.mark.parametrize("count", [2, 3, 7, 64])
def test_no_number_depends_on_the_pieces(tmp_path: Path, count: int, lines: str) -> None:
    """Values, intervals and remarks are those of the file read in one go, also where queries lie scattered."""
    run, qrels = written(tmp_path, lines=lines)
    one, split = (evaluate_run(run, qrels, METRICS, threads=threads) for threads in (1, count))
    one.run = split.run = {}
    assert one == split
    assert len(one.ids) > 30


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 12)), min_size=1, max_size=20), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_pieces_are_whole_queries(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[int, int]], n: int
) -> None:
    """Together the pieces are the file; none begins within the lines of a query."""
    path = tmp_path_factory.getbasetemp() / "pieces.run"
    lines = [f"{'query' * size}{at} Q0 d{doc} 1 1.0 s\n" for at, (size, docs) in enumerate(runs) for doc in range(docs)]
    path.write_text("".join(lines), encoding="utf-8")
    pieces = split_run(path, n)
    assert 1 <= len(pieces) <= n
    read = [bytes(text.buffer[64:end]) for text, end in (whole_text(piece.reader()) for piece in pieces)]
    assert b"".join(read) == path.read_bytes()
    firsts, lasts = ([part.splitlines()[at].split()[0] for part in read] for at in (0, -1))
    assert all(first != last for first, last in zip(firsts[1:], lasts[:-1], strict=True))


def test_what_cannot_be_cut_is_read_whole(tmp_path: Path) -> None:
    """A packed file, one query, a file with a byte order mark, no last line end: the same numbers."""
    run, qrels = written(tmp_path)
    packed = tmp_path / "packed.run.gz"
    packed.write_bytes(gzip.compress(run.read_bytes()))
    assert split_run(packed, 4) == []
    marked = tmp_path / "marked.run"
    marked.write_bytes(b"\xef\xbb\xbf" + run.read_bytes().rstrip(b"\n"))
    assert len(split_run(marked, 4)) == 4
    want = load_rankings(run, qrels, threads=1)
    for path in (packed, marked):
        found = load_rankings(path, qrels, threads=4)
        assert found.ranks.tolist() == want.ranks.tolist()
        assert found.queries == want.queries
    single = tmp_path / "single.run"
    single.write_text("".join(f"q1 Q0 d{doc} 1 {-doc} s\n" for doc in range(3000)), encoding="utf-8")
    assert len(split_run(single, 4)) == 1


def test_a_fault_in_a_piece_is_told_with_its_line(tmp_path: Path) -> None:
    """The line is that of the file, however it was read."""
    run, qrels = written(tmp_path)
    lines = run.read_text().splitlines(keepends=True)
    lines[700] = "q1 Q0 d1 0 high system\n"
    run.write_text("".join(lines))
    with pytest.raises(InputError, match=r"\.run:701: .*'high'"):
        load_rankings(run, qrels, threads=4)


def test_several_runs_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``rank`` reads run files side by side and prints them in their order."""
    files = [written(tmp_path, seed=seed)[0] for seed in range(3)]
    qrels = tmp_path / "grouped0.qrels"
    printed = []
    for threads in ("1", "3"):
        assert invoke(["rank", str(qrels), *map(str, files), "--threads", threads, "--format", "json"]) == 0
        reports = json.loads(capsys.readouterr().out)
        printed.append([{key: value for key, value in report.items() if key != "run"} for report in reports])
    assert printed[0] == printed[1]
    assert [report["dataset"]["name"] for report in printed[0]] == ["grouped0.qrels"] * 3
    assert invoke(["rank", str(qrels), str(files[0]), "--threads", "0"]) == 1


@pytest.mark.parametrize("shares", [1, 3])
def test_a_job_of_run_files_gives_the_same_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shares: int
) -> None:
    """Pieces joined by several processes' worth of shares, then merged: values, intervals, remarks, order of runs."""
    files = [written(tmp_path, seed=seed, queries=60)[0] for seed in range(2)]
    qrels, job = tmp_path / "grouped0.qrels", tmp_path / "job"
    options = [str(qrels), *map(str, files), "-m", "ndcg@10", "-m", "err@20", "--format", "json"]
    assert invoke(["rank", *options]) == 0
    want = _without_run(capsys.readouterr().out)
    in_parts = ["rank", *options, "--job", str(job), "--buckets", "7"]
    if shares == 1:
        assert invoke(in_parts) == 0
    else:
        assert [invoke([*in_parts, "--part", f"{share}/{shares}"]) for share in range(1, shares + 1)] == [0] * shares
        capsys.readouterr()
        assert invoke(["merge", str(job), "--format", "json"]) == 0
    assert _without_run(capsys.readouterr().out) == want
    assert len(list((job / "results").iterdir())) in (6, 7, 8)
    assert invoke([*in_parts, "-J"]) == 1
    assert "this folder holds a job with different policy" in capsys.readouterr().err


def _without_run(printed: str) -> list[dict[str, object]]:
    return [{key: value for key, value in report.items() if key != "run"} for report in json.loads(printed)]


def test_what_parts_cannot_judge_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Scattered lines, a line with a fault, a packed file: one line, and what can tell more."""
    run, qrels = written(tmp_path, lines="scattered")
    packed = tmp_path / "packed.run"
    packed.write_bytes(gzip.compress(run.read_bytes()))
    faulty = tmp_path / "faulty.run"
    faulty.write_text("q1 Q0 d1 0 high system\nq2 Q0 d1 0 1 system\n")
    for path, words in (
        (run, "the lines of a query are not adjacent"),
        (packed, "decompress it first"),
        (faulty, "it has unexpected lines"),
    ):
        assert invoke(["rank", str(qrels), str(path), "--job", str(tmp_path / path.stem), "--buckets", "3"]) == 1
        assert words in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"run_id": "r"', "not the results of a part"),
        (b"\xff", "not the results of a part"),
        ({"rows": [10**6], "ranks": [1]}, "$.rows: they do not match the qrels"),
        ({"rows": [0, 1], "ranks": [1]}, "$.rows: they do not match the qrels"),
        ({"queries": [-1], "retrieved": [1]}, "$.queries: they do not match the qrels"),
        ({"tied": [10**6]}, "$.tied: they do not match the qrels"),
    ],
)
def test_damaged_results_are_not_merged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | dict[str, list[int]], words: str
) -> None:
    """Results that are cut or of other judgements: one line that names the file."""
    (tmp_path / "x.qrels").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 c 1\n")
    (tmp_path / "x.run").write_text("q1 Q0 a 1 2.0 r\nq2 Q0 c 1 2.0 r\n")
    job = tmp_path / "job"
    options = [str(tmp_path / "x.qrels"), str(tmp_path / "x.run"), "--job", str(job), "--buckets", "1"]
    assert invoke(["rank", *options]) == 0
    file = job / "results" / "00000.json"
    new = content if isinstance(content, bytes) else json.dumps({**json.loads(file.read_bytes()), **content}).encode()
    file.write_bytes(new)
    capsys.readouterr()
    assert invoke(["merge", str(job)]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"steelyard: {file}: {words}")
    assert err.count("\n") == 1
