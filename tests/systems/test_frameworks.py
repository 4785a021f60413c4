"""Real retrievers, chains and query engines of LangChain and LlamaIndex, over stores in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from steelyard import BenchmarkSuite, OverlapJudge, evaluate_retrieval
from steelyard.evaluate.evaluate_system import evaluate_system
from steelyard.models.embedder import embedding_script
from steelyard.runs.demo import load_demo
from steelyard.systems.dense import Dense
from steelyard.systems.extractive import Extractive
from steelyard.systems.json_mapping import Described
from steelyard.text.tokens import content_words, stem

SIZE = 512


def hashed(texts: Sequence[str]) -> list[list[float]]:
    """A hashed bag of stems, each with a weight of its own, so that no two documents are equally near."""
    from hashlib import blake2b

    vectors = []
    for text in texts:
        vector = [0.0] * SIZE
        for word in stem(content_words(text)):
            number = int.from_bytes(blake2b(word.encode(), digest_size=4).digest())
            vector[number % SIZE] += 1.0 + (number // SIZE) % 1000 / 1000
        vectors.append(vector)
    return vectors


@pytest.fixture(scope="module")
def oracle() -> Any:
    """Our own exact dense retriever over the same vectors: what theirs must agree with."""
    demo = load_demo()
    dense = Dense(demo.corpus, embedding_script(hashed), ledger=":memory:")
    return demo, evaluate_retrieval(dense, demo.qrels, demo.queries, k_values=(5,), metrics=("ndcg", "recall", "mrr"))


@pytest.fixture(scope="module")
def store() -> Any:
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    class Hashed(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return hashed(texts)

        def embed_query(self, text: str) -> list[float]:
            return hashed([text])[0]

    store = InMemoryVectorStore(Hashed())
    store.add_documents([Document(text, metadata={"source": key}) for key, text in load_demo().corpus.items()])
    return store


def test_store_and_retriever_are_weighed(store: Any, oracle: Any) -> None:
    """A vector store and its retriever, asked for as many documents as are looked at, agree with our own search."""
    demo, expected = oracle
    for system in (store, store.as_retriever()):
        report = evaluate_retrieval(system, demo.qrels, demo.queries, k_values=(5,), metrics=("ndcg", "recall", "mrr"))
        assert expected.metrics == pytest.approx(report.metrics)


def test_a_langchain_retriever_in_a_suite(store: Any) -> None:
    """Texts come from the documents themselves; the answerer reads them."""
    demo = load_demo()
    report = evaluate_system(
        store.as_retriever(), demo.samples, ["context_recall", "token_f1", "recall@3"], answerer=Extractive(), k=3
    )
    assert {3} == {len(sample.retrieved_contexts or ()) for sample in report.samples}
    assert report.estimates["token_f1"].n == 40
    assert report.samples[0].retrieved_contexts[0] == demo.corpus[report.samples[0].retrieved_ids[0]]  # type: ignore[index]


def test_chains_are_weighed(store: Any) -> None:
    """A chain that takes a mapping and one that takes a text, with a model that is a script."""
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.runnables import RunnablePassthrough

    prompt = ChatPromptTemplate.from_template("{context}\n{input}")
    model = FakeListChatModel(responses=["At Cordouan."])
    retriever = store.as_retriever(search_kwargs={"k": 2})
    rag = RunnablePassthrough.assign(context=(lambda given: given["input"]) | retriever).assign(answer=prompt | model)
    plain = {"context": retriever, "input": RunnablePassthrough()} | prompt | model | StrOutputParser()
    samples = load_demo().samples[:4]
    report = evaluate_system(rag, samples, ["answered", "context_recall", "recall@2"])
    assert [sample.response for sample in report.samples] == ["At Cordouan."] * 4
    assert {2} == {len(sample.retrieved_ids or ()) for sample in report.samples}
    assert evaluate_system(plain, samples, ["answered"]).metrics == {"answered": 1.0}
    named = Described(rag, question="input", answer="answer.content", ids="context.*.metadata.source")
    report = evaluate_system(named, samples, ["answered"])
    assert report.samples[0].retrieved_ids is not None


def test_failures_inside_a_chain(store: Any) -> None:
    """What a chain raises is its sample's failure."""
    from langchain_core.runnables import RunnableLambda

    def broken(question: str) -> str:
        if "Boston" in question:
            raise ValueError("no keeper")
        return "yes"

    report = evaluate_system(RunnableLambda(broken), load_demo().samples[:6], ["answered"])
    assert {"ValueError: no keeper"} == {
        str(report.score(row, "answered").reason).partition(" (")[0]
        for row, sample in enumerate(report.samples)
        if "Boston" in (sample.user_input or "")
    }
    assert report.estimates["answered"].failed == sum("Boston" in (one.user_input or "") for one in report.samples) > 0


@pytest.fixture(scope="module")
def index() -> Any:
    pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
    from llama_index.core import VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

    class Hashed(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return hashed([query])[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return hashed([query])[0]

        def _get_text_embedding(self, text: str) -> list[float]:
            return hashed([text])[0]

    nodes = []
    for key, text in load_demo().corpus.items():
        node = TextNode(text=text, id_=f"node of {key}", start_char_idx=0, end_char_idx=len(text))
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=key)
        nodes.append(node)
    return VectorStoreIndex(nodes, embed_model=Hashed(), show_progress=False)


def test_a_llamaindex_retriever_is_weighed(index: Any, oracle: Any) -> None:
    """A retriever made for two results is asked for five, and keeps its two; nodes count as their documents."""
    demo, expected = oracle
    retriever = index.as_retriever(similarity_top_k=2)
    report = evaluate_retrieval(retriever, demo.qrels, demo.queries, k_values=(5,), metrics=("ndcg", "recall", "mrr"))
    assert expected.metrics == pytest.approx(report.metrics)
    assert retriever.similarity_top_k == 2


def test_a_llamaindex_retriever_in_a_suite(index: Any) -> None:
    """Texts and places come from the nodes."""
    report = evaluate_system(
        index.as_retriever(), load_demo().samples, ["span_recall@3", "token_f1"], answerer=Extractive(), k=3
    )
    assert report.estimates["span_recall@3"].n == sum(one.relevant_spans is not None for one in report.samples)
    assert (report.metrics["span_recall@3"] or 0) > 0.4


def test_query_engine_is_weighed(index: Any) -> None:
    """A query engine gives answer and sources at once."""
    from llama_index.core.llms import MockLLM

    engine = index.as_query_engine(llm=MockLLM(max_tokens=8), similarity_top_k=2)
    report = evaluate_system(engine, load_demo().samples[:4], ["answered", "recall@2"])
    assert report.metrics["answered"] == 1.0
    assert {2} == {len(sample.retrieved_ids or ()) for sample in report.samples}
    assert all("node of" not in doc for sample in report.samples for doc in sample.retrieved_ids or ())


# Haystack


def test_a_haystack_component_and_a_pipeline_are_weighed() -> None:
    """A retriever as it is, and inside a pipeline by the places of its input and output; both find the same."""
    haystack = pytest.importorskip("haystack", reason="haystack-ai is not installed")
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    demo, store = load_demo(), InMemoryDocumentStore()
    store.write_documents([haystack.Document(content=text, meta={"source": key}) for key, text in demo.corpus.items()])
    pipeline = haystack.Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store))
    described = Described(
        pipeline,
        question="retriever.query",
        k="retriever.top_k",
        ids="retriever.documents.*.meta.source",
        contexts="retriever.documents.*.content",
    )
    metrics = ["recall@5", "context_recall"]
    alone, inside = (
        evaluate_system(one, demo.samples, metrics, k=5) for one in (InMemoryBM25Retriever(store), described)
    )
    assert alone.metrics == inside.metrics
    assert (alone.metrics["recall@5"] or 0) > 0.6
    assert len(alone.samples[0].retrieved_ids or []) == 5


def test_suites_need_texts_by_id() -> None:
    """run_with_answers asks for context_text, which a foreign retriever lacks; evaluate_system does not."""
    from steelyard import Dataset, EvalQuery
    from steelyard.core.errors import WrongType

    suite = BenchmarkSuite(Dataset("d").add(EvalQuery("q")))
    with pytest.raises(WrongType, match="context_text"):
        suite.run_with_answers(lambda q: [], Extractive(), OverlapJudge())  # type: ignore[arg-type]
