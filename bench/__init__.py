"""Benchmarks: each prints our figures beside those of the peers that are installed, in one run."""
