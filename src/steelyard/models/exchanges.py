"""The prompts and replies behind a score, read from the ledger for display."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from ..core.wording import pluralize
from ..io.storage import folder_at
from .ledger import MEMORY, Ledger, ReplyStore
from .ledger_segments import Segments


class Exchange(Struct, frozen=True):
    """A prompt and its reply; ``facts`` holds the tokens, the attempts, and the unusable replies before it."""

    prompt: str
    reply: str
    facts: str


def exchanges(keys: Iterable[str], path: str | Path | None = None) -> list[Exchange | None]:
    """Read the exchange of each ledger key; None for a key that is not in the ledger, or for an embedding.

    ``path`` is a ledger, or the folder or URL of a job.
    """
    keys = list(keys)
    job = path is not None and ("://" in str(path) or Path(path).is_dir())
    ledger: ReplyStore = _job_ledger(str(path), keys) if job else Ledger(None if path is None else Path(path))
    try:
        return [_exchange(ledger, key) for key in keys]
    finally:
        ledger.close()


def _job_ledger(name: str, keys: Iterable[str]) -> ReplyStore:
    """The ledger of the part that has one of the keys: the requests of a score are all in the ledger of its part."""
    folder = folder_at(name)
    for part in folder.list("ledger"):
        ledger = Segments(folder, f"ledger/{part}")
        if any(ledger.reply(key) or ledger.unusable(key) for key in keys):
            return ledger
    return Ledger(MEMORY)


def _exchange(ledger: ReplyStore, key: str) -> Exchange | None:
    unusable = ledger.unusable(key)
    bad = "; ".join(f"unusable reply ({one.kind}: {one.message}): {one.reply or ''}" for one in unusable)
    entry = ledger.reply(key)
    if entry is not None:
        tokens = f"{entry.prompt_tokens} + {pluralize(entry.completion_tokens, 'token')}"
        facts = f"{tokens}, {pluralize(entry.attempts, 'attempt')}"
        return Exchange(entry.prompt, entry.reply, f"{facts}; {bad}" if bad else facts)
    if unusable:
        return Exchange(unusable[-1].prompt, unusable[-1].reply or "", bad)
    return None
