"""Details of one score: sample, prompts and replies, verdicts, arithmetic."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import msgspec

from ..core.errors import UnknownName
from ..core.records import Json, Sample
from ..core.wording import nearest, pluralize
from ..judges.label_terminal import visible
from ..models.exchanges import exchanges
from ..reports.metric_identity import label_of
from ..reports.report import Report
from .table import one_line


def why(report: Report, sample: str, metric: str, *, ledger: Path | None = None) -> str:
    """Return the details of one score as text; prompts and replies come from the ledger, if it is available."""
    label = label_of(report, metric)
    if sample not in report.ids:
        raise UnknownName(f"no sample {sample!r} in the report: {_nearest(sample, report.ids)}")
    row = report.ids.index(sample)
    score, note = report.score(row, label), report.notes[label]
    value = "none" if score.value is None else repr(score.value)
    lines = [f"{note.name} [{note.way}, revision {note.revision}] on {one_line(sample)}: {value} ({score.status})"]
    if score.reason:
        lines.append(f"reason: {score.reason}")
    if score.parts is not None:
        lines.append(f"{score.parts[0]:g} / {score.parts[1]:g}")
    if score.passed is not None:
        lines.append(f"{'passes' if score.passed else 'misses'} the threshold {note.threshold:g}")
    one = next((found for found in report.samples if found.id == sample), None)
    if one is not None:
        lines += ["", *_sample(one)]
    if score.evidence:
        lines += ["", "evidence:", indent(_pretty(score.evidence), "  ")]
    if score.requests:
        lines += ["", *_requests(score.requests, ledger or _ledger_of(report))]
    return visible("\n".join(lines))


def _nearest(sample: str, ids: list[str]) -> str:
    """The ids most like one that is not there; where none is, how the first ones look."""
    if close := nearest(sample, ids):
        return f"did you mean {', '.join(map(one_line, close))}?"
    return f"its {pluralize(len(ids), 'id begins', 'ids begin')} with {', '.join(map(one_line, ids[:3]))}"


def _ledger_of(report: Report) -> str | None:
    place = report.run.get("ledger")
    return place if isinstance(place, str) else None


def _sample(sample: Sample) -> list[str]:
    lines = []
    for name in ("user_input", "response", "reference", "retrieved_contexts"):
        value = getattr(sample, name)
        if isinstance(value, str):
            lines.append(f"{name}: {value}")
        elif value is not None:
            lines += [f"{name}:", *(f"  {number}. {text}" for number, text in enumerate(value, 1))]
    return lines


def _pretty(evidence: dict[str, Json]) -> str:
    return msgspec.json.format(msgspec.json.encode(evidence), indent=2).decode()


def _requests(keys: list[str], path: str | Path | None) -> list[str]:
    """The prompts and replies behind a score, from the ledger."""
    lines = []
    for number, (key, found) in enumerate(zip(keys, exchanges(keys, path), strict=True), 1):
        lines.append(f"── request {number} of {len(keys)} ({key})")
        if found is None:
            lines.append("an embedding request, or not in the ledger")
        else:
            lines += ["prompt:", indent(found.prompt, "  "), "reply:", indent(found.reply, "  "), found.facts]
    return lines
