"""Texts: lines, terms, tokens, quotes, clauses, and how two wordings compare."""
