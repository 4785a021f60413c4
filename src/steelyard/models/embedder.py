"""Embedders (``Embedder``): the value that names an embedding model, and its spelling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TypeAlias

import msgspec

from ..core.errors import InputError, MissingExtra, WrongType, check_range
from ..core.records import Json
from ..core.requests import Vector
from ..stats.cosine import cosine
from .model_spec import (
    LITELLM,
    OPENAI,
    check_url,
    read_address,
    read_options,
    read_spelling,
    show_option,
    spell_address,
)

__all__ = ["Embedder", "cosine", "embedder_of", "embedder_settings", "embedding_script"]

EmbedTexts: TypeAlias = Callable[[Sequence[str]], Sequence[Vector]]


@dataclass(frozen=True)
class Embedder:
    """An embedding model behind an OpenAI-compatible endpoint, or a function of texts.

    ``batch`` is the number of texts per call; ``price`` is for a million tokens; ``dimensions`` requests shorter
    vectors. The vectors of a function (``answer``) are cached only if ``kept`` is true.

    >>> print(Embedder("text-embedding-3-small", dimensions=256))
    openai:text-embedding-3-small#dimensions=256
    """

    model: str
    url: str = OPENAI
    key_env: str = ""
    dimensions: int | None = None
    batch: int = 128
    price: float | None = None
    answer: EmbedTexts | None = field(default=None, repr=False)
    kept: bool = field(default=True, repr=False)

    def __post_init__(self) -> None:
        check_url(self.url)
        if self.batch < 1:
            raise InputError(f"batch must be at least 1, not {self.batch}", field="embedder")
        check_range("price", self.price, 0)

    def __str__(self) -> str:
        """The embedder as ``embedder_of`` reads it."""
        return self._spelled(("dimensions", "batch", "price", "key_env"))

    @property
    def identity(self) -> str:
        """The options that determine its vectors, as part of the ledger key."""
        return self._spelled(("dimensions",))

    @property
    def costs_unknown(self) -> bool:
        """Whether an endpoint without a given price is called."""
        return self.answer is None and self.price is None

    def body(self, texts: Sequence[str]) -> dict[str, Json]:
        """The parameters of a request."""
        body: dict[str, Json] = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        return body if self.dimensions is None else {**body, "dimensions": self.dimensions}

    def _spelled(self, wanted: Sequence[str]) -> str:
        defaults = _EmbedderOptions()
        given = {name: getattr(self, name) for name in wanted}
        options = [f"{name}={show_option(value)}" for name, value in given.items() if value != getattr(defaults, name)]
        return spell_address(self.url, self.model, options)


class _EmbedderOptions(msgspec.Struct):
    dimensions: int | None = None
    batch: int = 128
    price: float | None = None
    key_env: str = ""


def embedder_of(given: Embedder | str) -> Embedder:
    """Make an embedder from its value or its spelling: ``openai:text-embedding-3-small``, ``http://host/v1#model``,
    ``local`` (a small model that runs in this process, of the extra ``local``).

    >>> embedder_of("http://localhost:8000/v1#bge&batch=32").batch
    32
    """
    if isinstance(given, Embedder):
        return given
    if not isinstance(given, str):
        raise WrongType(
            f"not an embedder: {given!r} (a spelling such as openai:text-embedding-3-small, or Embedder(…))"
        )
    if given == "local":
        return _local()
    url, model, options = read_address(given, "embedder")
    if url == LITELLM:
        raise InputError("litellm is for judges: name the embedding endpoint itself (http://HOST/v1#MODEL)")
    return Embedder(model, url=url, **read_options(options, _EmbedderOptions, "embedder"))  # type: ignore[arg-type]


def embedder_settings(text: str) -> str:
    """Reduce the spelling of an embedder in a report to the options that determine its vectors, to compare two reports.

    The batch size, the price and the name of the key's variable are left out.

    >>> embedder_settings("http://localhost:8000/v1/#bge&batch=32&price=0.02&dimensions=8")
    'http://localhost:8000/v1#bge&dimensions=8'
    """
    if text == "local":
        return str(import_module(".local_embedder", __package__).MODEL)
    try:
        url, model, options = read_spelling(text, "embedder")
        return Embedder(model, url=url, **read_options(options, _EmbedderOptions, "embedder")).identity  # type: ignore[arg-type]
    except InputError:
        return text


def _local() -> Embedder:
    try:
        module = import_module(".local_embedder", __package__)
    except ModuleNotFoundError:
        raise MissingExtra("onnxruntime", extra="local") from None
    embedder = module.local_embedder()
    assert isinstance(embedder, Embedder)
    return embedder


def embedding_script(function: EmbedTexts) -> Embedder:
    """Make an embedder from a function of texts, for tests without a network. Its vectors are not cached.

    >>> print(embedding_script(len))
    script:builtins.len
    """
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__name__)}"
    return Embedder(f"script:{name}", url="", answer=function, kept=False)
