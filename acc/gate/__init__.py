"""Qualification: the gate admits or refuses each candidate and records the reason."""
