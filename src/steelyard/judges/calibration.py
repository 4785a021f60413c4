"""A judge beside people: what a calibration holds."""

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
        """From a value and its interval."""
        return cls(value, found.low, found.high, found.n)


class Ceiling(Struct, frozen=True):
    """How far people agree with each other: no judge can be shown to do better.

    ``people`` is the share of pairs of people with the same verdict, ``judge`` the share of people who share the
    judge's; both over the ``units`` that two people or more have labelled. ``alpha`` is Krippendorff's, of people.
    """

    annotators: int
    units: int
    people: Share
    judge: Share
    alpha: Agreement


class Chosen(Struct, frozen=True):
    """A threshold chosen on one half of the labels and measured on the other, beside the threshold in use."""

    threshold: float
    chosen_on: int
    measured_on: int
    balanced_accuracy: Agreement
    kappa: Agreement
    before: Agreement
    """Balanced accuracy of the threshold in use, on the same other half."""


class Calibrated(Struct, frozen=True, kw_only=True):
    """One metric beside people's labels, sample by sample or claim by claim.

    ``agreement`` is between people and judge, by measure; ``kappa_maximum`` what kappa could reach with these base
    rates. A verdict is whether a value reaches ``threshold``. ``bias`` is judge minus people. ``mean``, ``pass_rate``
    and, where there is a second system, ``difference`` and ``pass_difference`` are what people would say of all.
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
    ceiling: Ceiling | None = None
    chosen: Chosen | None = None
    mean: Corrected = Corrected()
    pass_rate: Corrected | None = None
    difference: Corrected | None = None
    pass_difference: Corrected | None = None
    notes: list[str] = field(default_factory=list)


class Calibration(Printable, Struct, frozen=True, kw_only=True):
    """A judge beside people, metric by metric; ``calibration["faithfulness"]`` is one of them.

    ``warnings`` say what may make the numbers wrong, such as labels that are no random sample.
    """

    system: str = ""
    baseline: str = ""
    judge: str | None = None
    metrics: dict[str, Calibrated] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    confidence: float = 0.95

    def __getitem__(self, metric: str) -> Calibrated:
        return self.metrics[metric]

    def markdown(self) -> str:
        """The same as Markdown."""
        return self.rendered("markdown")
