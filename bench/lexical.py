"""Samples per second of the lexical metrics, beside rouge-score, sacrebleu and the usual SQuAD script.

    python bench/lexical.py PACK.jsonl [--repeats 5]

PACK holds one sample a line with ``response`` and ``reference``. Texts are read anew for each repeat, and there are
more of them than any cache holds. The best of the repeats counts, ours and the peer's in turn: other work on the
machine can only slow a run down. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import string
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from steelyard import get_metric
from steelyard.core.records import Sample

TOGETHER = (
    "exact_match",
    "token_f1",
    "contains",
    "rouge_n",
    "rouge_n(n=2)",
    "rouge_l",
    "bleu",
    "chrf",
    "edit_similarity",
    "typed_accuracy",
    "lexical.context_recall",
    "lexical.context_precision",
    "non_empty_rate",
    "passage_precision@5",
    "passage_recall@5",
    "overlap_faithfulness",
    "overlap_relevance",
    "overlap_correctness",
    "lexical.answer_correctness",
)


def read(path: Path) -> list[Sample]:
    """Samples of a pack; texts are read anew each time, so that no cache knows them."""
    rows = map(json.loads, path.read_text(encoding="utf-8").rstrip("\n").split("\n"))
    return [
        Sample(
            id=row["id"],
            user_input=row.get("user_input"),
            response=row["response"],
            reference=row["reference"],
            retrieved_contexts=row.get("retrieved_contexts") or [],
            reference_contexts=row.get("reference_contexts") or row["reference"],
        )
        for row in rows
    ]


def steelyard(names: tuple[str, ...]) -> Callable[[list[Sample]], None]:
    """All metrics of a list, sample by sample."""
    metrics = [get_metric(name) for name in names]

    def run(samples: list[Sample]) -> None:
        for sample in samples:
            for metric in metrics:
                metric.rule(sample, **metric.params)

    return run


def squad(samples: list[Sample]) -> None:
    """Exact match and token F1 by the recipe of the SQuAD script: ASCII punctuation, regular expressions."""
    punctuation = set(string.punctuation)

    def normal(text: str) -> str:
        text = "".join(c for c in text.lower() if c not in punctuation)
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())

    def f1(response: str, reference: str) -> float:
        ours, theirs = normal(response).split(), normal(reference).split()
        common = sum((Counter(ours) & Counter(theirs)).values())
        return 2 * common / (len(ours) + len(theirs)) if common else 0.0

    for sample in samples:
        response = sample.response or ""
        max(normal(response) == normal(one) for one in sample.references)
        max(f1(response, one) for one in sample.references)


def peers() -> Iterator[tuple[str, tuple[str, ...], Run]]:
    """Name, the metrics of ours that do the same, and how to run it."""
    yield "SQuAD script: EM, F1", ("exact_match", "token_f1"), squad
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError:
        pass
    else:
        scorer = RougeScorer(["rouge1", "rouge2", "rougeL"])

        def rouge(samples: list[Sample]) -> None:
            for sample in samples:
                scorer.score_multi(sample.references, sample.response or "")

        yield "rouge-score: 1, 2, L", ("rouge_n", "rouge_n(n=2)", "rouge_l"), rouge
    try:
        from sacrebleu.metrics import BLEU, CHRF
    except ImportError:
        pass
    else:

        def sacrebleu(samples: list[Sample]) -> None:
            bleu, chrf = BLEU(effective_order=True), CHRF()  # anew: they keep a cache of their own
            for sample in samples:
                bleu.sentence_score(sample.response or "", sample.references)
                chrf.sentence_score(sample.response or "", sample.references)

        yield "sacrebleu: BLEU, chrF", ("bleu", "chrf"), sacrebleu
    try:
        from ragas import SingleTurnSample
        from ragas.metrics import BleuScore, ChrfScore, NonLLMStringSimilarity, RougeScore
    except ImportError:
        return
    scorers = [BleuScore(), RougeScore(), ChrfScore(), NonLLMStringSimilarity()]

    def ragas(samples: list[Sample]) -> None:
        for sample in samples:
            for one in sample.references:
                case = SingleTurnSample(response=sample.response, reference=one)
                for scorer in scorers:
                    scorer.single_turn_score(case)

    yield "ragas: BLEU, ROUGE-L, chrF, Levenshtein", ("bleu", "rouge_l", "chrf", "edit_similarity"), ragas


Run = Callable[[list[Sample]], None]


def rates(runs: list[Run], path: Path, repeats: int) -> list[float]:
    """Samples per CPU second of each run, the best of some repeats, in turn."""
    best = [0.0] * len(runs)
    for _ in range(repeats):
        for at, run in enumerate(runs):
            samples = read(path)
            gc.collect()
            start = time.process_time()
            run(samples)
            best[at] = max(best[at], len(samples) / (time.process_time() - start))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pack", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"{'samples per CPU second':44}{'peer':>10}{'steelyard':>12}{'ratio':>8}")
    (ours,) = rates([steelyard(TOGETHER)], options.pack, options.repeats)
    print(f"{f'all {len(TOGETHER)} lexical metrics together':44}{'':>10}{ours:>12,.0f}")
    for name, same, run in peers():
        theirs, ours = rates([run, steelyard(same)], options.pack, options.repeats)
        print(f"{name:44}{theirs:>10,.0f}{ours:>12,.0f}{ours / theirs:>8.1f}")


if __name__ == "__main__":
    main()
