"""The rules of the quality gate of a report, and the exit code of the command line."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ..core.errors import InputError, WrongType, check_range
from ..stats.pooling import passes
from .metric_identity import label_of
from .report import Report

GOOD, COULD_NOT_RUN, GATE_SAYS_NO, INCOMPLETE = 0, 1, 2, 3


class Rule(Struct, frozen=True):
    """One rule of the gate and its verdict."""

    text: str
    found: str
    passed: bool
    kind: str

    def __str__(self) -> str:
        return f"{'pass' if self.passed else 'FAIL'}  {self.text}: {self.found}"


def rules(
    report: Report,
    *,
    thresholds: Mapping[str, float] | None = None,
    pass_rates: Mapping[str, float] | None = None,
    max_failed: float = 0.0,
) -> list[Rule]:
    """Apply every rule and return its verdict: thresholds on means, shares of passed samples, failures.

    A metric without a value passes no threshold. The share of failed samples is failed / (ok + failed).
    """
    if not isinstance(report, Report):
        raise WrongType(f"expected a Report, such as evaluate_rag gives, found {type(report).__name__}")
    check_range("max_failed", max_failed, 0, 1)
    found = [_mean_rule(report, label, limit) for label, limit in (thresholds or {}).items()]
    found += [_rate_rule(report, label, limit) for label, limit in (pass_rates or {}).items()]
    for label, share in report.failed_share.items():
        if share > 0 or max_failed > 0:
            one = report.estimates[label]
            text = f"at most {max_failed:.1%} of samples may fail on {label}"
            found.append(
                Rule(text, f"{one.failed} of {one.n + one.failed} failed ({share:.1%})", share <= max_failed, "failed")
            )
    return found


def exit_code(found: list[Rule]) -> int:
    """0 if all pass; 3 if too many samples failed, since the other numbers then cover only the rest; else 2."""
    missed = {rule.kind for rule in found if not rule.passed}
    return INCOMPLETE if "failed" in missed else GATE_SAYS_NO if missed else GOOD


def _mean_rule(report: Report, label: str, limit: float) -> Rule:
    column = label_of(report, label)
    one, note = report.estimates[column], report.notes[column]
    sign = "≥" if note.higher_is_better else "≤"
    text = f"{label} {sign} {limit:g} on the {one.pool}"
    if one.value is None:
        return Rule(text, "no value: nothing was scored", False, "threshold")
    passed = passes(one.value, limit, higher_is_better=note.higher_is_better)
    return Rule(text, f"{one.value:.4f} (n {one.n})", passed, "threshold")


def _rate_rule(report: Report, label: str, limit: float) -> Rule:
    one = report.estimates[label_of(report, label)]
    if not 0 <= limit <= 1:
        raise InputError(f"pass rate {limit:g} for {label}: must be in [0, 1]")
    if one.threshold is None:
        raise InputError(f"a pass rate for {label} needs its threshold: --threshold {label}=…")
    text = f"{label} passes ({one.threshold:g}) in at least {limit:.0%} of samples"
    if one.pass_rate is None:
        return Rule(text, "no value: nothing was scored", False, "pass_rate")
    return Rule(text, f"{one.pass_rate:.1%} (n {one.n})", passes(one.pass_rate, limit), "pass_rate")
