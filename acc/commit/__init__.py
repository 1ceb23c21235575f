"""Commit and the ten laws. `acc.commit.commit.commit` is pure, and the only writer of state."""
