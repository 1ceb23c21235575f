"""The memories that an evaluation can compare, behind one protocol."""
