"""Runs and qrels, read from files, mappings and tables, and joined to ``Rankings``."""
