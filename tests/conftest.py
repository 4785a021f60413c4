"""Fixtures for all tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.server import Server

SHARED = Path(__file__).resolve().parents[2] / "shared"

# The examples that hypothesis draws: in CI all of them, elsewhere fewer.
settings.register_profile("ci", deadline=None, print_blob=True)
settings.register_profile("local", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "local"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start long tests first; keep all tests of the browser in one process, which starts it once."""
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("browser"))
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


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
