"""Evaluations from a configuration file, in one process or as a job in parts."""
