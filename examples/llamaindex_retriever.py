"""Evaluate a LlamaIndex retriever and a LlamaIndex query engine without an adapter.

pip install llama-index-core
python examples/llamaindex_retriever.py
"""

from hashlib import blake2b

from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.schema import TextNode

import steelyard
from steelyard import load_demo


class Hashed(BaseEmbedding):
    """A placeholder for your embedding model: a hashed bag of words."""

    def _get_text_embedding(self, text):
        vector = [0.0] * 256
        for word in text.lower().split():
            vector[blake2b(word.encode(), digest_size=1).digest()[0]] += 1.0
        return vector

    def _get_query_embedding(self, query):
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query):
        return self._get_text_embedding(query)


demo = load_demo()
index = VectorStoreIndex([TextNode(id_=name, text=text) for name, text in demo.corpus.items()], embed_model=Hashed())

# A retriever. The largest k sets the number of requested results and overrides similarity_top_k.
rankings = steelyard.evaluate_retrieval(index.as_retriever(), demo.qrels, demo.queries, k_values=(1, 5))
print(rankings)

# A query engine that answers. Its source nodes are the contexts.
engine = index.as_query_engine(llm=MockLLM(max_tokens=20), similarity_top_k=3)
answers = steelyard.evaluate_system(engine, demo.samples[:10], ["context_recall", "recall@3", "answered"], k=3)
print(answers)
assert answers.metrics["answered"] == 1.0
