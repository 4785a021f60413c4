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
settings.register_profile("local", deadline=None, max_examples=50)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "local"))


GROUPS = {"tests/render/test_html": "browser", "tests/runs/test_ray": "ray"}
"""Tests that one process runs, so that Chromium and Ray start once, by the beginning of their files' names."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The groups go first, each to a process of its own, then the other tests one by one in their order."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((group for start, group in GROUPS.items() if nodeid.startswith(start)), nodeid)

    return Scheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start long tests first."""
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
