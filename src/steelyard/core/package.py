"""The data files that ship with the package, and a test for metrics that the package defines itself."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

NAME = "steelyard"
RESOURCES: Traversable = files(NAME) / "resources"
"""The folder of data files that ship with the package."""


def is_ours(rule: object) -> bool:
    """Whether this package defines the rule of a metric, rather than a user's file or another package.

    >>> from steelyard import get_metric
    >>> is_ours(get_metric("exact_match").rule), is_ours(lambda sample: 1.0)
    (True, False)
    """
    return getattr(rule, "__module__", "").startswith(f"{NAME}.metrics.")
