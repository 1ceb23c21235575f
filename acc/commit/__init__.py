"""The laws: what becomes of a proposal. Pure functions; no list of words of any language."""
