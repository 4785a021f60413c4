"""Two reports side by side: what a comparison holds, and whether it passed."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct, field

from ..core.printable import Printable

Verdict: TypeAlias = Literal["better", "same", "worse", "lost", "new"]


class Change(Struct, frozen=True):
    """One sample that moved, and why it scores now as it does, where the report tells."""

    sample: str
    baseline: float
    current: float
    reason: str = ""

    @property
    def delta(self) -> float:
        """current - baseline, unsigned by direction."""
        return self.current - self.baseline


class MetricDelta(Struct, frozen=True, kw_only=True):
    """One metric, over all samples or one slice, before and after.

    ``baseline`` and ``current`` are pooled over the ``n`` pairs that have a score on both sides; ``delta`` is signed so
    that negative is worse. ``low`` and ``high`` bound it; ``p`` is that of ``test``, ``p_adjusted`` Holm's.
    ``detectable`` is the smallest difference that this many pairs would show with a power of 0.8, None where the
    metric has no room for one so large. ``noise`` is how large a delta two runs of one system reach by the judge's
    noise alone, where judges were asked several times.
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
        """The verdict in words, and how sure it is.

        ``worse`` and ``better`` stand alone where the difference is significant and beyond the tolerance; one of the
        two is said otherwise (``worse, not significant``; ``worse, within the tolerance``). Neither is ``no
        detectable change``; ``below judge noise`` is added where that alone may have made the difference. Or ``too
        few samples``, ``no scored samples left``, ``new``.
        """
        if self.verdict in {"lost", "new"}:
            return "no scored samples left" if self.verdict == "lost" else "new"
        if self.delta is None:
            return "nothing to compare"
        if self.detectable is None and (self.p is None or self.p > alpha):
            return "too few samples"  # whatever the difference, they would not show it
        if self.n < 6 and self.p is not None and self.p > alpha:
            return "too few samples"  # fewer than 6 graded pairs cannot reach p = 0.05 either
        if self.p_adjusted is None or self.p_adjusted > alpha:
            change = "no detectable change" if self.verdict == "same" else f"{self.verdict}, not significant"
            return change + (", below judge noise" if self.below_noise else "")
        if self.verdict == "same":
            return ("worse" if self.delta < 0 else "better") + ", within the tolerance"
        return self.verdict


class Comparison(Printable, Struct, frozen=True, kw_only=True):
    """Two reports side by side. ``passed`` is what the command line exits by."""

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
        """Drops beyond the tolerance, and lost populations."""
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
        """For a pull request."""
        return self.rendered("markdown")

    def _repr_html_(self) -> str:
        return self.rendered("fragment")
