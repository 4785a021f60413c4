"""The shelf: one metric, one record, one docstring that defines it."""

SHELF = (
    "ranking",
    "ranking_trec",
    "lexical",
    "passages",
    "spans",
    "overlap",
    "lexical_judges",
    "semantic",
    "claims",
    "judged_passages",
    "relevancy",
    "rubric",
    "citations",
    "nuggets",
    "preference",
    "operations",
)
"""The modules that register the built-in metrics, in the order in which they are searched."""
