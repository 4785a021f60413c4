"""Charts of a metric as SVG, PNG or PDF files, drawn offline by Altair and vl-convert (extra ``report``).

HTML pages draw their own small histograms (``histogram.py``); docs/decisions/021-charts.md gives the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from ..core.errors import InputError, MissingExtra, UnknownName
from ..core.records import Estimate
from ..core.wording import did_you_mean
from ..reports.report import Report
from ..reports.store import StoredReport
from .histogram import FloatArray, value_range
from .html_view import interval_text, title, value_text, what
from .table import shown_name

Row: TypeAlias = dict[str, "float | int | str | None"]

FORMATS = ("svg", "png", "pdf")
_UNDRAWN = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
BINS, WIDTH, HEIGHT = 24, 560, 220
ACCENT, BAR, INK, SOFT = "#0c6568", "#7fb0ae", "#1c2126", "#59636d"


def plot(report: Report, label: str, path: str | PathLike[str]) -> Path:
    """Draw the distribution of one metric with its estimate, interval and threshold, and its slices below.

    The suffix of ``path`` selects the format: svg, png or pdf. Raises UnknownName for a metric that is not in the
    report, InputError if nothing was scored or for another suffix, MissingExtra without the extra.
    """
    if label not in report.columns:
        raise UnknownName(f"no metric {label!r} in the report: {did_you_mean(label, report.columns)}")
    column = report.columns[label].values
    values = column[~np.isnan(column)]
    if not len(values):
        raise InputError(f"nothing to plot: {label} has no scores")
    target = _target(path)
    alt = _altair()
    parts = [_distribution(alt, report, label, values)]
    if rows := _slice_rows(report.slices, label):
        parts.append(_slices(alt, rows, label))
    return _written(alt.vconcat(*parts, spacing=24), target)


def scatter(
    pairs: Sequence[tuple[float, float]], path: str | PathLike[str], *, label: str, baseline: str, current: str
) -> Path:
    """Draw the scores of two systems against each other, one point per sample; above the line the second is higher."""
    if not pairs:
        raise InputError(f"nothing to plot: no sample has {label} in both reports")
    target = _target(path)
    alt = _altair()
    ends = [min(map(min, pairs)), max(map(max, pairs))]
    scale = alt.Scale(domain=ends, nice=True)
    rows: list[Row] = [{"before": before, "after": after} for before, after in pairs]
    line = alt.Chart(_data(alt, [{"before": end, "after": end} for end in ends])).mark_line(
        color=SOFT, strokeDash=[3, 3], strokeWidth=1
    )
    points = alt.Chart(_data(alt, rows), width=360, height=360).mark_circle(color=ACCENT, opacity=0.45, size=36)
    x = alt.X("before:Q", title=f"{label}, {baseline}", scale=scale)
    y = alt.Y("after:Q", title=f"{label}, {current}", scale=scale)
    head = alt.TitleParams(
        f"{label}: {current} against {baseline}",
        subtitle=f"{len(pairs):,} {'sample' if len(pairs) == 1 else 'samples'}",
    )
    return _written((line.encode(x=x, y=y) + points.encode(x=x, y=y)).properties(title=head), target)


def trend(kept: Sequence[StoredReport], label: str, path: str | PathLike[str]) -> Path:
    """Draw one metric over stored runs, oldest first, each with its interval; runs without a value are left out."""
    rows: list[Row] = []
    for number, line in enumerate(kept, 1):
        one = line.estimates.get(label)
        if one is not None and one.value is not None:
            ends = [one.value if end is None else end for end in (one.low, one.high)]
            rows.append({"run": f"{number} · {line.name}", "value": one.value, "low": ends[0], "high": ends[1]})
    if not rows:
        raise InputError(f"nothing to plot: no stored report has a value of {label}")
    target = _target(path)
    alt = _altair()
    x = alt.X("run:N", title=None, sort=None, axis=alt.Axis(labelAngle=-40, labelLimit=260))
    place = alt.Chart(_data(alt, rows), width=alt.Step(40), height=HEIGHT).encode(x=x)
    y = alt.Y("value:Q", title=label, scale=alt.Scale(zero=False))
    line_of_values = place.mark_line(color=BAR, strokeWidth=1.5).encode(y=y)
    spans = place.mark_rule(color=ACCENT, strokeWidth=3, opacity=0.55).encode(
        y=alt.Y("low:Q", title=label, scale=alt.Scale(zero=False)), y2="high:Q"
    )
    points = place.mark_point(color=ACCENT, filled=True, opacity=1, size=60).encode(y=y)
    head = alt.TitleParams(label, subtitle=f"{len(rows):,} stored {'report' if len(rows) == 1 else 'reports'}")
    return _written((spans + line_of_values + points).properties(title=head), target)


def _target(path: str | PathLike[str]) -> Path:
    target = Path(path)
    if target.suffix.lstrip(".").lower() not in FORMATS:
        raise InputError(f"cannot draw into {target.name!r}: its name must end in .{', .'.join(FORMATS)}")
    return target


def _altair() -> ModuleType:
    try:
        import_module("vl_convert")
        return import_module("altair")
    except ImportError as error:
        raise MissingExtra(error.name or "altair", extra="report") from None


def _data(alt: ModuleType, rows: Sequence[Row]) -> Any:  # noqa: ANN401 - Altair is known when it is installed
    return alt.Data(values=list(rows))


def _distribution(alt: ModuleType, report: Report, label: str, values: FloatArray) -> Any:  # noqa: ANN401
    one, note = report.estimates[label], report.notes[label]
    low, high = value_range(values, note.bounds)
    counts, edges = np.histogram(values, bins=BINS, range=(low, high))
    bars: list[Row] = [
        {"low": float(edges[at]), "high": float(edges[at + 1]), "n": int(n)} for at, n in enumerate(counts) if n
    ]
    x = alt.X("low:Q", title=label, scale=alt.Scale(domain=[low, high], nice=False))
    layers = [
        alt.Chart(_data(alt, bars))
        .mark_bar(color=BAR, binSpacing=1)
        .encode(x=x.bin("binned"), x2="high:Q", y=alt.Y("n:Q", title=what(report)))
    ]
    if one.value is not None and low <= one.value <= high:
        mean = alt.Chart(_data(alt, [{"low": one.value}])).mark_rule(color=ACCENT, strokeWidth=2).encode(x=x)
        layers.append(mean)
        if one.low is not None and one.high is not None:
            band = alt.Chart(_data(alt, [{"low": one.low, "high": one.high}]))
            layers.insert(0, band.mark_rect(color=ACCENT, opacity=0.16).encode(x=x, x2="high:Q"))
    if one.threshold is not None:
        limit = alt.Chart(_data(alt, [{"low": one.threshold}]))
        layers.append(limit.mark_rule(color=INK, strokeDash=[3, 3]).encode(x=x))
    interval = f"{interval_text(one.low, one.high, one.pool)}, {one.method or 'no interval'}"
    estimate = f"{value_text(one.value, one.pool)} ({interval})"
    counted = f"{one.n:,} scored of {one.total:,}, {one.undefined:,} undefined, {one.failed:,} failed"
    head = alt.TitleParams(
        f"{shown_name(label, note)} · {title(report)}",
        subtitle=f"{estimate} · {counted}",
    )
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=head)


def _slice_rows(slices: Mapping[str, Mapping[str, Estimate]], label: str) -> list[Row]:
    rows: list[Row] = []
    for name, estimates in slices.items():
        one = estimates.get(label)
        if one is not None and one.value is not None:
            ends = [one.value if end is None else end for end in (one.low, one.high)]
            rows.append({"slice": f"{name} (n {one.n:,})", "value": one.value, "low": ends[0], "high": ends[1]})
    return rows


def _slices(alt: ModuleType, rows: Sequence[Row], label: str) -> Any:  # noqa: ANN401
    y = alt.Y("slice:N", title=None, sort=None)
    place = alt.Chart(_data(alt, rows)).encode(y=y)
    spans = place.mark_rule(color=ACCENT, strokeWidth=3).encode(
        x=alt.X("low:Q", title=label, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6)), x2="high:Q"
    )
    points = place.mark_point(color=ACCENT, filled=True, opacity=1, size=60).encode(x="value:Q")
    return (spans + points).properties(width=WIDTH, height=alt.Step(24))


def _cleaned(spec: Any) -> Any:  # noqa: ANN401
    """Return the chart specification with escapes in place of characters that an SVG cannot hold."""
    if isinstance(spec, str):
        return _UNDRAWN.sub(lambda found: ascii(found[0])[1:-1], spec)
    if isinstance(spec, dict):
        return {key: _cleaned(value) for key, value in spec.items()}
    return [_cleaned(one) for one in spec] if isinstance(spec, list) else spec


def _written(chart: Any, target: Path) -> Path:  # noqa: ANN401
    import vl_convert

    plain = chart.configure(font="sans-serif", background="white").configure_view(stroke=None)
    spec = (
        plain.configure_title(anchor="start", subtitleColor=SOFT, subtitlePadding=4, offset=10)
        .configure_axis(gridColor="#eceae5")
        .to_dict()
    )
    spec = _cleaned(spec)
    suffix = target.suffix.lstrip(".").lower()
    target.parent.mkdir(parents=True, exist_ok=True)
    if suffix == "svg":
        target.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
    elif suffix == "png":
        target.write_bytes(vl_convert.vegalite_to_png(spec, scale=2))
    else:
        target.write_bytes(vl_convert.vegalite_to_pdf(spec))
    return target
