"""The shelf: one metric, one record, one docstring that defines it."""

SHELF = ("ranking", "lexical", "passages", "overlap")
"""The modules that register the built-in metrics, in the order in which they are searched."""
