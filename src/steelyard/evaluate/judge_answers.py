"""Judge the answers of a report with a judge of the user: an object with the method ``judge(JudgeInput)``."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace

from ..core.errors import WrongType, reason_of
from ..core.records import Sample
from ..metrics.lexical.content_word_overlap import AnswerQuality, Judge, JudgeInput
from ..reports.provenance import MetricNote
from ..reports.report import Report
from ..stats.pooling import Column
from ..systems.call_pool import PLAIN, CallPolicy, call_all
from ..systems.collect import Stage

QUALITIES = ("faithfulness", "relevance", "correctness")


def judge_answers(report: Report, judge: Judge, failed: Mapping[int, str], policy: CallPolicy = PLAIN) -> Stage:
    """Add the columns ``faithfulness``, ``relevance`` and ``correctness`` to a report; return the cost of the calls.

    ``failed`` has the reasons of the rows that are not judged. An exception of the judge, or a number outside [0, 1],
    fails the cell. ``policy`` applies only if it has a deadline; otherwise calls are made one by one, without retries.
    """
    report.judge = getattr(judge, "name", None) or type(judge).__name__
    stage = Stage()
    columns = {name: Column(np.full(len(report.ids), math.nan)) for name in QUALITIES}
    rows = [row for row in range(len(report.ids)) if row not in failed]
    cases = [_judge_input(report.samples[row]) for row in rows]
    for called in call_all(cases, judge.judge, PLAIN if policy.deadline is None else policy):
        row, quality, error = rows[called.at], called.result, called.error
        stage.calls += called.attempts
        stage.seconds[row] = called.seconds
        if error is None and not isinstance(quality, AnswerQuality):
            error = WrongType(f"the judge returned {type(quality).__name__} (expected AnswerQuality)")
        if quality is None or error is not None:
            stage.failed += 1
            for column in columns.values():
                column.failed[row] = reason_of(error or WrongType("the judge returned nothing"))
            continue
        sample = report.samples[row]
        _fill(columns, row, sample, quality)
        if quality.comment:
            report.samples[row] = replace(sample, metadata={**sample.metadata, "comment": quality.comment})
    for name, column in columns.items():
        column.failed |= failed
        report.columns[name] = column
        report.notes[name] = MetricNote(name=name, way=report.judge, threshold=0.5)
    return stage


def _judge_input(sample: Sample) -> JudgeInput:
    references = sample.references
    return JudgeInput(
        sample.user_input or "",
        "\n\n".join(sample.retrieved_contexts or ()),
        sample.response or "",
        references[0] if references else None,
    )


def _fill(columns: Mapping[str, Column], row: int, sample: Sample, quality: AnswerQuality) -> None:
    for name in QUALITIES:
        if name == "correctness" and not sample.references:
            columns[name].undefined[row] = "no reference"
            continue
        value: object = getattr(quality, name)
        if value is None:
            columns[name].undefined[row] = quality.comment or "the judge gives no number"
        elif isinstance(value, int | float) and 0.0 <= value <= 1.0:
            columns[name].values[row] = float(value)
        else:
            columns[name].failed[row] = f"the judge says {value!r} (expected 0 to 1)"
