"""Recall: a bounded set of candidates from the thread, from documents and from the user's other threads."""
