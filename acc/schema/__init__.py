"""A schema as a thing to find, show, check, compare and start: what ``acc schema`` does."""
