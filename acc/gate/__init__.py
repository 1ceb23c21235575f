"""Qualify: the gate admits or refuses each candidate, and says why."""
