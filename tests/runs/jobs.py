"""What the tests of jobs share: a configuration, the report of one process, and how reports are compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from steelyard.io.storage import folder_at
from steelyard.reports.report import Report
from steelyard.runs.config import read_config
from steelyard.runs.run_config import run
from tests.server import Server

METRICS = ["faithfulness", "context_precision", "token_f1", "err@5", {"context_relevancy": {"threshold": 0.1}}]


def configured(folder: Path, server: Server, *, samples: int = 60, **settings: Any) -> Path:
    """A configuration of judged, lexical and ranking metrics over some samples."""
    rows = [
        {
            "id": f"s{number}",
            "user_input": f"When did bridge {number} open?",
            "response": f"Bridge {number} opened in 19{number:02}. It is made of steel.",
            "retrieved_contexts": [f"Bridge {number} opened in 19{number:02}.", "A mill stood by the river."],
            "reference": f"In 19{number:02}.",
            "retrieved_ids": ["a", "b"],
            "relevance": {"b": 1 + number % 4},
            "tags": {"kind": "odd" if number % 2 else "even"},
        }
        for number in range(samples)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    judge = {"model": server.judge, "price": [0.15, 0.6]}
    config = {"data": "samples.jsonl", "judge": judge, "metrics": METRICS, "by": "kind", "ledger": "one.sqlite"}
    path = folder / "config.json"
    path.write_text(json.dumps({**config, **settings}), encoding="utf-8")
    return path


def of_one_process(path: Path, server: Server) -> tuple[dict[str, Any], int]:
    """The report that a run without parts makes, and how many calls it takes."""
    server.reset()
    report = run(read_config(path), base=path.parent).report
    calls = server.calls
    server.reset()
    return plain(report), calls


def plain(report: Report | Path) -> dict[str, Any]:
    """A report as saved, without its ``run`` block but for what was used: of that all but what the ledger answered."""
    saved = json.loads(report.to_json() if isinstance(report, Report) else report.read_bytes())
    used = saved.pop("run").get("used", {"usage": {}, "cells": {}})
    cells = {label: {row: _asked(one) for row, one in rows.items()} for label, rows in used["cells"].items()}
    return {**saved, "usage": _asked(used["usage"]), "used": cells}


def _asked(usage: dict[str, Any]) -> dict[str, Any]:
    """What was asked, whoever answered."""
    kept = {key: value for key, value in usage.items() if key not in ("cached", "seconds")}
    return {**kept, "calls": usage.get("calls", 0) + usage.get("cached", 0)}


def text(report: dict[str, Any]) -> str:
    """A report as text, so that two are compared to the last digit and in their order."""
    return json.dumps(report)


def answered(job: Path) -> int:
    """How many replies the ledgers of a job hold."""
    return sum(path.read_bytes().count(b'{"reply":') for path in (job / "ledger").glob("*/*.jsonl"))


def folder_of(path: Path) -> Any:
    return folder_at(str(path))
