"""Judges and embedders: calls, cache, limits and retries."""
