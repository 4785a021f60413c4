"""Answers that people labelled in full, with lexical metrics as the judge: 100 labels find the mean of all."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from steelyard import evaluate_rag
from steelyard.stats.intervals import interval
from steelyard.stats.ppi import corrected_mean

FIELDS = ("id", "user_input", "response", "retrieved_contexts", "reference")


@pytest.mark.parametrize(
    ("pack", "human", "judge"),
    [
        ("wice.dev", "faithful", "overlap_faithfulness"),
        ("factcheck_stance.dev", "faithful", "overlap_faithfulness"),
        ("evouna_nq", "correct", "token_f1"),
    ],
)
def test_the_corrected_interval_holds_what_people_say_of_all(shared: Path, pack: str, human: str, judge: str) -> None:
    """In at least 93 of 100 draws; the judge's own interval does not."""
    lines = (shared / "packs" / f"{pack}.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    people = np.array([row["human"][human] for row in rows], dtype=np.float64)
    samples = [{name: row[name] for name in FIELDS if name in row} for row in rows]
    scores = evaluate_rag(samples, metrics=[judge]).columns[judge].values
    truth = float(people[~np.isnan(scores)].mean())
    alone = interval(scores[~np.isnan(scores)])
    assert not alone.low <= truth <= alone.high
    hits = 0
    for seed in range(100):
        labels = np.full(len(rows), math.nan)
        kept = np.random.default_rng(seed).permutation(len(rows))[:100]
        labels[kept] = people[kept]
        found = corrected_mean(labels, scores)
        hits += found.low <= truth <= found.high
    assert hits >= 93
