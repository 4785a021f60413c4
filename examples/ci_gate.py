"""A quality gate for pull requests: evaluate the RAG system of a repository and fail on a regression.

    python examples/ci_gate.py baseline     # on the main branch
    python examples/ci_gate.py current      # on the pull request
    steelyard compare baseline current --tolerance 0.02

The last command exits with 0 if there is no regression, with 2 if there is one, and with 3 if the reports cannot be
compared. ``github-workflow.yml`` in this folder runs these steps in a workflow. Replace ``Rag`` with your own system.
"""

import sys
from pathlib import Path

import steelyard
from steelyard import load_demo
from steelyard.systems import BM25, Extractive

demo = load_demo()


class Rag(BM25):
    """A placeholder for your system."""

    def answer(self, question, context):
        return Extractive().answer(question, context)


report = steelyard.evaluate_system(
    Rag(demo.corpus), demo.samples, ["recall@5", "ndcg@5", "context_recall", "faithfulness"], k=5, name="rag"
)
out = Path(sys.argv[1])
report.save(out / "report.json")
print(report)
