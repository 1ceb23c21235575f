"""Reads texts as a user wrote them: normalises for comparison, finds sentences and quotes."""
