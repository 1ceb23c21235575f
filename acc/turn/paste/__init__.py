"""Separates the user's own words from pasted text."""
