"""Build systems from the entries of a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path

import msgspec

from ..core.errors import InputError
from ..core.records import Sample
from ..models.budget import SharedBudget
from ..systems.bm25 import BM25
from ..systems.call_pool import PLAIN, CallPolicy
from ..systems.command import Command
from ..systems.dense import Dense
from ..systems.extractive import Extractive
from ..systems.http import Http
from ..systems.hybrid import Hybrid
from ..systems.import_object import digest_of_code, load
from ..systems.json_mapping import Described, Paths
from ..systems.llm_answerer import LLMAnswerer
from ..systems.random import Shuffled
from ..systems.run_file import RunFile
from .system_config import (
    OUTSIDE,
    AnswererEntry,
    Bm25,
    CommandEntry,
    DenseEntry,
    ExtractiveEntry,
    HttpEntry,
    HybridEntry,
    LlmEntry,
    PythonEntry,
    RandomEntry,
    RunEntry,
    SystemEntry,
    Variant,
)


class SystemBuilder:
    """Builds each system once, so that variants share it; closes the systems that need it at the end."""

    def __init__(
        self,
        *,
        corpus: Mapping[str, str] | None,
        samples: Sequence[Sample],
        folder: Path,
        ledger: Path | None = None,
        concurrency: int = 16,
    ) -> None:
        self.corpus, self.samples, self.folder = corpus, samples, folder
        self.ledger, self.concurrency = ledger, concurrency
        self._made: dict[bytes, object] = {}
        self._open = ExitStack()

    def __enter__(self) -> SystemBuilder:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def system(self, variant: Variant) -> object:
        """The system of a variant."""
        return self._system(variant.entry, variant.entries, variant.name.partition(" (")[0])

    def answerer(self, entry: AnswererEntry | None, allowance: SharedBudget) -> object:
        """The answerer of an entry, with the remaining budget; None without an entry."""
        match entry:
            case None:
                return None
            case ExtractiveEntry():
                return Extractive(count=entry.count)
            case LlmEntry():
                return LLMAnswerer(
                    entry.model,
                    instruction=entry.instruction,
                    ledger=self.ledger,
                    concurrency=self.concurrency,
                    budget=allowance.budget,
                    max_calls=allowance.max_calls,
                )
        return load(entry.object, entry.settings, corpus=self.corpus, folder=self.folder)

    def patience(self, variant: Variant) -> CallPolicy:
        """The call policy: built-in systems are called one by one, external systems by their settings."""
        entry = variant.entry
        return CallPolicy(entry.parallel, entry.deadline, entry.retries) if isinstance(entry, OUTSIDE) else PLAIN

    def identity(self, variant: Variant) -> str | None:
        """The identity for cached outputs: everything known to change them; None for built-in systems."""
        entry = variant.entry
        if not isinstance(entry, OUTSIDE):
            return None
        answerer = None if variant.answerer is None else msgspec.to_builtins(variant.answerer)
        known = [msgspec.to_builtins(entry), answerer]
        if isinstance(entry, PythonEntry):
            known.append(digest_of_code(entry.object, self.folder))
        digest = blake2b(msgspec.json.encode(known, order="sorted"), digest_size=12).hexdigest()
        return f"{variant.name} {digest}"

    def _system(self, entry: SystemEntry, entries: Mapping[str, SystemEntry], name: str) -> object:
        parts = (
            [self._system(entries[part], entries, part) for part in entry.of] if isinstance(entry, HybridEntry) else []
        )
        key = msgspec.json.encode([name, msgspec.to_builtins(entry), [id(part) for part in parts]])
        if key not in self._made:
            try:
                self._made[key] = self._new(entry, parts, name)
            except InputError as error:
                if error.path is not None or error.field is not None:
                    raise
                raise InputError(error.message, field=f"$.systems.{name}") from None
        return self._made[key]

    def _new(self, entry: SystemEntry, parts: list[object], name: str) -> object:
        match entry:
            case Bm25():
                return BM25(
                    self._corpus(name),
                    k1=entry.k1,
                    b=entry.b,
                    language=entry.language,
                    chunk=entry.chunk,
                    overlap=entry.overlap,
                    name=name,
                )
            case DenseEntry():
                return Dense(
                    self._corpus(name),
                    entry.embedder,
                    chunk=entry.chunk,
                    overlap=entry.overlap,
                    prefix=entry.prefix,
                    passage_prefix=entry.passage_prefix,
                    ledger=self.ledger,
                    name=name,
                )
            case HybridEntry():
                return Hybrid(parts, k=entry.k, depth=entry.depth, weights=entry.weights, name=name)
            case RandomEntry():
                return Shuffled(self._corpus(name), seed=entry.seed, name=name)
            case RunEntry():
                texts = {sample.id: sample.user_input or "" for sample in self.samples}
                return RunFile(self.folder / entry.path, texts, name=name)
        return self._outside(entry, Paths(**entry.places()), name)

    def _outside(self, entry: PythonEntry | HttpEntry | CommandEntry, paths: Paths, name: str) -> object:
        match entry:
            case HttpEntry():
                return Http(
                    entry.url,
                    method=entry.method,
                    question=entry.question,
                    k=entry.k,
                    body=entry.body,
                    headers=entry.headers,
                    key_env=entry.key_env,
                    deadline=entry.deadline,
                    name=name,
                    paths=paths,
                )
            case CommandEntry():
                made = Command(entry.command, cwd=self.folder, deadline=entry.deadline, name=name, paths=paths)
                return self._open.enter_context(made)
        loaded = load(entry.object, entry.settings, corpus=self.corpus, folder=self.folder)
        if entry.question is None and paths == Paths():
            return loaded
        return Described(loaded, question=entry.question, k=entry.k, paths=paths)

    def _corpus(self, name: str) -> Mapping[str, str]:
        if self.corpus is None:
            raise InputError(f"{name} needs documents to search: corpus: a BEIR folder, a folder of texts, or a file")
        return self.corpus
