"""Sampling for human labels: at random, or at random within strata of score and slice.

Samples are ordered by a hash of their id and the seed. A draw therefore does not depend on the order of a report, a
longer draw begins with the shorter one, and the same samples are drawn for all systems with the same questions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from os import PathLike
from pathlib import Path

import numpy as np
from msgspec import Struct

from ..core.errors import InputError
from ..core.records import Sample
from ..reports.estimates import check_tag
from ..reports.metric_identity import label_of
from ..reports.report import Report
from .annotations import Sheet
from .paired_labels import Unit, units_of

COLUMNS = ("sample", "metric", "value", "annotator", "question", "response", "reference", "contexts")
DRAWN = ("system", "drawn", "stratum", "share")
OTHER = "(other)"
FEWEST = 2
"""Fewest labels of a stratum: fewer give no estimate of its variance."""


class Draw(Struct, frozen=True):
    """One unit to label, its stratum, and the share of all units in that stratum."""

    unit: Unit
    stratum: str = ""
    share: float | None = None


def label(
    report: Report,
    metric: str,
    n: int = 100,
    *,
    bins: int = 1,
    by: Sequence[str] = (),
    claims: bool = False,
    seed: int = 0,
) -> list[Draw]:
    """Draw ``n`` of the scored units for labelling, at random or within strata.

    ``bins`` is the number of score strata of about equal size; ``by`` stratifies by tags. Each stratum gets labels in
    proportion to its size, at least two; slices that are too small for two are combined. The draw starts with two units
    of each stratum and then alternates, so that an annotator who stops early has labelled all strata. ``claims`` draws
    claims from the evidence of the metric instead of samples.

    >>> from steelyard import evaluate_rag
    >>> rows = [{"id": str(n), "response": "a " * (n % 4 + 1), "reference": "a b c d"} for n in range(40)]
    >>> report = evaluate_rag(rows, metrics=["token_f1"])
    >>> label(report, "token_f1", 3) == label(report, "token_f1", 9)[:3]
    True
    >>> {one.stratum: one.share for one in label(report, "token_f1", 8, bins=2)}
    {'score 1 of 2': 0.5, 'score 2 of 2': 0.5}
    """
    column = label_of(report, metric)
    if n < 1 or bins < 1:
        raise InputError(f"n={n}, bins={bins}: both are at least 1")
    units, scores = units_of(report, column, claims=claims)
    places = [place for place in range(len(units)) if not math.isnan(scores[place])]
    if not places:
        raise InputError(f"{column} has no scores to label")
    places.sort(key=lambda place: _rank(units[place], seed))
    if bins == 1 and not by:
        return [Draw(units[place]) for place in places[:n]]
    strata = _strata(report, units, scores, places, min(n, len(places)), bins, by)
    sizes = {name: len(members) for name, members in strata.items()}
    wanted = allocate(sizes, min(n, len(places)))
    turns = [
        (at >= FEWEST, at / wanted[name] if at >= FEWEST else at)
        for name, members in strata.items()
        for at in range(wanted[name])
    ]
    picked = [
        Draw(units[place], name, sizes[name] / len(places))
        for name, members in strata.items()
        for place in members[: wanted[name]]
    ]
    return [one for _, one in sorted(zip(turns, picked, strict=True), key=lambda pair: pair[0])]


def _rank(unit: Unit, seed: int) -> bytes:
    return blake2b(f"{seed}\0{unit.sample}\0{unit.claim}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _strata(
    report: Report,
    units: Sequence[Unit],
    scores: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    places: Sequence[int],
    n: int,
    bins: int,
    by: Sequence[str],
) -> dict[str, list[int]]:
    """Group positions by slice and score, with at least two labels per stratum."""
    tags = [sample.tags for sample in report.samples]
    for tag in by:
        check_tag(tag, tags)
    slices: dict[str, list[int]] = {}
    for place in places:
        name = ", ".join(f"{tag}={tags[units[place].row].get(tag, '(none)')}" for tag in by)
        slices.setdefault(name, []).append(place)
    small = [name for name, members in slices.items() if n * len(members) < FEWEST * len(places)]
    if len(small) > 1 or (small and len(slices) > 1):
        rest = [place for name in small for place in slices.pop(name)]
        if n * len(rest) < FEWEST * len(places) and slices:
            largest = max(slices, key=lambda name: len(slices[name]))
            rest += slices.pop(largest)
        slices[OTHER] = rest
    strata: dict[str, list[int]] = {}
    for name, members in sorted(slices.items()):
        cuts = min(bins, max(1, n * len(members) // (FEWEST * len(places))))
        for number, part in enumerate(_by_score(members, scores, cuts), 1):
            score_part = f"score {number} of {cuts}" if cuts > 1 else ""
            strata[", ".join(filter(None, (name, score_part))) or "all"] = part
    return strata


def _by_score(
    members: Sequence[int], scores: np.ndarray[tuple[int, ...], np.dtype[np.float64]], cuts: int
) -> list[list[int]]:
    """Split members by score into ``cuts`` parts of about equal size, each in the order of the draw."""
    ordered = sorted(members, key=lambda place: float(scores[place]))
    ends = [round(len(ordered) * part / cuts) for part in range(cuts + 1)]
    part_of = {place: part for part in range(cuts) for place in ordered[ends[part] : ends[part + 1]]}
    return [[place for place in members if part_of[place] == part] for part in range(cuts)]


def allocate(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """Allocate ``n`` labels to strata: in proportion, at least two (or all of it), largest remainders first.

    >>> allocate({"a": 80, "b": 15, "c": 5}, 10)
    {'a': 6, 'b': 2, 'c': 2}
    """
    total = sum(sizes.values())
    exact = {name: n * size / total for name, size in sizes.items()}
    wanted = {name: min(sizes[name], max(FEWEST, math.floor(exact[name]))) for name in sizes}
    while sum(wanted.values()) != n:
        more = sum(wanted.values()) < n
        step = 1 if more else -1
        free = [
            name for name in sizes if (wanted[name] < sizes[name] if more else wanted[name] > min(FEWEST, sizes[name]))
        ]
        if not free:
            break
        wanted[max(free, key=lambda name: step * (exact[name] - wanted[name]))] += step
    return wanted


def sheet_of(
    report: Report,
    metric: str,
    draws: Sequence[Draw],
    path: str | PathLike[str],
    *,
    annotator: str = "",
) -> Sheet:
    """Make a sheet of the drawn units, without the judge's scores."""
    column = label_of(report, metric)
    claims = any(one.unit.claim for one in draws)
    samples = {sample.id: sample for sample in report.samples}
    columns = [*COLUMNS, *DRAWN] if any(one.stratum for one in draws) else [*COLUMNS, *DRAWN[:2]]
    if claims:
        columns[2:2] = ["claim", "claim_text"]
    rows = []
    for one in draws:
        sample = samples.get(one.unit.sample, Sample(id=one.unit.sample))
        row: dict[str, str | None] = {
            "sample": one.unit.sample,
            "metric": column,
            "value": None,
            "annotator": annotator or None,
            "question": sample.user_input,
            "response": sample.response,
            "reference": "\n".join(sample.references) or None,
            "contexts": "\n\n".join(sample.retrieved_contexts or ()) or None,
            "system": report.system or None,
            "drawn": "stratified" if one.stratum else "random",
        }
        if one.stratum:
            row |= {"stratum": one.stratum, "share": repr(one.share)}
        if claims:
            row |= {"claim": str(one.unit.claim), "claim_text": one.unit.text}
        rows.append({name: row[name] for name in columns})
    return Sheet(Path(path), columns, rows)
