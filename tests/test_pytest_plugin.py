"""The pytest plugin, run in a pytest of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard import evaluate_rag
from steelyard.pytest_plugin import gate

pytest_plugins = ["pytester"]

SUITE = """
def test_quality(steelyard, assert_quality):
    report = steelyard.evaluate_rag(
        [{"id": "good", "response": "a", "reference": "a"}, {"id": "bad", "response": "b", "reference": "a"}],
        metrics=["exact_match"],
    )
    assert_quality(report, {"exact_match": %s})
"""


def test_a_report_that_is_good_enough_passes(pytester: pytest.Pytester) -> None:
    """A mean at the threshold passes."""
    pytester.makepyfile(SUITE % "0.5")
    pytester.runpytest("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_a_miss_names_rule_and_samples(pytester: pytest.Pytester) -> None:
    """A miss fails the test with the rule, the value with its n, and the worst samples."""
    pytester.makepyfile(SUITE % "0.8")
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*FAIL  exact_match ≥ 0.8 on the mean: 0.5000 (n 2)*", "*exact_match: bad scored 0.0000*"]
    )


def test_the_baseline_is_compared_with(pytester: pytest.Pytester, tmp_path: Path) -> None:
    """With a baseline a drop fails too, although the threshold is met."""
    before = evaluate_rag(
        [{"id": "good", "response": "a", "reference": "a"}, {"id": "bad", "response": "a", "reference": "a"}],
        metrics=["exact_match"],
    )
    before.save(tmp_path / "before.json")
    pytester.makepyfile(SUITE % "0.5")
    result = pytester.runpytest("-p", "no:cacheprovider", f"--steelyard-baseline={tmp_path / 'before.json'}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*FAIL: 1 regression (exact_match)*", "*bad: 1.0000 → 0.0000*"])


def test_a_threshold_under_another_name_of_the_metric() -> None:
    """The rule and the worst samples are those of the column that the name means."""
    report = evaluate_rag([{"id": "a", "response": "x", "reference": "y"}], metrics=["qa_em"])
    with pytest.raises(pytest.fail.Exception, match=r"exact_match ≥ 0\.9 on the mean(.|\n)*a scored 0\.0000"):
        gate()(report, {"exact_match": 0.9})
