"""Compression: a compressor reads turn, state and qualified evidence and proposes the next state."""
