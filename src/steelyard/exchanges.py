"""What was asked and answered behind a score, read back from the ledger for people to look at."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from .ledger import Ledger


class Exchange(Struct, frozen=True):
    """A prompt and its reply; ``facts`` says what it cost, and which replies before it could not be used."""

    prompt: str
    reply: str
    facts: str


def exchanges(keys: Iterable[str], path: Path | None = None) -> list[Exchange | None]:
    """The exchange of each ledger key, None for what the ledger has not; an embedding has no prompt to show."""
    ledger = Ledger(path)
    try:
        return [_exchange(ledger, key) for key in keys]
    finally:
        ledger.close()


def _exchange(ledger: Ledger, key: str) -> Exchange | None:
    unusable = ledger.unusable(key)
    bad = "; ".join(f"unusable reply ({one.kind}: {one.message}): {one.reply or ''}" for one in unusable)
    entry = ledger.reply(key)
    if entry is not None:
        facts = f"{entry.prompt_tokens} + {entry.completion_tokens} tokens, {entry.attempts} attempts"
        return Exchange(entry.prompt, entry.reply, f"{facts}; {bad}" if bad else facts)
    if unusable:
        return Exchange(unusable[-1].prompt, unusable[-1].reply or "", bad)
    return None
