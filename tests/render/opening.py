"""The type of the fixture that opens pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from playwright.sync_api import Page

Open: TypeAlias = "Callable[..., Page]"
