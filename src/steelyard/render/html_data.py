"""The data of a page: columns of the grid, and texts in blocks that are unpacked on demand.

Each block is deflated JSON in base64, one block per line, so that its content cannot close the HTML element around it.
A context is stored once, even if several samples and prompts contain it.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from ..core.records import Json, Sample
from ..metrics.lookup import recorded_metric
from ..metrics.registry import Metric
from ..reports.failure_analysis import (
    ANSWER,
    GROUNDED,
    RETRIEVAL,
    FailureAnalysis,
    aligned_samples,
    read_documents,
    relevant_documents,
)
from ..reports.report import Report
from ..stats.pooling import passes
from .html_evidence import shaped
from .table import shown_name

BLOCK = 1 << 18
"""Size in bytes from which a block is closed."""

LEVEL = 4
"""A third of the time of level 6, and an eighth more bytes."""

PREVIEW = 160
"""Characters of a text that the grid shows."""

LISTED = 50
"""Retrieved documents listed per sample, beside the relevant ones further down."""

BATCH = 200
"""Number of samples with exchanges that are read from the ledger at once."""

PROMPTS = 24 << 20
"""Characters of prompts and replies that a page holds at most; those of the worst samples come first."""

PASS, FAIL, UNDEFINED, FAILED, SCORED = "pfuxs"


class PackedBlocks(NamedTuple):
    """Packed lines, and the number of the first item of each."""

    lines: str
    starts: list[int]


@dataclass
class UniqueTexts:
    """Numbered texts without duplicates."""

    texts: list[str] = field(default_factory=list)
    _known: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        """The number of a text."""
        at = self._known.setdefault(text, len(self.texts))
        if at == len(self.texts):
            self.texts.append(text)
        return at


def packed(value: object) -> str:
    """Pack a JSON value as one line of base64."""
    return _packed(_encoded(value))


def _packed(data: bytes) -> str:
    squeeze = zlib.compressobj(LEVEL, zlib.DEFLATED, -15)
    return base64.b64encode(squeeze.compress(data) + squeeze.flush()).decode("ascii")


def _encoded(value: object) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # half a surrogate pair, which no file can hold
        return msgspec.json.encode(_without_surrogates(msgspec.to_builtins(value)))


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, dict):
        return {key: _without_surrogates(one) for key, one in value.items()}
    return [_without_surrogates(one) for one in value] if isinstance(value, list | tuple) else value


def replace_surrogates(text: str) -> str:
    """A text that can be written as UTF-8: half a surrogate pair becomes the replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def pack_blocks(items: Iterable[object]) -> PackedBlocks:
    """Items in order, packed into blocks of about the same size."""
    lines, starts = list[str](), list[int]()
    waiting, size, count = list[bytes](), 0, 0
    for item in items:
        if not waiting:
            starts.append(count)
        waiting.append(_encoded(item))
        size, count = size + len(waiting[-1]), count + 1
        if size >= BLOCK:
            lines.append(_packed(b"[" + b",".join(waiting) + b"]"))
            waiting, size = [], 0
    if waiting:
        lines.append(_packed(b"[" + b",".join(waiting) + b"]"))
    return PackedBlocks("\n".join(lines), starts)


class PageData(NamedTuple):
    """The packed data of a page for its scripts."""

    core: str
    texts: str
    contexts: str
    details: str
    exchanges: str


def data(report: Report, failures: FailureAnalysis, *, ledger: Path | None = None) -> PageData:
    """Pack all data of a report for the scripts of the page."""
    samples, unique = aligned_samples(report), UniqueTexts()
    merits = mean_quality(report)
    replies, asked = _exchanges(report, samples, unique, worst_first(merits), ledger)
    texts = pack_blocks(_texts(one) for one in samples)
    records = [recorded_metric(note.name, note.way) for note in report.notes.values()]
    details = pack_blocks([detail(report, row, sample, unique, asked, records) for row, sample in enumerate(samples)])
    contexts = pack_blocks(unique.texts)
    core = {
        **_core(report, samples, failures, merits),
        "starts": {
            "texts": texts.starts,
            "details": details.starts,
            "contexts": contexts.starts,
            "exchanges": replies.starts,
        },
    }
    return PageData(packed(core), texts.lines, contexts.lines, details.lines, replies.lines)


def _core(
    report: Report, samples: Sequence[Sample | None], failures: FailureAnalysis, merits: Sequence[float]
) -> dict[str, object]:
    known = [one for one in samples if one is not None]
    return {
        "ids": report.ids,
        "metrics": [
            {
                "label": label,
                "shown": shown_name(label, note),
                "up": note.higher_is_better,
                "threshold": note.threshold,
                "bounds": note.bounds,
            }
            for label, note in report.notes.items()
        ],
        "values": [[rounded(value) for value in column.values.tolist()] for column in report.columns.values()],
        "states": [states(report, label) for label in report.columns],
        "verdicts": verdicts(report),
        "merit": [rounded(value) for value in merits],
        "tags": tags_of(samples),
        "rank": [_first_rank(one) for one in samples]
        if any(one.retrieved_ids is not None and one.relevance for one in known)
        else None,
        "where": _where(failures),
        "question": previews([None if one is None else one.user_input for one in samples]),
        "response": previews([None if one is None else one.response for one in samples]),
    }


def rounded(value: float) -> float | None:
    """A value as the page needs it; None where there is none."""
    return None if math.isnan(value) else round(value, 6)


def previews(texts: Sequence[str | None]) -> list[str | None] | None:
    """The beginnings of texts for the grid; None where there are no texts at all."""
    if all(text is None for text in texts):
        return None
    return [None if text is None else text if len(text) <= PREVIEW else text[: PREVIEW - 1] + "…" for text in texts]


def tags_of(samples: Sequence[Sample | None]) -> dict[str, Json]:
    """The tags as columns: the values of each, and per sample the number of its value (-1 without one)."""
    keys = dict.fromkeys(key for one in samples if one is not None for key in one.tags)
    found: dict[str, Json] = {}
    for key in keys:
        values = UniqueTexts()
        codes: list[Json] = [
            values.number(one.tags[key]) if one is not None and key in one.tags else -1 for one in samples
        ]
        found[key] = {"values": [*values.texts], "codes": codes}
    return found


def _where(failures: FailureAnalysis) -> dict[str, Json]:
    """For each question that is answered: its words, and one digit a sample."""
    return {
        name: {"words": [*words], "codes": "".join(str(words.index(state[at])) for state in failures.states)}
        for at, (name, words) in enumerate((("retrieval", RETRIEVAL), ("answer", ANSWER), ("grounded", GROUNDED)))
        if name in failures.by
    }


def _first_rank(sample: Sample | None) -> int | None:
    """The rank of the first relevant document, 0 if none of what was retrieved is, None where that is not known."""
    if sample is None or sample.retrieved_ids is None or not relevant_documents(sample):
        return None
    wanted = relevant_documents(sample)
    ids = dict.fromkeys(sample.retrieved_ids)
    return next((rank for rank, doc in enumerate(ids, 1) if doc in wanted), 0)


def states(report: Report, label: str) -> str:
    """One letter a sample: pass, fail, undefined, failed (x), or scored where the metric has no threshold."""
    column, note = report.columns[label], report.notes[label]
    letters = []
    for row, value in enumerate(column.values.tolist()):
        if row in column.failed:
            letters.append(FAILED)
        elif math.isnan(value):
            letters.append(UNDEFINED)
        elif note.threshold is None:
            letters.append(SCORED)
        else:
            letters.append(PASS if passes(value, note.threshold, higher_is_better=note.higher_is_better) else FAIL)
    return "".join(letters)


def deciding(report: Report) -> list[str]:
    """The metrics that make a sample pass: those that gate, else all with a threshold, else all."""
    gates = [label for label, note in report.notes.items() if note.gates]
    return gates or [label for label, note in report.notes.items() if note.threshold is not None] or list(report.notes)


def verdicts(report: Report) -> str:
    """One letter a sample over the deciding metrics: a failed one first, then a miss, then a pass."""
    columns = [states(report, label) for label in deciding(report)]
    letters = []
    for row in range(len(report.ids)):
        here = {column[row] for column in columns}
        letters.append(next((letter for letter in (FAILED, FAIL, PASS, SCORED) if letter in here), UNDEFINED))
    return "".join(letters)


def mean_quality(report: Report) -> list[float]:
    """Return the mean of the bounded scores of each sample, each scaled from 0 (worst) to 1; NaN without scores."""
    if not report.ids:
        return []
    parts = []
    for label, column in report.columns.items():
        note = report.notes[label]
        if note.bounds is not None and note.bounds[1] > note.bounds[0]:
            share = (column.values - note.bounds[0]) / (note.bounds[1] - note.bounds[0])
            parts.append(share if note.higher_is_better else 1.0 - share)
    if not parts:
        return [math.nan] * len(report.ids)
    table = np.array(parts)
    counts = (~np.isnan(table)).sum(axis=0)
    sums = np.nansum(table, axis=0)
    return [float(whole / n) if n else math.nan for whole, n in zip(sums.tolist(), counts.tolist(), strict=True)]


def worst_first(merits: Sequence[float]) -> list[int]:
    """Rows from the worst to the best; those without a score last."""
    return sorted(range(len(merits)), key=lambda row: (math.isnan(merits[row]), merits[row], row))


def _texts(sample: Sample | None) -> list[Json]:
    return [None, None, []] if sample is None else [sample.user_input, sample.response, [*sample.references]]


def detail(
    report: Report,
    row: int,
    sample: Sample | None,
    unique: UniqueTexts,
    asked: Mapping[str, int],
    records: Sequence[Metric | None],
) -> dict[str, Json]:
    """All that the page of one sample shows beside its texts: contexts, ranking, evidence by metric."""
    found: dict[str, Json] = {}
    if sample is not None:
        for name, texts in (("contexts", sample.retrieved_contexts), ("wanted", sample.reference_contexts)):
            if texts is not None:
                found[name] = [unique.number(text) for text in texts]
        if sample.retrieved_ids is not None:
            found |= _retrieved(sample)
        if sample.metadata:
            found["metadata"] = dict(sample.metadata)
    metrics: dict[str, Json] = {}
    for at, column in enumerate(report.columns.values()):
        cell = shaped(records[at], column.evidence.get(row, {}))
        if reason := column.failed.get(row) or column.undefined.get(row):
            cell["reason"] = reason
        if (parts := column.parts.get(row)) is not None:
            cell["parts"] = [*parts]
        if draws := column.draws.get(row):
            cell["draws"] = [*draws]
        if numbers := [asked[key] for key in column.requests.get(row, ()) if key in asked]:
            cell["exchanges"] = [*numbers]
        if unseen := len(column.requests.get(row, ())) - len(numbers):
            cell["unseen"] = unseen
        if cell:
            metrics[str(at)] = cell
    return found | ({"metrics": metrics} if metrics else {})


def _retrieved(sample: Sample) -> dict[str, Json]:
    """What was retrieved (rank, id, grade, whether it was read, score), and the relevant documents that were missed."""
    ids = dict.fromkeys(sample.retrieved_ids or ())
    read = set(read_documents(sample) or ()) if sample.retrieved_contexts else set[str]()
    grades, wanted = sample.relevance or {}, relevant_documents(sample)
    scores = sample.metadata.get("retrieved_scores")
    listed: list[Json] = []
    for rank, doc in enumerate(ids, 1):
        if rank <= LISTED or doc in wanted:
            score = scores[rank - 1] if isinstance(scores, list) and rank <= len(scores) else None
            listed.append([rank, doc, grades.get(doc), doc in read, score])
    missed: list[Json] = [[doc, grade] for doc, grade in sorted(wanted.items(), key=_by_grade) if doc not in ids]
    return {"retrieved": listed, "of": len(ids), "missed": missed, "judged": sample.relevance is not None}


def _by_grade(item: tuple[str, float]) -> tuple[float, str]:
    return -item[1], item[0]


def _exchanges(
    report: Report, samples: Sequence[Sample | None], unique: UniqueTexts, order: Sequence[int], ledger: Path | None
) -> tuple[PackedBlocks, dict[str, int]]:
    """Prompts and replies from the ledger, as far as it is at hand and the page has room; and the number of each."""
    asked: dict[str, int] = {}
    place = ledger or _ledger_of(report)
    if place is None or not place.is_file() or not any(column.requests for column in report.columns.values()):
        return PackedBlocks("", []), asked
    from ..models.exchanges import exchanges

    told: list[Json] = []
    room = PROMPTS
    for start in range(0, len(order), BATCH):
        keys: dict[str, int] = {}
        for row in order[start : start + BATCH]:
            for column in report.columns.values():
                keys |= {key: row for key in column.requests.get(row, ()) if key not in keys and key not in asked}
        known = {row: _long_texts(samples[row]) for row in set(keys.values())}
        for (key, row), found in zip(keys.items(), exchanges(keys, place), strict=True):
            if found is None or room <= 0:
                continue
            asked[key] = len(told)
            told.append([_pieces(found.prompt, known[row], unique), found.reply, found.facts])
            room -= len(found.prompt) + len(found.reply)
    return pack_blocks(told), asked


def _ledger_of(report: Report) -> Path | None:
    place = report.run.get("ledger")
    return Path(place) if isinstance(place, str) else None


def _long_texts(sample: Sample | None) -> list[str]:
    texts = [] if sample is None else sample.retrieved_contexts or []
    return sorted({text for text in texts if len(text) > PREVIEW}, key=len, reverse=True)


def _pieces(prompt: str, known: Sequence[str], unique: UniqueTexts) -> list[Json]:
    """Split a prompt into its own text and the numbers of its contexts, so that each context is stored once."""
    pieces: list[Json] = [prompt]
    for text in known:
        cut: list[Json] = []
        for piece in pieces:
            if not isinstance(piece, str) or text not in piece:
                cut.append(piece)
                continue
            for number, part in enumerate(piece.split(text)):
                cut += ([unique.number(text)] if number else []) + ([part] if part else [])
        pieces = cut
    return pieces
