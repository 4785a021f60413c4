"""The shapes of systems: each is recognised by what it has, and called as it wants to be."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.core.errors import WrongType
from steelyard.systems.adapters import caller_of, name_of
from steelyard.systems.json_mapping import Described
from steelyard.systems.protocols import searcher


def one(system: object, k: int = 3) -> object:
    return caller_of(system).one("q", k)


class WithSearch:
    def search(self, query: str, *, limit: int) -> tuple[str, int]:
        return query, limit


class WithRetrieve:
    def retrieve(self, query: str, k: int) -> tuple[str, int]:
        return query, k


class Store:
    """As LangChain's: ``search`` wants a kind of search, so it is not ours."""

    def search(self, query: str, search_type: str, **kwargs: Any) -> None:
        raise AssertionError("not this one")

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> tuple[str, int]:
        return query, k


class Deep:
    """As LlamaIndex's: the number of results is its own."""

    def __init__(self) -> None:
        self.similarity_top_k = 2

    def retrieve(self, query: str) -> tuple[str, int]:
        return query, self.similarity_top_k


class Engine:
    """As LlamaIndex's query engine: it retrieves too, but wants no text there."""

    def synthesize(self) -> None: ...

    def retrieve(self, bundle: object) -> None:
        raise AssertionError("not this one")

    def query(self, question: str) -> tuple[str, int]:
        return question, 3


class Haystack:
    def run(self, query: str, filters: object = None, top_k: int | None = None) -> tuple[str, int | None]:
        return query, top_k


class Pipeline:
    """A component whose input is no query is not called with one."""

    def run(self, data: dict[str, Any]) -> None: ...


@pytest.mark.parametrize(
    "system",
    [
        WithSearch(),
        WithRetrieve(),
        Store(),
        Deep(),
        Engine(),
        Haystack(),
        lambda query, k: (query, k),
        lambda query, top_k=10: (query, top_k),
        lambda query, *rest: (query, *rest),
        lambda query, **options: (query, options["k"]),
        SimpleNamespace(ask=lambda question, k: (question, k)),
        SimpleNamespace(invoke=lambda question, **options: (question, options["k"]), search_kwargs={"k": 9}),
    ],
)
def test_every_shape_gets_question_and_number(system: object) -> None:
    """The question and the number of results arrive, whatever they are called."""
    assert one(system) == ("q", 3)


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        (lambda query: query, "q"),
        (SimpleNamespace(invoke=lambda question: question), "q"),
        (SimpleNamespace(invoke=lambda given: given, input_keys=["query"]), {"query": "q"}),
        (SimpleNamespace(query=lambda question: question), "q"),
    ],
)
def test_shapes_that_take_no_number(system: object, expected: object) -> None:
    """A system that decides on the number itself gets the question alone."""
    assert expected == one(system)


def test_a_retriever_with_a_number_of_its_own_stays_as_it_is() -> None:
    """The copy is asked for more, the user's object is not touched."""
    deep = Deep()
    assert one(deep, 50) == ("q", 50)
    assert deep.similarity_top_k == 2


def test_type_errors_of_a_system_are_its_own() -> None:
    """A TypeError inside a retriever is not taken for a wrong way of calling it."""

    def broken(query: str, k: int) -> list[str]:
        return query + k  # type: ignore[operator,return-value]

    with pytest.raises(TypeError, match="concatenate"):
        one(broken)


@pytest.mark.parametrize("system", [object(), Pipeline(), "text", 5, None])
def test_what_is_no_system(system: object) -> None:
    """An object of no known shape is named, with what was expected."""
    with pytest.raises(WrongType, match=r"not a retriever: .*expected \.search"):
        caller_of(system)


def test_asynchronous_retrievers_can_be_searched() -> None:
    """An async retriever serves where a plain one does."""

    class Async:
        async def aretrieve(self, query: str, k: int) -> list[str]:
            return [query] * k

    assert searcher(Async())("q", 2) == ["q", "q"]


def test_a_whole_system_is_a_retriever_by_its_hits() -> None:
    """A mapping with ids serves where a list does; a text does not."""
    assert [hit.id for hit in searcher(lambda _: {"answer": "a", "ids": ["d1"]})("q", 2)] == ["d1"]  # type: ignore[attr-defined]
    with pytest.raises(WrongType, match="returns a list of results, not str"):
        searcher(lambda _: "d1")("q", 2)


def test_a_described_chain() -> None:
    """Keys of input and output can be named where they cannot be guessed."""
    chain = SimpleNamespace(
        invoke=lambda given: {"text": given["topic"]["name"], "found": [{"ref": "d1", "body": "b"}]}, name="mine"
    )
    described = Described(chain, question="topic.name", answer="text", ids="found.*.ref", contexts="found.*.body")
    output = described.ask("q", 3)
    assert (output.answer, output.ids, (output.hits or [])[0].text, described.name) == ("q", ["d1"], "b", "mine")


def test_a_described_pipeline() -> None:
    """A Haystack pipeline takes one nested mapping by ``run``, the number of results in it; it may be asynchronous."""

    class Pipeline:
        async def run(self, data: dict[str, Any]) -> dict[str, Any]:
            asked = data["retriever"]
            return {"retriever": {"documents": [{"content": f"{asked['query']} {asked['top_k']}"}]}}

    places = {"question": "retriever.query", "k": "retriever.top_k", "contexts": "retriever.documents.*.content"}
    output = Described(Pipeline(), **places).ask("q", 3)
    assert [hit.text for hit in output.hits or ()] == ["q 3"]
    with pytest.raises(WrongType, match="has no invoke or run"):
        Described(object(), question="q")


def test_what_only_takes_many() -> None:
    """A system with a batch method alone is asked one by one with batches of one, also where it is asynchronous."""

    class Many:
        def search_batch(self, queries: Sequence[str], limit: int) -> list[list[str]]:
            return [[f"{query} {limit}"] for query in queries]

    class Later:
        async def retrieve_batch(self, queries: Sequence[str], k: int) -> list[list[str]]:
            return [[f"{query} {k}"] for query in queries]

    for system in (Many(), Later()):
        assert searcher(system)("q", 2) == ["q 2"]
    with pytest.raises(WrongType, match="a batch of 1 query gives a list of 1 result"):
        searcher(SimpleNamespace(search_batch=lambda queries, limit: []))("q", 2)


def test_batches_of_a_searcher() -> None:
    """All queries go together; where the batch fails each is asked by itself, and raises what is its own."""
    asked: list[Sequence[str]] = []

    class Both:
        def search_batch(self, queries: Sequence[str], limit: int) -> list[list[str]]:
            asked.append(queries)
            if "bad" in queries:
                raise RuntimeError("batch")
            return [[query] for query in queries]

        def search(self, query: str, limit: int) -> list[str]:
            asked.append([query])
            if query == "bad":
                raise ValueError("bad query")
            return [query]

    search = searcher(Both(), ["a", "b", "a"])
    assert [search(query, 1) for query in ("a", "b", "a")] == [["a"], ["b"], ["a"]]
    assert asked == [["a", "b"], ["a"]]
    search = searcher(Both(), ["a", "bad"])
    assert search("a", 1) == ["a"]
    with pytest.raises(ValueError, match="bad query"):
        search("bad", 1)


def test_results_may_come_one_by_one() -> None:
    """An asynchronous generator is a list, too; a question may be a keyword alone."""

    async def streamed(query: str, k: int) -> AsyncIterator[str]:
        for number in range(k):
            yield f"{query}{number}"

    assert searcher(streamed)("q", 2) == ["q0", "q1"]
    assert searcher(lambda *, question, top_k: [f"{question} {top_k}"])("q", 2) == ["q 2"]


def test_names() -> None:
    """A system is called by its name, its function's, or its class's."""

    def mine() -> None: ...

    names = [name_of(one) for one in (SimpleNamespace(name="bm25"), mine, lambda: None, WithSearch())]
    assert names == ["bm25", "mine", "function", "WithSearch"]
