"""Answer requests for embeddings: look up the ledger, batch texts across samples, call the endpoint, store the vectors.

Rules of this file: a text is embedded once. Texts requested while calls are in flight go together in the next call,
whichever cell requests them. Vectors are assigned to texts by the index that the endpoint gives, not by position; too
few vectors are an error.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import sys
from array import array
from collections.abc import Sequence
from functools import partial

import msgspec
from msgspec import Struct

from ..core.errors import AskFailed, BadReply
from ..core.requests import Embed, Vector, replace_surrogates
from ..core.validation import decode_problem
from .budget import Budget, tokens_of
from .cell import CellTrace
from .embedder import Embedder
from .endpoint import Endpoint
from .judge_client import copy_error
from .ledger import ReplyStore, request_key

_GATHER = 0.01
_LANES = 2  # calls in flight at which smaller batches wait and grow
_CHARACTERS = 200_000  # in one call, besides the number of texts


class _PendingText(Struct, eq=False):
    """A text in flight, and the record of the cell that requested it first."""

    text: str
    key: str
    trace: CellTrace
    vector: asyncio.Future[Vector | Exception]


class EmbeddingClient:
    """Embeds the texts of one run."""

    def __init__(
        self, embedder: Embedder, endpoint: Endpoint, ledger: ReplyStore, budget: Budget, *, offline: bool
    ) -> None:
        self.embedder, self.endpoint, self.ledger, self.budget, self.offline = (
            embedder,
            endpoint,
            ledger,
            budget,
            offline,
        )
        self._in_flight: dict[str, _PendingText] = {}
        self._gathered: list[_PendingText] = []
        self._timer: asyncio.TimerHandle | None = None
        self._sending: set[asyncio.Task[None]] = set()

    def key(self, text: str) -> str:
        """The ledger key of a text."""
        return request_key(text, b"embedding", self.embedder.identity)

    async def embed(self, embed: Embed, trace: CellTrace) -> list[Vector]:
        """Get one vector per text, in the order of the texts; raises AskFailed or BadReply."""
        texts = [replace_surrogates(text) for text in embed.texts]
        keys = [self.key(text) for text in texts]
        trace.add_requests(keys)
        found = [self._vector(text, key, trace) for text, key in zip(texts, keys, strict=True)]
        trace.cached += not any(isinstance(one, asyncio.Future) for one in found)
        vectors = [one if not isinstance(one, asyncio.Future) else await one for one in found]
        for one in vectors:
            if isinstance(one, Exception):
                raise copy_error(one)
        return [one for one in vectors if not isinstance(one, Exception)]

    def _vector(self, text: str, key: str, trace: CellTrace) -> Vector | asyncio.Future[Vector | Exception]:
        if (wanted := self._in_flight.get(key)) is not None:
            return wanted.vector
        known = self.ledger.vector(key) if self.embedder.kept else None
        if known is not None:
            return known
        if self.offline:
            raise AskFailed("offline", "no cached embedding of this text, and --offline is set")
        loop = asyncio.get_running_loop()
        wanted = self._in_flight[key] = _PendingText(text, key, trace, loop.create_future())
        self._gathered.append(wanted)
        if self._timer is None:
            self._timer = loop.call_later(_GATHER, self._send)
        return wanted.vector

    def _send(self) -> None:
        """Send full batches, and smaller ones while few calls are in flight."""
        self._timer = None
        while self._gathered and (len(self._sending) < _LANES or len(self._gathered) >= self.embedder.batch):
            size = characters = 0
            for wanted in self._gathered[: self.embedder.batch]:
                characters += len(wanted.text)
                if size and characters > _CHARACTERS:
                    break
                size += 1
            batch, self._gathered = self._gathered[:size], self._gathered[size:]
            task = asyncio.get_running_loop().create_task(self._settle(batch))
            self._sending.add(task)
            task.add_done_callback(self._sent)

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        if not task.cancelled():
            self._send()

    async def _settle(self, batch: Sequence[_PendingText]) -> None:
        vectors: Sequence[Vector | Exception]
        try:
            vectors = await self._called(batch)
        except Exception as error:  # noqa: BLE001 - each rule gets it and decides
            vectors = [error] * len(batch)
        for wanted, vector in zip(batch, vectors, strict=True):
            del self._in_flight[wanted.key]
            wanted.trace.embedded += not isinstance(vector, Exception)
            if not wanted.vector.done():
                wanted.vector.set_result(vector)

    async def _called(self, batch: Sequence[_PendingText]) -> Sequence[Vector]:
        """Call the endpoint for a batch and charge its cells by their share of the tokens."""
        texts = [wanted.text for wanted in batch]
        shares = [tokens_of(text) for text in texts]
        tokens = sum(shares)
        price = self.embedder.price
        estimate = tokens * (price or 0.0) / 1e6
        await self.budget.reserve(estimate)
        cost, counted, seconds = None, None, 0.0
        try:
            if self.embedder.answer is not None:
                vectors: Sequence[Vector] = await asyncio.to_thread(self.embedder.answer, texts)
                vectors = checked(list(vectors), len(texts))
            else:
                rank = min(wanted.trace.rank for wanted in batch)
                answer = await self.endpoint.post("/embeddings", partial(self.embedder.body, texts), rank=rank)
                vectors, counted = read_vectors(answer.raw, len(texts))
                seconds = answer.seconds
            cost = (counted or tokens) * (price or 0.0) / 1e6
        finally:
            self.budget.settle(estimate, cost)
        self._share_out(batch, shares, counted, seconds)
        if self.embedder.kept:
            self.ledger.add_vectors((wanted.key, vector) for wanted, vector in zip(batch, vectors, strict=True))
        return vectors

    def _share_out(
        self, batch: Sequence[_PendingText], shares: Sequence[int], counted: int | None, seconds: float
    ) -> None:
        """Charge a call: the first cell gets the call, every cell its tokens."""
        total = sum(shares) or 1
        used = total if counted is None else counted
        left = used
        for wanted, share in zip(batch, shares, strict=True):
            mine = left if wanted is batch[-1] else used * share // total
            left -= mine
            wanted.trace.prompt_tokens += mine
            if self.embedder.price is not None:
                wanted.trace.cost = (wanted.trace.cost or 0.0) + mine * self.embedder.price / 1e6
        batch[0].trace.calls += 1
        batch[0].trace.unpriced += self.embedder.costs_unknown
        batch[0].trace.seconds += seconds
        batch[0].trace.estimated += counted is None


class _Item(Struct):
    embedding: list[float] | str
    index: int | None = None


class _TokenCount(Struct):
    prompt_tokens: float | None = None


class _Embeddings(Struct):
    data: list[_Item]
    usage: _TokenCount | None = None


def read_vectors(raw: bytes, count: int) -> tuple[list[Vector], int | None]:
    """Read the vectors of an answer by their index, and the number of tokens that it reports.

    Raises BadReply if there are too few or too many vectors, an index is missing or repeated, or a vector is invalid.
    """
    try:
        answer = msgspec.json.decode(raw, type=_Embeddings)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise BadReply("embedding", f"the reply of the endpoint has no embeddings: {decode_problem(error)}") from None
    if len(answer.data) != count:
        raise BadReply("embedding", f"expected {count} vectors got {len(answer.data)}")
    placed: dict[int, Vector] = {}
    for position, item in enumerate(answer.data):
        placed[position if item.index is None else item.index] = _decoded(item.embedding)
    if placed.keys() != set(range(count)):
        raise BadReply("embedding", f"expected vectors 0 to {count - 1}, got other or repeated numbers")
    used = answer.usage.prompt_tokens if answer.usage is not None else None
    return checked([placed[number] for number in range(count)], count), None if used is None else int(used)


def checked(vectors: list[Vector], count: int) -> list[Vector]:
    """Check that there are as many vectors as texts, all of one length; else BadReply."""
    if len(vectors) != count:
        raise BadReply("embedding", f"expected {count} vectors got {len(vectors)}")
    lengths = {len(vector) for vector in vectors}
    if len(lengths) != 1 or 0 in lengths:
        raise BadReply("embedding", f"vectors of {' and '.join(map(str, sorted(lengths)))} numbers in one reply")
    return vectors


def _decoded(given: list[float] | str) -> Vector:
    """Decode a vector: a list of numbers, or base64 of little-endian single-precision numbers."""
    if not isinstance(given, str):
        return array("f", given)
    try:
        vector = array("f", base64.b64decode(given, validate=True))
    except (binascii.Error, ValueError):
        raise BadReply("embedding", "a vector is neither a list of numbers nor base64 of them") from None
    if sys.byteorder == "big":
        vector.byteswap()
    return vector
