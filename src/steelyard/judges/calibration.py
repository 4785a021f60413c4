"""Records of a calibration: agreement of a judge with people, and corrected estimates."""

from __future__ import annotations

from msgspec import Struct, field

from ..core.printable import Printable
from ..stats.agreement import Agreement, Confusion
from ..stats.intervals import Interval
from ..stats.ppi import Corrected


class Share(Struct, frozen=True):
    """A mean with its interval: a base rate, or a bias."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0

    @classmethod
    def of(cls, value: float, found: Interval) -> Share:
        """Combine a value and its interval."""
        return cls(value, found.low, found.high, found.n)


class HumanCeiling(Struct, frozen=True):
    """Agreement among people, which is the upper limit for a judge.

    ``people`` is the share of pairs of people with equal verdicts; ``judge`` is the share of people with the verdict of
    the judge. Both are over the ``units`` with labels of two or more people. ``alpha`` is Krippendorff's alpha of
    people.
    """

    annotators: int
    units: int
    people: Share
    judge: Share
    alpha: Agreement


class ChosenThreshold(Struct, frozen=True):
    """A threshold chosen on one half of the labels and measured on the other, compared with the threshold in use."""

    threshold: float
    chosen_on: int
    measured_on: int
    balanced_accuracy: Agreement
    kappa: Agreement
    before: Agreement
    """Balanced accuracy of the threshold in use, on the same half as the new one."""


class MetricCalibration(Struct, frozen=True, kw_only=True):
    """One metric compared with human labels of samples or of claims.

    ``agreement`` is between people and judge, by measure; ``kappa_maximum`` is the largest kappa that these base rates
    allow. A verdict is whether a value reaches ``threshold``. ``bias`` is judge minus people. ``mean``, ``pass_rate``
    and, with a second system, ``difference`` and ``pass_difference`` estimate human labels of all samples.
    """

    metric: str
    way: str = ""
    unit: str = "sample"
    threshold: float | None = None
    total: int = 0
    n: int = 0
    unscored: int = 0
    annotators: int = 1
    agreement: dict[str, Agreement] = field(default_factory=dict)
    kappa_maximum: float | None = None
    confusion: Confusion | None = None
    people_rate: Share | None = None
    judge_rate: Share | None = None
    bias: Share | None = None
    bias_by: dict[str, Share] = field(default_factory=dict)
    ceiling: HumanCeiling | None = None
    chosen: ChosenThreshold | None = None
    mean: Corrected = Corrected()
    pass_rate: Corrected | None = None
    difference: Corrected | None = None
    pass_difference: Corrected | None = None
    notes: list[str] = field(default_factory=list)


class Calibration(Printable, Struct, frozen=True, kw_only=True):
    """Comparison of a judge with people by metric, as in ``calibration["faithfulness"]``.

    ``warnings`` name possible causes of wrong numbers, such as labels that are not a random sample.
    """

    system: str = ""
    baseline: str = ""
    judge: str | None = None
    metrics: dict[str, MetricCalibration] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    confidence: float = 0.95

    def __getitem__(self, metric: str) -> MetricCalibration:
        return self.metrics[metric]

    def markdown(self) -> str:
        """Return the calibration as Markdown."""
        return self.rendered("markdown")
