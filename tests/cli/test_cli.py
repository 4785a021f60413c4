"""The command line as a user types it: what it prints, and the exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard import evaluate_rag, script
from steelyard.cli import invoke
from steelyard.models.json_schema import example_of
from steelyard.reports.store import Store

QRELS = "q1 0 d1 2\nq1 0 d2 0\nq2 0 d3 1\n"
RUN = "q1 Q0 d1 1 9.5 tag\nq1 Q0 d2 2 8.5 tag\nq2 Q0 d4 1 3 tag\nq2 Q0 d3 2 1 tag\n"
ROWS = [
    {"id": "a", "question": "Who?", "answer": "Ada", "ground_truth": "ada", "contexts": ["Ada"], "question_type": "x"},
    {"id": "b", "question": "When?", "answer": "1843", "ground_truth": "1842", "contexts": [], "question_type": "y"},
]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with qrels, two runs and samples, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)
    (tmp_path / "other").write_text(RUN.replace("tag", "other").replace("d3 2 1 ", "d3 1 4 "))
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of one command."""
    code = invoke(list(args))
    out, err = capsys.readouterr()
    return code, out, err


def test_rank_prints_n_and_interval(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table with value, interval, n, undefined and failed in every row."""
    code, out, _ = run(capsys, "rank", "qrels", "run", "-m", "mrr recall@1")
    assert code == 0
    assert "95 % interval" in out
    (line,) = [line for line in out.splitlines() if line.startswith("mrr")]
    assert line.split()[:2] == ["mrr", "0.7500"]
    assert line.split()[-3:] == ["2", "0", "0"]


def test_rank_as_trec_eval(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The lines of trec_eval -q, tab-separated, four decimals or as many as asked for."""
    code, out, _ = run(capsys, "rank", "qrels", "run", "-q", "-m", "recip_rank", "--format", "trec_eval")
    assert (code, out.splitlines()[0]) == (0, "recip_rank            \tq1\t1.0000")
    assert out.splitlines()[-1] == "recip_rank            \tall\t0.7500"
    _, out, _ = run(capsys, "rank", "qrels", "run", "-m", "map", "--format", "trec_eval", "--precision", "17")
    assert out == "map                   \tall\t0.75\n" or "0.75000000000000000" in out


def test_rank_of_several_runs_is_one_table(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each run beside the first, with delta, p, wins, and letters; other formats too."""
    code, out, _ = run(capsys, "rank", "qrels", "run", "other", "-m", "mrr")
    assert code == 0
    assert "+0.2500" in out
    assert "1/1/0" in out
    for name in ("md", "latex", "csv", "json"):
        assert run(capsys, "rank", "qrels", "run", "other", "-m", "mrr", "--format", name)[0] == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"run": RUN.replace("8.5", "high")}, "run:2: score: "),
        ({"run": RUN.replace("q2 Q0 d4 1 3 tag", "q2 Q0 d4 1 3")}, "run:3: 5 columns, expected 6"),
        ({"run": RUN.replace("d2 2", "d1 2")}, "run:2: "),
        ({"run": RUN.replace("q1", "q1.1").replace("q2", "q2.1")}, "no query id in common"),
        ({"run": ""}, "empty"),
        ({"qrels": ""}, "empty"),
        ({"qrels": QRELS + "q1 0 d1 1\n"}, "qrels:4: "),
    ],
)
def test_bad_rankings_are_one_line(
    files: Path, capsys: pytest.CaptureFixture[str], change: dict[str, str], words: str
) -> None:
    """Text for a score, a missing column, a duplicate, no overlap, an empty file: file, line, exit 1."""
    for name, text in change.items():
        (files / name).write_text(text)
    code, out, err = run(capsys, "rank", "qrels", "run")
    assert (code, out) == (1, "")
    assert words in err
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err


def test_eval_scores_slices_and_writes(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Samples in, a table by slice out, three files beside it."""
    code, out, _ = run(capsys, "eval", "rows.jsonl", "-m", "em token_f1", "--by", "question_type", "--out", "out")
    assert code == 0
    assert "question_type=x" in out
    assert sorted(path.name for path in (files / "out").iterdir()) == ["report.html", "report.json", "report.md"]
    code, out, _ = run(capsys, "show", "out")
    assert (code, "em [lexical]" in out) == (0, True)
    assert run(capsys, "show", "out", "--per-sample")[1].splitlines() == ["id,em,token_f1", "a,1.0,1.0", "b,0.0,0.0"]
    code, out, _ = run(capsys, "show", "out", "--why", "b", "em")
    assert (code, out.splitlines()[0]) == (0, "exact_match [lexical, revision 1] on b: 0.0 (ok)")
    for name in ("json", "md", "latex", "csv", "html"):
        assert run(capsys, "show", "out", "--format", name)[0] == 0


def test_thresholds_gate_only_where_given(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missed threshold exits 2 and every rule has its line; without one a low mean is just a number."""
    assert run(capsys, "eval", "rows.jsonl", "-m", "em")[0] == 0
    code, out, _ = run(capsys, "eval", "rows.jsonl", "-m", "em", "--threshold", "em=0.9", "--pass-rate", "em=0.5")
    assert code == 2
    assert out.splitlines()[-2:] == [
        "FAIL  em ≥ 0.9 on the mean: 0.5000 (n 2)",
        "pass  em passes (0.9) in at least 50% of samples: 50.0% (n 2)",
    ]


def test_too_many_failures_are_incomplete(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rule that breaks on a sample exits 3, unless that many failures are allowed."""
    (files / "mine.py").write_text("def rate(sample):\n    return 1 / (sample.id == 'a')\n")
    code, out, _ = run(capsys, "eval", "rows.jsonl", "-m", "mine.py:rate")
    assert code == 3
    assert "1 failed: ZeroDivisionError: division by zero (mine.py:2)" in out
    assert "FAIL  at most 0.0% of samples may fail on mine.py:rate: 1 of 2 failed (50.0%)" in out
    assert run(capsys, "eval", "rows.jsonl", "-m", "mine.py:rate", "--max-failed", "0.5")[0] == 0


def test_the_plan_says_what_is_skipped(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Case D05: metric by rows and the missing field, before anything is scored."""
    rows = [
        {"question": "Q", "response": "A", "contexts": ["A"]},
        {"question": "Q", "response": "A", "contexts": ["A"], "reference": "A"},
    ]
    (files / "d05.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, _ = run(
        capsys, "eval", "d05.jsonl", "-m", "overlap_faithfulness context_recall token_f1 ndcg@10", "--dry-run"
    )
    assert code == 0
    assert out.splitlines() == [
        "overlap_faithfulness [lexical] on 2 rows",
        "context_recall [lexical] on 1 row (1 skipped: no reference)",
        "token_f1 [lexical] on 1 row (1 skipped: no reference)",
        "ndcg@10 [ranking] on 0 rows (2 skipped: no retrieved_ids)",
    ]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["eval", "absent.jsonl"], "absent.jsonl"),
        (["eval", "rows.jsonl", "-m", "exact_mach"], "did you mean exact_match?"),
        (["eval", "rows.jsonl", "--threshold", "em"], "expected METRIC=VALUE"),
        (["eval", "rows.jsonl", "--threshold", "em=high"], "expected a number"),
        (["eval", "rows.jsonl", "--format", "xml"], "choose from table"),
        (["eval", "rows.jsonl", "-m", "answer_relevancy", "--judge", "http://127.0.0.1:9/v1#m"], "needs an embedder"),
        (["eval", "rows.jsonl", "-m", "judged.faithfulness"], "needs a judge"),
        (["eval", "rows.jsonl", "-m", "em", "--by", "kind"], "no sample has the tag 'kind' (tags here: question_type)"),
        (["eval", "rows.jsonl", "-m", "ndcg@0"], "the cut-off must be at least 1"),
        (["rank", "qrels", "run", "-m", "exact_match"], "not a ranking metric"),
        (["rank", "qrels"], "Missing argument"),
        (["rank", "qrels", "run", "--ties", "random"], "ties='random'"),
        (["show", "absent.json"], "absent.json"),
        (["show", "rows.jsonl"], "not JSON"),
        (["show", ""], "found an empty name"),
        (["eval", "rows.jsonl", "--encoding", "rot13"], "'rot13' is not a text encoding (expected utf-8"),
        (["rank", "qrels", "run", "--encoding", "zip"], "'zip' is not a text encoding"),
        (["rank", "qrels", "run", "-m", "map", "-l", "inf"], "relevance_level=inf: must be a finite number"),
        (["eval", "rows.jsonl", "-m", "rouge_n(n=0)"], "rouge_n(n=0): expected a whole number of at least 1"),
        (["eval", "rows.jsonl", "-m", "rubric(scale=5-1)", "--judge", "http://127.0.0.1:9/v1#m"], "expected min-max"),
        (["compare", "qrels", "run"], "not JSON"),
        (["history", "em"], "no stored report"),
        (["metrics", "no_such"], "unknown metric"),
        (["frobnicate"], "No such command"),
    ],
)
def test_mistakes_are_told_in_a_line_and_exit_1(
    files: Path, capsys: pytest.CaptureFixture[str], args: list[str], words: str
) -> None:
    """No traceback for a user's mistake, nothing on standard output, exit 1."""
    code, out, err = run(capsys, *args)
    assert (code, out) == (1, "")
    assert words in err
    assert "Traceback" not in err


def test_compare_and_history(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Kept reports are found by tag; the gate's codes are 0, 2 and 3."""
    run(capsys, "eval", "rows.jsonl", "-m", "em", "--tag", "main", "--out", "before")
    better = [{**row, "answer": row["ground_truth"]} for row in ROWS]
    (files / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in better))
    run(capsys, "eval", "rows.jsonl", "-m", "em", "--keep", "--out", "after")
    assert run(capsys, "compare", "latest:main", "after")[0] == 0
    code, out, _ = run(capsys, "compare", "after", "before", "--out", "comparison.txt")
    assert code == 2
    assert "b: 1.0000 → 0.0000" in out
    assert (files / "comparison.txt").read_text() == out
    (files / "rows.jsonl").write_text(json.dumps(ROWS[0]) + "\n")
    run(capsys, "eval", "rows.jsonl", "-m", "em", "--out", "fewer")
    code, out, _ = run(capsys, "compare", "before", "fewer")
    assert (code, "different dataset" in out) == (3, True)
    code, out, _ = run(capsys, "history", "em")
    assert code == 0
    assert [line.split()[1] for line in out.splitlines()[2:]] == ["main", "1.0000"]
    assert run(capsys, "history", "em", "--tag", "main")[1].count("main") == 1


def test_run_config(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A configuration with thresholds, slices and saved samples."""
    (files / "c.yaml").write_text(
        "data: rows.jsonl\nby: question_type\nmetrics:\n  - exact_match: {threshold: 0.9}\n  - token_f1\n"
        "outputs: {dir: out, save: [failed, passed, all]}\n"
    )
    assert run(capsys, "run", "c.yaml", "--dry-run")[1].splitlines()[0] == "exact_match [lexical] on 2 rows"
    code, out, _ = run(capsys, "run", "c.yaml")
    assert (code, out.splitlines()[-1]) == (2, "FAIL  exact_match ≥ 0.9 on the mean: 0.5000 (n 2)")
    (failed,) = [json.loads(line) for line in (files / "out" / "samples.failed.jsonl").read_text().splitlines()]
    assert (failed["id"], failed["passed"], failed["scores"]["exact_match"]) == ("b", False, 0.0)
    assert "exact_match: below the threshold" in failed["labels"]
    assert len((files / "out" / "samples.jsonl").read_text().splitlines()) == 2
    assert len((files / "out" / "samples.passed.jsonl").read_text().splitlines()) == 1


def test_any_locale(files: Path) -> None:
    """Case D04: files and output are UTF-8 whatever the platform says."""
    (files / "utf.jsonl").write_text(
        '{"question": "Co możesz?", "response": "日本語 é", "reference": "日本語 é"}\n', encoding="utf-8"
    )
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-m", "steelyard", "eval", "utf.jsonl", "-m", "em", "--out", "utf"],
        env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PATH": ""},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"95 % interval" in done.stdout
    assert "możesz" in (files / "utf" / "report.json").read_text(encoding="utf-8")


def test_demo_runs(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole path: two systems, reports, runs and samples; n and an interval in every row."""
    code, out, _ = run(capsys, "demo", "--out", "demo")
    assert code == 0
    rows = [line for line in out.splitlines() if line and line.split()[0].rstrip("]") in {"ndcg@10", "map", "token_f1"}]
    assert len(rows) >= 6
    assert all(" – " in line for line in rows)
    for system in ("bm25", "overlap"):
        for name in ("run.trec", "samples.jsonl", "rankings/report.json", "answers/report.html"):
            assert (files / "demo" / system / name).is_file()
    assert run(capsys, "show", "demo/bm25/answers")[0] == 0


@pytest.mark.parametrize("group", ["rag", "lexical", "beir", "official"])
def test_a_group_prints_its_members(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The name of a group is as good as that of a metric, and says what it asks for."""
    code, out, _ = run(capsys, "metrics", group)
    assert (code, out.split(" metrics")[0].split(" ")[:3]) == (0, [group, "is", "a"])
    member = {"rag": "faithfulness", "lexical": "rouge_l", "beir": "ndcg@10", "official": "map"}[group]
    assert any(line.split()[0] == member for line in out.splitlines()[4:])


def test_the_bare_command_is_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    """Help once, on standard output, and nothing is wrong."""
    code, out, err = run(capsys)
    assert (code, out.count("Usage:"), err) == (0, 1, "")
    assert run(capsys, "--help") == (code, out, err)


def test_remarks_are_one_line(files: Path) -> None:
    """What a reader remarks is told without the place in our code that remarked it."""
    (files / "one.csv").write_text("question,answer,contexts,ground_truth\nWho?,Ada,Ada did it.,Ada\n")
    command = [sys.executable, "-m", "steelyard", "eval", "one.csv", "-m", "exact_match"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    remark = "contexts: expected a list, found a text; it was read as one passage"
    assert (done.returncode, done.stderr) == (0, f"steelyard: warning: one.csv line 2: {remark}\n")


def test_reasons_of_the_undefined_are_printed(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line for a metric and a reason, with how many and the first of them, in text and in Markdown."""
    (files / "nr.jsonl").write_text('{"id": "a", "answer": "x"}\n{"id": "b", "answer": "y"}\n')
    _, out, _ = run(capsys, "eval", "nr.jsonl", "-m", "token_f1")
    assert "undefined:\n  token_f1: 2 undefined: no reference (first: a)\n" in out
    _, out, _ = run(capsys, "eval", "nr.jsonl", "-m", "token_f1", "--format", "md")
    assert "## Undefined\n\n- token\\_f1: 2 undefined: no reference (first: a)\n" in out
    _, out, _ = run(capsys, "eval", "rows.jsonl", "-m", "token_f1")
    assert "undefined:" not in out


def test_a_history_of_two_ways_says_so(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A trend over the judged and the lexical metric of one name is none."""
    rows = [{"id": "a", "response": "Ada", "retrieved_contexts": ["Ada wrote."], "reference": "Ada wrote."}]
    for judge in (None, script(lambda ask: example_of(ask.shape))):
        Store(".steelyard/runs").keep(evaluate_rag(rows, metrics=["context_recall"], judge=judge, ledger=":memory:"))
    code, out, _ = run(capsys, "history", "context_recall")
    assert (code, "computed the metric in different ways: judged, lexical" in out) == (0, True)
