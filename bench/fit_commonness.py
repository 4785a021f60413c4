"""Count how common English stems are, and write their weights into the package.

    python bench/fit_commonness.py PACKS

A stem's weight is (log((n + 1) / (k + 1)) / log(n + 1)) ** 1.7, where k of n sentences hold it. The sentences are those
of the passages in the dev splits of five packs; no label is read. Stems in fewer than ten sentences, numbers and text
in other scripts are in no table: they get the weight of a rare word.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from pathlib import Path

import msgspec

import fitting
from fit_faithfulness import PACKS
from steelyard.text.sentences import sentences
from steelyard.text.word_offsets import words_with_offsets

LEAST = 10
POWER = 1.7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("packs", type=Path)
    options = parser.parse_args()
    passages = {
        text for name in PACKS for row in fitting.read(options.packs, name) for text in row["retrieved_contexts"]
    }
    held: Counter[str] = Counter()
    n = 0
    for text in sorted(passages):
        for sentence in sentences(text):
            held.update(set(words_with_offsets(sentence).stems))
            n += 1
    stems: dict[str, list[str]] = {}
    for stem, count in sorted(held.items()):
        if count >= LEAST and stem.isascii() and stem.isalpha():
            weight = (math.log((n + 1) / (count + 1)) / math.log(n + 1)) ** POWER
            stems.setdefault(f"{weight:.2f}", []).append(stem)
    content = {
        "provenance": {
            "counted_in": f"{n} sentences of passages in the dev splits of {', '.join(PACKS)}; no labels",
            "stems_in_at_least": LEAST,
            "script": "bench/fit_commonness.py",
        },
        "weights": {weight: " ".join(held) for weight, held in sorted(stems.items())},
    }
    text = msgspec.json.format(msgspec.json.encode(content), indent=1)
    (fitting.DATA / "commonness.json").write_bytes(text + b"\n")
    print(f"{sum(map(len, stems.values()))} stems of {n} sentences")


if __name__ == "__main__":
    main()
