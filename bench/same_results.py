"""Compare the results of two source trees: ``python -m bench.same_results OLD/src NEW/src``.

Both trees run the same commands: every golden ranking case with each of its flags, the three runs of trec_robust03, the
demo, lexical samples, and a judged run against a local endpoint. Their outputs must be equal byte for byte, apart from

- times, and the versions of Steelyard and its libraries;
- what depends on the timing of requests: the order of keys of the run block, and which cell pays for a shared request
  (``run.used``);
- text: messages, reasons and hints may be worded anew. Each text that differs is printed, old beside new, so that a
  reader can see that only words differ. Numbers, statuses, ids, field names and the shape of the file never may.

Exit code 0 where that holds, else 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.server import Server

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"
SHARED = ROOT.parent / "shared"
FLAGS = {"default": "", "c": "-c", "l2": "-l 2", "J": "-J", "M5": "-M 5"}
TIMES = {"started", "finished", "seconds", "generated_at"}
JUDGED = "faithfulness answer_relevancy context_relevancy context_recall context_precision answer_correctness"
LEXICAL = "exact_match token_f1 contains rouge_l chrf context_recall context_precision faithfulness answer_correctness"


def main() -> int:
    """Compare every result; the number of those that differ decides the exit code."""
    parser = argparse.ArgumentParser(description="Compare the results of two source trees.")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    given = parser.parse_args()
    wrong = same = 0
    texts: dict[tuple[str, str], str] = {}
    with tempfile.TemporaryDirectory() as folder, Server() as server:
        for name, command, made in commands(Path(folder), server):
            outputs = [run(tree.resolve(), command, made) for tree in (given.old, given.new)]
            differences = list(compared(*outputs, texts, name))
            wrong += bool(differences)
            same += not differences
            for line in differences[:5]:
                print(f"DIFFERS {name}: {line}")
    for (old, new), name in sorted(texts.items()):
        print(f"words ({name}):\n  - {old}\n  + {new}")
    print(f"{same} results equal, {wrong} different, {len(texts)} texts worded anew")
    return int(wrong > 0)


def commands(folder: Path, server: Server) -> Iterator[tuple[str, list[str], Path | None]]:
    """The name of a result, its command, and the file that it writes (None: what it prints)."""
    for case in sorted(path for path in GOLDEN.iterdir() if path.is_dir()):
        pair = [str(case / "qrels.gz"), str(case / "run.gz")]
        for flag, options in FLAGS.items():
            measured = ["-m", "all_trec", "-q", "--precision", "17", "--format", "trec_eval", *options.split()]
            yield f"golden {case.name} {flag}", ["rank", *pair, *measured], None
        yield f"golden {case.name} report", ["rank", *pair, "--duplicates", "best", "--format", "json"], None
    robust = SHARED / "retrieval" / "trec_robust03"
    for path in sorted(robust.glob("input.*.gz")) if robust.is_dir() else ():
        if "expected" not in path.name:
            pair = [str(robust / "qrels.txt"), str(path)]
            yield f"{path.name} all_trec", ["rank", *pair, "-m", "all_trec", "-q", "--format", "trec_eval"], None
            yield f"{path.name} report", ["rank", *pair, "--out", str(folder / "robust")], folder / "robust/report.json"
    demo = folder / "demo"
    for system in ("bm25", "overlap"):
        for kind in ("rankings", "answers"):
            made = demo / system / kind / "report.json"
            yield f"demo {system} {kind}", ["demo", "--out", str(demo)], made
    data = folder / "samples.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in samples(60)), encoding="utf-8")
    out = folder / "out"
    report = out / "report.json"
    by = ["--by", "question_type", "--out", str(out)]
    yield "lexical samples", ["eval", str(data), "-m", LEXICAL, *by], report
    judge = ["--judge", server.judge, "--embedder", server.judge, "--ledger", str(folder / "ledger.sqlite")]
    yield "judged samples", ["eval", str(data), "-m", JUDGED, *judge, *by], report


def samples(count: int) -> Iterator[dict[str, Any]]:
    """Rows with answers of every kind: right, wrong, blank and missing."""
    for number in range(count):
        year = 1800 + number
        answers = (f"It was built in {year}.", f"In {year + 1}, by Ada Stone.", "", None, "I do not know.")
        yield {
            "id": f"s{number}",
            "question": f"When was bridge number {number} built?",
            "answer": answers[number % 5],
            "ground_truth": [f"in {year}", str(year)] if number % 3 else f"It was built in {year}.",
            "contexts": [f"Bridge {number} was built in {year}.", "The river is wide."] if number % 7 else [],
            "question_type": "temporal" if number % 2 else "other",
        }


def run(tree: Path, command: list[str], made: Path | None) -> bytes:
    """What a command of a tree writes, or prints with its exit code."""
    for path in () if made is None else made.parent.parent.glob("ledger.sqlite*"):
        path.unlink()
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(
            [sys.executable, "-m", "steelyard", *command], cwd=place, env=environment, capture_output=True, check=False
        )
    if made is None:
        return done.stdout + b"exit %d" % done.returncode
    if not made.exists():
        raise SystemExit(f"{tree}: {' '.join(command)} wrote no {made}\n{done.stderr.decode()}")
    return made.read_bytes()


def compared(old: bytes, new: bytes, texts: dict[tuple[str, str], str], name: str) -> Iterator[str]:
    """The differences of two results; texts that differ in words alone are put into ``texts``."""
    if old == new:
        return
    try:
        before, after = (json.loads(one.partition(b"exit ")[0] or one) for one in (old, new))
    except ValueError:
        pairs = zip(old.decode().splitlines(), new.decode().splitlines(), strict=False)
        yield next((f"{one!r} -> {other!r}" for one, other in pairs if one != other), "another number of lines")
        return
    yield from _differences(before, after, "$", texts, name)


def _differences(old: Any, new: Any, where: str, texts: dict[tuple[str, str], str], name: str) -> Iterator[str]:
    last = where.rpartition(".")[2]
    if last in TIMES or where.startswith("$.versions") or where in {"$.run.stages", "$.run.used"}:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        if list(old) != list(new) and (where != "$.run" or set(old) != set(new)):
            yield f"{where}: keys {list(old)} -> {list(new)}"
            return
        for key, value in old.items():
            yield from _differences(value, new[key], f"{where}.{key}", texts, name)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(one, other, f"{where}[{at}]", texts, name)
    elif isinstance(old, str) and isinstance(new, str) and old != new:
        texts.setdefault((old, new), name)
    elif old != new or type(old) is not type(new):
        yield f"{where}: {old!r} -> {new!r}"


if __name__ == "__main__":
    sys.exit(main())
