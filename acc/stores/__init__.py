"""Persist: the protocol of an artifact store, its backends, and the shelves of a namespace."""
