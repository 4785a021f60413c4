"""The shapes of systems: each is recognised by what it has, and called as it wants to be."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.core.errors import InputError, WrongType
from steelyard.systems.adapters import adapt, name_of
from steelyard.systems.collect import retrieve_ids
from steelyard.systems.json_mapping import Described


def ids_of(system: object, k: int = 2) -> list[str]:
    """The ids that a retriever gives for one query."""
    return retrieve_ids(system, {"1": "q"}, k).ids["1"]


def one(system: object, k: int = 3) -> object:
    return adapt(system).one("q", k)


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
        adapt(system)


def test_asynchronous_retrievers_can_be_searched() -> None:
    """An async retriever serves where a plain one does."""

    class Async:
        async def aretrieve(self, query: str, k: int) -> list[str]:
            return [f"{query}{number}" for number in range(k)]

    assert ids_of(Async()) == ["q0", "q1"]


def test_a_whole_system_is_a_retriever_by_its_hits() -> None:
    """A mapping with ids serves where a list does; a text does not."""
    assert ids_of(lambda _: {"answer": "a", "ids": ["d1"]}) == ["d1"]
    with pytest.raises(WrongType, match="returns a list of results"):
        ids_of(lambda _: "d1")


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
        assert ids_of(system) == ["q 2"]
    with pytest.raises(WrongType, match="a batch method must return 1 result for 1 query"):
        ids_of(SimpleNamespace(search_batch=lambda queries, limit: []))


def test_batches() -> None:
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

    assert retrieve_ids(Both(), {"1": "a", "2": "b"}, 1).ids == {"1": ["a"], "2": ["b"]}
    assert asked == [["a", "b"]]
    asked.clear()
    with pytest.raises(ValueError, match="bad query") as caught:
        retrieve_ids(Both(), {"1": "a", "2": "bad"}, 1)
    assert caught.value.__notes__ == ["while retrieving for query '2'"]
    assert asked == [["a", "bad"], ["a"], ["bad"]]


def test_an_exception_in_a_batch_is_raised_with_its_query() -> None:
    """A batch may hold an exception for one query: it is raised like that of a single call, and so is a bad result."""
    error = KeyError("d2")
    with pytest.raises(KeyError) as caught:
        retrieve_ids(SimpleNamespace(search_batch=lambda queries, limit: [["d1"], error]), {"1": "a", "2": "b"}, 1)
    assert caught.value.__notes__ == ["while retrieving for query '2'"]
    with pytest.raises(InputError, match="without a document id") as unreadable:
        retrieve_ids(lambda query, k: [{"text": "no id"}], {"1": "a"}, 1)
    assert unreadable.value.__notes__ == ["while retrieving for query '1'"]


def test_results_may_come_one_by_one() -> None:
    """An asynchronous generator is a list, too; a question may be a keyword alone."""

    async def streamed(query: str, k: int) -> AsyncIterator[str]:
        for number in range(k):
            yield f"{query}{number}"

    assert ids_of(streamed) == ["q0", "q1"]
    assert ids_of(lambda *, question, top_k: [f"{question} {top_k}"]) == ["q 2"]


def test_names() -> None:
    """A system is called by its name, its function's, or its class's."""

    def mine() -> None: ...

    names = [name_of(one) for one in (SimpleNamespace(name="bm25"), mine, lambda: None, WithSearch())]
    assert names == ["bm25", "mine", "function", "WithSearch"]
