"""Evidence of a score as the page shows it: claims with verdict, reason and passages; notes on contexts; the rest.

Metrics write their evidence in plain JSON, each with its own keys. Here it is brought into three shapes, by the keys
alone, so that a metric of the user's own that writes ``claims`` or ``statements`` is shown in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..records import Json

_TEXTS = ("claim", "statement", "sentence", "text", "question", "fact", "entity")
_VERDICTS = ("verdict", "supported", "support", "holds", "found", "label")
_PASSAGES = ("passages", "passage", "contexts", "context")
_OF_REFERENCE = {"context_recall", "claim_recall", "context_utilization"}
_AGAINST_TEXT = {"factual_correctness", "answer_correctness"}
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
    "missing": "Missing",
    "sentences": "Sentences",
}
_HIDDEN = {"flags"}


def shaped(base: str, evidence: Mapping[str, Json]) -> dict[str, Json]:
    """``claims`` (groups of claims), ``contexts`` (notes on passages by number), ``flags`` and ``rest``.

    >>> found = shaped("faithfulness", {"claims": [{"claim": "A.", "verdict": "yes", "passages": [2]}], "flags": ["x"]})
    >>> found["claims"][0]["items"], found["flags"]
    ([{'text': 'A.', 'verdict': 'yes', 'passages': [2]}], ['x'])
    """
    groups: list[Json] = []
    contexts: list[Json] = []
    rest: dict[str, Json] = {}
    for key, value in evidence.items():
        if key in _HIDDEN:
            continue
        if key == "contexts" and (notes := _context_notes(value)):
            contexts += notes
        elif key == "matching_ranks" and isinstance(value, list):
            contexts += [{"context": rank, "verdict": "yes"} for rank in value]
        elif items := _claims(key, value):
            groups.append({"title": _title(base, key), "against": _against(base, key), "items": items})
        else:
            rest[key] = value
    shown: dict[str, Json] = {"claims": groups, "contexts": contexts, "flags": evidence.get("flags"), "rest": rest}
    return {name: part for name, part in shown.items() if part}


def _title(base: str, key: str) -> str:
    if key == "claims" and base in _OF_REFERENCE:
        return _TITLES["reference_claims"]
    return _TITLES.get(key, key.replace("_", " "))


def _against(base: str, key: str) -> str:
    """What the numbers of passages count: contexts, or nothing where the claims were held against another text."""
    if base in _AGAINST_TEXT or key in {"by_reference", "by_response", "nuggets", "questions", "missed", "missing"}:
        return ""
    return "contexts"


def _claims(key: str, value: Json) -> list[Json]:
    """A list of claims in one shape; empty where the value is no such list."""
    if not isinstance(value, list) or not value:
        return []
    if key in {"missed", "missing"} and all(isinstance(one, str) for one in value):
        return [{"text": one, "verdict": "no"} for one in value]
    found = [_claim(one) if isinstance(one, dict) else None for one in value]
    return [] if any(one is None for one in found) else list(found)


def _claim(one: Mapping[str, Json]) -> Json:
    text = next((one[name] for name in _TEXTS if isinstance(one.get(name), str)), None)
    if text is None:
        return None
    claim: dict[str, Json] = {"text": text}
    if (verdict := next((one[name] for name in _VERDICTS if name in one), None)) is not None:
        claim["verdict"] = _word(verdict)
    if reason := one.get("reason"):
        claim["reason"] = reason
    if numbers := _numbers(next((one[name] for name in _PASSAGES if name in one), None)):
        claim["passages"] = [*numbers]
    taken = {*_TEXTS, *_VERDICTS, *_PASSAGES, "reason"}
    if more := [f"{name.replace('_', ' ')}: {_word(value)}" for name, value in one.items() if name not in taken]:
        claim["more"] = ", ".join(more)
    return claim


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
        if not isinstance(one, dict) or not isinstance(one.get("context"), int):
            return []
        verdict = one.get("verdict", one.get("ratings", one.get("rating")))
        reasons = one.get("reasons", one.get("reason"))
        words = " · ".join(map(str, reasons)) if isinstance(reasons, list) else str(reasons or "")
        note: dict[str, Json] = {"context": one["context"], "verdict": _word(verdict)}
        notes.append(note | ({"reason": words} if words else {}))
    return notes
