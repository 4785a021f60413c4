"""Fit the coefficients of ``answer_correctness`` [lexical], and of its variant with a cosine.

    python bench/fit_correctness.py PACKS [--cosine] [--dry-run]

Fits on the dev split of evouna_nq alone: short factual questions, answers of five systems, judged by people. Of
several references the one with the highest probability counts, so fitting and choosing take turns. ``--cosine`` fits
the variant and needs the extra ``local``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import fitting
from steelyard.metrics.lexical.correctness_features import compared

PACK = "evouna_nq"
RIDGE = 300.0
NAMES = (
    "token_f1",
    "content_f1",
    "weighted_f1",
    "recall",
    "told",
    "ordered",
    "bigrams",
    "contains",
    "letters",
    "fuzzy",
)
SIGNS = {**dict.fromkeys(NAMES, 1), "numbers_wrong": -1}


def keys(row: fitting.Row) -> list[str]:
    """Answers to one question stay in one fold."""
    return [row["user_input"]]


def counts_of(rows: list[fitting.Row], names: list[str], *, cosine: bool) -> list[fitting.Floats]:
    """One line of counts for each reference of each row."""
    found = [[compared(row["response"], one, row["user_input"]) for one in row["reference"]] for row in rows]
    if cosine:
        from steelyard.models.local_embedder import embed_texts
        from steelyard.stats.cosine import cosine as angle

        texts = sorted({text for row in rows for text in [row["response"], *row["reference"]]})
        vectors = dict(zip(texts, embed_texts(texts), strict=True))
        for row, lines in zip(rows, found, strict=True):
            for line, reference in zip(lines, row["reference"], strict=True):
                line["cosine"] = max(0.0, angle(vectors[row["response"]], vectors[reference]))
    return [np.array([[line[name] for name in names] for line in lines]) for lines in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("packs", type=Path)
    parser.add_argument("--cosine", action="store_true", help="Fit the variant for an embedder.")
    parser.add_argument("--dry-run", action="store_true", help="Print, and write nothing.")
    parser.add_argument("--repeats", type=int, default=5, help="Cross-validations with other folds.")
    options = parser.parse_args()
    rows = fitting.read(options.packs, PACK)
    signs = {**SIGNS, "cosine": 1} if options.cosine else SIGNS
    names = list(signs)
    found = fitting.fit_and_check(
        counts_of(rows, names, cosine=options.cosine),
        np.array([float(row["human"]["correct"]) for row in rows]),
        [PACK] * len(rows),
        fitting.groups(rows, keys),
        list(signs.values()),
        ridge=RIDGE,
        repeats=options.repeats,
    )
    provenance = {
        "fitted_on": {PACK: len(rows)},
        "split": "dev",
        "labels": "human.correct",
        "ridge": RIDGE,
        "script": "bench/fit_correctness.py",
        "texts": "none kept; pack under Apache-2.0",
    }
    name = "correctness_cosine" if options.cosine else "correctness"
    fitting.finish(name, names, found, provenance, dry_run=options.dry_run)


if __name__ == "__main__":
    main()
