"""Text functions: lines, terms, tokens, quotes, clauses and comparison of wordings."""
