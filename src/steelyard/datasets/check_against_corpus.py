"""Check a set against its corpus: invalid labels, duplicate questions and documents, copied questions and answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median

from msgspec import Struct, field

from ..core.records import Sample
from ..text.near_duplicates import DuplicatePair, duplicates
from ..text.tokens import words
from .corpus import Corpus
from .label_status import LabelCheck, check_labels, summarize
from .locate_evidence import find_evidence

LEAST_WORDS = 5
"""A question of fewer words may occur in a corpus by chance."""
LEAST_ANSWER = 8
"""An answer of fewer words may occur in a corpus by chance; it is often a name."""
MOST_VALUES = 12


class CorpusCheck(Struct):
    """The result of a check: every label with its status, duplicates, copied texts, and statistics of the set."""

    labels: list[LabelCheck] = field(default_factory=list)
    duplicate_questions: list[DuplicatePair] = field(default_factory=list)
    duplicate_documents: list[DuplicatePair] = field(default_factory=list)
    questions_copied: dict[str, list[str]] = field(default_factory=dict)
    answers_copied: dict[str, list[str]] = field(default_factory=dict)
    covered: int = 0
    documents: int = 0
    types: dict[str, dict[str, int]] = field(default_factory=dict)
    lengths: dict[str, tuple[int, float, int]] = field(default_factory=dict)

    @property
    def invalid(self) -> list[LabelCheck]:
        """The labels that no longer point at their evidence."""
        return [label for label in self.labels if label.status != "valid"]

    def lines(self, *, most: int = 5) -> list[str]:
        """The findings as lines of text."""
        lines = (
            ["labels: none"] if not self.labels else [f"labels: {line}" for line in summarize(self.labels, most=most)]
        )
        share = self.covered / self.documents if self.documents else 0.0
        lines.append(f"coverage: {self.covered} of {self.documents} documents are labelled ({share:.1%})")
        for tag, values in self.types.items():
            lines.append(f"{tag}: " + ", ".join(f"{count} {value}" for value, count in values.items()))
        for what, (low, middle, high) in self.lengths.items():
            lines.append(f"{what}: {low} to {high} words, median {middle:g}")
        for what, pairs in (("questions", self.duplicate_questions), ("documents", self.duplicate_documents)):
            some = ", ".join(f"{one.second} ~ {one.first} ({one.similarity:.2f})" for one in pairs[:most])
            lines += [f"duplicate or nearly duplicate {what}: {len(pairs)}: {some}"] if pairs else []
        for what, copied in (
            ("questions copied word for word from the corpus", self.questions_copied),
            ("answers found word for word in documents without a label", self.answers_copied),
        ):
            some = ", ".join(f"{sample} in {docs[0]}" for sample, docs in list(copied.items())[:most])
            lines += [f"{what}: {len(copied)}: {some}"] if copied else []
        return lines


def check_against_corpus(samples: Sequence[Sample], corpus: Corpus, old_corpus: Corpus | None = None) -> CorpusCheck:
    """Check samples against a corpus; ``old_corpus`` is the corpus for which their labels were made."""
    labels = check_labels(samples, corpus, old_corpus)
    questions = {sample.id: sample.user_input for sample in samples if sample.user_input}
    questions_copied, answers_copied = _copied(samples, corpus)
    touched = {doc for sample in samples for doc in sample.relevance or () if doc in corpus.texts}
    touched |= {span.doc for sample in samples for span in sample.relevant_spans or () if span.doc in corpus.texts}
    return CorpusCheck(
        labels=labels,
        duplicate_questions=duplicates(questions),
        duplicate_documents=duplicates(corpus.texts),
        questions_copied=questions_copied,
        answers_copied=answers_copied,
        covered=len(touched),
        documents=len(corpus),
        types=_types(samples),
        lengths=_lengths(samples),
    )


def _copied(samples: Sequence[Sample], corpus: Corpus) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Samples whose question, or whose answer, is part of a document, ignoring case."""
    questions = {
        sample.id: sample.user_input.casefold().strip().rstrip("?？؟ ")
        for sample in samples
        if sample.user_input and len(words(sample.user_input)) >= LEAST_WORDS
    }
    answers = {
        sample.id: [text.casefold().strip() for text in sample.references if len(words(text)) >= LEAST_ANSWER]
        for sample in samples
    }
    folded = {key: text.casefold() for key, text in corpus.texts.items()}
    found = find_evidence([*questions.values(), *(text for texts in answers.values() for text in texts)], folded)

    def places(text: str) -> list[str]:
        return list(dict.fromkeys(part.id for part in found[text].whole))

    copied = {key: docs for key, text in questions.items() if (docs := places(text))}
    given_away = {}
    for sample in samples:
        labelled = {doc for doc, grade in (sample.relevance or {}).items() if grade > 0}
        labelled |= {span.doc for span in sample.relevant_spans or ()}
        docs = [doc for text in answers[sample.id] for doc in places(text) if doc not in labelled]
        if docs and labelled:
            given_away[sample.id] = docs
    return copied, given_away


def _types(samples: Sequence[Sample]) -> dict[str, dict[str, int]]:
    """The number of samples with each value of each tag, for tags of few values."""
    found: dict[str, Counter[str]] = {}
    for sample in samples:
        for tag, value in sample.tags.items():
            found.setdefault(tag, Counter())[value] += 1
    return {tag: dict(values.most_common()) for tag, values in found.items() if len(values) <= MOST_VALUES}


def _lengths(samples: Sequence[Sample]) -> dict[str, tuple[int, float, int]]:
    sizes: Mapping[str, list[int]] = {
        "questions": [len(words(sample.user_input)) for sample in samples if sample.user_input],
        "answers": [len(words(text)) for sample in samples for text in sample.references],
    }
    return {what: (min(some), median(some), max(some)) for what, some in sizes.items() if some}
