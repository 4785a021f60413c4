"""Progress lines: what stands last is what became of all the work."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard import evaluate_rag, script
from steelyard.cli import invoke, progress
from steelyard.cli.progress import Progress
from steelyard.core.progress import Count
from steelyard.core.records import Value
from steelyard.core.requests import Flow
from steelyard.evaluate.jury import evaluate_by_jury
from steelyard.models.engine import Cell, Engine
from tests.server import Server


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is shown from the first word on, and again only after a long while."""
    monkeypatch.setattr(progress, "QUIET_FOR", 0.0)
    monkeypatch.setattr(progress, "EVERY", 3600.0)


def test_the_last_line_has_the_final_counts(eager: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Words that came too soon after another are kept back, the last one until the end."""
    with Progress(4) as told:
        told(Count())
        told(Count(2, failed=1))
        told(Count(4, failed=4))
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" failed")[0] for line in lines] == ["0/4 done, 0 undefined, 0", "4/4 done, 0 undefined, 4"]


def test_quick_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """What is done within a second needs no progress."""
    with Progress() as told:
        told(Count(4, failed=4))
    assert capsys.readouterr().err == ""


def test_an_endpoint_that_is_dead(eager: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All fail: the last line says so."""
    rows = [{"id": str(n), "question": f"Who was {n}?", "answer": "Ada", "contexts": ["Ada"]} for n in range(4)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    judge = "http://127.0.0.1:9/v1#nobody"
    ledger = str(tmp_path / "ledger.sqlite")
    options = ["-m", "context_relevancy", "--judge", judge, "--ledger", ledger, "--offline"]
    assert invoke(["eval", str(tmp_path / "rows.jsonl"), *options]) == 3
    lines = [line for line in capsys.readouterr().err.splitlines() if " done, " in line]
    assert lines[-1].startswith("4 done, 0 undefined, 4 failed")


def test_variants_are_counted_together(
    eager: None, serve: Callable[..., Server], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Questions, answers and scores of all variants of a configuration of systems."""
    server = serve()
    rows = [{"id": str(n), "question": f"When did bridge {n} open?"} for n in range(3)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "text": "Bridges open."}\n')
    config = {
        "data": "rows.jsonl",
        "corpus": "corpus.jsonl",
        "systems": {"bm25": {"type": "bm25"}},
        "grid": {"k": [1, 2]},
        "metrics": ["context_relevancy"],
        "judge": server.judge,
        "ledger": "ledger.sqlite",
    }
    (tmp_path / "c.json").write_text(json.dumps(config))
    assert invoke(["run", str(tmp_path / "c.json")]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if " done, " in line]
    assert lines[-1].startswith("12 done, 0 undefined, 0 failed")  # 2 variants: 3 questions and 3 scores each


def test_judges_of_a_jury_are_counted_together() -> None:
    """Counts of the second judge begin where those of the first end."""
    told: list[tuple[int, int]] = []
    rows = [{"id": str(n), "response": f"Ada {n}"} for n in range(5)]

    def weigh(**options: object) -> object:
        return evaluate_rag(rows, metrics=["rubric(criteria=coherence)"], ledger=":memory:", **options)  # type: ignore[arg-type]

    def lenient(_: object) -> object:
        return {"reason": "r", "rating": 5}

    def strict(_: object) -> object:
        return {"reason": "r", "rating": 2}

    judges = [script(lenient), script(strict)]
    evaluate_by_jury(weigh, judges, progress=lambda count: told.append((count.done, count.usage.calls)))  # type: ignore[arg-type]
    assert told == sorted(told)
    assert told[-1] == (10, 10)


def test_an_engine_that_runs_again_counts_on() -> None:
    """Cells are counted over all runs of an engine, as its calls are."""
    told: list[int] = []

    def rule() -> Flow:
        yield from ()
        return Value(1.0)

    engine = Engine(ledger=":memory:", progress=lambda count: told.append(count.done))
    for _ in range(2):
        list(engine.run(Cell(number, rule) for number in range(3)))
    assert told[-1] == engine.done == 6
