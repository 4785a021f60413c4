"""Human labels paired with scores of a judge, by unit. A unit is a sample, or one claim of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from ..core.errors import InputError
from ..core.wording import pluralize
from ..reports.report import Report
from ..stats.distributions import normal_cdf
from ..stats.pooling import FloatArray
from .annotations import HumanLabel

SUSPICIOUS_P = 0.01
"""A p below this causes a warning that labelled units score differently from the others."""


class Unit(Struct, frozen=True):
    """One scored unit: the row of its sample, and for a claim its number (from 1) and text."""

    sample: str
    row: int
    claim: int = 0
    text: str = ""


class PairedLabels(Struct, frozen=True):
    """Units with scores of the judge and labels of people, NaN if missing.

    ``people`` has the labels of each annotator, ``mean`` their mean. ``strata`` names the stratum of each labelled
    unit, ``shares`` is the share of each stratum in all units. ``drawn`` is the method of sampling if all labels name
    the same. ``waiting`` is the number of drawn units without a label; ``passed_over`` of them precede the last label.
    """

    units: list[Unit]
    scores: FloatArray
    people: dict[str, FloatArray]
    mean: FloatArray
    strata: list[str]
    shares: dict[str, float]
    drawn: str = ""
    waiting: int = 0
    passed_over: int = 0
    unknown_units: list[str] = []

    @property
    def annotators(self) -> int:
        """The number of annotators, as far as known: labels without a name count as another person only on a unit that
        a named person has labelled too."""
        named = {name: ~np.isnan(values) for name, values in self.people.items() if name}
        nameless = ~np.isnan(self.people.get("", np.array([])))
        return max(1, len(named) + any(bool((nameless & given).any()) for given in named.values() if len(nameless)))

    @property
    def rows(self) -> list[int]:
        """The positions of the labelled units."""
        return [int(place) for place in np.flatnonzero(~np.isnan(self.mean))]


def units_of(report: Report, metric: str, *, claims: bool = False) -> tuple[list[Unit], FloatArray]:
    """Return the units and scores of a metric: samples with scores, or claims with 1 for a supported claim, else 0."""
    column = report.columns[metric]
    if not claims:
        return [Unit(one, row) for row, one in enumerate(report.ids)], column.values
    units, scores = [], []
    for row, one in enumerate(report.ids):
        found = column.evidence.get(row, {}).get("claims")
        for number, claim in enumerate(found if isinstance(found, list) else [], 1):
            if isinstance(claim, dict) and isinstance(claim.get("claim"), str):
                units.append(Unit(one, row, number, str(claim["claim"])))
                scores.append({"yes": 1.0, "no": 0.0}.get(str(claim.get("verdict")), math.nan))
    if not units:
        raise InputError(f"the evidence of {metric} has no claims: label samples instead")
    return units, np.array(scores, dtype=np.float64)


def join(report: Report, metric: str, labels: Sequence[HumanLabel], *, claims: bool = False) -> PairedLabels:
    """Assign labels to the units of one metric. Two different labels of one person on one unit are an error."""
    units, scores = units_of(report, metric, claims=claims)
    place_of = {(unit.sample, unit.claim): place for place, unit in enumerate(units)}
    by_text = {(unit.sample, _folded(unit.text)): place for place, unit in enumerate(units) if unit.text}
    people: dict[str, FloatArray] = {}
    strata, shares = [""] * len(units), dict[str, float]()
    drawn, marks, unknown_units = set[str](), dict[int, bool](), list[str]()
    for label in labels:
        key = (label.sample, int(label.claim)) if label.claim.isdecimal() else None
        place = place_of.get(key or (label.sample, 0)) if key or not label.claim else None
        if place is None and label.claim:
            place = by_text.get((label.sample, _folded(label.claim)))
        if place is None:
            unknown_units.append(label.sample if not label.claim else f"{label.sample} claim {label.claim}")
            continue
        marks[place] = marks.get(place, False) or label.value is not None
        if label.value is None:
            continue
        drawn.add(label.drawn)
        if label.stratum and label.share is not None:
            strata[place], shares[label.stratum] = label.stratum, label.share
        values = people.setdefault(label.annotator, np.full(len(units), math.nan))
        if not math.isnan(values[place]) and values[place] != label.value:
            who = f" by {label.annotator}" if label.annotator else ""
            raise InputError(f"{label.sample} is labelled twice{who}: {values[place]:g} and {label.value:g}")
        values[place] = label.value
    order = list(marks.values())
    last = max((at for at, given in enumerate(order) if given), default=-1)
    return PairedLabels(
        units=units,
        scores=scores,
        people=people,
        mean=_mean(list(people.values()), len(units)),
        strata=strata,
        shares=shares if drawn == {"stratified"} else {},
        drawn=drawn.pop() if len(drawn) == 1 else "",
        waiting=order.count(False),
        passed_over=order[: last + 1].count(False),
        unknown_units=unknown_units,
    )


def by_system(
    labels: Sequence[HumanLabel], report: Report, baseline: Report
) -> tuple[list[HumanLabel], list[HumanLabel]]:
    """Split labels by system; labels without a system belong to the report."""
    if report.system == baseline.system:
        raise InputError(
            "both reports name the same system: give the labels of the baseline with --baseline-labels"
            " (baseline_labels=)"
        )
    theirs = [label for label in labels if label.system == baseline.system]
    return [label for label in labels if label.system in {"", report.system}], theirs


def check_baseline(report: Report, baseline: Report, labels: Sequence[HumanLabel]) -> None:
    """Raise InputError for different data or missing labels of the second system: no difference can be corrected."""
    if baseline.dataset.digest != report.dataset.digest:
        raise InputError(
            f"the two reports were made from different data: {report.dataset.digest or 'no digest'} and"
            f" {baseline.dataset.digest or 'none'}"
        )
    if all(label.value is None for label in labels):
        raise InputError(
            f"no labels of {baseline.system or 'the second system'}: give them as --baseline-labels (baseline_labels=),"
            " or in a column system"
        )


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _mean(people: Sequence[FloatArray], count: int) -> FloatArray:
    """Return the mean label of each unit, NaN without labels."""
    if not people:
        return np.full(count, math.nan)
    table = np.array(people)
    given = (~np.isnan(table)).sum(axis=0)
    total = np.where(np.isnan(table), 0.0, table).sum(axis=0)
    return np.where(given > 0, total / np.maximum(given, 1), math.nan)


def sampling_warnings(joined: PairedLabels, drawn: str | None) -> list[str]:
    """List reasons why the labelled samples may not be a random sample."""
    found = []
    if joined.unknown_units:
        shown = ", ".join(joined.unknown_units[:3]) + (", …" if len(joined.unknown_units) > 3 else "")
        labels = pluralize(len(joined.unknown_units), "label is about a sample", "labels are about samples")
        found.append(f"{labels} that the report does not have: {shown}")
    if joined.passed_over:
        passed = pluralize(joined.passed_over, "sample was", "samples were")
        found.append(f"{passed} drawn but not labelled: if these were hard ones, the labels are not a random sample")
    stratified = joined.drawn == "stratified" and joined.shares
    if not stratified and joined.drawn != "random" and drawn is None:
        found.append(
            "the labels do not say how the samples were chosen; corrected estimates are valid only for a random choice"
            " (steelyard label draws at random; confirm another random choice with drawn='random' or --random)"
        )
    if not stratified and (warning := _selection_warning(joined)) is not None:
        found.append(warning)
    return found


def _selection_warning(joined: PairedLabels) -> str | None:
    """Warn if labelled samples score differently from the others (Welch's test), unlike a random sample."""
    scored, labelled = ~np.isnan(joined.scores), ~np.isnan(joined.mean)
    inside, outside = joined.scores[scored & labelled], joined.scores[scored & ~labelled]
    if min(len(inside), len(outside)) < 5:
        return None
    error = math.sqrt(inside.var(ddof=1) / len(inside) + outside.var(ddof=1) / len(outside))
    gap = float(inside.mean() - outside.mean())
    p = 2 * normal_cdf(-abs(gap) / error) if error > 0 else float(gap == 0)
    if p >= SUSPICIOUS_P:
        return None
    return (
        f"labelled samples score {inside.mean():.3f} on average, the others {outside.mean():.3f} (p = {p:.2g}): these"
        " labels are probably not a random sample"
    )
