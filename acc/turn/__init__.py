"""A turn: what was observed, by whom, and how far to trust it."""
