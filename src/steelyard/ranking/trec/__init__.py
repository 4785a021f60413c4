"""Readers and writers of TREC run and qrels files, and the measure names of trec_eval."""
