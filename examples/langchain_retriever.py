"""Evaluate a LangChain retriever and a LangChain chain without an adapter.

pip install langchain-core
python examples/langchain_retriever.py
"""

from hashlib import blake2b

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore

import steelyard
from steelyard import load_demo


class Hashed(Embeddings):
    """A placeholder for your embedding model: a hashed bag of words."""

    def embed_query(self, text):
        vector = [0.0] * 256
        for word in text.lower().split():
            vector[blake2b(word.encode(), digest_size=1).digest()[0]] += 1.0
        return vector

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


demo = load_demo()
store = InMemoryVectorStore(Hashed())
store.add_documents([Document(text, metadata={"source": name}) for name, text in demo.corpus.items()])

# A retriever. metadata["source"] is the document id. The largest k sets the number of requested results.
rankings = steelyard.evaluate_retrieval(store.as_retriever(), demo.qrels, demo.queries, k_values=(1, 5))
print(rankings)

# A chain that answers. Steelyard reads the contexts and the answer from its output.
chain = RunnablePassthrough.assign(context=(lambda given: given["input"]) | store.as_retriever()).assign(
    answer=RunnableLambda(lambda given: given["context"][0].page_content.split(". ")[0])
)
answers = steelyard.evaluate_system(chain, demo.samples, ["context_recall", "token_f1", "answered"])
print(answers)
assert answers.metrics["answered"] == 1.0
