"""Compress: a compressor reads the turn, the state and the qualified evidence, and proposes the next state."""
