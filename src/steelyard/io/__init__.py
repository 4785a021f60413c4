"""Bytes and tables to samples, and back: readers and writers of files, tables and the formats of other tools."""
