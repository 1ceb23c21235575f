"""Text functions: lines, sentences, quotes, terms, tokens, times."""
