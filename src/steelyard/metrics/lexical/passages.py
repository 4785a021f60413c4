"""Precision and recall of retrieved passages against reference passages, compared by their text.

If passages have ids, use the ranking metrics instead: they need no comparison of texts.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, TypeAlias

from msgspec import Meta

from ...core.errors import InputError
from ...core.records import Sample, Undefined, Value
from ...text.tokens import cached_by_text
from ..registry import metric

NEEDS = ("retrieved_contexts", "reference_contexts")
Match: TypeAlias = Annotated[float, Meta(gt=0, le=1)]
"""The similarity from which two passages match."""

_SPACE = re.compile(r"\s+")


@metric(needs=NEEDS)
def passage_precision(sample: Sample, *, match: Match = 0.9, k: int | None = None) -> Value | Undefined:
    """Retrieved contexts among the first k that match a reference context / retrieved contexts (at most k).

    Two passages match if they are equal, if one contains the other, or if the shorter aligns with part of the longer
    with a similarity of at least ``match`` (rapidfuzz' partial ratio / 100), after NFC and collapsing of white space. A
    blank passage matches nothing. No contexts: 0; no reference contexts: undefined. Range 0 to 1. The divisor is the
    number of contexts, not k as for ``precision@k``.
    """
    wanted = _passages(sample.reference_contexts)
    if not wanted:
        return Undefined("no reference contexts")
    seen = (sample.retrieved_contexts or [])[:k]
    ranks = [rank for rank, context in enumerate(seen, 1) if any(passages_match(context, one, match) for one in wanted)]
    return Value(len(ranks) / len(seen) if seen else 0.0, {"matching_ranks": [*ranks]}, (len(ranks), len(seen)))


@metric(needs=NEEDS, stage="retrieval", stage_rank=50)
def passage_recall(sample: Sample, *, match: Match = 0.9, k: int | None = None) -> Value | Undefined:
    """Distinct reference contexts matched by one of the first k retrieved contexts / distinct reference contexts.

    Matching as for ``passage_precision``. No contexts: 0; no reference contexts: undefined. Range 0 to 1.
    """
    wanted = _passages(sample.reference_contexts)
    if not wanted:
        return Undefined("no reference contexts")
    seen = (sample.retrieved_contexts or [])[:k]
    missed = [one for one in wanted if not any(passages_match(context, one, match) for context in seen)]
    found = len(wanted) - len(missed)
    return Value(found / len(wanted), {"missed": [*missed]}, (found, len(wanted)))


def passages_match(a: str, b: str, match: float = 0.9) -> bool:
    """Whether two passages match: equal, one within the other, or aligned with a similarity >= ``match``.

    >>> passages_match("The cat sat on the mat.", "Then: the  cat sat on a mat. It slept.", 0.8)
    True
    >>> passages_match("The cat sat.", "Dogs bark at night.")
    False
    """
    if not 0.0 < match <= 1.0:
        raise InputError(f"match is {match} (expected above 0 and at most 1)")
    a, b = flat(a), flat(b)
    if not a or not b:
        return False
    if a in b or b in a:
        return True
    from rapidfuzz.fuzz import partial_ratio

    cutoff = 100 * match
    return bool(partial_ratio(a, b, score_cutoff=cutoff) >= cutoff)


@cached_by_text
def flat(text: str) -> str:
    """Normalise a passage for comparison: NFC, white space collapsed and trimmed."""
    return _SPACE.sub(" ", unicodedata.normalize("NFC", text)).strip()


def _passages(texts: list[str] | None) -> list[str]:
    return [one for one in dict.fromkeys(map(flat, texts or [])) if one]
