"""Cache the outputs of systems in the ledger, so that a killed run resumes.

A system of the user may change without a change of its name, so a later run must not reuse its outputs: they are stored
under the number of the run, and a finished run starts a new number. Only a killed run finds its outputs again.
"""

from __future__ import annotations

import msgspec

from ..core.errors import AskFailed
from ..models.ledger import Entry, Ledger, request_key
from .outputs import Output

_SHAPE = b"output of a system"


class OutputCache:
    """The outputs of one system in one run. ``identity`` names everything that is known to change the outputs."""

    def __init__(self, ledger: Ledger, identity: str, *, offline: bool = False) -> None:
        self.ledger, self.identity, self.offline = ledger, identity, offline
        self.number = 0
        while ledger.reply(self._key("", finished=True)) is not None:
            self.number += 1
        if offline and self.number:
            self.number -= 1  # the outputs of the last finished run

    def get(self, *request: str) -> Output | None:
        """The cached output, or None; offline, a missing output raises AskFailed."""
        entry = self.ledger.reply(self._key(*request))
        if entry is not None:
            return msgspec.json.decode(entry.parsed, type=Output)
        if self.offline:
            raise AskFailed("offline", "no cached output of this system for this question, and --offline is set")
        return None

    def put(self, output: Output, *request: str, seconds: float = 0.0) -> None:
        """Cache an output."""
        self._add(self._key(*request), request[0], msgspec.json.encode(output).decode(), seconds)

    def finish(self) -> None:
        """Mark the run as finished: the next run calls the system again."""
        if not self.offline:
            self._add(self._key("", finished=True), "", "{}", 0.0)

    def _add(self, key: str, prompt: str, output: str, seconds: float) -> None:
        self.ledger.add(Entry(key, f"system {self.identity}", prompt, output, output, seconds=seconds))

    def _key(self, *request: str, finished: bool = False) -> str:
        shape = b"finished" if finished else _SHAPE
        return request_key("\0".join(request), shape, f"system {self.identity}", repeat=self.number)
