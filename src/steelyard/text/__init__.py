"""Tokens, sentences, numbers and offsets of text in any script."""
