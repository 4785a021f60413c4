"""Fit the coefficients of ``context_relevancy`` [lexical] and write them into the package.

    python bench/fit_relevance.py PACKS [--cosine] [--dry-run]

Fits on the dev split of factcheck_stance alone, the only pack with labels of relevance: claims, and passages that were
found for them. Folds share no claim and no passage.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import fitting
from fit_faithfulness import keys
from steelyard.metrics.lexical.support_features import relevance

PACK = "factcheck_stance"
RIDGE = 100.0
SIGNS = {
    "near": 1,
    "wide": 1,
    "whole": 1,
    "frequent": 1,
    "covered": 1,
    "first": 1,
    "last": 1,
    "names_missing": -1,
    "heaviest_missing": -1,
    "late": -1,
    "prose": 1,
    "length": 1,
}
COSINES = {"cosine": 1, "nearest": 1}


def add_cosines(rows: list[fitting.Row], pools: list[dict[str, float]]) -> None:
    """The cosine of the question with the passage, and with its nearest sentence, by the local embedder."""
    from steelyard.models.local_embedder import embed_texts
    from steelyard.stats.cosine import cosine
    from steelyard.text.sentences import sentences

    parts = [[row["retrieved_contexts"][0], *sentences(row["retrieved_contexts"][0])] for row in rows]
    texts = sorted({text for row, part in zip(rows, parts, strict=True) for text in [row["user_input"], *part]})
    vectors = dict(zip(texts, embed_texts(texts), strict=True))
    for row, part, pool in zip(rows, parts, pools, strict=True):
        near = [max(0.0, cosine(vectors[row["user_input"]], vectors[text])) for text in part]
        pool |= {"cosine": near[0], "nearest": max(near[1:])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("packs", type=Path)
    parser.add_argument("--cosine", action="store_true", help="Fit the variant for an embedder.")
    parser.add_argument("--dry-run", action="store_true", help="Print, and write nothing.")
    parser.add_argument("--repeats", type=int, default=5, help="Cross-validations with other folds.")
    options = parser.parse_args()
    rows = fitting.read(options.packs, PACK)
    labels = np.array([float(row["human"]["relevant"]) for row in rows])
    pools = [relevance(row["user_input"], row["retrieved_contexts"][0]) or {} for row in rows]
    signs = SIGNS
    if options.cosine:
        add_cosines(rows, pools)
        signs = SIGNS | COSINES
    counts = np.array([[pool[name] for name in signs] for pool in pools])
    found = fitting.fit_and_check(
        counts,
        labels,
        [PACK] * len(rows),
        fitting.groups(rows, keys),
        list(signs.values()),
        ridge=RIDGE,
        repeats=options.repeats,
    )
    provenance = {
        "fitted_on": {PACK: len(rows)},
        "split": "dev",
        "labels": "human.relevant",
        "ridge": RIDGE,
        "script": "bench/fit_relevance.py",
        "texts": "none kept; pack under Apache-2.0",
    }
    name = "relevance_cosine" if options.cosine else "relevance"
    fitting.finish(name, list(signs), found, provenance, dry_run=options.dry_run)


if __name__ == "__main__":
    main()
