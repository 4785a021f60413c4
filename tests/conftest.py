"""Fixtures for all tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.server import Server

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The directory of shared material that is no part of the project; tests that need it skip without it."""
    if not SHARED.is_dir():
        pytest.skip("the shared material is not here")
    return SHARED


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start local endpoints: ``server = serve(latency=0.01, faults={"429": 0.1})``; all stop with the test."""
    with ExitStack() as stack:

        def start(**options: Any) -> Server:
            return stack.enter_context(Server(**options))

        yield start
