"""Commit: checks, bounds and replaces the state. `acc.commit.commit.commit` is pure, and its only writer.

"Law N" in a docstring or comment is row N of the table in ``docs/laws.md``.
"""
