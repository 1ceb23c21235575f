"""Pasted text: telling what a user wrote from what they pasted."""
