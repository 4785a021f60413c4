"""A language model for tests: it writes questions with real quotes, answers them from passages, and spoils some replies.

All that it says depends on the prompt, and on the questions that it wrote before.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from tests.server import unit

MARKED = re.compile(r"^([a-z ]+?)(?: \d+)? (#[0-9a-f]{6})\n(.*?)\n\2$", re.MULTILINE | re.DOTALL)
WAYS = ("quote", "malformed", "empty", "language", "given away", "known", "disagrees", "twice")


class Author:
    """``Server(answer=Author(spoiled=0.2))``; ``said`` counts what it did."""

    def __init__(self, spoiled: float = 0.0, seed: int = 0) -> None:
        self.spoiled, self.seed = spoiled, seed
        self.said: Counter[str] = Counter()
        self.known: dict[str, tuple[str | None, list[str], str]] = {}

    def __call__(self, body: dict[str, Any]) -> str:
        prompt = body["messages"][-1]["content"]
        wanted = set(body["response_format"]["json_schema"]["schema"]["properties"])
        data: dict[str, list[str]] = {}
        for name, _, text in MARKED.findall(prompt):
            data.setdefault(name, []).append(text)
        if {"quote", "first_quote", "missing"} & wanted:
            return self._draft(prompt, wanted, data["passage"])
        if wanted == {"known", "answer"}:
            return self._closed(data["question"][0])
        if wanted == {"found", "answer"}:
            return self._open(data["question"][0], data["passages"])
        self.said["same"] += 1
        return json.dumps({"same": "no"})

    def _draft(self, prompt: str, wanted: set[str], passages: list[str]) -> str:
        self.said["draft"] += 1
        spoil = ""
        if unit(self.seed, "spoil", prompt) < self.spoiled:
            spoil = WAYS[int(unit(self.seed, "way", prompt) * len(WAYS))]
            self.said[spoil] += 1
        quotes, nouns = [], []
        for number, passage in enumerate(passages):
            words = passage.split()
            start = int(unit(self.seed, prompt, number) * max(1, len(words) - 8))
            quotes.append(" ".join(words[start : start + 8]))
            nouns.append(" ".join(words[start + 8 : start + 12] or words[:4]))
        answer = " ".join(quotes[0].split()[2:5])
        question = f"What stands before {' and '.join(nouns)} in the account of the {passages[0].split()[-1]}?"
        if spoil == "malformed":
            return '{"question": "What'
        if spoil == "empty":
            return ""
        if spoil == "language":
            question = "Was steht vor dem Wort und was ist nicht in der Akte von dem Amt?"
        if spoil == "given away":
            question = f"Is it {answer} that stands there?"
        if spoil == "quote":
            quotes[-1] = "words that nobody ever wrote " + quotes[-1]
        if spoil == "twice" and self.known:
            question = next(iter(self.known))
        self.known[question] = (None if "missing" in wanted else answer, quotes, spoil)
        reply: dict[str, str] = {"question": question, "answer": answer, "difficulty": "medium"}
        if "missing" in wanted:
            reply = {"question": question, "missing": "the reason", "difficulty": "hard"}
        elif "quote" in wanted:
            reply["quote"] = quotes[0]
        else:
            reply |= {"first_quote": quotes[0], "second_quote": quotes[-1]}
        return json.dumps(reply)

    def _closed(self, question: str) -> str:
        self.said["closed"] += 1
        answer, _, spoil = self.known[question]
        known = spoil == "known"
        return json.dumps({"known": "yes" if known else "no", "answer": answer if known else ""})

    def _open(self, question: str, passages: list[str]) -> str:
        self.said["open"] += 1
        answer, quotes, spoil = self.known[question]
        everything = " ".join(" ".join(passages).split())
        if answer is None or not all(quote in everything for quote in quotes):
            return json.dumps({"found": "yes" if answer is None and spoil == "disagrees" else "no", "answer": ""})
        return json.dumps({"found": "yes", "answer": "zebra crossing" if spoil == "disagrees" else f"It is {answer}."})
