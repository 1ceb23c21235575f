"""Memories that can be evaluated, behind one protocol."""
