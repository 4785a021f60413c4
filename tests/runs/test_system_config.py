"""Configurations of systems: what is read, what is refused, and runs of several systems from one file."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from steelyard.cli import invoke
from steelyard.core.errors import InputError
from steelyard.reports.report import Report
from steelyard.runs.plan_systems import plan_systems
from steelyard.runs.run_systems import folder_name, run_systems
from steelyard.runs.system_config import read_systems_config, variants
from steelyard.systems.import_object import load
from tests.server import Server
from tests.systems.service import Service

CORPUS = {
    "tower": "The tower was built of granite by Robert Stevenson. It was lit in 1811.",
    "lens": "Fresnel made the lens. It throws the light over the sea.",
    "keeper": "The keeper trims the lamp every night and climbs the tower.",
}
QUESTIONS = [
    ("q1", "Who built the granite tower?", "tower", "Robert Stevenson"),
    ("q2", "Who made the lens?", "lens", "Fresnel"),
    ("q3", "What does the keeper trim?", "keeper", "the lamp"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Documents, questions, and room for a configuration."""
    (tmp_path / "docs").mkdir()
    for name, text in CORPUS.items():
        (tmp_path / "docs" / f"{name}.txt").write_text(text, encoding="utf-8")
    rows = [
        {"id": key, "question": question, "relevant_ids": [f"{doc}.txt"], "reference": answer}
        for key, question, doc, answer in QUESTIONS
    ]
    (tmp_path / "questions.json").write_text(json.dumps(rows), encoding="utf-8")
    return tmp_path


def config(folder: Path, **given: Any) -> Path:
    path = folder / "run.yaml"
    whole = {
        "data": "questions.json",
        "corpus": "docs",
        "k": 2,
        "metrics": ["mrr", "token_f1"],
        "systems": {"bm25": {"type": "bm25"}},
        "answerer": {"type": "extractive"},
        **given,
    }
    path.write_text(
        yaml.safe_dump({key: value for key, value in whole.items() if value is not None}, sort_keys=False),
        encoding="utf-8",
    )
    return path


def test_a_run_of_several_systems(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Built-in systems, a hybrid, a random one: one table with tests, one of what it took, reports and runs on disk."""
    systems = {
        "bm25": {"type": "bm25"},
        "short": {"type": "bm25", "chunk": 30},
        "both": {"type": "hybrid", "of": ["bm25", "short"]},
        "random": {"type": "random", "seed": 3},
    }
    assert invoke(["run", str(config(folder, systems=systems))]) == 0
    printed = capsys.readouterr().out
    for words in ("both", "Holm-adjusted", "retrieve s (median, p95)", "random"):
        assert words in printed
    out = folder / "steelyard-out"
    report = Report.load(out / "bm25" / "report.json")
    assert {"mrr": report.metrics["mrr"]} == {"mrr": 1.0}
    assert "tower.txt" in (out / "both" / "run.trec").read_text()
    assert sorted(path.name for path in out.iterdir()) == ["bm25", "both", "random", "short"]


def test_a_grid(folder: Path) -> None:
    """Every system with every choice that concerns it; the baseline is the first."""
    read = read_systems_config(
        config(
            folder,
            systems={
                "bm25": {"type": "bm25"},
                "random": {"type": "random"},
                "both": {"type": "hybrid", "of": ["bm25"]},
            },
            grid={"k": [1, 2], "chunk": [20, 40], "answerer.count": [2]},
            baseline="both",
        )
    )
    names = [one.name for one in variants(read)]
    assert names[:4] == [
        "both (k=1, chunk=20, answerer.count=2)",
        "both (k=1, chunk=40, answerer.count=2)",
        "both (k=2, chunk=20, answerer.count=2)",
        "both (k=2, chunk=40, answerer.count=2)",
    ]
    assert len(names) == 4 + 4 + 2
    assert names[-1] == "random (k=2, answerer.count=2)"
    found = run_systems(read, base=folder)
    assert names == [report.system for report in found.reports]
    assert {1, 2} == {len(sample.retrieved_contexts or ()) for report in found.reports for sample in report.samples}
    assert folder_name(names[0]) == "both.k=1.chunk=20.answerer.count=2"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"systems": {}}, "$.systems: expected at least one system"),
        ({"systems": {"a": {"type": "bm52"}}}, "$.systems.a: expected settings with a type, found type 'bm52': did you mean bm25?"),
        ({"systems": {"a": 25}}, "$.systems.a: expected settings with a type, found 25"),
        ({"systems": {"a": "bm52"}}, "$.systems.a: expected settings with a type, found type 'bm52': did you mean bm25?"),
        ({"systems": {"a": {"type": "bm25", "k2": 1}}}, "$.systems.a: unknown setting 'k2': did you mean k1?"),
        ({"systems": {"a": {"type": "bm25", "k1": "high"}}}, "$.systems.a.k1: expected a number, found 'high'"),
        ({"systems": {"a": {"type": "http"}}}, "$.systems.a: url is missing"),
        ({"systems": {"a": {"type": "hybrid", "of": ["b"]}}}, "$.systems.a.of: no system 'b' to be part of it"),
        ({"systems": {"a": {"type": "hybrid", "of": ["b"]}, "b": {"type": "hybrid", "of": ["a"]}}}, "a is a part of itself"),
        ({"answerer": {"type": "oracle"}}, "$.answerer: expected settings with a type"),
        ({"grid": {"chunks": [1]}}, "$.grid: chunks: no system has this setting"),
        ({"grid": {"bm25.chunks": [1]}}, "$.grid: bm25.chunks: unknown setting: did you mean chunk"),
        ({"grid": {"chunk": ["big"]}}, "$.grid: chunk=big: expected a whole number or nothing"),
        ({"grid": {"k": []}}, "run.yaml: $.grid.k: expected at least one value, found an empty list"),
        ({"systems": {"a": {"type": "hybrid", "of": []}}}, "$.systems.a.of: expected at least one retriever"),
        ({"systems": {"a": {"type": "hybrid", "of": ["x"]}}}, "no system 'x' to be part of it: choose from: (there are none)"),
        ({"corpus": "nowhere"}, "$.corpus: no such file or folder: "),
        ({"grid": {"k": [0]}}, "$.grid: k: expected whole numbers of at least 1, found 0"),
        ({"grid": {"answerer.count": [1]}, "answerer": None}, "answerer.count: there is no answerer"),
        ({"baseline": "bm"}, "$.baseline: no system 'bm': did you mean bm25?"),
        ({"k": 0}, "$.k: expected a whole number of at least 1, found 0"),
        ({"systms": 1}, "unknown setting 'systms': did you mean systems?"),
        ({"metrics": ["ndcg@@"]}, "not a metric name"),
    ],
)  # fmt: skip
def test_mistakes_are_named(folder: Path, given: dict[str, Any], words: str) -> None:
    """Every mistake is one line with file and setting, before anything runs."""
    with pytest.raises(InputError) as caught:
        run_systems(read_systems_config(config(folder, **given)), base=folder)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"corpus": None}, "run.yaml: $.systems.bm25: bm25 needs documents to search: corpus: "),
        ({"outputs": {"dir": "questions.json"}}, "questions.json/bm25: not a directory"),
        ({"systems": {"a": {"type": "bm25", "chunk": 8, "overlap": 9}}}, "$.systems.a: chunks of 8 characters"),
        ({"systems": {"a": {"type": "bm25", "b": 2.0}}}, "$.systems.a: k1=1.2, b=2.0: expected"),
        ({"systems": {"a": {"type": "command", "command": "no-such-program"}}}, "$.systems.a: cannot run"),
        ({"corpus": "nowhere"}, "nowhere"),
        ({"data": "nowhere.json"}, "nowhere.json"),
        ({"systems": {"mine": {"type": "python", "object": "mine.py:gone"}}}, "mine.py: no such file"),
        ({"systems": {"mine": {"type": "python", "object": "mine"}}}, "'mine' names no object"),
    ],
)
def test_what_is_missing_is_named(
    folder: Path, given: dict[str, Any], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Absent documents, questions and code end in one line and exit code 1."""
    assert invoke(["run", str(config(folder, **given))]) == 1
    error = capsys.readouterr().err
    assert words in error
    assert "Traceback" not in error


MINE = '''
class Rag:
    """Finds the document with most letters in common."""

    def __init__(self, corpus, best=1):
        self.corpus, self.best = corpus, best

    def retrieve(self, query, k):
        if "lens" in query:
            raise RuntimeError("no lens")
        near = sorted(self.corpus, key=lambda doc: -len(set(self.corpus[doc]) & set(query)))
        return near[: self.best]

    def context_text(self, doc):
        return self.corpus[doc]

def whole(question):
    return {"data": {"text": question, "docs": [{"id": "tower.txt", "body": "a"}]}}

value = 5
'''


def test_systems_of_the_users_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A class with settings and corpus, a function with places, a program, a service: all in one run, and the
    failures of one are its samples' alone."""
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    (folder / "tool.py").write_text(
        'import json, sys\nfor line in sys.stdin:\n    print(json.dumps({"ids": ["lens.txt"]}), flush=True)\n'
    )
    with Service(lambda body: (200, {"hits": [{"id": f"{body['top']}"}]})) as service:
        systems = {
            "mine": {"type": "python", "object": "mine.py:Rag", "settings": {"best": 2}, "retries": 0},
            "whole": {"type": "python", "object": "mine.py:whole", "ids": "data.docs.*.id", "answer": "data.text"},
            "tool": {"type": "command", "command": [sys.executable, "tool.py"]},
            "live": {"type": "http", "url": service.url, "k": "top", "ids": "hits.*.id"},
        }
        path = config(folder, systems=systems, answerer=None, metrics=["recall@2"], grid={"mine.best": [1, 2]})
        assert invoke(["run", str(path)]) == 3
    printed = capsys.readouterr().out
    assert "mine (best=1)" in printed
    assert "FAIL  mine (best=1): at most 0.0% of samples may fail on recall@2: 1 of 3 failed (33.3%)" in printed
    assert "RuntimeError: no lens" in printed
    reports = {name: Report.load(folder / "steelyard-out" / name / "report.json") for name in ("tool", "live", "whole")}
    assert [sample.retrieved_ids for sample in reports["live"].samples] == [["2"]] * 3
    assert pytest.approx(1 / 3) == reports["tool"].metrics["recall@2"]
    assert reports["whole"].samples[1].response == "Who made the lens?"


def test_a_killed_run_of_a_configuration_goes_on(folder: Path) -> None:
    """Outputs of systems outside are kept until the run ends; changed code is another system."""
    (folder / "mine.py").write_text(
        "asked = []\n\ndef find(query, k):\n    asked.append(query)\n"
        "    if len(asked) == 2:\n        raise KeyboardInterrupt\n    return ['lens.txt']\n"
    )
    path = config(
        folder,
        systems={"mine": {"type": "python", "object": "mine.py:find", "deadline": None}},
        answerer=None,
        metrics=["mrr"],
        ledger="l.sqlite",
    )
    with pytest.raises(KeyboardInterrupt):
        run_systems(read_systems_config(path), base=folder)
    (report,) = run_systems(read_systems_config(path), base=folder).reports
    assert report.run["stages"]["retrieve"]["kept"] == 1  # type: ignore[index,call-overload]
    (again,) = run_systems(read_systems_config(path), base=folder).reports
    assert "kept" not in again.run["stages"]["retrieve"]  # type: ignore[index,call-overload,operator]


def test_a_plan(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A dry run names every variant and what a judge would be asked, and asks nothing."""
    path = config(folder, grid={"k": [1, 2]}, judge="http://localhost:9/v1#none", metrics=["faithfulness", "mrr"])
    assert invoke(["run", str(path), "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "bm25 (k=1): 3 questions, 1 result each, answered" in printed
    assert "calls (0 more are in the ledger)" in printed
    assert not (folder / "steelyard-out").exists()
    plan = plan_systems(read_systems_config(path), base=folder)
    assert (len(plan.variants), plan.total.usage.calls) == (
        2,
        2 * 3 * 2,
    )  # the claims of every answer, and their verdicts
    assert [(line.metric, line.rows) for line in plan.lines] == [("faithfulness", 3), ("mrr", 3)]
    path = config(folder, answerer=None, judge="http://localhost:9/v1#none", metrics=["faithfulness"])
    plan = plan_systems(read_systems_config(path), base=folder)
    assert (plan.total.usage.calls, plan.lines[0].skipped) == (0, {"no response": 3})


def test_a_plan_of_everything_that_is_asked(folder: Path) -> None:
    """Answers of a model, embeddings of a corpus and its questions, judgements: each in the total, embeddings once."""
    systems = {
        "bm25": {"type": "bm25"},
        "dense": {"type": "dense", "embedder": "http://localhost:9/v1#e&batch=64&price=10"},
        "both": {"type": "hybrid", "of": ["bm25", "dense"]},
    }
    model = "http://localhost:9/v1#m&price=1,2"
    given: dict[str, Any] = {"systems": systems, "answerer": None, "metrics": ["mrr"], "ledger": "l.sqlite"}
    plain = plan_systems(read_systems_config(config(folder, **given)), base=folder).total
    assert (plain.usage.calls, plain.usage.embedded) == (1, 6)  # three documents and three questions
    answered = {**given, "answerer": {"type": "llm", "model": model}}
    plan = plan_systems(read_systems_config(config(folder, **answered)), base=folder)
    assert plan.total.usage.calls == 1 + 3 * 3
    assert plan.total.usage.cost is not None
    assert plain.usage.cost is not None
    assert plan.total.usage.cost > plain.usage.cost > 0
    judged = {**answered, "judge": model, "metrics": ["faithfulness"]}
    assert (
        plan_systems(read_systems_config(config(folder, **judged)), base=folder).total.usage.calls
        > plan.total.usage.calls
    )
    assert "about 10 calls" in str(plan)


def test_names_that_make_equal_folders(folder: Path) -> None:
    """Each variant keeps its report."""
    systems = {"a b": {"type": "bm25"}, "a_b": {"type": "random"}}
    run_systems(read_systems_config(config(folder, systems=systems, answerer=None, metrics=["mrr"])), base=folder)
    found = {path.name: Report.load(path / "report.json").system for path in (folder / "steelyard-out").iterdir()}
    assert found == {"a_b": "a b", "a_b-2": "a_b"}


def test_a_grid_of_chunks_results_and_models(
    folder: Path, serve: Callable[..., Server], capsys: pytest.CaptureFixture[str]
) -> None:
    """One system over chunk size, k and model, side by side, each with its tests and its cost."""
    server = serve()
    models = [f"http://127.0.0.1:{server.port}/v1#{name}&price=1,2" for name in ("small", "large")]
    path = config(
        folder,
        answerer={"type": "llm", "model": models[0]},
        grid={"chunk": [20, 40], "k": [1, 2], "answerer.model": models},
        metrics=["recall@2", "answered"],
        ledger="l.sqlite",
    )
    assert invoke(["run", str(path)]) == 0
    printed = capsys.readouterr().out
    assert printed.count("chunk=20, ") >= 4
    assert "paired randomisation" in printed
    reports = [Report.load(one / "report.json") for one in sorted((folder / "steelyard-out").iterdir())]
    assert len(reports) == 8
    assert all(report.usage.cost and report.metrics["answered"] == 1.0 for report in reports)
    assert {body["model"] for body in server.bodies} == {"small", "large"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"metrics": ["mrr", "nope"]}, "run.yaml: $.metrics[1]: unknown metric 'nope'"),
        ({"metrics": ["ndcg@0"]}, "run.yaml: $.metrics[0]: ndcg@0: the cut-off must be at least 1"),
        ({"judge": "bogus", "metrics": ["mrr"]}, "run.yaml: $.judge: unknown judge 'bogus'"),
        ({"judge": {"model": "bogus"}, "metrics": ["mrr"]}, "run.yaml: $.judge: unknown judge 'bogus'"),
        ({"embedder": "bogus", "metrics": ["mrr"]}, "run.yaml: $.embedder: unknown embedder 'bogus'"),
    ],
)
@pytest.mark.parametrize("systems", [True, False])
def test_what_is_unknown_is_told_with_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str], given: dict[str, Any], words: str, systems: bool
) -> None:
    """The file and the path of the setting, in a configuration of systems and in one of samples."""
    path = config(folder, **given)
    if not systems:
        plain = yaml.safe_load(path.read_text())
        path.write_text(yaml.safe_dump({key: plain[key] for key in ("data", *given)}))
    for more in ([], ["--dry-run"]):
        assert invoke(["run", str(path), *more]) == 1
        assert words in capsys.readouterr().err


def test_answers_of_a_model_take_what_its_calls_take(folder: Path, serve: Callable[..., Server]) -> None:
    """Though they are asked at the same time: the time of the batch by their number says nothing about one."""
    model = f"http://127.0.0.1:{serve(latency=0.1).port}/v1#m"
    path = config(folder, answerer={"type": "llm", "model": model}, metrics=["answered"], ledger="l.sqlite")
    (report,) = run_systems(read_systems_config(path), base=folder).reports
    stages: Any = report.run["stages"]
    assert 0.1 <= stages["answer"]["median"] < 0.5


def test_limits_are_for_all_systems_together(
    folder: Path, serve: Callable[..., Server], capsys: pytest.CaptureFixture[str]
) -> None:
    """Answers of a model and judgements, of every variant; what no longer fits is not asked, and named."""
    server = serve()
    model = f"http://127.0.0.1:{server.port}/v1#m&price=1,2"
    given: dict[str, Any] = {
        "answerer": {"type": "llm", "model": model},
        "grid": {"k": [1, 2]},
        "judge": model,
        "metrics": ["faithfulness"],
        "ledger": "l.sqlite",
    }
    assert invoke(["run", str(config(folder, **given, max_calls=5))]) == 3
    assert server.calls == 5
    assert "max_calls" in capsys.readouterr().out
    unpriced = {**given, "answerer": {"type": "llm", "model": f"http://127.0.0.1:{server.port}/v1#other"}}
    assert invoke(["run", str(config(folder, **unpriced, budget=1.0))]) == 1
    assert "a budget needs the price of other" in capsys.readouterr().err
    assert server.calls == 5


def test_embeddings_are_told_where_they_were_paid(folder: Path, serve: Callable[..., Server]) -> None:
    """The corpus in a stage of its own, with the system that needed it first; the questions with each retrieval."""
    server = serve()
    systems = {
        "dense": {"type": "dense", "embedder": f"http://127.0.0.1:{server.port}/v1#e&price=10"},
        "both": {"type": "hybrid", "of": ["dense"]},
    }
    path = config(folder, systems=systems, answerer=None, metrics=["mrr"], ledger="l.sqlite")
    dense, both = run_systems(read_systems_config(path), base=folder).reports
    first: Any = dense.run["stages"]
    second: Any = both.run["stages"]
    assert list(first) == ["index", "retrieve", "score"]
    assert first["index"]["prompt_tokens"] > 0
    assert first["retrieve"]["prompt_tokens"] > 0
    assert dense.usage.cost == pytest.approx(first["index"]["cost"] + first["retrieve"]["cost"])
    assert list(second) == ["retrieve", "score"]  # the corpus is there, and the questions are in the ledger
    assert both.usage.cost in (None, 0.0)


KILLED = """
import sys, time

def find(query, k):
    with open("asked.txt", "a") as file:
        file.write(query + "\\n")
    time.sleep(0.1)
    return ["tower.txt"]
"""


@pytest.mark.long
def test_a_process_that_is_killed(folder: Path) -> None:
    """Killed by a signal at half, a run goes on with the questions that were not answered, and ends like any other."""
    rows = [{"id": f"q{n:02}", "question": f"Question {n}?", "relevant_ids": ["tower.txt"]} for n in range(20)]
    (folder / "many.json").write_text(json.dumps(rows))
    (folder / "mine.py").write_text(KILLED)
    systems = {"mine": {"type": "python", "object": "mine.py:find"}}
    path = config(folder, data="many.json", systems=systems, answerer=None, metrics=["mrr"], ledger="l.sqlite")
    command = [sys.executable, "-m", "steelyard", "run", str(path)]
    asked = folder / "asked.txt"
    first = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (asked.is_file() and len(asked.read_text().splitlines()) >= 10) and time.monotonic() < deadline:
        assert first.poll() is None
        time.sleep(0.02)
    first.kill()
    first.wait()
    before = asked.read_text().splitlines()
    assert len(before) < 20
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    after = asked.read_text().splitlines()[len(before) :]
    assert set(before) | set(after) == {row["question"] for row in rows}
    assert len(set(before) & set(after)) <= 1  # the one that was under way
    report = Report.load(folder / "steelyard-out" / "mine" / "report.json")
    assert report.metrics == {"mrr": 1.0}
    assert report.run["stages"]["retrieve"]["kept"] >= len(before) - 1  # type: ignore[index,call-overload,operator]


def test_run_files_are_systems(folder: Path) -> None:
    """A run from elsewhere is weighed beside ours."""
    (folder / "old.run").write_text("q1 Q0 lens.txt 1 2.0 old\nq1 Q0 tower.txt 2 1.0 old\nq2 Q0 lens.txt 1 1.0 old\n")
    path = config(folder, systems={"old": {"type": "run", "path": "old.run"}}, answerer=None, metrics=["mrr"])
    (report,) = run_systems(read_systems_config(path), base=folder).reports
    assert pytest.approx((0.5 + 1 + 0) / 3) == report.metrics["mrr"]


def test_loading(folder: Path) -> None:
    """Objects, classes and factories; what cannot be called as asked is told."""
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    assert load("mine.py:value", folder=folder) == 5
    assert load("mine.py:Rag", corpus=CORPUS, folder=folder).corpus == CORPUS  # type: ignore[attr-defined]
    for spec, settings, words in (
        ("mine.py:Rag", {"worst": 1}, "cannot be called with"),
        ("mine.py:value", {"a": 1}, "takes no settings"),
        ("mine.py:Rog", None, "did you mean Rag"),
        ("no_such_module:x", None, "no_such_module does not load: ModuleNotFoundError"),
    ):
        with pytest.raises(InputError, match=words):
            load(spec, settings, corpus=CORPUS, folder=folder)


def test_answers_and_judgements_of_a_model(
    folder: Path, serve: Callable[..., Server], capsys: pytest.CaptureFixture[str]
) -> None:
    """A model answers and a model judges: tokens and cost of both stand in the table, and a second run asks nothing."""
    server = serve()
    path = config(
        folder,
        systems={"bm25": {"type": "bm25"}, "random": {"type": "random"}},
        answerer={"type": "llm", "model": f"{server.judge}&price=1,2"},
        judge={"model": server.judge, "price": [1.0, 2.0]},
        metrics=["faithfulness", "answered"],
        ledger="ledger.sqlite",
    )
    found = run_systems(read_systems_config(path), base=folder)
    first = found.reports[0]
    stages: Any = first.run["stages"]
    assert first.metrics["answered"] == 1.0
    assert stages["answer"]["prompt_tokens"] > 0
    assert stages["score"]["calls"] > 0
    assert first.usage.cost == pytest.approx(
        (first.usage.prompt_tokens + 2 * first.usage.completion_tokens) / 1e6, rel=1e-6
    )
    calls = server.calls
    assert invoke(["run", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "tokens" in printed
    assert server.calls == calls


def test_a_threshold_gates_every_system(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rule names its system; one that misses it makes exit code 2."""
    path = config(
        folder,
        systems={"bm25": {"type": "bm25"}, "random": {"type": "random", "seed": 5}},
        metrics=[{"mrr": {"threshold": 0.9}}],
        answerer=None,
    )
    assert invoke(["run", str(path)]) == 2
    printed = capsys.readouterr().out
    assert "pass  bm25: mrr ≥ 0.9" in printed
    assert "FAIL  random: mrr ≥ 0.9" in printed


def test_a_bare_name_is_a_type(folder: Path) -> None:
    """``extractive`` stands for ``{type: extractive}``, and a system's name for a system without settings."""
    short = read_systems_config(config(folder, systems={"a": "bm25"}, answerer="extractive"))
    long = read_systems_config(config(folder, systems={"a": {"type": "bm25"}}, answerer={"type": "extractive"}))
    assert short == long
