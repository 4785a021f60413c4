"""LLM judges (``LLMJudge``): a value that can be printed, compared and written into a report.

Rules of this file: a judge holds the name of the environment variable of its key, never the key itself. Every option
that changes its replies is in its identity; price, window and the variable's name are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ..core.errors import InputError, MissingExtra, WrongType, check_range
from ..core.records import Json
from ..core.requests import Ask
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

if TYPE_CHECKING:
    from .embedder import Embedder

_SENT = ("top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty", "reasoning_effort", "verbosity")
Answer: TypeAlias = Callable[[Ask], object]


@dataclass(frozen=True)
class LLMJudge:
    """A language model behind an OpenAI-compatible endpoint, and the parameters of its requests.

    ``extra`` holds further parameters of the request (``top_p``); ``window`` is the model's context in tokens;
    ``price`` is for a million prompt and completion tokens; ``key_env`` names the environment variable with the key
    (default: OPENAI_API_KEY for OpenAI itself, STEELYARD_API_KEY for any other endpoint). An ``AnswerJudge`` measures
    relevance with ``embedder``.

    >>> judge = LLMJudge("gpt-4o-mini", temperature=0.5, price=(0.15, 0.6))
    >>> print(judge)
    openai:gpt-4o-mini#temperature=0.5&price=0.15,0.6
    >>> judge_of(str(judge)) == judge
    True
    """

    model: str
    url: str = OPENAI
    key_env: str = ""
    temperature: float | None = 0.0
    max_tokens: int | None = 4096
    seed: int | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)
    window: int | None = None
    price: tuple[float, float] | None = None
    answer: Answer | None = field(default=None, repr=False)
    embedder: Embedder | str = field(default="local", repr=False, compare=False)

    def __post_init__(self) -> None:
        check_url(self.url)
        if not self.model:
            raise InputError("a judge needs the name of a model")
        for value in self.price or ():
            check_range("price", value, 0)
        for name in ("max_tokens", "window"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, not {value}", field="judge")

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        """The judge as ``judge_of`` reads it."""
        return _spelled(self, _DESCRIBING)

    @property
    def identity(self) -> str:
        """The options that determine its replies, as part of the ledger key."""
        return _spelled(self, _ASKING)

    @property
    def costs_unknown(self) -> bool:
        """Whether an endpoint without a given price is called."""
        return self.answer is None and self.price is None

    @property
    def kept(self) -> bool:
        """Whether its replies are cached; those of a script are not, since a test may change it between runs."""
        return self.answer is None

    def body(self, prompt: str, *, draw: int = 0, repeat: int = 0, room: int = 1) -> dict[str, Json]:
        """The parameters of a request, apart from the shape of the reply. ``room`` multiplies the tokens allowed."""
        body: dict[str, Json] = {"model": self.model, "messages": [{"role": "user", "content": prompt}]}
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if self.max_tokens is not None:
            body["max_tokens"] = self.max_tokens * room
        if self.seed is not None:
            body["seed"] = self.seed + draw + 1000 * repeat
        return {**body, **self.extra}


def script(function: Answer, *, window: int | None = None, price: tuple[float, float] | None = None) -> LLMJudge:
    """Make a judge from a function of the request, for tests without a network.

    The function gets the ``Ask`` and returns a mapping or Struct of its shape, or the text of a model's reply. An
    exception that it raises (``AskFailed``, ``BadReply``) is raised in the rule. Answers are read like a model's,
    and not cached.

    >>> print(script(lambda ask: {"verdict": "yes"}))
    script:steelyard.models.judge.<lambda>
    """
    return LLMJudge(f"script:{_full_name(function)}", url="", window=window, price=price, answer=function)


def judge_of(given: LLMJudge | str) -> LLMJudge:
    """Make a judge from its value or its spelling.

    ``openai:gpt-4o-mini``, ``http://localhost:8000/v1#llama``, ``litellm:anthropic/claude``, with options behind it:
    ``openai:gpt-4o-mini#temperature=1&seed=3``, ``http://host/v1#llama&key_env=MY_KEY&window=8000``.

    >>> judge_of("http://localhost:8000/v1#llama&temperature=1").url
    'http://localhost:8000/v1'
    """
    if isinstance(given, LLMJudge):
        return given
    if not isinstance(given, str):
        raise WrongType(f"not a judge: {given!r} (a spelling such as openai:gpt-4o-mini, LLMJudge(…) or script(…))")
    judge = _read(*read_address(given, "judge"))
    if judge.url == LITELLM and find_spec("litellm") is None:
        raise MissingExtra("litellm", extra="litellm")
    return judge


def _read(url: str, model: str, options: dict[str, str]) -> LLMJudge:
    extra = {name.removeprefix("extra."): _value(options.pop(name)) for name in [*options] if _is_extra(name)}
    known = read_options(options, _JudgeOptions, "judge")
    return LLMJudge(model, url=url, extra=extra, **known)  # type: ignore[arg-type]


def judge_settings(text: str) -> str:
    """Reduce the spelling of a judge in a report to the options that determine its verdicts, to compare two reports.

    Prices, the name of the key's variable, explicit defaults and a slash at the end of an address are left out; the
    window stays, since metrics split inputs that exceed it. The judges of a jury are compared in any order. A text that
    is not the spelling of a judge is returned unchanged.

    >>> judge_settings("http://localhost:8000/v1/#llama&price=1,2&temperature=0")
    'http://localhost:8000/v1#llama'
    >>> judge_settings("mean of openai:gpt-4o#price=1,2, openai:gpt-4o-mini") == judge_settings(
    ...     "mean of openai:gpt-4o-mini, openai:gpt-4o"
    ... )
    True
    """
    rule, of, seats = text.partition(" of ")
    if of and " " not in rule:
        return rule + of + ", ".join(sorted(map(judge_settings, seats.split(", "))))
    try:
        return _spelled(_read(*read_spelling(text, "judge")), (*_ASKING, "window"))
    except InputError:
        return text


class _JudgeOptions(msgspec.Struct, omit_defaults=True):
    """The options of a spelling, as text; ``none`` means that no temperature is sent."""

    temperature: float | None = 0.0
    max_tokens: int | None = 4096
    seed: int | None = None
    window: int | None = None
    price: tuple[float, float] | None = None
    key_env: str = ""


_ASKING = ("temperature", "max_tokens", "seed")
_DESCRIBING = (*_ASKING, "window", "price", "key_env")


def _spelled(judge: LLMJudge, wanted: Iterable[str]) -> str:
    defaults = _JudgeOptions()
    options = [
        f"{name}={show_option(value)}" for name in wanted if (value := getattr(judge, name)) != getattr(defaults, name)
    ]
    options += [
        f"{name if name in _SENT else f'extra.{name}'}={msgspec.json.encode(value, order='sorted').decode()}"
        for name, value in sorted(judge.extra.items())
    ]
    return spell_address(judge.url, judge.model, options)


def _is_extra(name: str) -> bool:
    return name in _SENT or name.startswith("extra.")


def _value(text: str) -> Json:
    try:
        value: Json = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return value


def _full_name(function: object) -> str:
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", type(function).__name__)
    return f"{module}.{name}"
