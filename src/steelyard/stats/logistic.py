"""Logistic models that convert counts to a probability, with coefficients and their provenance from data files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import msgspec
from msgspec import Struct

from ..core.errors import InputError
from ..core.package import RESOURCES
from ..core.records import Json


class Model(Struct, frozen=True, forbid_unknown_fields=True):
    """A logistic model: ``coefficients`` by the name of a count, in its own unit.

    ``provenance`` records the data, the date and the script of the fit; ``threshold`` is the least probability of a
    sample that counts as good.
    """

    name: str
    revision: int
    intercept: float
    coefficients: dict[str, float]
    threshold: float
    provenance: dict[str, Json]

    def probability(self, counts: Mapping[str, float]) -> float:
        """1 / (1 + exp(-(intercept + sum of coefficient x count))), rounded to 1e-9 so that it is the same anywhere.

        >>> Model("m", 1, 0.0, {"near": 2.0}, 0.5, {}).probability({"near": 0.0})
        0.5
        """
        logit = self.intercept + math.fsum(value * counts[name] for name, value in self.coefficients.items())
        return round(1 / (1 + math.exp(-max(-700.0, min(700.0, logit)))), 9)

    def terms(self, counts: Mapping[str, float]) -> dict[str, float]:
        """The contribution of each count to the logit, without those of 0."""
        terms = {name: round(value * counts[name], 4) for name, value in self.coefficients.items()}
        return {"intercept": round(self.intercept, 4), **{name: term for name, term in terms.items() if term}}


@cache
def model(name: str) -> Model:
    """Load a model by its name, from ``resources/NAME.json``.

    >>> sorted(model("faithfulness").provenance)[:2]
    ['cross_validated', 'fitted_on']
    """
    try:
        found = msgspec.json.decode(RESOURCES.joinpath(f"{name}.json").read_bytes(), type=Model)
    except (FileNotFoundError, msgspec.DecodeError, msgspec.ValidationError) as error:
        raise InputError(f"no usable coefficients for {name}: {error}", path=f"resources/{name}.json") from None
    if not found.provenance:
        raise InputError("coefficients without provenance", path=f"resources/{name}.json")
    return found
