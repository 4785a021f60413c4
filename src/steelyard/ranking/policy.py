"""The policy for scoring a run against qrels."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal, TypeAlias

from ..core.errors import InputError

Grade: TypeAlias = int | float

Compat: TypeAlias = Literal["steelyard", "trec_eval"]
Missing: TypeAlias = Literal["zero", "skip"]
Undefined: TypeAlias = Literal["skip", "zero"]
Duplicates: TypeAlias = Literal["error", "best"]
Ties: TypeAlias = Literal["docid", "given"]

_CHOICES: dict[str, tuple[str | None, ...]] = {
    "compat": ("steelyard", "trec_eval"),
    "missing": ("zero", "skip", None),
    "undefined": ("skip", "zero", None),
    "duplicates": ("error", "best"),
    "ties": ("docid", "given"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules for scoring a run against qrels; every report prints them.

    ``compat="trec_eval"`` reproduces trec_eval 9.0.8: scores are compared in single precision, the relevance level is
    1, undefined values count as 0, negative grades count as unjudged, and judged queries that the run lacks are left
    out unless ``missing="zero"`` (its ``-c``) is given.

    >>> Policy(compat="trec_eval").missing, Policy().missing
    ('skip', 'zero')
    """

    compat: Compat = "steelyard"
    missing: Missing | None = None
    undefined: Undefined | None = None
    duplicates: Duplicates = "error"
    ties: Ties = "docid"
    drop_self: bool = False
    relevance_level: Grade | None = None
    judged_only: bool = False
    depth: int | None = None

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if (value := getattr(self, name)) not in allowed:
                raise InputError(f"{name}={value!r}: must be {' or '.join(repr(one) for one in allowed if one)}")
        if self.depth is not None and self.depth < 1:
            raise InputError(f"depth={self.depth}: must be at least 1")
        if self.relevance_level is not None and not isfinite(self.relevance_level):
            raise InputError(f"relevance_level={self.relevance_level}: must be a finite number")
        if self.missing is None:
            object.__setattr__(self, "missing", "skip" if self.trec else "zero")
        if self.undefined is None:
            object.__setattr__(self, "undefined", "zero" if self.trec else "skip")

    @property
    def trec(self) -> bool:
        """Whether the policy reproduces trec_eval."""
        return self.compat == "trec_eval"

    @property
    def level(self) -> Grade | None:
        """The lowest relevant grade; None if every positive grade is relevant."""
        return 1 if self.relevance_level is None and self.trec else self.relevance_level
