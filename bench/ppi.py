"""Do corrected means cover, and what does a judge add to a few human labels?

    python bench/ppi.py [coverage] [strata] [packs] [--repeats 2000] [--packs-in DIR]

``coverage`` and ``strata`` are simulations with known truth: coverage of a 95 % interval should lie within 93-97 %, and
the corrected interval should never be more than 5 % wider than that of the labels alone. ``packs`` draws 100 labels of
answers that people have labelled in full, with lexical metrics as the judge. A figure outside is marked with a star.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from steelyard.stats.intervals import interval
from steelyard.stats.ppi import Corrected, corrected_difference, corrected_mean

Pairs = tuple[np.ndarray, np.ndarray]
Draw = Callable[[np.random.Generator, int], Pairs]
"""Human labels and judge's scores of that many samples; the labels' true mean is the second item of JUDGES."""


def graded(correlation: float, bias: float = 0.0) -> Draw:
    """Ratings around .6 and scores that follow them so closely, off by a bias and on a narrower scale."""

    def draw(rng: np.random.Generator, n: int) -> Pairs:
        labels = rng.normal(0.0, 1.0, n)
        scores = correlation * labels + math.sqrt(1 - correlation**2) * rng.normal(0.0, 1.0, n)
        return 0.6 + 0.2 * labels, 0.6 + bias + 0.1 * scores

    return draw


def scored(correlation: float, share: float, bias: float = 0.0) -> Draw:
    """Pass or fail by people, and a score that correlates with it."""

    def draw(rng: np.random.Generator, n: int) -> Pairs:
        labels = (rng.random(n) < share) * 1.0
        even = (labels - share) / math.sqrt(share * (1 - share))
        scores = correlation * even + math.sqrt(1 - correlation**2) * rng.normal(0.0, 1.0, n)
        return labels, 0.5 + bias + 0.2 * scores

    return draw


def verdicts(share: float, *, passes_bad: float, fails_good: float) -> Draw:
    """Pass or fail by people, and a judge that says pass or fail, wrong at these rates."""

    def draw(rng: np.random.Generator, n: int) -> Pairs:
        labels = (rng.random(n) < share) * 1.0
        wrong = rng.random(n) < np.where(labels == 1, fails_good, passes_bad)
        return labels, np.where(wrong, 1 - labels, labels)

    return draw


JUDGES: dict[str, tuple[Draw, float]] = {
    "ratings, correlation .8": (graded(0.8), 0.6),
    "ratings, correlation .8, judge .3 too high": (graded(0.8, 0.3), 0.6),
    "ratings, correlation .5, judge .3 too high": (graded(0.5, 0.3), 0.6),
    "ratings, judge knows nothing": (graded(0.0), 0.6),
    "pass .7, score, correlation .8": (scored(0.8, 0.7), 0.7),
    "pass .7, score, correlation .8, .3 too high": (scored(0.8, 0.7, 0.3), 0.7),
    "pass .9, score, correlation .5, .3 too low": (scored(0.5, 0.9, -0.3), 0.9),
    "pass .7, score knows nothing": (scored(0.0, 0.7), 0.7),
    "pass .7, verdicts, 15 % wrong each way": (verdicts(0.7, passes_bad=0.15, fails_good=0.15), 0.7),
    "pass .7, verdicts, lets 50 % of bad pass": (verdicts(0.7, passes_bad=0.5, fails_good=0.0), 0.7),
    "pass .7, verdicts, fails 30 % of good": (verdicts(0.7, passes_bad=0.0, fails_good=0.3), 0.7),
    "pass .9, verdicts, 3 % wrong each way": (verdicts(0.9, passes_bad=0.03, fails_good=0.03), 0.9),
}
SIZES = ((50, 1000), (100, 1000), (200, 2000))


def _star(share: float) -> str:
    return f"{100 * share:.1f}" + ("" if 0.93 <= share <= 0.97 else "*")


def coverage(repeats: int) -> None:
    print(f"\n## Coverage of the corrected mean ({repeats:,} samples each)\n")
    print(
        "| people and judge | labels | judged | corrected | judge alone | labels alone | width | widest | effective |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, (draw, truth) in JUDGES.items():
        for n, judged in SIZES:
            rng = np.random.default_rng([n, judged, *name.encode()])
            hits, widths, effective = np.zeros(3), [], []
            for _ in range(repeats):
                labels, scores = draw(rng, judged)
                labels[n:] = math.nan
                found = corrected_mean(labels, scores)
                half = 1.96 * scores.std() / math.sqrt(judged)
                hits += [
                    _in(found, truth),
                    abs(scores.mean() - truth) <= half,
                    found.alone_low <= truth <= found.alone_high,
                ]
                widths.append((found.high - found.low) / (found.alone_high - found.alone_low))
                effective.append(found.effective / n)
            shares = hits / repeats
            print(
                f"| {name} | {n} | {judged} | {_star(shares[0])} | {100 * shares[1]:.1f} | {100 * shares[2]:.1f} "
                f"| {np.mean(widths):.2f} | {max(widths):.2f} | {np.mean(effective):.2f} x |",
                flush=True,
            )
    print("\n* A judge that errs once in thirty samples: what 50 labels know of so rare an error is little, and the")
    print("interval is wide enough for the case that they hold fewer errors than they should.")


def _in(found: Corrected, truth: float) -> bool:
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def strata(repeats: int) -> None:
    print(f"\n## Strata, clusters, two systems ({repeats:,} samples each; 100 labels of 1,000)\n")
    print("| what | corrected | width | effective |")
    print("| --- | ---: | ---: | ---: |")
    cases: dict[str, Callable[[np.random.Generator], tuple[Corrected, float]]] = {
        "strata by score, in proportion": lambda rng: _stratified(rng, even=False),
        "strata by score, as many of each": lambda rng: _stratified(rng, even=True),
        "pass or fail, strata by score, as many of each": lambda rng: _stratified(rng, even=True, whole=True),
        "clusters of 5": _clustered,
        "two systems, ratings": lambda rng: _two(rng, whole=False),
        "two systems, pass or fail": lambda rng: _two(rng, whole=True),
    }
    for name, case in cases.items():
        rng = np.random.default_rng([*name.encode()])
        hits, widths, effective = 0, [], []
        for _ in range(repeats):
            found, truth = case(rng)
            hits += _in(found, truth)
            widths.append((found.high - found.low) / (found.alone_high - found.alone_low))
            effective.append(found.effective / found.n)
        print(f"| {name} | {_star(hits / repeats)} | {np.mean(widths):.2f} | {np.mean(effective):.2f} x |", flush=True)


def _stratified(rng: np.random.Generator, *, even: bool, whole: bool = False) -> tuple[Corrected, float]:
    labels, scores = (scored(0.7, 0.7) if whole else graded(0.7, 0.2))(rng, 1000)
    names = np.digitize(scores, np.quantile(scores, [0.1, 0.3, 0.6]))
    sizes = np.bincount(names)
    wanted = np.full(4, 25) if even else np.round(100 * sizes / 1000).astype(int)
    kept = np.concatenate([rng.permutation(np.flatnonzero(names == one))[:count] for one, count in enumerate(wanted)])
    seen = np.full(1000, math.nan)
    seen[kept] = labels[kept]
    return corrected_mean(seen, scores, strata=names.tolist()), 0.7 if whole else 0.6


def _clustered(rng: np.random.Generator) -> tuple[Corrected, float]:
    shared_part = np.repeat(rng.normal(0, 0.15, 200), 5)
    labels, scores = graded(0.7, 0.2)(rng, 1000)
    labels, scores = labels + shared_part, scores + 0.4 * shared_part
    seen = np.where(np.arange(1000) < 100, labels, math.nan)
    return corrected_mean(seen, scores, cluster=(np.arange(1000) // 5).tolist()), 0.6


def _two(rng: np.random.Generator, *, whole: bool) -> tuple[Corrected, float]:
    hard = rng.normal(0, 1, 1000)
    sides = []
    for level in (0.3, 0.0):
        good = level + hard + rng.normal(0, 1, 1000)
        labels = (good > 0) * 1.0 if whole else 0.5 + 0.1 * good
        sides.append((labels, 0.7 + 0.1 * good + rng.normal(0, 0.05, 1000)))
    (mine, ours), (theirs, others) = sides
    truth = 0.5 * math.erf(0.3 / math.sqrt(2) / math.sqrt(2)) if whole else 0.03
    seen = [np.where(np.arange(1000) < 100, one, math.nan) for one in (mine, theirs)]
    return corrected_difference(seen[0], ours, seen[1], others), truth


PACKS = {
    "wice.dev": ("faithful", "retrieved_contexts", ("overlap_faithfulness", "faithfulness")),
    "factcheck_stance.dev": ("faithful", "retrieved_contexts", ("overlap_faithfulness", "faithfulness")),
    "evouna_nq": ("correct", "reference", ("token_f1", "answer_correctness")),
}


def packs(seeds: int, folder: Path) -> None:
    """How often the interval from 100 human labels holds the mean of all of them."""
    from steelyard import evaluate_rag
    from steelyard.core.errors import UnknownName

    print(f"\n## 100 human labels of packs that people labelled in full ({seeds} seeds each)\n")
    print(
        "| pack | judge | samples | people | judge's mean | its interval | holds | corrected interval holds "
        "| correlation | width | effective |"
    )
    print("| --- | --- | ---: | ---: | ---: | --- | --- | ---: | ---: | ---: | ---: |")
    for pack, (human, _, judges) in PACKS.items():
        rows = [json.loads(line) for line in (folder / f"{pack}.jsonl").read_text(encoding="utf-8").splitlines()]
        people = np.array([row["human"][human] for row in rows], dtype=np.float64)
        samples = [
            {key: row[key] for key in ("id", "user_input", "response", "retrieved_contexts", "reference") if key in row}
            for row in rows
        ]
        for judge in judges:
            try:
                report = evaluate_rag(samples, metrics=[f"lexical.{judge}"])
            except UnknownName:
                continue
            scores = next(iter(report.columns.values())).values
            alone = interval(scores[~np.isnan(scores)])
            truth = float(people[~np.isnan(scores)].mean())
            hits, widths, effective = 0, [], []
            for seed in range(seeds):
                kept = np.random.default_rng(seed).permutation(len(rows))[:100]
                labels = np.full(len(rows), math.nan)
                labels[kept] = people[kept]
                found = corrected_mean(labels, scores)
                hits += _in(found, truth)
                widths.append((found.high - found.low) / (found.alone_high - found.alone_low))
                effective.append(found.effective / found.n)
            holds = "yes" if alone.low <= truth <= alone.high else "no"
            ok = ~np.isnan(scores)
            print(
                f"| {pack} | {judge} | {len(rows)} | {truth:.3f} | {np.nanmean(scores):.3f} "
                f"| {alone.low:.3f} – {alone.high:.3f} | {holds} | {hits} of {seeds} "
                f"| {np.corrcoef(people[ok], scores[ok])[0, 1]:.2f} | {np.mean(widths):.2f} "
                f"| {np.mean(effective):.2f} x |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = ("coverage", "strata", "packs")
    parser.add_argument("what", nargs="*", choices=[[], *parts], metavar="PART", help="default: coverage and strata")
    parser.add_argument("--repeats", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--packs-in", type=Path, default=Path("packs"))
    given = parser.parse_args()
    given.what = given.what or ["coverage", "strata"]
    if "coverage" in given.what:
        coverage(given.repeats)
    if "strata" in given.what:
        strata(given.repeats)
    if "packs" in given.what:
        packs(given.seeds, given.packs_in)


if __name__ == "__main__":
    main()
