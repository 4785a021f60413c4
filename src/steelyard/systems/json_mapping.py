"""Paths to the question in an input and to the answer in an output, for systems with other field names.

A path has steps joined by points, each a key, an attribute or a number; ``*`` is every item of a list:
``data.sources.*.id``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ..core.errors import AskFailed, InputError, WrongType
from ..core.records import Json, Usage
from .adapters import Ask, adapt, find_method, name_of, resolve, with_limit
from .hits import Hit, hit_of
from .outputs import Output, answer_of, output_of


class Paths(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Paths in a reply. Without any path, the usual field names are read."""

    answer: str | None = None
    contexts: str | None = None
    ids: str | None = None
    scores: str | None = None
    tokens: str | None = None

    def read(self, reply: object) -> Output:
        """Read a reply as an ``Output``; AskFailed (bad_output) if a path does not exist in the reply.

        >>> paths = Paths(answer="data.text", ids="data.sources.*.id")
        >>> paths.read({"data": {"text": "In 1811.", "sources": [{"id": "d1"}, {"id": "d2"}]}}).ids
        ['d1', 'd2']
        """
        if self == Paths():
            return output_of(reply)
        contexts, ids, scores = (self._list(reply, name) for name in ("contexts", "ids", "scores"))
        answer = self._value(reply, "answer")
        tokens = self._value(reply, "tokens")
        usage = Usage(calls=1, completion_tokens=tokens) if isinstance(tokens, int) else None
        return Output(_hits(contexts, ids, scores), None if answer is None else answer_of(answer), usage)

    def _value(self, reply: object, name: str) -> object:
        path = getattr(self, name)
        if path is None:
            return None
        found = follow(reply, path.split("."))
        if found is None:
            raise AskFailed("bad_output", f"no {path} in the reply: {str(reply)[:120]}")
        return found

    def _list(self, reply: object, name: str) -> Sequence[object] | None:
        found = self._value(reply, name)
        if found is None:
            return None
        if isinstance(found, str):
            return [found]
        if not isinstance(found, list | tuple):
            raise AskFailed("bad_output", f"{getattr(self, name)} is not a list in the reply: {str(found)[:120]}")
        return found


def _hits(
    contexts: Sequence[object] | None, ids: Sequence[object] | None, scores: Sequence[object] | None
) -> list[Hit] | None:
    given = [one for one in (contexts, ids) if one is not None]
    if not given:
        return None
    if len({len(one) for one in [*given, *([scores] if scores is not None else [])]}) > 1:
        raise AskFailed("bad_output", "contexts, ids and scores of the reply have different lengths")
    return [
        Hit(
            None if ids is None else _id_of(ids[at]),
            None if contexts is None else _text_of(contexts[at]),
            None if scores is None else _score_of(scores[at]),
        )
        for at in range(len(given[0]))
    ]


def _id_of(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise AskFailed("bad_output", f"an id is a text or a whole number, found {str(value)[:120]!r}")
    return str(value)


def _text_of(value: object) -> str:
    """The text of a context, which may be a document."""
    text = value if isinstance(value, str) else hit_of(value, need_id=False).text
    if text is None:
        raise AskFailed("bad_output", f"a context is a text, found {str(value)[:120]!r}")
    return text


def _score_of(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise AskFailed("bad_output", f"a score is a number, found {str(value)[:120]!r}")
    try:
        return float(value)
    except ValueError:
        raise AskFailed("bad_output", f"a score is a number, found {value!r}") from None


def follow(value: object, path: Sequence[str]) -> object:
    """The value at a path of keys, attributes, numbers and ``*``; None if there is no value.

    >>> follow({"hits": [{"id": "d1"}, {"id": "d2"}]}, ["hits", "*", "id"])
    ['d1', 'd2']
    """
    for at, step in enumerate(path):
        if isinstance(value, list | tuple):
            if step == "*":
                found = [follow(item, path[at + 1 :]) for item in value]
                return None if any(one is None for one in found) else found
            value = value[int(step)] if step.isdigit() and int(step) < len(value) else None
        elif isinstance(value, Mapping):
            value = value.get(step)
        else:
            value = None if step.startswith("_") else getattr(value, step, None)
    return value


def put(body: Mapping[str, Json], path: str, value: Json) -> dict[str, Json]:
    """A copy of a mapping with a value at a path; a number selects an item of an existing list.

    >>> put({"options": {"lang": "en"}}, "options.k", 5)
    {'options': {'lang': 'en', 'k': 5}}
    >>> put({"messages": [{"role": "user"}]}, "messages.0.content", "Who?")
    {'messages': [{'role': 'user', 'content': 'Who?'}]}
    """
    head, _, rest = path.partition(".")
    return {**body, head: _put_in(body.get(head), rest, value) if rest else value}


def _put_in(inner: Json, path: str, value: Json) -> Json:
    if not isinstance(inner, list):
        return put(inner if isinstance(inner, dict) else {}, path, value)
    step, _, rest = path.partition(".")
    if not step.isdigit() or int(step) >= len(inner):
        raise InputError(f"no item {step!r} in a list of {len(inner)}")
    at = int(step)
    return [*inner[:at], _put_in(inner[at], rest, value) if rest else value, *inner[at + 1 :]]


class Described:
    """A system of the user with the keys of its input and the paths in its output.

    ``Described(chain, question="input", answer="output", contexts="docs.*.page_content")`` for a LangChain chain whose
    keys are not recognised; ``Described(pipeline, question="retriever.query", k="retriever.top_k",
    contexts="retriever.documents.*.content")`` for a Haystack pipeline. With ``question`` the system gets one mapping.
    """

    def __init__(
        self,
        system: object,
        *,
        question: str | None = None,
        k: str | None = None,
        paths: Paths | None = None,
        **places: str,
    ) -> None:
        self.system, self.name = system, name_of(system)
        self.paths = Paths(**places) if paths is None else paths
        self._ask: Ask = adapt(system).one if question is None else _of_a_mapping(system, question, k)

    def ask(self, question: str, k: int) -> Output:
        """Call the system with one question."""
        found = self._ask(question, k)
        return self.paths.read(resolve(found))


def _of_a_mapping(system: object, question: str, k: str | None) -> Ask:
    """Call a system that accepts one mapping: its ``invoke`` or ``run``, or a callable."""
    function = find_method(system, "invoke", "run", "ainvoke") or (system if callable(system) else None)
    if function is None:
        raise WrongType(f"{type(system).__name__} has no invoke or run, and is not callable")
    take = with_limit(function)

    def one(text: str, number: int) -> object:
        body = put({}, question, text)
        return take(body if k is None else put(body, k, number), number)  # type: ignore[arg-type]

    return one
