"""A turn: what happened since the last commit, by channel; chat messages and pasted text."""
