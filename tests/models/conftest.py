"""Fixtures for the tests of endpoints."""

from __future__ import annotations

import pytest

from steelyard.models import retry_delay


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between retries are a tenth as long, for tests that do not test the pauses."""
    monkeypatch.setattr(retry_delay, "FIRST_BACKOFF", retry_delay.FIRST_BACKOFF / 10)
