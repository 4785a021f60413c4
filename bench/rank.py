"""CPU seconds, wall seconds and peak memory of ranking measures, beside pytrec_eval, ir_measures and ranx.

    python -m bench.rank [small|dl|msmarco|x10 …] [--data DIR] [--repeats 3] [--peers PYTHON]

Each tool runs in a process of its own, from the files to six measures of every query; the tools take turns and the
medians count. Then the evaluation alone, from dictionaries in memory. DIR holds ``<size>.qrels`` and
``<size>1.run``, which are made where they are absent (x10 takes 2.5 GB). PYTHON is an interpreter that has the peers,
if this one has not.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

SIZES = {
    "small": (50, 528_155, 120),
    "dl": (100, 138_364_198, 200),
    "msmarco": (6_980, 8_841_823, 1),
    "x10": (69_800, 8_841_823, 1),
}
"""Queries, documents of the collection, judgements of a query; 1,000 hits for each query."""

MAKE = """
import sys
import numpy as np
folder, size, queries, collection, judged = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
chance = np.random.default_rng(7)
ids = chance.choice(16 * queries, queries, replace=False).tolist()
graded = judged > 1
name = "doc_%010d" if graded else "%d"
with open(f"{folder}/{size}.qrels", "w") as qrels, open(f"{folder}/{size}1.run", "w") as run:
    for query in ids:
        relevant = chance.choice(collection, judged, replace=False)
        grades = chance.choice(4, judged, p=[0.6, 0.2, 0.13, 0.07]) if graded else np.ones(1, int)
        qrels.writelines(f"{query} 0 {name % doc} {grade}\\n" for doc, grade in zip(relevant.tolist(), grades.tolist()))
        found = chance.choice(collection, 1000, replace=False)
        places = np.unique((chance.exponential(80, min(judged, 60))).astype(int))
        places = places[places < 1000]
        found = found[~np.isin(found, relevant)]
        found[places] = relevant[: len(places)]
        scores = np.round(np.sort(chance.gamma(4, 2.2, len(found)))[::-1] + 5, 4)
        run.writelines(
            f"{query} Q0 {name % doc} {rank} {score:.6f} made\\n"
            for rank, (doc, score) in enumerate(zip(found.tolist(), scores.tolist()), start=1)
        )
"""

OURS = ("ndcg@10", "map", "mrr", "recall@100", "precision@10", "ndcg")

STEELYARD = """
import sys
from steelyard.ranking.trec.files import load_rankings
from steelyard.metrics.lookup import get_metric
rankings = load_rankings(sys.argv[2], sys.argv[1], compat="trec_eval")
for name in sys.argv[3:]:
    metric = get_metric(name)
    values = rankings.settle(metric.rule(rankings, **metric.params))  # one per query
    print(name, values.mean())
"""

PYTREC_EVAL = """
import sys
import pytrec_eval
with open(sys.argv[1]) as file:
    qrels = pytrec_eval.parse_qrel(file)
with open(sys.argv[2]) as file:
    run = pytrec_eval.parse_run(file)
measures = {"ndcg_cut.10", "map", "recip_rank", "recall.100", "P.10", "ndcg"}
results = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
for name in "ndcg_cut_10", "map", "recip_rank", "recall_100", "P_10", "ndcg":
    print(name, sum(row[name] for row in results.values()) / len(results))
"""

IR_MEASURES = """
import sys
import ir_measures
from ir_measures import AP, RR, P, R, nDCG
qrels = ir_measures.read_trec_qrels(sys.argv[1])
run = ir_measures.read_trec_run(sys.argv[2])
rows = list(ir_measures.iter_calc([nDCG @ 10, AP, RR, R @ 100, P @ 10, nDCG], qrels, run))
print(len(rows))
"""

RANX = """
import sys
from ranx import Qrels, Run, evaluate
qrels = Qrels.from_file(sys.argv[1], kind="trec")
run = Run.from_file(sys.argv[2], kind="trec")
print(evaluate(qrels, run, ["ndcg@10", "map", "mrr", "recall@100", "precision@10", "ndcg"], make_comparable=True))
"""

DICTIONARIES = """
import sys, time
from steelyard.ranking.trec.files import load_rankings, read_qrels, read_run
from steelyard.metrics.lookup import get_metric
run = read_run(sys.argv[2])
qrels = {q: {d: int(g) for d, g in row.items()} for q, row in read_qrels(sys.argv[1]).items()}
metrics = [get_metric(name) for name in sys.argv[3:]]
def ours():
    rankings = load_rankings(run, qrels, compat="trec_eval")
    return [metric.rule(rankings, **metric.params) for metric in metrics]
try:
    import pytrec_eval
    measures = {"ndcg_cut.10", "map", "recip_rank", "recall.100", "P.10", "ndcg"}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, measures)
except ImportError:
    theirs = None
ours()
for turn in range(5):
    start = time.process_time()
    ours()
    middle = time.process_time()
    if theirs is not None:
        theirs.evaluate(run)
    print(middle - start, time.process_time() - middle if theirs is not None else "nan")
"""


class Cost(NamedTuple):
    """What one process took."""

    cpu: float
    wall: float
    megabytes: float


def measured(command: Sequence[str]) -> Cost | None:
    """Run a command to its end; None if it fails (a peer that is not installed)."""
    import time

    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return None
    return Cost(usage.ru_utime + usage.ru_stime, time.perf_counter() - start, usage.ru_maxrss / 1024)


def median(costs: Sequence[Cost]) -> Cost:
    """The median of each figure."""
    return Cost(*(statistics.median(column) for column in zip(*costs, strict=True)))


def compare(size: str, folder: Path, repeats: int, peers: str) -> None:
    """Measure all tools on one size and print a table."""
    qrels, run = folder / f"{size}.qrels", folder / f"{size}1.run"
    if not (qrels.exists() and run.exists()):
        print(f"making {run} …", flush=True)
        subprocess.run([sys.executable, "-c", MAKE, str(folder), size, *map(str, SIZES[size])], check=True)
    files = [str(qrels), str(run)]
    asked = [part for name in OURS for part in ("-m", name)]
    line = [sys.executable, "-m", "steelyard", "rank", *files, *asked, "--per-query", "--format", "trec_eval"]
    tools = {
        "pytrec_eval": [peers, "-c", PYTREC_EVAL, *files],
        "steelyard rank": line,
        "steelyard": [sys.executable, "-c", STEELYARD, *files, *OURS],
        "ir_measures": [peers, "-c", IR_MEASURES, *files],
        "ranx": [peers, "-c", RANX, *files],
    }
    if size == "x10":
        tools = {name: tools[name] for name in ("steelyard rank", "steelyard")}
    costs: dict[str, list[Cost]] = {name: [] for name in tools}
    for _ in range(repeats):
        for name, command in tools.items():
            if (cost := measured(command)) is not None:
                costs[name].append(cost)
    print(f"\n{size}: from files, whole process (median of {repeats})")
    print(f"{'':16}{'CPU s':>9}{'wall s':>9}{'MB':>9}{'CPU ratio':>11}{'MB ratio':>10}")
    theirs = median(costs["pytrec_eval"]) if costs.get("pytrec_eval") else None
    for name, several in costs.items():
        if not several:
            print(f"{name:16}  not installed")
            continue
        cost = median(several)
        ratios = f"{cost.cpu / theirs.cpu:11.3f}{cost.megabytes / theirs.megabytes:10.3f}" if theirs else ""
        print(f"{name:16}{cost.cpu:9.2f}{cost.wall:9.2f}{cost.megabytes:9.0f}{ratios}", flush=True)
    if size != "x10":
        dictionaries(size, files)


def dictionaries(size: str, files: Sequence[str]) -> None:
    """The evaluation alone, from dictionaries."""
    command = [sys.executable, "-c", DICTIONARIES, *files, *OURS]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    turns = [tuple(map(float, line.split())) for line in shown.splitlines()]
    ours, theirs = (statistics.median(column) for column in zip(*turns, strict=True))
    print(f"{size}: from dict of dicts, evaluation alone (median of {len(turns)} in turn)")
    print(
        f"{'steelyard':16}{ours:9.4f} CPU s\n{'pytrec_eval':16}{theirs:9.4f} CPU s, {theirs / ours:.1f} times as long"
    )


def main() -> int:
    """Read the arguments and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", choices=[[], *SIZES], metavar="SIZE", help="default: small")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "steelyard-bench")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peers", default=sys.executable)
    given = parser.parse_args()
    given.data.mkdir(parents=True, exist_ok=True)
    for size in given.sizes or ["small"]:
        compare(size, given.data, given.repeats, given.peers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
