"""Fit the coefficients of ``context_relevancy`` [lexical] and write them into the package.

    python bench/fit_relevance.py PACKS [--dry-run]

Fits on the dev split of factcheck_stance alone, the only pack with labels of relevance: claims, and passages that were
found for them. Folds share no claim and no passage.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import fitting
import numpy as np
from fit_faithfulness import keys

from steelyard.grounding import relevance

PACK = "factcheck_stance"
RIDGE = 30.0
SIGNS = {
    "near": 1,
    "wide": 1,
    "whole": 1,
    "often": 1,
    "covered": 1,
    "last": 1,
    "names_missing": -1,
    "heaviest_missing": -1,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("packs", type=Path)
    parser.add_argument("--dry-run", action="store_true", help="Print, and write nothing.")
    parser.add_argument("--repeats", type=int, default=5, help="Cross-validations with other folds.")
    options = parser.parse_args()
    rows = fitting.read(options.packs, PACK)
    labels = np.array([float(row["human"]["relevant"]) for row in rows])
    pools = [relevance(row["user_input"], row["retrieved_contexts"][0]) or {} for row in rows]
    counts = np.array([[pool[name] for name in SIGNS] for pool in pools])
    found = fitting.fit_and_check(
        counts,
        labels,
        [PACK] * len(rows),
        fitting.groups(rows, keys),
        list(SIGNS.values()),
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
    fitting.finish("relevance", list(SIGNS), found, provenance, dry_run=options.dry_run)


if __name__ == "__main__":
    main()
