"""Metrics that compare texts word by word or by embeddings, without a judge."""
