"""What the fitting scripts share: labelled packs, folds, a logistic regression with signs, areas under curves."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Floats = NDArray[np.float64]
Row = dict[str, Any]
DATA = Path(__file__).resolve().parents[1] / "src" / "steelyard" / "resources"


def read(packs: Path, name: str, split: str = "dev") -> list[Row]:
    """The rows of one split of a pack; a file ``NAME.dev.jsonl`` holds only dev."""
    path = packs / f"{name}.jsonl"
    path = path if path.exists() else packs / f"{name}.dev.jsonl"
    return [row for row in map(json.loads, path.open(encoding="utf-8")) if row["split"] == split]


def groups(rows: Sequence[Row], keys: Callable[[Row], list[str]]) -> list[int]:
    """The group of each row: rows that share a key, directly or through others, are in one."""
    parent: dict[str, str] = {}

    def find(key: str) -> str:
        while parent.setdefault(key, key) != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    for row in rows:
        first, *others = keys(row)
        for other in others:
            parent[find(first)] = find(other)
    numbers: dict[str, int] = {}
    return [numbers.setdefault(find(keys(row)[0]), len(numbers)) for row in rows]


def folds(group: Sequence[int], count: int = 5, seed: int = 0) -> NDArray[np.intp]:
    """The fold of each row: whole groups, largest first into the emptiest fold."""
    sizes = np.bincount(group)
    shuffled = np.random.default_rng(seed).permutation(len(sizes))
    load, fold_of = np.zeros(count), np.zeros(len(sizes), dtype=np.intp)
    for one in sorted(shuffled, key=lambda x: -sizes[x]):
        fold_of[one] = load.argmin()
        load[fold_of[one]] += sizes[one]
    return fold_of[np.asarray(group)]


def weights(labels: Floats, source: Sequence[str], share: dict[str, float] | None = None) -> Floats:
    """Equal weight for both labels of a source, and for all sources but those with a ``share`` of their own."""
    given, names = np.ones(len(labels)), np.asarray(source)
    for name in sorted(set(source)):
        for label in (0, 1):
            held = (names == name) & (labels == label)
            given[held] = (share or {}).get(name, 1.0) / max(1, held.sum())
    return given * len(labels) / given.sum()


def logistic(
    counts: Floats, labels: Floats, source: Sequence[str], signs: Sequence[int], ridge: float, weight: Floats
) -> tuple[Floats, float]:
    """Coefficients in the counts' own units and the intercept, the mean of one intercept for each source.

    A count with sign 1 can only help, with -1 only hurt. The ridge is on coefficients of standardised counts.
    """
    middle, spread = counts.mean(axis=0), counts.std(axis=0)
    spread[spread < 1e-9] = 1.0
    names = sorted(set(source))
    dummies = np.array([[float(one == name) for name in names] for one in source])
    design = np.hstack([(counts - middle) / spread, dummies])
    penalty = np.r_[np.full(counts.shape[1], ridge), np.full(len(names), 1e-3)]

    def loss(beta: Floats) -> tuple[float, Floats]:
        logit = design @ beta
        value = (weight * (np.logaddexp(0, logit) - labels * logit)).sum() + 0.5 * (penalty * beta * beta).sum()
        return value, design.T @ (weight * (1 / (1 + np.exp(-logit)) - labels)) + penalty * beta

    bounds = [(0, None) if sign > 0 else (None, 0) for sign in signs] + [(None, None)] * len(names)
    start = np.zeros(design.shape[1])
    options = {"maxiter": 2000, "ftol": 1e-12, "gtol": 1e-8}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    coefficients = found[: counts.shape[1]] / spread
    return coefficients, float(found[counts.shape[1] :].mean() - middle @ coefficients)


def auc(labels: Floats, scores: Floats) -> float:
    """The chance that a good one scores above a bad one, ties half."""
    good, bad = scores[labels == 1], np.sort(scores[labels == 0])
    below, upto = np.searchsorted(bad, good, "left"), np.searchsorted(bad, good, "right")
    return float((below + upto).sum() / 2 / (len(good) * len(bad)))


def balanced_accuracy(labels: Floats, good: NDArray[np.bool_]) -> float:
    """Mean of the shares of good and of bad ones that are called so."""
    return float((good[labels == 1].mean() + (~good[labels == 0]).mean()) / 2)


def rescaled(labels: Floats, source: Sequence[str], logits: Floats) -> tuple[float, float]:
    """Slope and shift of a logit: probabilities fit the labels where good and bad are equally many (Platt 1999), and
    0.5 is where balanced accuracy, in the mean over sources, is best."""
    weight = weights(labels, source)
    beta, _ = logistic(logits[:, None], labels, ["all"] * len(labels), [1], 1e-6, weight)
    names = np.asarray(source)
    held = [names == name for name in sorted(set(source))]
    steps = np.quantile(logits, np.linspace(0.05, 0.95, 181))
    means = [np.mean([balanced_accuracy(labels[one], logits[one] >= step) for one in held]) for step in steps]
    smooth = np.convolve(means, np.ones(9) / 9, mode="valid")
    return float(beta[0]), float(-beta[0] * steps[4 + int(np.argmax(smooth))])


def reliability(labels: Floats, values: Floats, bins: int = 10) -> list[dict[str, float]]:
    """In each tenth of the values: their mean, and the share of good ones."""
    found = []
    for one in range(bins):
        held = (values >= one / bins) & ((values < (one + 1) / bins) | (one == bins - 1))
        if held.any():
            mean, share = float(values[held].mean()), float(labels[held].mean())
            found.append({"n": int(held.sum()), "mean": round(mean, 3), "good": round(share, 3)})
    return found


class Fitted(NamedTuple):
    """Coefficients and intercept, and what cross-validation said of them."""

    coefficients: Floats
    intercept: float
    validated: dict[str, dict[str, float]]
    reliability: list[dict[str, float]]


def fit_and_check(
    counts: Floats | list[Floats],
    labels: Floats,
    source: Sequence[str],
    group: Sequence[int],
    signs: Sequence[int],
    *,
    ridge: float,
    shares: dict[str, float] | None = None,
    repeats: int = 5,
) -> Fitted:
    """Fit on everything; say how well the same procedure does on folds that it has not seen.

    ``counts`` has a line per row, or an array of lines of which the one with the highest value counts. The scale of the
    logit comes from values out of fold, so that 0.5 is the threshold.
    """
    lines = [np.atleast_2d(one) for one in counts]
    names = np.asarray(source)

    def fit(rows: NDArray[np.intp]) -> tuple[Floats, float]:
        chosen = np.array([lines[row][lines[row].sum(axis=1).argmax()] for row in rows])
        weight = weights(labels[rows], names[rows].tolist(), shares)
        for _ in range(1 if all(len(lines[row]) == 1 for row in rows) else 4):
            beta, intercept = logistic(chosen, labels[rows], names[rows].tolist(), signs, ridge, weight)
            chosen = np.array([lines[row][(lines[row] @ beta).argmax()] for row in rows])
        return beta, intercept

    def predict(rows: NDArray[np.intp], beta: Floats, intercept: float) -> Floats:
        return np.array([(lines[row] @ beta).max() + intercept for row in rows])

    everything = np.arange(len(labels))
    runs = []
    for seed in range(repeats):
        fold, values = folds(group, seed=seed), np.zeros(len(labels))
        for one in range(5):
            held = np.flatnonzero(fold == one)
            values[held] = predict(held, *fit(np.flatnonzero(fold != one)))
        runs.append(values)
    logits = np.concatenate(runs)
    slope, shift = rescaled(np.tile(labels, repeats), list(source) * repeats, logits)
    runs = [1 / (1 + np.exp(-(slope * run + shift))) for run in runs]
    validated = {
        name: {
            "auc": round(float(np.mean([auc(labels[names == name], run[names == name]) for run in runs])), 4),
            "balanced_accuracy": round(
                float(np.mean([balanced_accuracy(labels[names == name], run[names == name] >= 0.5) for run in runs])),
                4,
            ),
        }
        for name in sorted(set(source))
    }
    beta, intercept = fit(everything)
    bins = reliability(np.tile(labels, repeats), np.concatenate(runs))
    return Fitted(beta * slope, intercept * slope + shift, validated, bins)


def finish(name: str, counts: Sequence[str], found: Fitted, provenance: dict[str, object], *, dry_run: bool) -> None:
    """Print what was found and write it, in one fixed form, as ``data/NAME.json`` of the package."""
    content = {
        "name": name,
        "revision": 1,
        "intercept": round(found.intercept, 4),
        "coefficients": {
            one: round(float(value), 4)
            for one, value in zip(counts, found.coefficients, strict=True)
            if abs(value) > 5e-5
        },
        "threshold": 0.5,
        "provenance": {**provenance, "cross_validated": found.validated, "reliability": found.reliability},
    }
    text = msgspec.json.format(msgspec.json.encode(content), indent=1)
    print(text.decode())
    if not dry_run:
        (DATA / f"{name}.json").write_bytes(text + b"\n")
