"""The gate of a pull request: weigh the RAG of this repository, and refuse it where it became worse.

    python examples/ci_gate.py baseline     # on the main branch
    python examples/ci_gate.py current      # on the pull request
    steelyard compare baseline current --tolerance 0.02

The last command's exit code is 0 where nothing became worse, 2 where something did, and 3 where the two cannot be
compared; ``github-workflow.yml`` beside this file runs it in a workflow. Replace ``Rag`` by your own system.
"""

import sys
from pathlib import Path

import steelyard
from steelyard.runs.demo import load
from steelyard.systems.bm25 import BM25
from steelyard.systems.extractive import Extractive

demo = load()


class Rag(BM25):
    """Stands for your system."""

    def answer(self, question, context):
        return Extractive().answer(question, context)


report = steelyard.evaluate_system(
    Rag(demo.corpus), demo.samples, ["recall@5", "ndcg@5", "context_recall", "faithfulness"], k=5, name="rag"
)
out = Path(sys.argv[1])
report.save(out / "report.json")
print(report)
