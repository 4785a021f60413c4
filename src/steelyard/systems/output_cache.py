"""What systems gave, kept in the ledger, so that a run that was killed goes on where it was.

A system of the user's own may change behind its name, so its outputs are never taken for those of a later run: they
are kept under the number of the run, and a run that comes to its end begins a new number. Only a run that was cut off
finds its outputs again.
"""

from __future__ import annotations

import msgspec

from ..core.errors import AskFailed
from ..models.ledger import Entry, Ledger, request_key
from .outputs import Output

_SHAPE = b"output of a system"


class OutputCache:
    """The outputs of one system in one run. ``identity`` says all that is known to change them."""

    def __init__(self, ledger: Ledger, identity: str, *, offline: bool = False) -> None:
        self.ledger, self.identity, self.offline = ledger, identity, offline
        self.number = 0
        while ledger.reply(self._key("", finished=True)) is not None:
            self.number += 1
        if offline and self.number:
            self.number -= 1  # what the last whole run was given

    def get(self, *asked: str) -> Output | None:
        """What was given, if it was kept. Offline, what was not is an AskFailed."""
        entry = self.ledger.reply(self._key(*asked))
        if entry is not None:
            return msgspec.json.decode(entry.parsed, type=Output)
        if self.offline:
            raise AskFailed("offline", "the ledger holds no output of this system, and offline forbids to ask")
        return None

    def put(self, output: Output, *asked: str, seconds: float = 0.0) -> None:
        """Keep what was given."""
        self._add(self._key(*asked), asked[0], msgspec.json.encode(output).decode(), seconds)

    def finish(self) -> None:
        """The run came to its end: the next one asks afresh."""
        if not self.offline:
            self._add(self._key("", finished=True), "", "{}", 0.0)

    def _add(self, key: str, prompt: str, output: str, seconds: float) -> None:
        self.ledger.add(Entry(key, f"system {self.identity}", prompt, output, output, seconds=seconds))

    def _key(self, *asked: str, finished: bool = False) -> str:
        shape = b"finished" if finished else _SHAPE
        return request_key("\0".join(asked), shape, f"system {self.identity}", repeat=self.number)
