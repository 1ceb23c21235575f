"""Domain schemas: one domain's state per file."""
