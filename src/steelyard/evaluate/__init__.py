"""Evaluation of samples, rankings and systems, from the input to the report."""
