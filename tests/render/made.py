"""Reports of any size for the tests and the bench of the page: deterministic, with every state in them."""

from __future__ import annotations

import math
import random
from itertools import accumulate

import numpy as np
from msgspec import structs

from steelyard.core.records import Json, Sample, Usage
from steelyard.reports.estimates import pool_report
from steelyard.reports.provenance import DatasetNote, MetricNote, versions
from steelyard.reports.report import Report
from steelyard.stats.pooling import Column

SYLLABLES = [
    "ar",
    "bel",
    "cor",
    "dun",
    "en",
    "fal",
    "gren",
    "hal",
    "is",
    "jor",
    "kel",
    "lor",
    "mar",
    "nes",
    "or",
    "pel",
    "quin",
    "ros",
    "sel",
    "tor",
    "ul",
    "ver",
    "wen",
    "yar",
    "zel",
]
TYPES = ("single", "temporal", "comparison", "unanswerable")
JUDGED = ("faithfulness", "answer_correctness", "context_relevancy")
LEXICAL = ("contains", "token_f1", "rouge_l")
CONTEXTS, WORDS, KNOWN = 5, 80, 3_000
WEIGHTS = [*accumulate(1 / rank for rank in range(1, KNOWN + 1))]
"""Words are as unequally frequent as those of a language."""


def made(n: int, *, seed: int = 0, failed: float = 0.01, shift: float = 0.0, length: int = WORDS) -> Report:
    """A report of ``n`` samples with five distinct contexts each, three judged and three lexical metrics, ndcg@10.

    ``length`` is the number of words in a context. ``shift`` makes the system better (above 0) or worse; the data stay the same.
    """
    rng, luck = random.Random(seed), random.Random(seed)
    words = _vocabulary(rng)
    samples = [_sample(number, rng, words, length) for number in range(n)]
    if shift:
        samples = [_rewritten(one, luck, words) if at % 3 == 0 else one for at, one in enumerate(samples)]
    report = Report(
        ids=[one.id for one in samples],
        samples=samples,
        system="hybrid-v2" if shift else "hybrid",
        dataset=DatasetNote("handbook", "3", "5f0c7a4e91b2d3a8c6e4f012"),
        judge="openai:gpt-4o-mini",
        policy={"repeats": 1, "confidence": 0.95, "seed": 0},
        versions=versions(),
        usage=Usage(5 * n, n // 3, 2900 * n, 310 * n, cost=0.00062 * n),
        run={"started": "2026-03-12T10:20:00+00:00", "seconds": 0.21 * n, "command": "steelyard eval handbook.jsonl"},
    )
    for label in (*JUDGED, *LEXICAL, "ndcg@10"):
        report.columns[label] = _column(label, samples, luck, failed if label in JUDGED else 0.0, shift)
        report.notes[label] = MetricNote(
            name=label,
            way="judged" if label in JUDGED else "ranking" if "@" in label else "lexical",
            threshold=None if "@" in label else 0.7 if label == "faithfulness" else 0.5,
            gates=label == "faithfulness",
            remedy="look at generation: tell the model to answer from the passages alone" if label in JUDGED else "",
        )
    pool_report(report, by="question_type", clusters=None, confidence=0.95, seed=0)
    return report


def _vocabulary(rng: random.Random) -> list[str]:
    return ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 3))) for _ in range(KNOWN)]


def _sentence(rng: random.Random, words: list[str], count: int) -> str:
    return " ".join(rng.choices(words, cum_weights=WEIGHTS, k=count)).capitalize() + "."


def _sample(number: int, rng: random.Random, words: list[str], length: int) -> Sample:
    contexts = [
        " ".join(_sentence(rng, words, length // 5) for _ in range(5)) + f" It is entry {number}.{at}."
        for at in range(CONTEXTS)
    ]
    docs = [f"doc-{number}-{at}" for at in range(20)]
    rng.shuffle(docs)
    found = rng.sample(docs, rng.randint(0, 2))
    relevance = {doc: float(rng.randint(1, 3)) for doc in found} | {f"lost-{number}": 1.0} | {docs[-1]: 0.0}
    if number % 4 == 0:
        del relevance[f"lost-{number}"]
    return Sample(
        id=f"q{number:05d}",
        user_input=_sentence(rng, words, 11)[:-1] + "?",
        response=" ".join(_sentence(rng, words, 12) for _ in range(3)),
        reference=" ".join(_sentence(rng, words, 12) for _ in range(2)),
        retrieved_contexts=contexts,
        retrieved_ids=docs,
        relevance=relevance,
        tags={"question_type": TYPES[number % 4], "year": str(1900 + number % 12)},
        metadata={"source": f"page {number}"},
    )


def _rewritten(sample: Sample, rng: random.Random, words: list[str]) -> Sample:
    """The same sample answered otherwise: one word changed, one sentence more, one passage another."""
    first, rest = (sample.response or "").split(" ", 1)
    response = f"{first} {rng.choice(words)} {rest} {_sentence(rng, words, 6)}"
    contexts = [*(sample.retrieved_contexts or [])[1:], " ".join(_sentence(rng, words, 16) for _ in range(5))]
    return structs.replace(sample, response=response, retrieved_contexts=contexts)


def _column(label: str, samples: list[Sample], rng: random.Random, failed: float, shift: float) -> Column:
    column = Column(np.full(len(samples), math.nan))
    noise = random.Random(label)

    def moved() -> float:
        return shift + noise.gauss(0, 0.1) if shift else 0.0

    for row, sample in enumerate(samples):
        if rng.random() < failed:
            column.failed[row] = "cut: the reply ends inside its JSON"
            column.evidence[row] = {"reply": '{"claims": ["The'}
        elif label == "faithfulness" and rng.random() < 0.04:
            column.undefined[row] = "no claims"
        elif label == "faithfulness":
            held = [rng.random() < 0.72 + moved() for _ in range(4)]
            column.values[row] = sum(held) / 4
            column.parts[row] = (sum(held), 4)
            column.evidence[row] = {"claims": [_claim(sample, at, one, rng) for at, one in enumerate(held)]}
            column.usage[row] = Usage(calls=2, prompt_tokens=1100, completion_tokens=140)
        elif label == "context_relevancy":
            rated: list[Json] = [
                {"context": at + 1, "ratings": [2, 1], "reasons": ["names the thing asked for", "touches it"]}
                for at in range(CONTEXTS)
            ]
            column.values[row] = round(min(1.0, max(0.0, rng.betavariate(3, 2) + moved())), 3)
            column.evidence[row] = {"contexts": rated}
        elif label == "contains":
            column.values[row] = float(rng.random() < 0.6 + moved())
        else:
            column.values[row] = round(min(1.0, max(0.0, rng.betavariate(2.5, 1.8) + moved())), 4)
    return column


def _claim(sample: Sample, at: int, holds: bool, rng: random.Random) -> Json:
    source = rng.randrange(CONTEXTS)
    text = (sample.retrieved_contexts or [])[source].split(". ")[at] + "."
    if not holds:
        return {"claim": text, "verdict": "no", "reason": "no source says so"}
    return {"claim": text, "verdict": "yes", "reason": "stated word for word", "passages": [source + 1]}
