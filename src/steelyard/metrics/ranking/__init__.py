"""Metrics of ranked lists against qrels."""
