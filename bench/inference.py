"""Do the intervals cover, and do the tests keep quiet where there is nothing? And how long do they take?

    python -m bench.inference [coverage] [pairs] [alarms] [time] --repeats 2000 --peers PYTHON

Each table is a simulation with known truth. Coverage of a 95 % interval should lie within 93-97 %, false alarms at
alpha .05 within 4-6 %; a figure that does not is marked with a star, and a note below the table says why. That
takes 2,000 repeats (ten minutes); the default of 200 is a quick look, whose figures are uncertain by 3 % either way.
PYTHON is an interpreter that has ranx, if this one has not.
"""

from __future__ import annotations

import argparse
import inspect
import math
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np

from steelyard.evaluate.evaluate_rankings import ranking_metrics
from steelyard.evaluate.tie_bounds import of_rankings
from steelyard.ranking.join import join
from steelyard.stats.intervals import DegenerateData, difference_interval, interval
from steelyard.stats.resampling import Quantile
from steelyard.stats.significance import paired_randomisation, paired_randomisations, paired_test

Draw = Callable[[np.random.Generator, int], np.ndarray]

# Scores as retrieval and answer metrics have them, and two worse kinds to see where the methods give in.
SHAPES: dict[str, tuple[Draw, float]] = {
    "normal (.5, sd .15)": (lambda rng, n: rng.normal(0.5, 0.15, n), 0.5),
    "skewed (beta .5, 2)": (lambda rng, n: rng.beta(0.5, 2, n), 0.2),
    "two humps (beta .3, .3)": (lambda rng, n: rng.beta(0.3, 0.3, n), 0.5),
    "reciprocal rank": (
        lambda rng, n: _reciprocal(rng.geometric(0.3, n)),
        sum(0.3 * 0.7 ** (k - 1) / k for k in range(1, 11)),
    ),
    "60 % zeros": (lambda rng, n: rng.random(n) * (rng.random(n) < 0.4), 0.2),
    "80 % zeros": (lambda rng, n: rng.random(n) * (rng.random(n) < 0.2), 0.1),
    "binary (.5)": (lambda rng, n: (rng.random(n) < 0.5) * 1.0, 0.5),
    "binary (.9)": (lambda rng, n: (rng.random(n) < 0.9) * 1.0, 0.9),
    "exponential": (lambda rng, n: rng.exponential(1.0, n), 1.0),
    "lognormal (heavy tail)": (lambda rng, n: rng.lognormal(0.0, 1.0, n), math.exp(0.5)),
}


def _reciprocal(ranks: np.ndarray) -> np.ndarray:
    return np.where(ranks <= 10, 1 / ranks, 0.0)


def coverage(repeats: int) -> None:
    print(f"\n## Coverage of 95 % intervals of a mean ({repeats:,} samples each)\n")
    methods = ("auto", "bca", "percentile", "t")
    print("| values | n | default | bca | percentile | t | methods the default took |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for name, (draw, truth) in SHAPES.items():
        for n in (5, 20, 50, 200, 2000):
            rng = np.random.default_rng([n, len(name)])
            hits, taken = dict.fromkeys(methods, 0), set()
            shown = methods if n < 2000 else ("auto", "t")
            for _ in range(repeats):
                values = draw(rng, n)
                for method in shown:
                    found = interval(values, method=method)  # type: ignore[arg-type]
                    hits[method] += found.low is not None and found.low <= truth <= found.high
                    if method == "auto":
                        taken.add(found.method)
            cells = [f"{100 * hits[one] / repeats:.1f}" if one in shown else "" for one in methods]
            mark = "" if 93 <= 100 * hits["auto"] / repeats <= 97 else "*"
            print(
                f"| {name} | {n} | {cells[0]}{mark} | {' | '.join(cells[1:])} | {', '.join(sorted(taken))} |",
                flush=True,
            )


def pairs(repeats: int) -> None:
    print(f"\n## Coverage of 95 % intervals of a paired difference, a ratio, clusters, a median ({repeats:,} each)\n")
    print("| what | n | default | methods taken |")
    print("| --- | ---: | ---: | --- |")

    def graded(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, float]:
        base = rng.beta(1, 1.5, n)
        return base + rng.normal(0.05, 0.1, n), base, 0.05

    def binary(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, float]:
        base = (rng.random(n) < 0.7) * 1.0
        lost, won = rng.random(n) < 0.1, rng.random(n) < 0.5
        return np.where(base == 1, 1.0 - lost, won * 1.0), base, 0.3 * 0.5 - 0.7 * 0.1

    def level(share: float) -> Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray, float]]:
        def make(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, float]:
            base = rng.random(n)
            return np.where(rng.random(n) < share, base, rng.random(n)), base, 0.0

        return make

    makers = {
        "difference of graded scores": graded,
        "difference of binary scores": binary,
        "difference, 50 % of pairs level": level(0.5),
        "difference, 70 % of pairs level": level(0.7),
        "difference, 85 % of pairs level": level(0.85),
    }
    for name, make in makers.items():
        for n in (20, 50, 200):
            rng = np.random.default_rng(n)
            hits, taken = 0, set()
            for _ in range(repeats):
                one, other, truth = make(rng, n)
                found = difference_interval(one, other)
                hits += found.low <= truth <= found.high
                taken.add(found.method)
            _row(name, n, hits / repeats, taken)
    for n in (20, 50, 200):
        rng = np.random.default_rng(n)
        hits, taken = 0, set()
        for _ in range(repeats):
            total = rng.integers(1, 10, n)
            found = interval(np.column_stack([rng.binomial(total, 0.7), total]), statistic="ratio")
            hits += found.low <= 0.7 <= found.high
            taken.add(found.method)
        _row("ratio of sums", n, hits / repeats, taken)
    for clusters in (10, 20, 50):
        rng = np.random.default_rng(clusters)
        tags = np.repeat(np.arange(clusters), 10)
        hits, naive, taken = 0, 0, set()
        for _ in range(repeats):
            values = np.repeat(rng.normal(0.5, 0.1, clusters), 10) + rng.normal(0, 0.1, 10 * clusters)
            found, blind = interval(values, cluster=tags), interval(values)
            hits += found.low <= 0.5 <= found.high
            naive += blind.low <= 0.5 <= blind.high
            taken.add(found.method)
        _row(
            f"{clusters} clusters of 10 (unclustered: {100 * naive / repeats:.0f})",
            10 * clusters,
            hits / repeats,
            taken,
        )
    for n in (20, 50, 200):
        rng = np.random.default_rng(n)
        hits, taken = 0, set()
        for _ in range(repeats):
            found = interval(rng.exponential(1.0, n), statistic=Quantile(0.5))
            hits += found.low <= math.log(2) <= found.high
            taken.add(found.method)
        _row("median", n, hits / repeats, taken)
    print(
        "\nBonett and Price's interval and order statistics err on the wide side for small n."
        "\nWith 85 % of pairs level, three of 20 pairs differ: mostly the interval says so by being wide."
    )


def _row(name: str, n: int, share: float, taken: set[str]) -> None:
    mark = "" if 0.93 <= share <= 0.97 else "*"
    print(f"| {name} | {n} | {100 * share:.1f}{mark} | {', '.join(sorted(taken))} |", flush=True)


def alarms(repeats: int) -> None:
    sizes = (20, 30, 50, 100, 200)
    print(f"\n## False alarms of the gate's paired test at alpha .05 ({repeats:,} null comparisons each)\n")
    print(f"| two equal systems | {' | '.join(f'n = {n}' for n in sizes)} |")
    print("| --- |" + " ---: |" * len(sizes))

    def noisy(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
        base = rng.beta(1, 1.5, (n, m))
        return base + rng.normal(0, 0.1, (n, m)), base + rng.normal(0, 0.1, (n, m))

    def skewed(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
        base = rng.random((n, m))
        return base * rng.beta(0.5, 2, (n, m)), base * rng.beta(0.5, 2, (n, m))

    def zeros(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
        one, other = (rng.random((n, m)) * (rng.random((n, m)) < 0.4) for _ in range(2))
        return one, other

    def level(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
        base, moved = rng.random((n, m)), rng.random((n, m)) < 0.3
        return np.where(moved, rng.random((n, m)), base), base * ~moved + rng.random((n, m)) * moved

    def binary(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
        hard = rng.beta(1, 1, (n, m))
        return (rng.random((n, m)) < hard) * 1.0, (rng.random((n, m)) < hard) * 1.0

    def rare(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
        easy = rng.beta(9, 1, (n, m))
        return (rng.random((n, m)) < easy) * 1.0, (rng.random((n, m)) < easy) * 1.0

    def lopsided(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
        return rng.exponential(0.1, (n, m)), np.full((n, m), 0.1)

    kinds = {
        "graded, noise .1": noisy,
        "skewed": skewed,
        "60 % zeros": zeros,
        "70 % level pairs": level,
        "pass or fail, a third of pairs differ": binary,
        "the same, exact p in place of mid-p": binary,
        "pass or fail, a sixth of pairs differ": rare,
        "equal means, lopsided differences (not exchangeable)": lopsided,
    }
    for name, make in kinds.items():
        cells = []
        for n in sizes:
            rng = np.random.default_rng([n, len(name)])
            found = 0
            for batch in range(repeats // 50):
                one, other = make(rng, n, 50)
                if make in (binary, rare):
                    test = paired_randomisation if "exact" in name else paired_test
                    results = [test(a, b, seed=batch) for a, b in zip(one.T, other.T, strict=True)]
                else:  # what paired_test does for values of many sizes, for all columns at once
                    results = paired_randomisations(one, other, seed=batch)
                found += sum(result.p <= 0.05 for result in results)
            share = found / (repeats // 50 * 50)
            cells.append(f"{100 * share:.1f}{'' if 0.04 <= share <= 0.06 else '*'}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(
        "\nWith a handful of pairs that differ a test has few possible p, none just below .05: it stays below 5 %."
        "\nThe last row is not the test's null hypothesis: swapping two systems changes the shape of their difference."
    )


def timing(peers: str) -> None:
    print("\n## CPU seconds (median of 5)\n")
    print("| work | steelyard | ranx | ratio |")
    print("| --- | ---: | ---: | ---: |")
    one, other = two_runs()
    ours, theirs = _cpu(lambda: paired_randomisations(one, other, resamples=10_000)), _ranx(peers)
    shown = "not installed | |" if theirs is None else f"{theirs:.2f} | {ours / theirs:.3f} |"
    print(f"| 10,000-fold paired randomisation, 6,980 queries x 6 measures | {ours:.3f} | {shown}")
    rng = np.random.default_rng(0)
    for n in (50, 500, 6980, 1_000_000):
        values = rng.beta(0.5, 2, n)
        spent = _cpu(lambda values=values: interval(values))
        print(f"| one interval, n = {n:,} ({interval(values).method}) | {spent:.4f} | | |")
    run = {f"q{q}": {f"d{d}": float(s) for d, s in enumerate(rng.integers(0, 100, 1000))} for q in range(1000)}
    table = join(run, {query: {f"d{d}": d % 3 for d in range(0, 1000, 20)} for query in run})
    asked = ranking_metrics(["ndcg@10", "map", "mrr", "recall@100", "precision@10", "hit@10"])
    spent = _cpu(lambda: of_rankings(table, asked))
    print(f"| worst, expected and best of six measures over orders of ties, 1,000 queries x 1,000 | {spent:.3f} | | |")


def two_runs() -> tuple[np.ndarray, np.ndarray]:
    """Six measures of 6,980 queries, twice; half of them differ."""
    rng = np.random.default_rng(0)
    one = rng.random((6980, 6))
    return one, np.where(rng.random((6980, 6)) < 0.5, one, rng.random((6980, 6)))


RANX = """
import time
from ranx.statistical_tests import fisher_randomization_test
one, other = two_runs()
fisher_randomization_test(one[:, 0].copy(), other[:, 0].copy(), n_permutations=10)
start = time.process_time()
for first, second in zip(one.T.copy(), other.T.copy(), strict=True):
    fisher_randomization_test(first, second, n_permutations=10_000)
print(time.process_time() - start)
"""


def _ranx(peers: str) -> float | None:
    done = subprocess.run(
        [peers, "-c", f"from __future__ import annotations\nimport numpy as np\n{inspect.getsource(two_runs)}{RANX}"],
        capture_output=True,
        text=True,
        check=False,
    )
    return float(done.stdout) if done.returncode == 0 else None


def _cpu(work: Callable[[], object], times: int = 5) -> float:
    work()
    spent = []
    for _ in range(times):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return sorted(spent)[len(spent) // 2]


def main() -> None:
    parts = {"coverage": coverage, "pairs": pairs, "alarms": alarms}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", metavar="PART", help=f"{', '.join([*parts, 'time'])}; all if none is named")
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--peers", default=sys.executable)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", DegenerateData)  # some samples of many zeros are all zeros
    for name, part in parts.items():
        if not asked.what or name in asked.what:
            part(asked.repeats)
    if not asked.what or "time" in asked.what:
        timing(asked.peers)


if __name__ == "__main__":
    main()
