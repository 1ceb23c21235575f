"""Persist artifacts: the store protocol, its backends, and the shelves of a namespace."""
