"""What compares, keeps and calibrates, as a user types it: the gate in one step, ties, pages, and every bad input."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from steelyard import Report
from steelyard.cli import command_line, invoke
from steelyard.runs.demo import run as demo

ROWS = [{"id": f"q{row}", "question": "Who?", "answer": "Ada", "ground_truth": "ada"} for row in range(12)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a report of good answers, one of bad ones, and the samples of both."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        written("good.jsonl", ROWS)
        written("bad.jsonl", [{**row, "answer": "Bob"} if at < 8 else row for at, row in enumerate(ROWS)])
        for name in ("good", "bad"):
            assert invoke(["eval", f"{name}.jsonl", "-m", "em", "--out", name]) == 0
    return folder


@pytest.fixture
def files(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, which is the working directory."""
    folder = tmp_path / "files"
    shutil.copytree(made, folder)
    monkeypatch.chdir(folder)
    return folder


def written(name: str, rows: list[dict[str, str]]) -> None:
    """Samples as JSONL in the working directory."""
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of one command."""
    code = invoke(list(args))
    out, err = capsys.readouterr()
    return code, out, err


def test_eval_and_gate_in_one_step(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The baseline is looked up before this report is kept; the gate's code and a page of the comparison come out."""
    assert run(capsys, "eval", "good.jsonl", "-m", "em", "--tag", "main")[0] == 0
    code, out, _ = run(
        capsys, "eval", "bad.jsonl", "-m", "em", "--baseline", "latest:main", "--tag", "main", "--out", "o"
    )
    assert code == 2
    assert "FAIL: 1 regression (em)" in out
    assert "q0: 1.0000 → 0.0000, “Bob” for “ada”" in out
    assert "<!doctype html>" in (files / "o" / "comparison.html").read_text()
    assert run(capsys, "eval", "bad.jsonl", "-m", "em", "--baseline", "latest:main", "--significant")[0] == 0
    assert run(capsys, "eval", "good.jsonl", "-m", "em", "--baseline", "latest:dev")[2] == (
        "steelyard: no report is stored with the tag 'dev' (tags here: main)\n"
    )


def test_a_report_names_the_command_that_made_it(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It can be typed again; what stands before an @ in an address, which may be a password, is left out."""
    assert Report.load("good/report.json").run["command"] == "steelyard eval good.jsonl -m em --out good"
    assert "steelyard eval good.jsonl" in (files / "good" / "report.html").read_text()
    assert (
        command_line(["eval", "a b", "--judge", "http://u:pw@h/v1#m"])
        == "steelyard eval 'a b' --judge 'http://…@h/v1#m'"
    )


def test_the_page_of_a_comparison_has_the_trend_of_kept_runs(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two kept reports on the same data make a trend; with --out a page goes there and not to the terminal."""
    for name in ("good", "bad"):
        run(capsys, "eval", f"{name}.jsonl", "-m", "em", "--tag", name, "--name", name)
    code, out, _ = run(capsys, "compare", "latest:good", "latest:bad", "--format", "html", "--out", "page.html")
    assert (code, out) == (2, "FAIL: 1 regression (em)\nwrote page.html\n")
    text = (files / "page.html").read_text()
    assert "Trend over stored runs" in text
    assert "· good · good</th>" in text


def test_show_writes_where_it_is_told(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--out takes every format, and a report is found by its tag too."""
    run(capsys, "eval", "good.jsonl", "-m", "em", "--tag", "main")
    assert run(capsys, "show", "latest:main", "--format", "md", "--out", "x/r.md")[:2] == (0, "wrote x/r.md\n")
    assert (files / "x" / "r.md").read_text().startswith("# good.jsonl")


def test_tie_bounds(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Worst, expected, value and best of each run, in every format; cut rankings and trec_eval's format are refused."""
    (files / "qrels").write_text("q 0 a 1\nq 0 b 0\n")
    (files / "run").write_text("q Q0 a 1 1.0 x\nq Q0 b 2 1.0 x\n")
    code, out, _ = run(capsys, "rank", "qrels", "run", "-m", "mrr", "-m", "err", "--tie-bounds")
    assert code == 0
    assert [line.split() for line in out.splitlines()[2:4]] == [
        ["mrr", "x", "0.5000", "0.7500", "0.5000", "1.0000", "1", "1"],
        ["err", "x", "0.2500", "–", "0.2500", "0.5000", "1", "1"],
    ]
    given = ("rank", "qrels", "run", "run", "-m", "mrr", "--tie-bounds")
    assert run(capsys, *given, "--format", "csv", "-q")[1].splitlines()[1:3] == [
        "x,mrr,,0.5,0.75,0.5,1.0",
        "x,mrr,q,0.5,0.75,0.5,1.0",
    ]
    assert json.loads(run(capsys, *given, "--format", "json")[1])[0]["moving"]["q"]["best"] == 1.0
    assert run(capsys, *given, "--format", "md")[1].startswith("| metric | system | worst |")
    assert "toprule" in run(capsys, *given, "--format", "latex")[1]
    assert "other orders: --tie-bounds" in run(capsys, "rank", "qrels", "run")[1]
    for wrong in (("--format", "trec_eval"), ("--depth", "1"), ("-J",), ("--drop-self",)):
        code, out, err = run(capsys, *given, *wrong)
        assert (code, out, len(err.splitlines())) == (1, "", 1)


def test_the_gate_stops_a_weaker_retriever(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The demo's two retrievers on the same questions: exit 2; metric, slice, interval and the ten worst samples."""
    for one in demo(tmp_path):
        one.rankings.save(tmp_path / f"{one.system}.json")
    given = ("compare", str(tmp_path / "bm25.json"), str(tmp_path / "overlap.json"), "--significant")
    code, out, _ = run(capsys, *given)
    assert code == 2
    (line,) = [line for line in out.splitlines() if line.startswith("ndcg@10 ")]
    assert re.search(r"0\.8780 +0\.7236 +-0\.1544 +-0\.\d{4} – -0\.\d{4} +0\.\d{4} +4/14/17 +35 .* REGRESSION", line)
    told = out.split("ndcg@10: largest losses\n")[1].split("\n\n")[0].splitlines()
    assert len(told) == 10
    assert all(re.fullmatch(r"  q\d\d: \d\.\d{4} → \d\.\d{4}(, not found: .*)?", one) for one in told)
    code, out, _ = run(capsys, *given[:3], "--by", "question_type", "--format", "json")
    slices = {one["slice"] for one in json.loads(out)["deltas"] if one["regression"]}
    assert code == 2
    assert "question_type=multi_document" in slices


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no labels: the input is empty"),
        (b"sample,value\n", "no labels: the input is empty"),
        (b"sample,value\nq1,maybe\n", "labels.csv:2: value: expected a number, yes or no, found 'maybe'"),
        (b"sample\nq1\n", "labels.csv:2: no value: expected one of value, label"),
        (b"value\n1\n", "labels.csv:2: no sample: expected one of sample, sample_id"),
        (b"sample,value\nq1,\n", "no labels: no row has a value yet"),
        (b"sample,value\nq1,inf\n", "labels.csv:2: value: expected a finite number"),
        (b"sample,value\nq1,5\n", "the label 5 of q1 is outside 0 to 1: give the range of the ratings"),
        (b"sample,value\nq1,1\nq1,0\n", "q1 is labelled twice: 1 and 0"),
        (b"sample,value\nzz,1\n=cmd,0\n", "no label refers to a sample of the report; the labels have zz, =cmd"),
        (b"sample,value\nq\xe9,1\n", "labels.csv:2: byte 0xe9 at offset 14 is not UTF-8"),
        (b'sample,value\n"q1,1\n', "labels.csv:2: not CSV: unexpected end of data"),
        (b"sample,value,metric\nq1,1,nope\n", "no metric 'nope' in the report"),
        (b"sample,value,claim\nq1,1,1\n", "the evidence of em has no claims"),
        (b"sample,value,stratum,share\nq1,1,a,much\n", "labels.csv:2: share: expected a share in (0, 1], found 'much'"),
        (b"sample,value,stratum,share\nq1,1,a,2\n", "labels.csv:2: share: expected a share in (0, 1], found 2"),
    ],
)
def test_bad_labels_are_one_line(files: Path, capsys: pytest.CaptureFixture[str], content: bytes, words: str) -> None:
    """What is wrong and where; exit 1, nothing on standard output, no traceback."""
    (files / "labels.csv").write_bytes(content)
    code, out, err = run(capsys, "calibrate", "good", "labels.csv")
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert words in err


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[1]",
        b"\xff\xfe\x00",
        b'{"format":"steelyard-report/1"}',
        b'{"format":"steelyard-report/9"}',
        None,
    ],
)
@pytest.mark.parametrize(
    "verb",
    [
        ("compare", "good", "x.json"), ("compare", "x.json", "good"), ("show", "x.json"), ("calibrate", "x.json", "l.csv"),
        ("label", "x.json"), ("drift", "x.json", "good"), ("eval", "good.jsonl", "-m", "em", "--baseline", "x.json"),
    ],
)  # fmt: skip
def test_broken_reports_are_one_line(
    files: Path, capsys: pytest.CaptureFixture[str], verb: tuple[str, ...], content: bytes | None
) -> None:
    """Empty, cut, of another kind, of another version, or not there: the file is named."""
    (files / "l.csv").write_text("sample,value\nq1,1\n")
    if content is not None:
        (files / "x.json").write_bytes(content)
    code, out, err = run(capsys, *verb)
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert err.startswith("steelyard: x.json: ")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("compare", "nothing", "good"), "nothing: no such file or folder, and no report is stored in"),
        (("compare", "good", "bad", "--tolerance", "nan"), "tolerance=nan: must be at least 0"),
        (("compare", "good", "bad", "--alpha", "1"), "must be in (0, 1)"),
        (("compare", "good", "bad", "--by", "kind"), "no sample has the tag 'kind'"),
        (("compare", "good", "bad", "--cluster", "kind"), "no sample has the tag 'kind'"),
        (("compare", "good", "bad", "--metric-tolerance", "f1=0.1"), "no metric 'f1' for the tolerance"),
        (("history", "em"), "no stored report in .steelyard/runs"),
        (("calibrate", "good", "l.csv", "--scale", "5"), "--scale 5: expected the lowest and the highest rating"),
        (("calibrate", "good", "l.csv", "--scale", "5-1"), "expected the lowest and the highest rating, found 5 and 1"),
        (("calibrate", "good", "l.csv", "--threshold", "7"), "threshold 7 for em: must be in [0, 1]"),
        (("calibrate", "good", "l.csv", "--baseline", "bad"), "both reports name the same system"),
        (("calibrate", "good", "l.csv", "--confidence", "2"), "confidence: must be between 0 and 1"),
        (("label", "good", "-n", "0"), "n=0, bins=1: both are at least 1"),
        (("label", "good", "--claims"), "the evidence of em has no claims"),
        (("label", "good", "--out", "sheet.xlsx"), "sheet.xlsx: a sheet is .csv, .tsv, .jsonl or .ndjson"),
        (("label", "good", "--out", "l.csv"), "l.csv: the sheet exists"),
        (("label", "good", "--out", "empty.csv", "--interactive"), "empty.csv: the sheet is empty"),
        (("drift", "good"), "give either a second report or --judge"),
        (("drift", "good", "bad"), "the two reports share no judged metric"),
        (("drift", "good", "--judge", "http://127.0.0.1:9/v1#m"), "no metric of the report uses a judge"),
        (("prefer", "good.jsonl", "--judge", "http://127.0.0.1:9/v1#m"), "at least two systems are needed"),
        (("prefer", "good", "none.jsonl", "--judge", "http://127.0.0.1:9/v1#m"), "none has no samples"),
        (("prefer", "good", "bad", "--judge", "x"), "unknown judge 'x'"),
        (("prefer", "good", "bad.jsonl", "--judge", "http://127.0.0.1:9/v1#m", "--by", "kind"), "no sample has the tag 'kind'"),
        (("prefer", "good", "bad.jsonl", "--judge", "http://127.0.0.1:9/v1#m", "--limit", "0"), "limit=0: must be at least 1"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(
    files: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], words: str
) -> None:
    """Exit 1, the mistake in a line, and no call is made before it is found."""
    (files / "l.csv").write_text("sample,value\nq1,1\nq2,0\n")
    (files / "empty.csv").write_text("")
    (files / "none.jsonl").write_text("")
    code, out, err = run(capsys, *args)
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert words in err


def test_hostile_ids_and_huge_tags_stay_on_their_line(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters are written out, and a tag of five thousand characters is cut."""
    rows = [{**row, "id": f"{row['id']}\x1b[2J\n::error::x", "kind": "t" * 5000} for row in ROWS]
    for name, answer in (("good", "Ada"), ("bad", "Bob")):
        written(f"{name}.jsonl", [{**row, "answer": answer, "question_type": row["kind"]} for row in rows])
        run(capsys, "eval", f"{name}.jsonl", "-m", "em", "--by", "question_type", "--out", name)
    code, out, _ = run(capsys, "compare", "good", "bad", "--by", "question_type")
    assert code == 2
    assert "\x1b" not in out
    assert "q0\\x1b[2J\\n::error::x: 1.0000 → 0.0000" in out
    assert max(map(len, out.splitlines())) < 250
    code, out, _ = run(capsys, "show", "bad")
    assert max(map(len, out.splitlines())) < 250


def test_one_sample_has_no_interval_and_no_verdict(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Too few samples to say anything; the drop is a regression all the same unless it must be significant."""
    for name in ("good", "bad"):
        written("one.jsonl", [{**ROWS[0], "answer": "Ada" if name == "good" else "Bob"}])
        run(capsys, "eval", "one.jsonl", "-m", "em", "--out", name)
    code, out, _ = run(capsys, "compare", "good", "bad")
    assert (code, "REGRESSION (too few samples)" in out) == (2, True)
    assert run(capsys, "compare", "good", "bad", "--significant")[0] == 0


def test_reports_without_a_name_go_by_their_paths(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was typed heads the comparison; a system's name goes before it."""
    assert run(capsys, "compare", "good", "bad")[1].splitlines()[0] == "good → bad"
    assert run(capsys, "compare", "good", "bad", "--format", "md")[1].splitlines()[1] == "### good → bad"
    report = Report.load("bad/report.json")
    report.system = "mine"
    report.save("named.json")
    assert run(capsys, "compare", "good/report.json", "named.json")[1].splitlines()[0] == "good/report.json → mine"


def test_a_metric_that_lost_all_samples_names_none(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is a regression without a list of samples, and no heading stands over nothing."""
    written("blank.jsonl", [{key: value for key, value in row.items() if key != "ground_truth"} for row in ROWS])
    assert run(capsys, "eval", "blank.jsonl", "-m", "em", "--out", "blank")[0] == 0
    for output_format in ("table", "md", "github"):
        out = run(capsys, "compare", "good", "blank", "--format", output_format)[1]
        assert "no scored samples left" in out
        assert "largest losses" not in out
        assert "Worst:" not in out


@pytest.mark.parametrize("out", ["good/report.json", "./bad/../bad/report.json"])
def test_a_comparison_does_not_overwrite_its_reports(files: Path, capsys: pytest.CaptureFixture[str], out: str) -> None:
    """--out on one of the two is refused, and both stay as they are."""
    before = (files / out).read_bytes()
    code, shown, err = run(capsys, "compare", "good", "bad", "--out", out)
    assert (code, shown, len(err.splitlines())) == (1, "", 1)
    assert "--out would overwrite a compared report" in err
    assert (files / out).read_bytes() == before


def test_a_set_is_not_written_over_its_documents(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The folder of the documents, however it is spelt, is no place for the set."""
    (files / "docs").mkdir()
    (files / "docs" / "a.txt").write_text("The tower was built of granite in 1811.")
    (files / "corpus.jsonl").write_text(json.dumps({"_id": "a", "text": "The tower was built in 1811."}))
    for source, out in (("docs", "docs"), ("docs", "./docs/../docs/"), ("corpus.jsonl", ".")):
        code, shown, err = run(capsys, "synth", source, "--out", out, "-n", "1")
        assert (code, shown, len(err.splitlines())) == (1, "", 1)
        assert "overwrite its own documents" in err
    assert [file.name for file in (files / "docs").iterdir()] == ["a.txt"]


def test_what_is_behind_a_score_cannot_reach_the_terminal(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Escape sequences in ids, texts and reasons are written out by --why, as tables do."""
    row = {"id": "q\x1b[2J\n1", "response": "a\x1b]0;x\x07\u202eb\nsecond line", "reference": "a"}
    (files / "odd.jsonl").write_text(json.dumps(row))
    assert run(capsys, "eval", "odd.jsonl", "-m", "em", "--out", "odd")[0] == 0
    code, shown, _ = run(capsys, "show", "odd", "--why", "q\x1b[2J\n1", "em")
    assert code == 0
    assert all(char.isprintable() or char == "\n" for char in shown)
    assert "on q\\x1b[2J\\n1: 0.0" in shown
    assert "a\\x1b]0;x\\x07\\u202eb\nsecond line" in shown


def test_a_price_and_an_old_name_are_in_nobodys_way(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A priced judge with another spelling of its address, and a metric under its old name: still one comparison."""
    for name, judge, metric in (
        ("good", "http://h/v1#m", "Faithfulness"),
        ("bad", "http://h/v1/#m&price=1,2", "faithfulness"),
    ):
        report = Report.load(f"{name}/report.json")
        report.columns = {metric: report.columns["em"]}
        report.estimates = {metric: report.estimates["em"]}
        report.notes = {metric: replace(report.notes["em"], name="faithfulness", way="judged")}
        report.judge = judge
        report.save(f"{name}.json")
    code, out, _ = run(capsys, "compare", "good.json", "bad.json")
    assert (code, "FAIL: 1 regression (faithfulness)" in out) == (2, True)
    assert run(capsys, "compare", "good.json", "bad.json", "--format", "html", "--out", "c.html")[0] == 2
    assert "Faithfulness" not in Path("c.html").read_text(encoding="utf-8")
    code, out, _ = run(capsys, "show", "good.json", "--why", "q0", "faithfulness")
    assert (code, out.splitlines()[0]) == (0, "faithfulness [judged, revision 1] on q0: 1.0 (ok)")


def test_an_unknown_sample_is_answered_with_the_nearest(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ids that differ in their number go by how much; where none is near, some show how ids look here."""
    code, _, err = run(capsys, "show", "good", "--why", "q12", "em")
    assert (code, err) == (1, "steelyard: no sample 'q12' in the report: did you mean q11, q10, q9?\n")
    assert run(capsys, "show", "good", "--why", "zz", "em")[2].endswith("its 12 ids begin with q0, q1, q2\n")
    assert "did you mean em?" in run(capsys, "show", "good", "--why", "q1", "emm")[2]
