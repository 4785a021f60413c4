"""Calibration of judges with human labels, juries, pairwise comparison of answers, and drift of a judge."""
