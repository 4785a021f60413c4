"""The pytest plugin: quality gates in tests.

``assert_quality(report, {"faithfulness": 0.8})`` fails with every failed rule and the worst samples with their reasons.
``--steelyard-baseline report.json`` also compares with a saved report. The ``steelyard`` fixture returns the library.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Protocol

import pytest

from .reports.explain import reason_of
from .reports.gate import rules
from .reports.metric_identity import label_of
from .reports.report import Report

WORST = 10


class AssertQuality(Protocol):
    """Type of the ``assert_quality`` fixture: a function that returns nothing or fails the test."""

    def __call__(
        self,
        report: Report,
        thresholds: Mapping[str, float] | None = None,
        *,
        pass_rates: Mapping[str, float] | None = None,
        max_failed: float = 0.0,
        tolerance: float = 0.01,
        significant: bool = False,
    ) -> None:
        """Check thresholds, pass rates and the share of failures, and compare with the baseline if one is given."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--steelyard-baseline``."""
    group = parser.getgroup("steelyard")
    group.addoption(
        "--steelyard-baseline",
        metavar="REPORT",
        default=None,
        help="saved report (file, folder or latest:TAG) that assert_quality compares with",
    )


@pytest.fixture
def steelyard() -> ModuleType:
    """Return the library, for tests that evaluate a system."""
    import steelyard as library

    return library


@pytest.fixture
def assert_quality(request: pytest.FixtureRequest) -> AssertQuality:
    """Return ``assert_quality``, as in ``assert_quality(report, {"faithfulness": 0.8})``."""
    return gate(request.config.getoption("--steelyard-baseline"))


def gate(baseline: str | None = None) -> AssertQuality:
    """Return the assertion, for use without the fixture."""

    def assert_quality(
        report: Report,
        thresholds: Mapping[str, float] | None = None,
        *,
        pass_rates: Mapping[str, float] | None = None,
        max_failed: float = 0.0,
        tolerance: float = 0.01,
        significant: bool = False,
    ) -> None:
        found = rules(report, thresholds=thresholds, pass_rates=pass_rates, max_failed=max_failed)
        lines = [str(rule) for rule in found if not rule.passed]
        for label in dict.fromkeys([*(thresholds or {}), *(pass_rates or {})]):
            if any(label in line for line in lines):
                lines += worst(report, label)
        for label, column in report.columns.items():
            lines += [
                f"  {label}: {report.ids[row]} failed: {reason}" for row, reason in list(column.failed.items())[:WORST]
            ]
        if not any(not rule.passed for rule in found):
            lines = []
        if baseline is not None:
            from .reports.compare import compare
            from .reports.store import report_at

            compared = compare(report, report_at(baseline), tolerance, significant=significant, max_failed=max_failed)
            if not compared.passed:
                lines.append(str(compared))
        if lines:
            pytest.fail("\n".join(lines), pytrace=False)

    return assert_quality


def worst(report: Report, label: str) -> list[str]:
    """List the worst scores of a metric (the highest if lower is better), one line each with a short reason."""
    column = label_of(report, label)
    note = report.notes[column]
    scored = [
        (value if note.higher_is_better else -value, row)
        for row, value in enumerate(report.columns[column].values.tolist())
        if value == value  # noqa: PLR0124 - NaN is a row without a score
    ]
    return [
        f"  {label}: {report.ids[row]} scored {abs(value):.4f}" + (f": {why}" if why else "")
        for value, row in sorted(scored)[:WORST]
        for why in [reason_of(report, row, column)]
    ]
