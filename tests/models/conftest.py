"""Fixtures for the tests of endpoints."""

from __future__ import annotations

import pytest

from steelyard.models import endpoint


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between retries are a tenth as long, for tests that do not test the pauses."""
    monkeypatch.setattr(endpoint, "FIRST_BACKOFF", endpoint.FIRST_BACKOFF / 10)
