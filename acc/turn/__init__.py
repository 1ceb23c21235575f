"""A turn: what happened since the last commit, by channel. Reads chat messages and pasted text."""
