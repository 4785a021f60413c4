"""Where it fails: each sample in one cell, by the measures that the report has, never by a guess."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from steelyard.core.records import Sample
from steelyard.render.failure_table import failure_group_table
from steelyard.reports.estimates import pool_report
from steelyard.reports.failure_analysis import (
    ANSWER,
    GROUNDED,
    REMEDIES,
    RETRIEVAL,
    UNKNOWN,
    analyse_failures,
    read_documents,
)
from steelyard.reports.provenance import MetricNote
from steelyard.reports.report import Report
from steelyard.stats.intervals import wilson
from steelyard.stats.pooling import Column

NAN = math.nan


def report_of(samples: list[Sample], metrics: dict[str, tuple[str, list[float]]]) -> Report:
    """A report with these columns: label to way and values."""
    report = Report(ids=[one.id for one in samples], samples=samples)
    for label, (way, values) in metrics.items():
        report.columns[label] = Column.of(values)
        report.notes[label] = MetricNote(label, way, threshold=0.5)
    pool_report(report, by=(), clusters=None, confidence=0.95, seed=0)
    return report


def sample(one: str, found: list[str], relevant: list[str], response: str | None = "yes", read: int = 0) -> Sample:
    """A sample with a ranking; ``read`` contexts reached the answerer."""
    grades = dict.fromkeys(relevant, 1.0) | {"judged-not-relevant": 0.0}
    contexts = ["text"] * read or None
    return Sample(id=one, retrieved_ids=found, relevance=grades, response=response, retrieved_contexts=contexts)


def test_every_combination_by_hand() -> None:
    """Five samples, one in each of five cells; all, some and none of the relevant; right, wrong, declined."""
    samples = [
        sample("a", ["x", "y"], ["x", "y"]),
        sample("b", ["x", "n"], ["x", "y"]),
        sample("c", ["n"], ["x"]),
        sample("d", ["n"], ["x"], response="  "),
        sample("e", ["x"], []),
    ]
    metrics = {"contains": ("lexical", [1, 0, 0, 0, 1]), "faithfulness": ("judged", [1, 0.4, 0.5, NAN, NAN])}
    found = analyse_failures(report_of(samples, metrics))
    assert found.states == [
        ("all", "right", "grounded"),
        ("some", "wrong", "ungrounded"),
        ("none", "wrong", "grounded"),
        ("none", "declined", UNKNOWN),
        (UNKNOWN, "right", UNKNOWN),
    ]
    assert sum(cell.n for cell in found.cells) == 5
    assert [cell.works for cell in found.cells] == [False, False, False, True, True]
    cell = next(cell for cell in found.cells if cell.rows == [1])
    assert (cell.share, cell.low, cell.high) == (0.2, *wilson(1, 5))
    assert cell.remedy == REMEDIES["some", "wrong", "ungrounded"]
    assert found.by == {
        "retrieval": "relevant documents among the retrieved ones",
        "answer": "contains [lexical] ≥ 0.5",
        "grounded": "faithfulness [judged] ≥ 0.5",
    }


def test_what_was_read_counts_not_what_was_retrieved() -> None:
    """A relevant document at rank 3 was not found by a system that reads two contexts."""
    one = sample("a", ["n", "n", "m", "x"], ["x"], read=2)
    assert read_documents(one) == ["n", "m"]
    metrics = {"contains": ("lexical", [1.0])}
    assert analyse_failures(report_of([one], metrics)).states[0][0] == "none"
    assert analyse_failures(report_of([sample("a", ["n", "x"], ["x"])], metrics)).states[0][0] == "all"


def test_measures_stand_in_an_order() -> None:
    """A judged measure goes before a lexical one, the deepest recall before others, and cells never mix two."""
    samples = [Sample(id=str(at), response="r") for at in range(2)]
    metrics = {
        "token_f1": ("lexical", [1.0, 1.0]),
        "answer_correctness": ("judged", [0.0, NAN]),
        "recall@5": ("ranking", [0.0, 0.0]),
        "recall@100": ("ranking", [1.0, 0.5]),
    }
    found = analyse_failures(report_of(samples, metrics))
    assert found.states == [("all", "wrong", UNKNOWN), ("some", UNKNOWN, UNKNOWN)]
    assert found.by["answer"] == "answer_correctness [judged] ≥ 0.5"
    assert found.by["retrieval"] == "recall@100: 1 is all, 0 none"


def test_declined_by_the_word_of_a_metric() -> None:
    """Abstention and answer relevancy say in their evidence that a response declined."""
    report = report_of([Sample(id="a", response="no idea")], {"abstention": ("judged", [1.0])})
    report.columns["abstention"].evidence[0] = {"declined": True}
    assert analyse_failures(report).states == [(UNKNOWN, "declined", UNKNOWN)]
    report.columns["abstention"].evidence[0] = {"declined": False}
    assert analyse_failures(report).known == []


def test_a_rubric_counts_only_for_correctness() -> None:
    """A rubric on kindness says nothing of right or wrong."""
    report = report_of([Sample(id="a", response="r")], {'rubric(criteria="is it kind?")': ("judged", [1.0])})
    assert "answer" not in analyse_failures(report).by
    report = report_of([Sample(id="a", response="r")], {"rubric": ("judged", [1.0])})
    assert analyse_failures(report).states[0][1] == "right"


def test_nothing_is_known_of_nothing() -> None:
    """A report without fitting metrics has no table; an empty one has no cells."""
    assert analyse_failures(Report()).cells == []
    found = analyse_failures(report_of([Sample(id="a")], {"tone": ("custom", [1.0])}))
    assert found.by == {}
    assert failure_group_table(found) is None


@pytest.mark.parametrize("grounded", GROUNDED)
@pytest.mark.parametrize("answer", ANSWER)
@pytest.mark.parametrize("retrieval", RETRIEVAL)
def test_every_cell_has_a_remedy(retrieval: str, answer: str, grounded: str) -> None:
    """Whatever is known, there is a line for it."""
    recall = {"all": 1.0, "some": 0.5, "none": 0.0, UNKNOWN: NAN}[retrieval]
    right = {"right": 1.0, "wrong": 0.0}.get(answer, NAN)
    rests = {"grounded": 1.0, "ungrounded": 0.0}.get(grounded, NAN)
    one = Sample(id="a", response="" if answer == "declined" else "r")
    other = Sample(id="b", response="r")
    columns = {"recall": [recall, 1.0], "contains": [right, 1.0], "faithfulness": [rests, 1.0]}
    found = analyse_failures(report_of([one, other], {name: ("lexical", values) for name, values in columns.items()}))
    cell = next(cell for cell in found.cells if 0 in cell.rows)
    known = {retrieval, answer, grounded if answer != "declined" else UNKNOWN} != {UNKNOWN}
    assert (cell.remedy == "The metrics of this report do not tell.") is not known


def test_the_table_for_the_terminal() -> None:
    """Count, share, interval, words, remedy."""
    metrics = {"contains": ("lexical", [0.0, 0.0, 1.0])}
    samples = [sample(str(at), ["n"], ["x"]) for at in range(3)]
    found = failure_group_table(analyse_failures(report_of(samples, metrics)))
    assert found is not None
    assert found.rows[0][:4] == ("2", "67 %", "21 % – 94 %", "no relevant document found, wrong answer")
    assert np.all([len(row) == len(found.head) for row in found.rows])


def test_a_remedy_is_more_than_the_finding() -> None:
    """Every line says what was found and then, after a colon or semicolon, what to do, unless there is no problem."""
    for remedy in set(REMEDIES.values()) - {"No problem found."}:
        found, advice = re.split("[:;] ", remedy, maxsplit=1)
        assert len(found.split()) * len(advice.split()) > 2, remedy
    misread = report_of([sample("a", ["d1"], ["d1"])], {"exact_match": ("lexical", [0.0])})
    assert (
        analyse_failures(misread)
        .cells[0]
        .remedy.startswith("The passages hold the answer and the model misread them: ")
    )
    right = report_of([sample("a", ["d1"], ["d1"])], {"exact_match": ("lexical", [1.0])})
    assert analyse_failures(right).cells[0].remedy.startswith("No problem found")
