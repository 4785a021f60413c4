"""Evidence of a score as the page shows it: claims with verdict, reason and passages; notes on contexts; the rest.

Metrics write their evidence in plain JSON, each with its own keys. Here it is brought into three shapes, by the keys
alone, so that a metric of the user's own that writes ``claims`` or ``statements`` is shown in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..core.records import Json
from ..metrics.registry import Metric

_TEXTS = ("claim", "statement", "sentence", "text", "question", "fact", "entity")
_VERDICTS = ("verdict", "supported", "support", "holds", "found", "label")
_PASSAGES = ("passages", "passage", "contexts", "context")
_TITLES = {
    "claims": "Claims of the response",
    "reference_claims": "Claims of the reference",
    "by_reference": "Claims of the response, against the reference",
    "by_response": "Claims of the reference, against the response",
    "tp": "Right: the reference says so",
    "fp": "Wrong: the reference does not say so",
    "fn": "Missing from the response",
    "statements": "Statements and what they cite",
    "nuggets": "Facts that a good answer holds",
    "questions": "Questions that the response answers",
    "missed": "Reference passages that were missed",
    "sentences": "Sentences of the response",
}
_HIDDEN = {"flags"}
_TAKEN = {*_TEXTS, *_VERDICTS, *_PASSAGES, "reason", "aligned", "flags", "start", "end", "normalised"}


def shaped(metric: Metric | None, evidence: Mapping[str, Json]) -> dict[str, Json]:
    """``claims`` (groups of claims), ``contexts`` (notes on passages by number), ``flags`` and ``rest``.

    >>> found = shaped(None, {"claims": [{"claim": "A.", "verdict": "yes", "passages": [2]}], "flags": ["x"]})
    >>> found["claims"][0]["items"], found["flags"]
    ([{'text': 'A.', 'verdict': 'yes', 'passages': [2]}], ['x'])
    """
    groups: list[Json] = []
    contexts: list[Json] = []
    rest: dict[str, Json] = {}
    for key, value in evidence.items():
        if key in _HIDDEN:
            continue
        if key in {"contexts", "passages"} and (notes := _context_notes(value)):
            contexts += notes
        elif key == "matching_ranks" and isinstance(value, list):
            contexts += [{"context": rank, "verdict": "yes"} for rank in value]
        elif items := _claims(key, value):
            groups.append({"title": _title(metric, key), "against": _against(metric, key), "items": items})
        else:
            rest[key] = value
    shown: dict[str, Json] = {"claims": groups, "contexts": contexts, "flags": evidence.get("flags"), "rest": rest}
    return {name: part for name, part in shown.items() if part}


def _title(metric: Metric | None, key: str) -> str:
    if key == "claims" and metric is not None and metric.claims_of == "reference":
        return _TITLES["reference_claims"]
    return _TITLES.get(key, key.replace("_", " "))


def _against(metric: Metric | None, key: str) -> str:
    """What the numbers of passages count: contexts, or nothing where the claims were held against another text."""
    other = metric is not None and metric.checked_against != "contexts"
    if other or key in {"by_reference", "by_response", "nuggets", "questions", "missed"}:
        return ""
    return "contexts"


def _claims(key: str, value: Json) -> list[Json]:
    """A list of claims in one shape; empty where the value is no such list."""
    if not isinstance(value, list) or not value:
        return []
    if key == "missed" and all(isinstance(one, str) for one in value):
        return [{"text": one, "verdict": "no"} for one in value]
    found = [_claim(one) if isinstance(one, dict) else None for one in value]
    return [] if any(one is None for one in found) else list(found)


def _claim(one: Mapping[str, Json]) -> Json:
    text = next((one[name] for name in _TEXTS if isinstance(one.get(name), str)), None)
    if text is None:
        return None
    claim: dict[str, Json] = {"text": text}
    if (verdict := next((one[name] for name in _VERDICTS if name in one), None)) is not None:
        claim["verdict"] = f"{verdict:.0%} found".replace("%", " %") if _is_share(verdict) else _word(verdict)
    if reason := one.get("reason"):
        claim["reason"] = reason
    if spans := _spans(one.get("aligned")):
        claim["spans"] = [*spans]
        claim["passages"] = [*dict.fromkeys(span[0] for span in spans)]
    elif numbers := _numbers(next((one[name] for name in _PASSAGES if name in one), None)):
        claim["passages"] = [*numbers]
    told = [f"{name.replace('_', ' ')}: {_word(value)}" for name, value in one.items() if name not in _TAKEN and value]
    if flags := _flags(one.get("flags")):
        told.append(flags)
    if told:
        claim["more"] = ", ".join(told)
    return claim


def _is_share(value: Json) -> bool:
    return isinstance(value, float) and 0.0 <= value <= 1.0


def _spans(aligned: Json) -> list[list[Json]]:
    """Stretches of passages that say the same: passage, start, end."""
    if not isinstance(aligned, list):
        return []
    keys = ("passage", "passage_start", "passage_end")
    return [[one[key] for key in keys] for one in aligned if isinstance(one, dict) and all(key in one for key in keys)]


def _flags(flags: Json) -> str:
    """What speaks against a sentence: ``number “1932”``."""
    if not isinstance(flags, list):
        return ""
    told = [one if isinstance(one, str) else _flag(one) for one in flags if isinstance(one, str | dict)]
    return ", ".join(filter(None, told))


def _flag(flag: Mapping[str, Json]) -> str:
    words = f"{_word(flag.get('kind', 'flag'))} “{_word(flag.get('text', ''))}”"
    return f"{words}, there “{_word(flag['instead'])}”" if flag.get("instead") else words


def _word(value: Json) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list):
        return ", ".join(_word(one) for one in value) or "none"
    return str(value)


def _numbers(value: Json) -> Sequence[int]:
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, int) and not isinstance(one, bool)]


def _context_notes(value: Json) -> list[Json]:
    if not isinstance(value, list):
        return []
    notes: list[Json] = []
    for one in value:
        number = one.get("context", one.get("passage")) if isinstance(one, dict) else None
        if not isinstance(one, dict) or not isinstance(number, int):
            return []
        verdict = next((one[name] for name in ("verdict", "ratings", "rating", "probability") if name in one), "")
        reasons = one.get("reasons", one.get("reason"))
        words = " · ".join(map(str, reasons)) if isinstance(reasons, list) else str(reasons or "")
        note: dict[str, Json] = {"context": number, "verdict": _word(verdict)}
        notes.append(note | ({"reason": words} if words else {}))
    return notes
