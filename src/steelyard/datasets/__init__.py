"""Question sets and corpora on disk: readers, writers, conversions, and checks of labels against a corpus."""
