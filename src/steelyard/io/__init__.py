"""Readers and writers of samples, rows and text files, in the formats of this and other tools."""
