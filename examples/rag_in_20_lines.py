"""A complete RAG system in twenty lines, and its evaluation. No key, no network.

python examples/rag_in_20_lines.py
"""

import steelyard
from steelyard.systems import BM25, Extractive

documents = {
    "bell-rock": "The lighthouse on the Bell Rock was built by Robert Stevenson and first lit in 1811.",
    "fresnel": "Augustin-Jean Fresnel designed a lens of prisms that throws the light of a lamp far out to sea.",
    "keepers": "Keepers climbed the tower every night to trim the wick, and slept in turns.",
    "fog": "In fog a horn is sounded, since no lamp can be seen through it.",
}


class Rag:
    """Retrieve documents and extract an answer from them."""

    def __init__(self):
        self.index, self.reader = BM25(documents), Extractive()

    def retrieve(self, query, k):
        return [doc for doc, _ in self.index.search(query, k)]

    def context_text(self, id):
        return documents[id]

    def answer(self, question, context):
        return self.reader.answer(question, context)


questions = {
    "question": ["Who built the lighthouse on the Bell Rock?", "What is sounded in fog?", "Who designed the lens?"],
    "ground_truth": ["Robert Stevenson", "a horn", "Augustin-Jean Fresnel"],
    "relevant_ids": [["bell-rock"], ["fog"], ["fresnel"]],
}
report = steelyard.evaluate_system(Rag(), questions, ["recall@2", "mrr", "contains", "faithfulness"], k=2)
print(report)
for sample in report.samples:
    print(f"{sample.user_input} → {sample.response}")
assert report.metrics["contains"] == 1.0
