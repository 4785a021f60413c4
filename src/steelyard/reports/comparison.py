"""The records of a comparison of two reports (``Comparison``), and whether it passed."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct, field

from ..core.printable import Printable

Verdict: TypeAlias = Literal["better", "same", "worse", "lost", "new"]


class Change(Struct, frozen=True):
    """One sample with a changed score, and the explanation of its current score if the report holds one."""

    sample: str
    baseline: float
    current: float
    reason: str = ""

    @property
    def delta(self) -> float:
        """current - baseline, whether higher is better or not."""
        return self.current - self.baseline


class MetricDelta(Struct, frozen=True, kw_only=True):
    """One metric, over all samples or one slice, before and after.

    ``baseline`` and ``current`` are pooled over the ``n`` pairs that have a score on both sides; ``delta`` is signed so
    that negative is worse. ``low`` and ``high`` bound it; ``p`` is that of ``test``, ``p_adjusted`` Holm's.
    ``detectable`` is the smallest difference that this number of pairs detects with a power of 0.8, None if it exceeds
    the range of the metric. ``noise`` is the largest delta between two runs of one system from the judge's noise alone,
    if the draws were repeated.
    """

    metric: str
    slice: str = ""
    way: str = ""
    higher_is_better: bool = True
    baseline: float | None = None
    current: float | None = None
    delta: float | None = None
    n: int = 0
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    test: str = ""
    win: int = 0
    tie: int = 0
    loss: int = 0
    detectable: float | None = None
    noise: float | None = None
    tolerance: float = 0.0
    verdict: Verdict = "same"
    regression: bool = False
    to_fail: int = 0
    to_pass: int = 0
    unscored_baseline: int = 0
    unscored_current: int = 0
    worst: list[Change] = field(default_factory=list)

    @property
    def below_noise(self) -> bool:
        """Whether the judge's noise alone may have made this delta."""
        return self.delta is not None and self.noise is not None and abs(self.delta) <= self.noise

    def words(self, alpha: float = 0.05) -> str:
        """The verdict in words, with its certainty.

        ``worse`` or ``better`` if the difference is significant and beyond the tolerance; with ``not significant`` or
        ``within the tolerance`` if one of the two does not hold; ``no detectable change`` if neither holds. ``below
        judge noise`` is added if the judge's noise alone may explain the difference. Otherwise ``too few samples``,
        ``no scored samples left`` or ``new``.
        """
        if self.verdict in {"lost", "new"}:
            return "no scored samples left" if self.verdict == "lost" else "new"
        if self.delta is None:
            return "nothing to compare"
        if self.detectable is None and (self.p is None or self.p > alpha):
            return "too few samples"  # they cannot show any difference
        if self.n < 6 and self.p is not None and self.p > alpha:
            return "too few samples"  # fewer than 6 graded pairs cannot reach p = 0.05 either
        if self.p_adjusted is None or self.p_adjusted > alpha:
            change = "no detectable change" if self.verdict == "same" else f"{self.verdict}, not significant"
            return change + (", below judge noise" if self.below_noise else "")
        if self.verdict == "same":
            return ("worse" if self.delta < 0 else "better") + ", within the tolerance"
        return self.verdict


class Comparison(Printable, Struct, frozen=True, kw_only=True):
    """The comparison of two reports. ``passed`` determines the exit code of the command line."""

    baseline: str
    current: str
    blockers: list[str] = field(default_factory=list)
    deltas: list[MetricDelta] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    n_paired: int = 0
    only_baseline: list[str] = field(default_factory=list)
    only_current: list[str] = field(default_factory=list)
    alpha: float = 0.05
    significant: bool = False
    confidence: float = 0.95

    @property
    def comparable(self) -> bool:
        """Whether the two reports may be compared at all."""
        return not self.blockers

    @property
    def regressions(self) -> list[MetricDelta]:
        """Drops beyond the tolerance, and metrics that lost all scored samples."""
        return [one for one in self.deltas if one.regression]

    @property
    def improvements(self) -> list[MetricDelta]:
        """Gains beyond the tolerance."""
        return [one for one in self.deltas if one.verdict == "better"]

    @property
    def passed(self) -> bool:
        """No blocker and no regression."""
        return self.comparable and not self.regressions

    @property
    def exit_code(self) -> int:
        """0 passed, 2 a regression, 3 not comparable."""
        return 3 if not self.comparable else 2 if self.regressions else 0

    def markdown(self) -> str:
        """The comparison as Markdown, for a pull request."""
        return self.rendered("markdown")

    def _repr_html_(self) -> str:
        return self.rendered("fragment")
