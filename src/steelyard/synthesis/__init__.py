"""Question sets made from documents: passages, questions about them, and what such a question must pass."""
