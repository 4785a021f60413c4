"""Steelyard weighs retrieval and RAG systems."""

__version__ = "0.1.0"
