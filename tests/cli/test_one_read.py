"""A command reads its samples once: it opens their file as often as one ``read_samples`` does (which opens it several
times, to look for compression). An audit hook counts the opens, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server import Server

COUNTED = """
import sys

data, *arguments = sys.argv[1:]
opens = []
sys.addaudithook(lambda event, args: opens.append(args[0]) if event == "open" and str(args[0]) == data else None)
from steelyard import read_samples

read_samples(data)
once = len(opens)
opens.clear()
from steelyard.cli import invoke

code = invoke(arguments)
print(f"{len(opens) / once:g} reads, code {code}", file=sys.stderr)
"""
ROWS = [
    {"id": str(number), "user_input": "Who?", "response": "Ada", "reference": "Ada", "retrieved_contexts": ["Ada did."]}
    for number in range(5)
]


@pytest.fixture
def server(serve: Callable[..., Any]) -> Server:
    """An endpoint that answers by the schema."""
    started: Server = serve()
    return started


def reads(folder: Path, *arguments: str) -> str:
    """Run a command on rows.jsonl of a folder; how often it read the file, and its exit code."""
    done = subprocess.run(
        [sys.executable, "-c", COUNTED, str(folder / "rows.jsonl"), *arguments],
        cwd=folder,
        env={**os.environ, "STEELYARD_API_KEY": "k"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr.splitlines()[-1]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A file of samples."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


def test_eval_reads_its_samples_once(data: Path, server: Server) -> None:
    """Without a judge, with one whose plan is printed first, with a jury, and in a dry run."""
    judge = ["-m", "context_relevancy", "--judge", server.judge]
    assert reads(data.parent, "eval", str(data), "-m", "exact_match") == "1 reads, code 0"
    assert reads(data.parent, "eval", str(data), *judge, "--dry-run") == "1 reads, code 0"
    assert reads(data.parent, "eval", str(data), *judge) == "1 reads, code 0"
    assert reads(data.parent, "eval", str(data), *judge, "--judge", f"{server.judge}&seed=2") == "1 reads, code 0"


def test_run_reads_its_samples_once(data: Path, server: Server) -> None:
    """With a judge, whose plan is printed first."""
    config = {"data": data.name, "metrics": ["context_relevancy", "exact_match"], "judge": server.judge}
    (data.parent / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert reads(data.parent, "run", str(data.parent / "config.json"), "--dry-run") == "1 reads, code 0"
    assert reads(data.parent, "run", str(data.parent / "config.json")) == "1 reads, code 0"
