"""The structure of the package: floors, sizes, names."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "steelyard"

FLOORS = [
    ["errors", "records", "flow", "trec_names", "names"],
    ["*sums*"],
    ["batch", "metric", "metrics", "shelf"],
    ["*files*"],
    ["*world*"],
    ["systems"],
    ["*verbs*"],
    ["render", "cli", "__init__"],
]
"""Filled in below: a module imports only from lower floors, or from a module that stands before it on its own."""
