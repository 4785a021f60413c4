"""Fit the coefficients of ``faithfulness`` [lexical] and write them into the package.

    python bench/fit_faithfulness.py PACKS [--dry-run]

Fits once, on the dev splits of five packs together: each pack and, within it, each label has the same weight, and each
pack an intercept of its own, so that base rates do not bend the slopes. Counts that speak for support can only raise
the value, mismatches only lower it. Folds of the cross-validation share no source document, claim or passage. No test
split is read.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import fitting
from steelyard.metrics.lexical.support_features import pooled, support

PACKS = ("begin_wow", "q2_wow", "wice", "summedits", "factcheck_stance")
SHARES = {"q2_wow": 1.3, "wice": 0.4, "summedits": 2.1, "factcheck_stance": 1.2}
RIDGE = 100.0
SIGNS = {
    "near": 1,
    "wide": 1,
    "frequent": 1,
    "bound": 1,
    "copied": 1,
    "covered": 1,
    "last": 1,
    "alike": 1,
    "numbers_found": 1,
    "numbers_missing": -1,
    "number_words_missing": -1,
    "names_missing": -1,
    "opposites": -1,
    "negation": -1,
    "repeated": -1,
    "small_talk": -1,
    "heaviest_missing": -1,
}


def keys(row: fitting.Row) -> list[str]:
    """What two rows must not share across folds: a passage, or the claim where passages are found for a claim."""
    found = ["passage " + text for text in row["retrieved_contexts"]]
    return [*found, "claim " + row["response"]] if row["dataset"] == "factcheck_stance" else found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("packs", type=Path)
    parser.add_argument("--dry-run", action="store_true", help="Print, and write nothing.")
    parser.add_argument("--repeats", type=int, default=5, help="Cross-validations with other folds.")
    options = parser.parse_args()
    rows = [row for name in PACKS for row in fitting.read(options.packs, name)]
    source = [row["dataset"] for row in rows]
    labels = np.array([float(row["human"]["faithful"]) for row in rows])
    pools = [pooled(support(row["response"], row["retrieved_contexts"])) for row in rows]
    counts = np.array([[pool[name] for name in SIGNS] for pool in pools])
    found = fitting.fit_and_check(
        counts,
        labels,
        source,
        fitting.groups(rows, keys),
        list(SIGNS.values()),
        ridge=RIDGE,
        shares=SHARES,
        repeats=options.repeats,
    )
    provenance = {
        "fitted_on": {name: source.count(name) for name in PACKS},
        "split": "dev",
        "labels": "human.faithful",
        "shares": SHARES,
        "ridge": RIDGE,
        "script": "bench/fit_faithfulness.py",
        "texts": "none kept; packs under CC-BY-4.0, Apache-2.0, ODC-BY",
    }
    fitting.finish("faithfulness", list(SIGNS), found, provenance, dry_run=options.dry_run)


if __name__ == "__main__":
    main()
