"""The passages of a corpus for an index: whole documents, or chunks with their offsets in the document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from ..core.errors import InputError, WrongType
from .hits import Hit

Results: TypeAlias = list[tuple[str, float]] | list[Hit]
"""The results of built-in retrievers: (id, score) pairs for documents, hits for chunks."""


class Chunk(Struct, frozen=True):
    """Characters ``start`` to ``end`` of a document."""

    id: str
    doc: str
    text: str
    start: int
    end: int


def cut(text: str, size: int, overlap: int = 0) -> list[tuple[int, int]]:
    """The offsets of chunks of at most ``size`` characters, which end at white space if there is any.

    A chunk is at least half of ``size`` unless it is the last. Chunks overlap by ``overlap`` characters at most, and
    begin with a word.

    >>> [("one two three"[start:end]) for start, end in cut("one two three", 8)]
    ['one two', 'three']
    """
    if size < 1 or not 0 <= overlap < size:
        raise InputError(f"chunks of {size} characters that overlap by {overlap} (expected 0 <= overlap < size)")
    offsets, start = [], _skip_space(text, 0)
    while start < len(text):
        end = min(len(text), start + size)
        if end < len(text) and not text[end].isspace():
            space = next((at for at in range(end, start + size // 2, -1) if text[at - 1].isspace()), end)
            end = space
        stop = len(text[start:end].rstrip()) + start
        offsets.append((start, stop))
        if end >= len(text.rstrip()):
            break
        start = _skip_space(text, _word_start(text, max(start + 1, end - overlap), end) if overlap else end)
    return offsets


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _word_start(text: str, at: int, end: int) -> int:
    """The start of the first word at or after ``at``; ``end`` if no word starts before it."""
    if at == 0 or text[at - 1].isspace():
        return at
    return next((spot for spot in range(at, end) if text[spot - 1].isspace()), end)


class ChunkedCorpus:
    """The chunks of a corpus, in its order; without ``size`` each document is one chunk with its own id.

    The n-th chunk of document d is ``d#n``, from 0.
    """

    def __init__(self, corpus: Mapping[str, str], size: int | None = None, overlap: int = 0) -> None:
        if not isinstance(corpus, Mapping):
            raise WrongType(f"a corpus is texts by id, not {type(corpus).__name__}")
        if not corpus:
            raise InputError("the corpus is empty")
        if (invalid := next((key for key, text in corpus.items() if not isinstance(text, str)), None)) is not None:
            raise WrongType(f"document {invalid!r} is not a text but {type(corpus[invalid]).__name__}")
        self.chunked, self._texts = size is not None, corpus
        self.chunks: list[Chunk] = []
        for doc, text in corpus.items():
            if size is None:
                self.chunks.append(Chunk(doc, doc, text, 0, len(text)))
            else:
                for number, (start, end) in enumerate(cut(text, size, overlap)):
                    self.chunks.append(Chunk(f"{doc}#{number}", doc, text[start:end], start, end))
        self._by_id = {chunk.id: chunk for chunk in self.chunks}

    def results(self, rows: Sequence[int], scores: Sequence[float]) -> Results:
        """Chunks by their numbers, with their scores, as results of a retriever."""
        found = [self.chunks[row] for row in rows]
        if not self.chunked:
            return [(chunk.id, score) for chunk, score in zip(found, scores, strict=True)]
        return [
            Hit(chunk.doc, chunk.text, score, chunk.id, chunk.start, chunk.end)
            for chunk, score in zip(found, scores, strict=True)
        ]

    def text(self, id: str) -> str | None:  # noqa: A002 - the word of the public protocol
        """The text of a document or of a chunk."""
        if (text := self._texts.get(id)) is not None:
            return text
        return self._by_id[id].text if id in self._by_id else None
