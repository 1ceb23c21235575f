"""Compressors: each proposes the next state from the turn, the prior state and the evidence."""
