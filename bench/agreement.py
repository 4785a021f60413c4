"""Agreement of the embedded judges with people over all packs, and what they cost.

    python bench/agreement.py PACKS [--embedder local] [--dev]

Prints the tables of docs/agreement.md: cross-validated figures, as the coefficients files have them; for each pack and
split the figures of the shipped coefficients (on dev they have seen the labels, on test not); milliseconds of one core
a sample. ``--dev`` reads no test split: use it while anything is still to be chosen.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from steelyard import get_metric
from steelyard.cli.agreement import shown
from steelyard.io.samples import read_samples
from steelyard.judges.metric_agreement import measure_agreement
from steelyard.metrics.lexical.passage_index import passages_of
from steelyard.stats.logistic import model

MODELS = ("correctness", "correctness_cosine", "faithfulness", "relevance", "relevance_cosine")
COSINES = {"correct": "semantic_correctness", "preference": "semantic_correctness", "relevant": "semantic_relevancy"}
TIMED = (
    ("evouna_nq", "answer_correctness"),
    ("evouna_nq", "answer_relevancy"),
    ("begin_wow", "faithfulness"),
    ("factcheck_stance", "faithfulness"),
    ("factcheck_stance", "context_relevancy"),
    ("summedits", "faithfulness"),
    ("wice", "faithfulness"),
)


def validated() -> Iterator[str]:
    """What cross-validation said, from the coefficients files."""
    yield "| model | pack | AUC | balanced accuracy |\n| --- | --- | --- | --- |"
    for name in MODELS:
        figures = model(name).provenance["cross_validated"]
        assert isinstance(figures, dict)
        for pack, one in figures.items():
            assert isinstance(one, dict)
            yield f"| {name} | {pack} | {one['auc']:.3f} | {one['balanced_accuracy']:.3f} |"


def reliability(name: str) -> Iterator[str]:
    """How often samples of each tenth of the values are good, out of fold."""
    yield "| mean value | share good | n |\n| --- | --- | --- |"
    bins = model(name).provenance["reliability"]
    assert isinstance(bins, list)
    for one in bins:
        assert isinstance(one, dict)
        yield f"| {one['mean']:.2f} | {one['good']:.2f} | {one['n']} |"


def only_dev(path: Path, folder: Path) -> Path:
    """A copy of a pack without its test split."""
    rows = [line for line in path.open(encoding="utf-8") if json.loads(line)["split"] == "dev"]
    copy = folder / path.name
    copy.write_text("".join(rows), encoding="utf-8")
    return copy


def milliseconds(path: Path, name: str, least: int = 300) -> tuple[float, float]:
    """CPU time a sample, median and 95th percentile, with an empty memory of passages."""
    rule = get_metric(name, way="lexical").rule
    taken = []
    for sample in read_samples(path)[:least]:
        passages_of.cache_clear()
        start = time.process_time()
        rule(sample)
        taken.append((time.process_time() - start) * 1000)
    return statistics.median(taken), sorted(taken)[int(len(taken) * 0.95)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("packs", type=Path)
    parser.add_argument("--embedder", help="Weigh the variants with a cosine too.")
    parser.add_argument("--dev", action="store_true", help="Leave the test splits unread.")
    options = parser.parse_args()
    print("\n".join(validated()), end="\n\n")
    with TemporaryDirectory() as folder:
        paths = sorted(options.packs.glob("*.jsonl"))
        if options.dev:
            paths = [only_dev(path, Path(folder)) for path in paths]
        found = [one for path in paths for one in measure_agreement(path) if one.slice != "all"]
        if options.embedder:
            for path in paths:
                labels = {one.label for one in found if one.pack == path.name.partition(".")[0]}
                for label in labels:
                    name = COSINES.get("preference" if label.startswith("pref") else label)
                    if name:
                        found += measure_agreement(path, metrics=[name], label=label, embedder=options.embedder)
        print(shown(found, markdown=True), end="\n\n")
        for name in MODELS[0], "faithfulness":
            print(f"{name}\n" + "\n".join(reliability(name)), end="\n\n")
        print("| pack | metric | median ms | 95 % |\n| --- | --- | --- | --- |")
        for pack, name in TIMED:
            path = next(path for path in paths if path.name.startswith(pack))
            median, high = milliseconds(path, name)
            print(f"| {pack} | {name} | {median:.2f} | {high:.2f} |", flush=True)


if __name__ == "__main__":
    main()
