"""Metrics that an LLM judge scores."""
